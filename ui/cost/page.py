"""The Cost page below its guard.

For a projector, the page is the sentences and the charts alone.
"""

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from sharing.report.prices import at_list_prices, has_own_prices
from sizing.base.errors import SizingError
from sizing.economics.present_value import Investment
from sizing.economics.results import CostAnswer
from sizing.economics.text import against_api, against_renting, each_sentence
from sizing.scenario.costs import Costs
from ui.cost import computed
from ui.cost.book import costs, draw_book
from ui.cost.key_figures import draw_figures
from ui.cost.live_prices import draw_live_prices
from ui.cost.price_book import draw_price_book, today
from ui.cost.sensitivity import draw_sensitivity
from ui.currency import Currency
from ui.figures.cost import (
    build_months,
    build_over_load,
    build_payments,
    build_ways,
    investment_table,
    months_table,
    offers_table,
    over_load_table,
    parts_table,
    payments_table,
    source_name,
    sources_table,
    units_table,
    ways_alt_text,
    ways_table,
)
from ui.format import as_markdown, bullets
from ui.shell import (
    chosen_currency,
    draw_chart,
    draw_choice,
    draw_csv,
    draw_currency,
    draw_own_prices,
    draw_problems,
    draw_rows,
    draw_table,
    draw_tabs,
    draw_wrapped,
    grouped,
    is_narrow,
    is_presenting,
)
from ui.size.above import draw_above
from ui.state import FormAnswer

COUNTED = {"month": "Each month", "total": "Since the start", "paid": "Payments and present value"}
_WAY_PX, _NUMBER_PX, _WHAT_PX, _LETTER_PX, _HEAD_PX = 132, 90, 280, 7, 16
"""Widths of the columns of ways, of a letter, and of what stands around a head. Chosen: all columns stand beside the
navigation at 1440 pixels."""
_WRAPPED_PX = 76
_OFFERS_PX = 420
"""Height of a row from which on cells wrap, which holds three lines."""
_SHORT = {"Hardware and power only": "Hardware, power", "Energy": "kWh", "Carbon": "kg CO2e"}
"""Heads of narrow columns by how their names begin, which a click on the head tells in full."""
PAID_HELP = "What is left out, region, payment terms, growth and ramp-up, API."


def draw() -> None:
    """The scenario with its form behind a click, how it is paid for, and the views of its cost."""
    answer = draw_above("Cost")
    if answer is not None and answer.plan.deployment is not None:
        draw_money = draw_presented if is_presenting() else _money
        draw_money(answer, dark=st.context.theme.type == "dark")


def _money(answer: FormAnswer, *, dark: bool) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        with st.popover("What is counted and how it is paid for", icon=":material/tune:", help=PAID_HELP):
            chosen = costs(answer.question.model.id)
        currency = draw_currency()
    if chosen is None:
        draw_book(Costs())
        return
    key, constants = answer.scenario.model_dump_json(), chosen.costs.model_dump_json()
    own = has_own_prices(answer.scenario) or chosen.costs != chosen.listed
    draw_own_prices(present=own)
    try:
        in_usd = computed.cost_of(key, constants, today())
        cost = currency.converted(in_usd)
        draw_figures(cost, currency)
        if own:
            listed = at_list_prices(answer.scenario).model_dump_json()
            by_list = computed.cost_of(listed, chosen.listed.model_dump_json(), today())
            _beside_list(cost, currency.converted(by_list), currency)
        draw_tabs(
            {
                "Ways to pay": partial(_ways, cost, currency, dark=dark),
                "36 months": partial(_months, cost, key, constants, currency, dark=dark),
                "Break-even": partial(_break_even, cost, key, constants, currency, dark=dark),
                "Sensitivity": partial(draw_sensitivity, key, constants, currency, dark=dark),
                "Prices and constants": partial(_prices, in_usd, chosen.costs, answer, currency),
            },
            key="cost_view",
        )
    except SizingError as error:
        draw_problems([str(error)])


