"""The Cost page below its guard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from sizing.base.errors import SizingError
from sizing.economics.results import CostAnswer
from sizing.economics.text import against_api, against_renting
from sizing.scenario.costs import Costs
from ui import inputs, shell, state
from ui.cost import computed
from ui.cost.book import costs, draw_book
from ui.cost.sensitivity import draw_sensitivity
from ui.figures.cost import (
    build_months,
    build_over_load,
    build_ways,
    months_table,
    over_load_table,
    units_table,
    ways_alt_text,
    ways_table,
)
from ui.format import as_markdown
from ui.shell import draw_chart, draw_choice, draw_csv, draw_problems, draw_table, draw_tabs
from ui.size.answer import draw_link_notes, draw_outcome
from ui.state import Answer

COUNTED = {"month": "Each month", "total": "Since the start"}


def draw() -> None:
    """The scenario with its form behind a click, how it is paid for, and the views of its cost."""
    top = shell.header("Cost")
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
        _money(answer, dark=st.context.theme.type == "dark")


def _money(answer: Answer, *, dark: bool) -> None:
    chosen = costs()
    if chosen is None:
        draw_book(Costs())
        return
    key, constants = answer.scenario.model_dump_json(), chosen.model_dump_json()
    try:
        cost = computed.cost_of(key, constants)
        st.markdown(as_markdown(cost.answer))
        draw_tabs(
            {
                "Ways to pay": partial(_ways, cost, dark=dark),
                "36 months": partial(_months, key, constants, dark=dark),
                "Break-even": partial(_break_even, cost, key, constants, dark=dark),
                "Sensitivity": partial(draw_sensitivity, key, constants, dark=dark),
                "Prices and constants": partial(_prices, cost, chosen),
            },
            key="cost_view",
        )
    except SizingError as error:
        draw_problems([str(error)])


def _ways(cost: CostAnswer, *, dark: bool) -> None:
    draw_chart(build_ways(cost, dark=dark), key="ways", alt=ways_alt_text(cost))
    st.caption(
        "Allocated: everything provisioned, idle hours included; the sense to compare with an API. Used: the share of "
        "it that is busy. Next system: what further requests cost that need one more."
    )
    if cost.lenses:
        st.dataframe(
            units_table(cost),
            hide_index=True,
            placeholder="",
            key="units_rows",
            alt="Cost per request and per million tokens",
        )
    table = ways_table(cost)
    st.dataframe(table, hide_index=True, placeholder="", key="ways_rows", alt="Ways to pay as a table")
    draw_csv(table, key="ways", what="Ways to pay")


def _months(key: str, constants: str, *, dark: bool) -> None:
    months = computed.months_of(key, constants)
    counted = draw_choice("Counted", COUNTED, key="cost_counted", help=None, labelled=False)
    figure = build_months(months, total=counted == "total", dark=dark)
    draw_chart(figure, key="months", alt="Cost of every way over 36 months.")
    st.caption("A purchase is counted by its depreciation, month by month; systems are added when the load needs them.")
    draw_table(lambda: months_table(months), key="months", what="36 months")


def _break_even(cost: CostAnswer, key: str, constants: str, *, dark: bool) -> None:
    st.markdown(as_markdown(f"{against_api(cost.break_even.api)} {against_renting(cost.break_even.renting)}"))
    curve = computed.load_of(key, constants)
    draw_chart(build_over_load(curve, cost, dark=dark), key="over_load", alt="Cost of every way over requests a day.")
    st.caption(
        "Every load with the systems it needs, on a day of the planned shape; the mark holds for those of this plan."
    )
    draw_table(lambda: over_load_table(curve), key="over_load", what="Cost over the load")


def _prices(cost: CostAnswer, chosen: Costs) -> None:
    draw_book(chosen)
    old = [source for source in cost.sources if source.age == "stale"]
    if old:
        st.warning(
            as_markdown(f"Older than 90 days: {', '.join(f'{one.what} ({one.date})' for one in old)}."),
            icon=":material/history:",
        )
    st.dataframe(
        [one.model_dump() for one in cost.sources],
        hide_index=True,
        placeholder="",
        key="sources_rows",
        alt="Prices with their sources",
    )
