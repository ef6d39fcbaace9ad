"""The Explore page below its guard."""

from functools import partial
from typing import TypeAlias

import streamlit as st

from sharing.report.prices import has_own_prices
from sizing.base.format import percent
from sizing.explore.length_map import LengthMap
from ui.explore import computed
from ui.explore.controls import draw_gpu_choice
from ui.explore.frontier import draw_frontier
from ui.explore.serves import draw_serves
from ui.explore.shared_pool import draw_pool
from ui.figures.heat_map import build_heat_map, heat_map_alt_text, heat_map_table
from ui.figures.load_curve import build_load_curve, load_curve_alt_text, load_curve_table
from ui.inputs.given import TAB
from ui.shell import draw_chart, draw_own_prices, draw_problems, draw_table, draw_tabs
from ui.size import jobs
from ui.size.above import draw_above, draw_curve_origin
from ui.state import FormAnswer, waiting_sentence

_Job: TypeAlias = jobs.Job[LengthMap, str]
_JOB = "length_map_job"
_BY_ITL = (
    " Where a longer answer needs fewer GPUs, it is the ITL limit: ITL is the mean gap of one answer, and a prompt "
    "that interrupts it weighs more on few tokens. Without that limit the number falls by no more than what "
    "simulations cannot tell apart."
)
_BY_CHANCE = (
    " Where a longer answer needs fewer GPUs, the two cannot be told apart by a simulation of the most promising "
    "deployments: the smaller number is likely to be enough for both."
)
"""Why the number may fall to the right, with and without a limit of ITL: said only where it does."""
_LOOK_EVERY_S, _MOMENT_S = 0.4, 0.6
"""Seconds between two looks at the work, and what is waited for it at first, so that nothing flickers."""


def draw() -> None:
    """The scenario with its form behind a click, the answer, and the views of it."""
    answer = draw_above("Explore")
    if answer is not None:
        draw_own_prices(present=has_own_prices(answer.scenario))
        _views(answer, dark=st.context.theme.type == "dark")


def _views(answer: FormAnswer, *, dark: bool) -> None:
    draw_tabs(
        {
            "Latency against throughput": partial(draw_frontier, answer, dark=dark),
            "Load curve": partial(draw_load, answer, dark=dark),
            "Lengths": partial(draw_lengths, answer, dark=dark),
            TAB: partial(draw_serves, answer),
            "Shared pool": partial(draw_pool, answer),
        },
        key="show",
    )


def draw_load(answer: FormAnswer, *, dark: bool) -> None:
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


def draw_lengths(answer: FormAnswer, *, dark: bool) -> None:
    """GPUs needed on one kind of GPU for prompts and outputs up to eight times shorter and longer."""
    where, _ = st.columns([1, 2])
    with where:
        gpu = draw_gpu_choice("map_gpu", answer)
    job: _Job | None = st.session_state.get(_JOB)
    if job is None or (job.scenario, job.about) != (answer.scenario, gpu):
        if job is not None:
            job.cancel()
        job = st.session_state[_JOB] = jobs.start_lengths(answer.scenario, gpu)
        job.wait(_MOMENT_S)
    st.fragment(_map, run_every=None if job.done else _LOOK_EVERY_S)(job, answer, dark=dark, watched=not job.done)


def _map(job: _Job, answer: FormAnswer, *, dark: bool, watched: bool) -> None:
    """The map, or how far it is: every cell is decided as a plan is, by simulation."""
    job.look()
    if watched and job.done:
        st.rerun()
    if not job.done:
        done = f"Planning every pair of lengths, {percent(round(job.share, 2))}"
        st.progress(min(job.share, 1.0), text=waiting_sentence(job.place, done))
        return
    lengths = job.outcome()
    if isinstance(lengths, tuple):
        draw_problems(lengths)
        return
    traffic = answer.question.traffic
    figure = build_heat_map(lengths, framed=(traffic.input_tokens, traffic.output_tokens), dark=dark)
    draw_chart(figure, key="length_map", alt=heat_map_alt_text(lengths))
    st.caption(
        "GPUs needed for the same load within the same limits; framed: the lengths of the scenario. "
        "Each is the plan that Size makes of these lengths on this GPU. The share of the prompt found in the prefix "
        "cache stays as it is." + _why_it_falls(lengths, answer)
    )
    draw_table(lambda: heat_map_table(lengths), key="lengths", what="GPUs over lengths")


def _why_it_falls(lengths: LengthMap, answer: FormAnswer) -> str:
    if not lengths.falls_somewhere:
        return ""
    return _BY_CHANCE if answer.scenario.limits.itl_ms is None else _BY_ITL
