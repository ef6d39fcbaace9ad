"""The load curve of the plan's deployment with its range, and GPUs over prompt and output length."""

from __future__ import annotations

import streamlit as st

from sizing.base.errors import SizingError
from sizing.question.understand import understand
from ui.explore import computed
from ui.explore.controls import draw_gpu_choice
from ui.figures.heat_map import build_heat_map, heat_map_alt_text, heat_map_table
from ui.figures.load_curve import build_load_curve, load_curve_alt_text, load_curve_table
from ui.shell import draw_chart, draw_problems, draw_table
from ui.size.origin import draw_curve_origin, draw_estimates
from ui.state import Answer


def draw_load(answer: Answer, *, dark: bool) -> None:
    """Latency of one instance against its load, with the knee and the 80 % range."""
    plan, limits = answer.plan, answer.scenario.limits
    band = computed.band_of(answer.scenario.model_dump_json())
    figure = build_load_curve(plan, limits=limits, band=band if band.fast else None, dark=dark)
    draw_chart(figure, key="explore_load", alt=load_curve_alt_text(plan, limits=limits))
    whose = "One instance of the plan."
    if plan.deployment and plan.deployment.pools:
        whose = "One decode instance of the plan, with its share of the prefill instances."
    st.caption(
        f"{whose} Beyond the knee, where the curve bends, latency grows faster than the load; where the curve ends, "
        "the queue grows without end."
    )
    draw_curve_origin(plan, limits)
    draw_table(lambda: load_curve_table(plan, limits=limits), key="load", what="Load curve")


def draw_lengths(answer: Answer, *, dark: bool) -> None:
    """GPUs needed on one kind of GPU for prompts and outputs up to eight times shorter and longer."""
    where, _ = st.columns([1, 2])
    with where:
        gpu = draw_gpu_choice("map_gpu", answer.plan, answer.scenario)
    try:
        lengths = computed.lengths_of(answer.scenario.model_dump_json(), gpu)
    except SizingError as error:
        draw_problems(error.problems)
        return
    traffic = understand(answer.scenario).traffic
    figure = build_heat_map(lengths, framed=(traffic.input_tokens, traffic.output_tokens), dark=dark)
    draw_chart(figure, key="length_map", alt=heat_map_alt_text(lengths))
    st.caption(
        "GPUs needed for the same load within the same limits; framed: the lengths of the scenario. "
        "The share of the prompt found in the prefix cache stays as it is."
    )
    draw_estimates(answer.plan)
    draw_table(lambda: heat_map_table(lengths), key="lengths", what="GPUs over lengths")
