"""The Compare page below its guard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from sizing.base.errors import SizingError
from sizing.decision.comparison import Comparison
from sizing.decision.text import driver_sentence
from ui import inputs, shell, state
from ui.compare.beside import compared, draw_choice_of_variants, named, offered, words_of
from ui.compare.optimisation import draw_formats, draw_levers
from ui.figures.comparison import MEASURES, answers_table, build_measure, differences_table, measure_alt_text
from ui.figures.comparison import named as outcomes_of
from ui.format import as_markdown
from ui.shell import draw_chart, draw_csv, draw_problems, draw_tabs
from ui.size.answer import draw_link_notes, draw_outcome
from ui.state import Answer

_PER_ROW = 3


def draw() -> None:
    """The scenario with its form behind a click, its variants, what differs, and charts of the answers."""
    top = shell.header("Compare")
    with top:
        chip = st.container(width="content")
        with st.popover("Change inputs", icon=":material/tune:", help="The same form as on Size."):
            places = inputs.draw()
        inputs.draw_presets()
    with chip:
        shell.chip(state.value("name"))
    draw_link_notes()
    outcome = state.outcome()
    inputs.draw_faults(places, outcome.faults)
    answer = draw_outcome(replace(outcome, last=None) if outcome.answer else outcome) or outcome.answer
    if answer is not None and answer.plan.deployment is not None:
        _views(answer, dark=st.context.theme.type == "dark")


def _views(answer: Answer, *, dark: bool) -> None:
    key = answer.scenario.model_dump_json()
    draw_tabs(
        {
            "Variants": partial(_variants, answer, key, dark=dark),
            "Formats": partial(draw_formats, key, dark=dark),
            "Levers": partial(draw_levers, key, dark=dark),
        },
        key="compare_view",
    )


def _variants(answer: Answer, key: str, *, dark: bool) -> None:
    chosen = draw_choice_of_variants(offered(key))
    if not chosen:
        st.info("Choose what to compare this scenario with.", icon=":material/compare_arrows:")
        return
    try:
        comparison = compared(key, words_of(chosen), named(answer))
    except SizingError as error:
        draw_problems([str(error)])
        return
    _differences(comparison)
    _charts(comparison, dark=dark)
    table = answers_table(comparison)
    st.dataframe(table, hide_index=True, placeholder="", key="compared_rows", alt="The answers as a table")
    draw_csv(table, key="compared", what="The comparison")


def _differences(comparison: Comparison) -> None:
    """One sentence per variant, then the inputs that are not the same."""
    first = comparison.scenarios[0].name
    for one in comparison.scenarios[1:]:
        st.markdown(as_markdown(driver_sentence(one, first)))
    if not all(one.exact for one in comparison.scenarios):
        st.caption("With more than four differences, each is swapped alone: the parts need not add up.")
    st.dataframe(
        differences_table(comparison), hide_index=True, placeholder="", key="differing_rows", alt="Inputs that differ"
    )


def _charts(comparison: Comparison, *, dark: bool) -> None:
    st.caption(
        "Full cost: hardware, power, support and what else the cost model counts, as python -m sizing cost does; the "
        "answer above names the hardware alone. Latencies at the asked percentile."
    )
    outcomes = outcomes_of(comparison)
    for start in range(0, len(MEASURES), _PER_ROW):
        row = MEASURES[start : start + _PER_ROW]
        for place, measure in zip(st.columns(_PER_ROW), row, strict=True):
            with place:
                figure = build_measure(outcomes, measure, dark=dark)
                draw_chart(figure, key=f"compare_{measure.title}", alt=measure_alt_text(outcomes, measure))
