"""The Compare page below its guard."""

from __future__ import annotations

from functools import partial

import streamlit as st

from sizing.base.errors import SizingError
from sizing.decision.comparison import Comparison
from sizing.decision.text import driver_sentence
from ui.compare.beside import compared, draw_choice_of_variants, named, offered, words_of
from ui.compare.optimisation import draw_formats, draw_levers
from ui.currency import Currency
from ui.figures.comparison import answers_table, build_measure, differences_table, measure_alt_text, measures
from ui.figures.comparison import named as outcomes_of
from ui.format import as_markdown
from ui.shell import draw_chart, draw_csv, draw_currency, draw_own_prices, draw_problems, draw_tabs, has_own_prices
from ui.size.above import draw_above
from ui.state import Answer

_PER_ROW = 3


def draw() -> None:
    """The scenario with its form behind a click, its variants, what differs, and charts of the answers."""
    answer = draw_above("Compare")
    if answer is not None and answer.plan.deployment is not None:
        _views(answer, dark=st.context.theme.type == "dark")


def _views(answer: Answer, *, dark: bool) -> None:
    key, currency = answer.scenario.model_dump_json(), draw_currency()
    draw_own_prices(present=has_own_prices(answer.scenario))
    draw_tabs(
        {
            "Variants": partial(_variants, answer, key, currency, dark=dark),
            "Formats": partial(draw_formats, key, currency, dark=dark),
            "Levers": partial(draw_levers, key, currency, dark=dark),
        },
        key="compare_view",
    )


def _variants(answer: Answer, key: str, currency: Currency, *, dark: bool) -> None:
    chosen = draw_choice_of_variants(offered(key))
    if not chosen:
        st.info("Choose what to compare this scenario with.", icon=":material/compare_arrows:")
        return
    try:
        comparison = currency.converted(compared(key, words_of(chosen), named(answer)))
    except SizingError as error:
        draw_problems([str(error)])
        return
    _differences(comparison, currency)
    _charts(comparison, currency, dark=dark)
    table = answers_table(comparison, currency)
    st.dataframe(table, hide_index=True, placeholder="", key="compared_rows", alt="The answers as a table")
    draw_csv(table, key="compared", what="The comparison")


def _differences(comparison: Comparison, currency: Currency) -> None:
    """One sentence per variant, then the inputs that are not the same."""
    first = comparison.scenarios[0].name
    for one in comparison.scenarios[1:]:
        st.markdown(as_markdown(driver_sentence(one, first, currency.written)))
    if not all(one.exact for one in comparison.scenarios):
        st.caption("With more than four differences, each is swapped alone: the parts need not add up.")
    st.dataframe(
        differences_table(comparison), hide_index=True, placeholder="", key="differing_rows", alt="Inputs that differ"
    )


def _charts(comparison: Comparison, currency: Currency, *, dark: bool) -> None:
    st.caption(
        "Full cost: hardware, power, support and what else the cost model counts, as python -m sizing cost does; the "
        "answer above names the hardware alone. Latencies at the asked percentile."
    )
    outcomes = outcomes_of(comparison)
    shown = measures(currency)
    for start in range(0, len(shown), _PER_ROW):
        row = shown[start : start + _PER_ROW]
        for place, measure in zip(st.columns(_PER_ROW), row, strict=True):
            with place:
                figure = build_measure(outcomes, measure, dark=dark)
                draw_chart(figure, key=f"compare_{measure.title}", alt=measure_alt_text(outcomes, measure))
