"""The Compare page below its guard."""

from functools import partial

import streamlit as st

from sharing.report.prices import has_own_prices
from sizing.base.errors import SizingError
from sizing.decision.added_up import comparison_added_up
from sizing.decision.comparison import Comparison, Difference
from sizing.decision.keep_hardware import says_hardware
from sizing.decision.text import driver_sentence, undercut_sentence
from ui import state
from ui.compare.beside import (
    UNNAMED,
    Offered,
    chosen_columns,
    compared,
    draw_adding,
    draw_choice_of_columns,
    every_column,
    keeping_hardware,
    kept_scenarios,
    named,
    named_scenarios,
    odd_ones,
)
from ui.compare.optimisation import draw_formats, draw_levers, draw_nim
from ui.currency import Currency
from ui.figures.comparison import (
    answers_table,
    build_measure,
    differences_table,
    measure_alt_text,
    measures,
    percentile_of,
    side_by_side,
)
from ui.figures.comparison import named as outcomes_of
from ui.format import as_markdown
from ui.shell import (
    chosen_currency,
    draw_chart,
    draw_csv,
    draw_currency,
    draw_own_prices,
    draw_problems,
    draw_tabs,
    draw_wrapped,
    is_narrow,
    is_presenting,
)
from ui.size.above import draw_above
from ui.size.what_if import draw_what_if
from ui.state import FormAnswer

_PER_ROW, _PER_ROW_WITH_LESS_ROOM = 3, 2
_FIELD_AND_ADDING = (4, 1)
"""Widths of the field with the columns and of the button that adds one."""


def draw() -> None:
    """The scenario with its form behind a click, its variants, what differs, and charts of the answers."""
    answer = draw_above("Compare")
    if answer is not None and answer.plan.deployment is not None:
        draw_views = _presented if is_presenting() else _views
        draw_views(answer, dark=st.context.theme.type == "dark")


def _presented(answer: FormAnswer, *, dark: bool) -> None:
    """Draw for a projector: what drives the differences, and the charts."""
    currency = chosen_currency()
    chosen = chosen_columns([*every_column(answer), *kept_scenarios()])
    comparison = _compared(answer, chosen, currency)
    if comparison is None:
        return
    _drivers(comparison, currency)
    at = percentile_of(comparison, answer.scenario.limits.percentile)
    _charts(comparison, currency, at, dark=dark, per_row=_PER_ROW_WITH_LESS_ROOM)


def _views(answer: FormAnswer, *, dark: bool) -> None:
    key, currency, kept = answer.scenario.model_dump_json(), draw_currency(), kept_scenarios()
    draw_own_prices(present=any(map(has_own_prices, [answer.scenario, *(one.scenario for one in kept)])))
    draw_tabs(
        {
            "Variants": partial(_variants, answer, kept, currency, dark=dark),
            "What if": partial(draw_what_if, answer),
            "Formats": partial(draw_formats, key, currency, dark=dark),
            "Levers": partial(draw_levers, key, currency, dark=dark),
            "NIM": partial(draw_nim, key, currency),
        },
        key="compare_view",
    )


def _variants(answer: FormAnswer, kept: list[Offered], currency: Currency, *, dark: bool) -> None:
    choices = [*every_column(answer), *kept]
    if is_narrow():
        field, adding = st.container(), st.container()
    else:
        field, adding = st.columns(_FIELD_AND_ADDING, gap="medium", vertical_alignment="bottom")
    with field:
        chosen = draw_choice_of_columns(choices)
    with adding:
        draw_adding()
    if not chosen:
        st.info("Choose what to compare this scenario with.", icon=":material/compare_arrows:")
        return
    comparison = _compared(answer, chosen, currency)
    if comparison is None:
        return
    _differences(_without_own_hardware(comparison, chosen), currency)
    for sentence in odd_ones(answer.scenario.model_dump_json(), named_scenarios(chosen), named(answer)):
        st.info(as_markdown(sentence), icon=":material/info:")
    at = percentile_of(comparison, answer.scenario.limits.percentile)
    _charts(comparison, currency, at, dark=dark, per_row=_PER_ROW_WITH_LESS_ROOM if is_narrow() else _PER_ROW)
    draw_wrapped(side_by_side(comparison, currency, at), alt="The answers as a table")
    draw_csv(answers_table(comparison, currency, at), key="compared", what="The comparison")
    _ways_to_size(answer, chosen)


def _without_own_hardware(comparison: Comparison, chosen: list[Offered]) -> Comparison:
    """Without inputs that are told of the plan's own hardware alone: that it is the same stands in a column's name."""
    kept = keeping_hardware(chosen)

    def differs_elsewhere(difference: Difference) -> bool:
        others = [value for n, value in enumerate(difference.values) if n not in kept]
        return not says_hardware(difference.key) or any(value != others[0] for value in others)

    return comparison.model_copy(update={"differences": tuple(filter(differs_elsewhere, comparison.differences))})


def _ways_to_size(answer: FormAnswer, chosen: list[Offered]) -> None:
    """A button for each column that makes the form ask for it: Size then shows the same plan."""
    with st.container(horizontal=True):
        for one in chosen:
            if not one.from_library and st.button(
                f"Size with {one.name}",
                key=f"size_{one.word}",
                on_click=state.use_scenario,
                args=(answer.scenario, one.scenario),
                icon=":material/calculate:",
                help="Writes this column into the form and opens Size.",
            ):
                st.switch_page("pages/size.py", query_params=state.address_of("size"))


def _compared(answer: FormAnswer, chosen: list[Offered], currency: Currency) -> Comparison | None:
    """The scenario beside what is chosen; None where nothing is, or where it cannot be computed, which is said."""
    if not chosen:
        return None
    try:
        comparison = compared(
            answer.scenario.model_dump_json(), named_scenarios(chosen), named(answer), keeping_hardware(chosen)
        )
    except SizingError as error:
        draw_problems([str(error)])
        return None
    return comparison_added_up(currency.converted(comparison))


def _differences(comparison: Comparison, currency: Currency) -> None:
    """One sentence per variant, then the inputs that are not the same."""
    _drivers(comparison, currency)
    if sentence := undercut_sentence(comparison):
        st.info(as_markdown(sentence), icon=":material/info:")
    if not all(one.exact for one in comparison.scenarios):
        st.caption("With more than four differences, each is swapped alone: the parts need not add up.")
    draw_wrapped(differences_table(comparison), alt="Inputs that differ")


def _drivers(comparison: Comparison, currency: Currency) -> None:
    first = comparison.scenarios[0].name.replace(UNNAMED, UNNAMED.lower())
    for one in comparison.scenarios[1:]:
        st.markdown(as_markdown(driver_sentence(one, first, currency.in_full)))


def _charts(comparison: Comparison, currency: Currency, at: str, *, dark: bool, per_row: int) -> None:
    st.caption(
        "All costs: hardware, power and cooling, and support, staff and the rest where a value is known, as on Cost. "
        f"The answer above names the hardware alone.{'' if at else ' Latencies are at the percentile of each.'} Bars "
        "of one colour are of one family of GPUs."
    )
    outcomes = outcomes_of(comparison)
    shown = measures(currency, at)
    for start in range(0, len(shown), per_row):
        row = shown[start : start + per_row]
        for place, measure in zip(st.columns(per_row), row, strict=True):
            with place:
                figure = build_measure(outcomes, measure, dark=dark)
                draw_chart(figure, key=f"compare_{measure.title}", alt=measure_alt_text(outcomes, measure))
