"""Cost for a projector: the sentences and the charts."""

from __future__ import annotations

import streamlit as st

from sizing.base.errors import SizingError
from sizing.economics.text import sentences
from sizing.scenario.costs import Costs
from ui.cost import computed
from ui.cost.book import costs
from ui.cost.price_book import today
from ui.figures.cost import build_months, build_ways, ways_alt_text
from ui.format import as_markdown
from ui.shell import chosen_currency, draw_chart, draw_problems
from ui.state import Answer


def draw_presented(answer: Answer, *, dark: bool) -> None:
    """What the plan costs each way, in sentences, and in charts by its parts and over 36 months."""
    with st.popover("How it is paid for", icon=":material/tune:", type="tertiary", help="Region, instances, growth."):
        chosen = costs()
    currency = chosen_currency()
    key, constants = answer.scenario.model_dump_json(), (chosen.costs if chosen else Costs()).model_dump_json()
    try:
        cost = currency.converted(computed.cost_of(key, constants, today()))
        in_usd = computed.months_of(key, constants, today())
        months = {name: [currency.of(v) for v in each] for name, each in in_usd.items()}
    except SizingError as error:
        draw_problems([str(error)])
        return
    st.markdown(as_markdown(sentences(cost, currency.written)))
    draw_chart(build_ways(cost, currency=currency, dark=dark), key="presented_ways", alt=ways_alt_text(cost, currency))
    figure = build_months(months, total=True, currency=currency, dark=dark)
    draw_chart(figure, key="presented_months", alt="Cost of every way since the start, over 36 months.")