def _beside_list(cost: CostAnswer, listed: CostAnswer, currency: Currency) -> None:
    """The cost with the user's own prices beside that of the lists."""
    own, by_list = cost.usd_per_month, listed.usd_per_month
    text = f"With your prices {currency.written(own)} a month"
    if own == by_list:
        text += ", the same as at list prices: this plan uses none of them"
    else:
        text += f"; at list prices {currency.written(by_list)}"
    if own is not None and by_list is not None and own != by_list:
        text += f": {currency.written(abs(own - by_list))} {'less' if own < by_list else 'more'}"
    st.info(as_markdown(f"{text}."), icon=":material/sell:")


def _ways(cost: CostAnswer, currency: Currency, *, dark: bool) -> None:
    draw_chart(build_ways(cost, currency=currency, dark=dark), key="ways", alt=ways_alt_text(cost, currency))
    st.caption(
        "Own systems, rented and hybrid stand on the GPUs of this plan; “cheapest” is what would be chosen were the "
        "place chosen anew, within the same limits. “API” is the provider that was chosen, or the cheapest."
    )
    st.markdown(bullets(each_sentence(cost, currency.written)))
    _draw_ways(ways_table(cost, currency))
    draw_rows(parts_table(cost, currency), key="parts_rows", alt="The cost of each way part by part", height="content")
    draw_csv(ways_table(cost, currency, cents=True), key="ways", what="Ways to pay")
    _units(cost, currency)
    if cost.api_offers:
        st.markdown("**The same month behind an API**")
        _draw_offers(offers_table(cost, currency))


def _draw_ways(table: pd.DataFrame) -> None:
    """The ways in columns that fit beside the navigation, a long text over several lines; columns that are empty for
    every way are left out."""
    shown = table.dropna(axis="columns", how="all")
    if is_narrow():
        draw_wrapped(shown, alt="Ways to pay as a table")
        return
    long = int(shown["What"].str.len().max()) * _LETTER_PX > _WHAT_PX
    large = grouped(shown)
    heads = {
        str(name): next((short for begin, short in _SHORT.items() if str(name).startswith(begin)), str(name))
        for name in shown.select_dtypes("number")
    }
    heads = {name: name.partition("(")[2].rstrip(")") if name.startswith("All") else heads[name] for name in heads}
    numbers = {
        name: st.column_config.NumberColumn(
            head,
            format="localized" if name in large else None,
            help=name,
            width=max(_NUMBER_PX, _LETTER_PX * len(head) + _HEAD_PX),
        )
        for name, head in heads.items()
    }
    texts = {
        "Way": st.column_config.TextColumn(width=_WAY_PX, pinned=True),
        "What": st.column_config.TextColumn(width=_WHAT_PX),
    }
    st.dataframe(
        shown,
        hide_index=True,
        row_height=_WRAPPED_PX if long else None,
        height="content",
        key="ways_rows",
        placeholder="",
        alt="Ways to pay as a table",
        column_config={**numbers, **texts},
    )


def _draw_offers(table: pd.DataFrame) -> None:
    """The offers; a source that all of them share stands below the table instead of in each row."""
    sources = list(dict.fromkeys(table["Source"]))
    shown = table.drop(columns="Source") if len(sources) == 1 else table
    if is_narrow():
        draw_wrapped(shown, alt="Offers of this model behind an API", height=_OFFERS_PX)
    else:
        draw_rows(shown, key="offers_rows", alt="Offers of this model behind an API")
    if len(sources) == 1:
        st.caption(as_markdown(f"Source: {sources[0]}."))


def _units(cost: CostAnswer, currency: Currency) -> None:
    """The cost per request and per million tokens in every sense."""
    if not cost.lenses:
        return
    st.caption(
        "Everything provisioned: idle hours included; compare this with the price of an API. The share in use: only "
        "what is busy. At full load: as if the peak lasted day and night. The next system: what the requests cost "
        "that need one more system."
    )
    draw_wrapped(units_table(cost, currency), alt="Cost per request and per million tokens", digits=3)


