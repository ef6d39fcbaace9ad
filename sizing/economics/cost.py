"""The one answer about money: what a plan costs in the way that the scenario chose, and in every other.

Electricity, and the carbon of the grid that it comes from, are counted beside the money; break-even points say from how
many requests a day, or from which utilisation, one way is cheaper than another.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TypedDict

from sizing.base.units import G_PER_KG, MILLION
from sizing.base.version import ENGINE_VERSION
from sizing.catalog import data_version
from sizing.economics import results
from sizing.economics.amount import Amount
from sizing.economics.api import TokenPrices
from sizing.economics.assumptions import CARBON, Assumption, Assumptions, cloud_carbon, used_in
from sizing.economics.cash import cash
from sizing.economics.dates import Age, age_of
from sizing.economics.fleet import Fleet
from sizing.economics.month import DAYS_PER_MONTH, Month
from sizing.economics.on_prem import energy_kwh
from sizing.economics.results import BreakEvenAt, BreakEvenOutcome
from sizing.economics.routing import blended
from sizing.economics.text import sentences
from sizing.economics.units import (
    at_capacity,
    at_full_load,
    marginal,
    marginal_of_load,
    per_unit,
    used_usd_per_month,
    utilization,
)
from sizing.economics.views import PartName, PriceSource, View
from sizing.economics.ways import Ways, ways_of
from sizing.planning.answered import Answer, Planner, as_answer
from sizing.scenario.schema import Scenario

UNKNOWN = BreakEvenAt(outcome="unknown", requests_per_day=None, utilization=None)
NOT_REACHED = BreakEvenAt(outcome="not_reached", requests_per_day=None, utilization=None)


class MonthlyCost(TypedDict):
    """USD a month with both ends, as fields of a result; None where a price is not known."""

    usd_per_month: float | None
    low: float | None
    high: float | None


class _UnitCosts(TypedDict):
    """Money per unit in every sense, as fields of :class:`sizing.economics.results.CostAnswer`."""

    usd_per_million_output_tokens: float | None
    usd_per_million_output_tokens_low: float | None
    usd_per_million_output_tokens_high: float | None
    lenses: tuple[results.Lens, ...]
    full_load: results.UnitCost | None
    at_capacity: results.UnitCost | None
    marginal: results.UnitCost | None


NO_UNIT_COSTS = _UnitCosts(
    usd_per_million_output_tokens=None,
    usd_per_million_output_tokens_low=None,
    usd_per_million_output_tokens_high=None,
    lenses=(),
    full_load=None,
    at_capacity=None,
    marginal=None,
)
"""Where the price is not known."""


def cost(
    scenario_or_answer: Scenario | Answer, *, planner: Planner | None = None, on: date | None = None, rent: float = 1.0
) -> results.CostAnswer:
    """What a plan costs, part by part, over 36 months, per token, and against the other ways, in USD.

    A scenario is answered first, by ``planner`` (:func:`sizing.plan` if left out). ``on``: the day against which the
    age of prices is counted and on which offers must be sold, that of the catalogue if left out. ``rent``: times the
    price of everything rented. Raises InvalidScenario where nothing serves the scenario, and for a region, provider or
    model that is not known. Constants are those of ``sizing/data/cost_assumptions.yaml``, prices those of the lists
    beside it; :attr:`CostAnswer.sources` names them.
    """
    ways = ways_of(as_answer(scenario_or_answer, planner), rent, on)
    views = [way(1.0) for way in ways.by_name.values()]
    split = blended(ways, planner)
    return answer_of(ways, views if split is None else [*views, split])


def month_of_plan(answer: Answer, rent: float = 1.0) -> MonthlyCost:
    """What a month of a plan costs in the way that the scenario chose, with both ends: the same figures as of
    :func:`cost`, in a fraction of the time. None where a price is not known. Raises InvalidScenario as :func:`cost`."""
    ways = ways_of(answer, rent)
    return _range(ways.by_name[ways.chosen](1.0))


def answer_of(ways: Ways, views: list[View]) -> results.CostAnswer:
    """The answer from every way at the planned load."""
    chosen = next(view for view in views if view.name == ways.chosen)
    counted = used_in(ways.chosen, ways.money.costs)
    months = cash(ways.by_name[ways.chosen], ways.fleet.peak_rps, ways.money.costs.growth_percent_per_year)
    answer = results.CostAnswer(
        answer="",
        **_range(chosen),
        parts=_parts(chosen),
        cash=tuple(amount.value for amount in months),
        cash_low=tuple(amount.low for amount in months),
        cash_high=tuple(amount.bounded_high for amount in months),
        **_unit_costs(ways, chosen),
        break_even=_break_even(ways, chosen, views),
        lens="allocated",
        sources=tuple(_sources(views, [ways.money.assumptions[name] for name in counted], ways.on)),
        location=ways.chosen,
        ways=tuple(_way(ways, view) for view in views),
        requests_per_day=ways.month.requests_per_day,
        gpus=ways.fleet.gpus,
        assumptions=tuple(_constant(one) for one in ways.money.assumptions.values()),
        not_counted=tuple(name for name in counted if ways.money.assumptions[name].basis == "gap"),
        priced_on=ways.on.isoformat(),
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )
    return answer.model_copy(update={"answer": sentences(answer)})


def _range(view: View) -> MonthlyCost:
    """What a month costs with both ends; nothing where that is not known."""
    if not view.known:
        return {"usd_per_month": None, "low": None, "high": None}
    usd = view.usd_per_month
    return {"usd_per_month": usd.value, "low": usd.low, "high": usd.bounded_high}


def _unit_costs(ways: Ways, chosen: View) -> _UnitCosts:
    """Money per unit in every sense; nothing where the price is not known."""
    if not chosen.known:
        return NO_UNIT_COSTS
    month, usd = ways.month, chosen.usd_per_month
    amounts: tuple[tuple[results.LensName, float], ...] = (
        ("allocated", usd.value),
        ("used", used_usd_per_month(chosen, month)),
    )
    lenses = tuple(
        results.Lens(name=lens, usd_per_month=amount, per_unit=per_unit(amount, month.requests, month))
        for lens, amount in amounts
    )
    tokens = usd * (MILLION / (month.requests * month.output_tokens))
    return {
        "usd_per_million_output_tokens": lenses[0].per_unit.usd_per_million_output_tokens,
        "usd_per_million_output_tokens_low": tokens.low,
        "usd_per_million_output_tokens_high": tokens.bounded_high,
        "lenses": lenses,
        "full_load": at_full_load(ways.all_day(chosen), ways.fleet, month),
        "at_capacity": at_capacity(chosen, month),
        "marginal": _marginal(ways, chosen),
    }


def _marginal(ways: Ways, chosen: View) -> results.UnitCost:
    """What further requests cost in the chosen way."""
    if chosen.name == "hybrid":
        return marginal_of_load(chosen, ways.hybrid, ways.fleet, ways.month)
    return marginal(chosen, ways.fleet, ways.month)


def _parts(view: View) -> dict[PartName, float]:
    return {name: amount.value for name, amount in view.parts.items()}


def _way(ways: Ways, view: View) -> results.WayToPay:
    assumed = ways.money.assumptions
    energy, carbon = energy_of(view, assumed), carbon_of(view, assumed)
    return results.WayToPay(
        name=view.name,
        unavailable=view.unavailable,
        **_range(view),
        parts=_parts(view),
        system=view.system,
        place=view.place,
        systems=None if view.systems is None else view.systems.value,
        utilization=utilization(view, ways.month) if view.known else None,
        energy_kwh_per_month=None if energy is None else energy.value,
        carbon_kg_per_month=None if carbon is None else carbon.value,
    )


def _break_even(ways: Ways, chosen: View, views: list[View]) -> results.BreakEvens:
    own = next(view for view in views if view.name == "on_prem")
    return results.BreakEvens(
        api=against_api(chosen, ways.prices, ways.fleet, ways.month),
        renting=against_renting(own, ways.rented_by_the_hour()),
    )


def _sources(views: list[View], constants: list[Assumption], on: date) -> Iterator[results.CostSource]:
    """Prices of every way, then those constants of the chosen one that have a source."""
    for price in dict.fromkeys(source for view in views for source in view.sources):
        yield results.CostSource(
            what=price.what,
            source=price.source,
            date="; ".join(dict.fromkeys(price.dates)),
            age=_age_of_price(price, on),
        )
    for one in constants:
        if one.basis == "sourced":
            yield results.CostSource(what=one.name, source=one.source, date=one.date, age=age_of((one.date,), on))


def _age_of_price(price: PriceSource, on: date) -> Age:
    """One of the scenario is given, unless its date says that it is old."""
    age = age_of(price.dates, on)
    return "given" if price.given and age != "stale" else age


def _constant(one: Assumption) -> results.CostConstant:
    amount = one.amount
    return results.CostConstant(
        name=one.name,
        meaning=one.meaning,
        unit=one.unit,
        value=None if amount is None else amount.value,
        low=None if amount is None else amount.low,
        high=None if amount is None else amount.high,
        basis=one.basis,
        source=one.source,
        date=one.date,
        published=one.published,
        published_by=one.published_by,
        published_date=one.published_date,
    )


def energy_of(view: View, assumed: Assumptions) -> Amount | None:
    """kWh in a month, cooling and losses included; None where the power is not known, as behind an API."""
    return None if view.power_kw is None else energy_kwh(view.power_kw, assumed)


def carbon_of(view: View, assumed: Assumptions) -> Amount | None:
    """kg of CO2 equivalent in a month: ``kWh x g/kWh / 1000``; None where energy or grid are not known.

    The grid is that of the scenario; of instances in a region for which the provider publishes a figure, that one.
    """
    energy, grid = energy_of(view, assumed), assumed[CARBON]
    published = cloud_carbon(view.provider, view.place) if view.name == "cloud" else None
    if published is not None and published.typical is not None and grid.basis != "scenario":
        per_kwh: Amount | None = Amount.exactly(published.typical)
    else:
        per_kwh = grid.amount
    return None if energy is None or per_kwh is None else energy * per_kwh * (1.0 / G_PER_KG)


def against_api(view: View, prices: TokenPrices | None, fleet: Fleet, month: Month) -> BreakEvenAt:
    """From how many requests a day what is provisioned costs less than the API.

    ``requests a day = USD per month / USD per request of the API / (365 / 12)``; utilisation: the same over what is
    provisioned could serve day and night. Hardware is that of the plan, whatever the load. On a day of the planned
    shape it serves at most what the instances carry in the busiest time, times the mean share of that.
    """
    if prices is None or not view.known or not view.capacity_requests:
        return UNKNOWN
    each = prices.of_request(month)
    if each <= 0.0:
        return NOT_REACHED
    requests = view.usd_per_month.value / each
    most = month.share_of_peak(fleet.peak_rps) * fleet.requests_per_month / view.capacity_requests
    return _reached(requests / DAYS_PER_MONTH, requests / view.capacity_requests, most)


def against_renting(own: View, hourly: View) -> BreakEvenAt:
    """From which share of the hours systems of one's own cost less than instances that run only while needed.

    ``share = USD per month of one's own / USD per month on demand``; requests a day: the same share of what they serve
    day and night.
    """
    if not (own.known and hourly.known and own.capacity_requests):
        return UNKNOWN
    rented = hourly.usd_per_month.value
    share = own.usd_per_month.value / rented if rented > 0.0 else float("inf")
    return _reached(share * own.capacity_requests / DAYS_PER_MONTH, share, 1.0)


def _reached(requests_per_day: float, share: float, most_of_the_day: float) -> BreakEvenAt:
    if share > 1.0:
        return NOT_REACHED
    outcome: BreakEvenOutcome = "reached" if share <= most_of_the_day else "reached_on_a_flatter_day"
    return BreakEvenAt(outcome=outcome, requests_per_day=requests_per_day, utilization=share)
