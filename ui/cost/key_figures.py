"""The figures that stand first on the Cost page: what is asked before any chart is read."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import streamlit as st

from sizing.base.format import count, large, percent, significant
from sizing.economics.present_value import Investment
from sizing.economics.results import CostAnswer, CountedParts, LoadRange
from sizing.economics.text import documents_priced
from ui.currency import Currency
from ui.format import as_markdown
from ui.shell import draw_figure

ALL: dict[CountedParts, str] = {
    "full": "All costs a month",
    "partly": "Costs a month, in part",
    "hardware_and_power": "Hardware and power only, a month",
}
"""Titles of the first figure, by what of the cost it counts."""


class CostFigure(NamedTuple):
    """One figure, and what is said below it and on a click."""

    label: str
    value: str
    note: str
    help: str


def draw_figures(cost: CostAnswer, currency: Currency) -> None:
    """A row of figures; nothing where no price is known, which the sentence says."""
    figures = list(figures_of(cost, currency))
    if not figures:
        return
    grid = st.grid(len(figures), min_column_width=150, gap="small", border=True)
    for figure in figures:
        with grid.cell(), st.container(gap=None):
            draw_figure(figure.label, figure.value, help=figure.help)
            st.markdown(f":small[{as_markdown(figure.note)}]")


def figures_of(cost: CostAnswer, currency: Currency) -> Iterator[CostFigure]:
    """What a month costs, what of it is hardware, what is paid at once, what that is worth, from where on it pays."""
    if cost.usd_per_month is None:
        return
    written = currency.written
    high = f"{written(cost.low)} to {written(cost.high)}" if cost.high is not None else f"{written(cost.low)} or more"
    yield CostFigure(
        ALL[cost.counted], written(cost.usd_per_month), high, "In the way that was chosen, idle hours included."
    )
    if cost.counted != "hardware_and_power":
        yield CostFigure(
            "Hardware and power only",
            written(cost.hardware_and_power_usd_per_month),
            _share(cost.hardware_and_power_usd_per_month, cost.usd_per_month),
            "What quotes compare: without switches, storage, support, capital charge, licences and staff.",
        )
    yield from _of_unit(cost, currency)
    if cost.investment is not None:
        yield from _of_investment(cost, cost.investment, currency)
    yield CostFigure(
        "Cheaper than the API",
        *_ranges(cost.break_even.api_ranges),
        "Loads, in requests a day, at which the chosen way costs less than the API, each with the systems it needs.",
    )


def _share(part: float | None, whole: float) -> str:
    return "a month" if part is None or not whole else f"a month, {percent(part / whole)} of all"


def _of_unit(cost: CostAnswer, currency: Currency) -> Iterator[CostFigure]:
    tokens = currency.written(cost.usd_per_million_output_tokens)
    if cost.usd_per_document is None or cost.documents_per_month is None:
        note = f"at {large(cost.requests_per_day)} requests a day"
        yield CostFigure("Per million output tokens", tokens, note, "All of the month on the tokens of the answers.")
        return
    number, price = documents_priced(cost)
    yield CostFigure(
        "Per document" if number == 1 else f"Per {count(number)} documents",
        currency.written(price),
        f"{large(cost.documents_per_month)} a month; {tokens} per million output tokens",
        "All of the month over its documents.",
    )


def _of_investment(cost: CostAnswer, investment: Investment, currency: Currency) -> Iterator[CostFigure]:
    chosen = next((way for way in investment.ways if way.name == cost.location), None)
    if chosen is None:
        return
    still = f"worth {currency.written(chosen.residual_usd)} after {investment.months} months"
    yield CostFigure(
        "Paid at once",
        currency.written(chosen.purchase_usd),
        still if chosen.purchase_usd else "nothing is bought",
        "Servers, switches and storage for the first month.",
    )
    rent = investment.against_renting
    if rent is None:
        note, value = f"over {investment.months} months", currency.written(chosen.present_cost_usd)
        yield CostFigure("Present cost", value, note, "All payments, discounted to today.")
        return
    sign = "" if rent.npv_usd >= 0 else "-"
    paid = f"paid back in month {rent.payback_month}" if rent.payback_month else "not paid back in 36 months"
    rented = "renting" if rent.name == "cloud" else "the cheapest rent"
    yield CostFigure(
        "NPV of owning",
        f"{sign}{currency.written(abs(rent.npv_usd))}",
        f"against {rented}; {paid}",
        "Present cost of renting (the same GPUs, where somebody rents them) less that of owning, over 36 months at "
        f"{significant(investment.discount_percent_per_year)} % a year, residual value included, before tax.",
    )


def _ranges(ranges: Sequence[LoadRange] | None) -> tuple[str, str]:
    """Where the chosen way is cheaper, in a word or two, and a note."""
    if ranges is None:
        return "unknown", "a price is missing, or the base changes with the load"
    if not ranges:
        return "never", "up to three times this load"
    first, last = ranges[0], ranges[-1]
    if len(ranges) > 1:
        begin = "the least load" if first.from_requests_per_day is None else large(first.from_requests_per_day)
        return f"{len(ranges)} ranges", f"of requests a day, the first from {begin}: see Break-even"
    if first.from_requests_per_day is None:
        to = last.to_requests_per_day
        return ("always", "up to three times this load") if to is None else (f"to {large(to)}", "requests a day")
    until = "" if last.to_requests_per_day is None else f", up to {large(last.to_requests_per_day)}"
    return f"from {large(first.from_requests_per_day)}", f"requests a day{until}"