def _months(cost: CostAnswer, key: str, constants: str, currency: Currency, *, dark: bool) -> None:
    counted = draw_choice("Counted", COUNTED, key="cost_counted", help=None, labelled=False)
    if counted == "paid" and cost.investment is not None:
        _payments(cost.investment, currency, dark=dark)
        return
    months = {
        name: [currency.of(v) for v in each] for name, each in computed.months_of(key, constants, today()).items()
    }
    figure = build_months(months, total=counted == "total", currency=currency, dark=dark)
    draw_chart(figure, key="months", alt="Cost of every way over 36 months.")
    st.caption("A purchase is counted by its depreciation, month by month; systems are added when the load needs them.")
    draw_table(lambda: months_table(months, currency), key="months", what="36 months")


def _payments(investment: Investment, currency: Currency, *, dark: bool) -> None:
    """When money is paid, and what that is worth today."""
    draw_chart(
        build_payments(investment, currency=currency, dark=dark),
        key="payments",
        alt="Payments of every way since the start, over 36 months.",
    )
    st.caption(
        "Purchases are paid when they are made, running cost at the end of its month; the charge on capital is left to "
        f"discounting at {investment.discount_percent_per_year:g} % a year. After {investment.months} months a "
        "purchase is worth what is not yet written off. Tax is left out: it depends on country and company."
    )
    draw_rows(investment_table(investment, currency), key="investment_rows", alt="Present cost of every way")
    draw_table(lambda: payments_table(investment, currency), key="payments", what="Payments")


def _break_even(cost: CostAnswer, key: str, constants: str, currency: Currency, *, dark: bool) -> None:
    st.markdown(as_markdown(f"{against_api(cost)} {against_renting(cost)}"))
    in_usd = computed.load_of(key, constants, today())
    curve = replace(in_usd, usd_per_month={n: v * currency.per_usd for n, v in in_usd.usd_per_month.items()})
    draw_chart(
        build_over_load(curve, cost, currency=currency, dark=dark),
        key="over_load",
        alt="Cost of every way over requests a day.",
    )
    st.caption(
        "Each load is served by the systems it needs, over a day of the planned shape: the bands are where the chosen "
        "way costs less than the API. The mark is where the systems of this plan break even."
    )
    draw_table(lambda: over_load_table(curve, currency), key="over_load", what="Cost over the load")


def _prices(cost: CostAnswer, chosen: Costs, answer: FormAnswer, currency: Currency) -> None:
    deployment = answer.plan.deployment
    draw_price_book(answer)
    draw_book(chosen)
    old = [source for source in cost.sources if source.age == "stale"]
    if old:
        st.warning(
            as_markdown(f"Older than 90 days: {', '.join(f'{source_name(one)} ({one.date})' for one in old)}."),
            icon=":material/history:",
        )
    draw_wrapped(sources_table(cost.sources), alt="Prices with their sources")
    if deployment is not None:
        draw_live_prices(deployment.gpu, answer.scenario, currency)


def draw_presented(answer: FormAnswer, *, dark: bool) -> None:
    """What the plan costs each way, in sentences, and in charts by its parts and over 36 months."""
    with st.popover("How it is paid for", icon=":material/tune:", type="tertiary", help="Region, instances, growth."):
        chosen = costs(answer.question.model.id)
    currency = chosen_currency()
    key, constants = answer.scenario.model_dump_json(), (chosen.costs if chosen else Costs()).model_dump_json()
    try:
        cost = currency.converted(computed.cost_of(key, constants, today()))
        in_usd = computed.months_of(key, constants, today())
        months = {name: [currency.of(v) for v in each] for name, each in in_usd.items()}
    except SizingError as error:
        draw_problems([str(error)])
        return
    draw_figures(cost, currency)
    draw_chart(build_ways(cost, currency=currency, dark=dark), key="presented_ways", alt=ways_alt_text(cost, currency))
    figure = build_months(months, total=True, currency=currency, dark=dark)
    draw_chart(figure, key="presented_months", alt="Cost of every way since the start, over 36 months.")
    st.markdown(bullets(each_sentence(cost, currency.written)))
