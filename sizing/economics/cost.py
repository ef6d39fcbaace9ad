"""The one answer about money: what a plan costs in the way that the scenario chose, and in every other.

Electricity, and the carbon of the grid that it comes from, are counted beside the money; break-even points say from how
many requests a day, or from which utilisation, one way is cheaper than another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypedDict, assert_never

from sizing.base.choices import Location, OptionalPart, Purchase
from sizing.base.errors import InvalidScenario
from sizing.base.pipeline import Pipeline
from sizing.base.result import Plan
from sizing.base.units import G_PER_KG, MILLION
from sizing.base.version import ENGINE_VERSION
from sizing.catalog import data_version
from sizing.economics import present_value, results
from sizing.economics.amount import Amount, total
from sizing.economics.api import api, median_offer, offered
from sizing.economics.assumptions import BEYOND, CARBON, DISCOUNT, Assumption, Assumptions, cloud_carbon, used_in
from sizing.economics.break_even import against_api, against_renting, cheaper_ranges
from sizing.economics.cash import MONTHS, cash
from sizing.economics.dates import Age, age_of
from sizing.economics.fleets import burst_of, spot_of
from sizing.economics.investment import CashFlow, cash_flow, payback_month
from sizing.economics.mix import WaysOfMix, mixed_cost, ways_of_answer
from sizing.economics.on_prem import energy_kwh
from sizing.economics.routing import blended
from sizing.economics.text import sentences
from sizing.economics.units import at_capacity, at_full_load, per_unit, used_usd_per_month, utilization
from sizing.economics.views import BaseWay, PartName, PriceSource, View, ViewName
from sizing.economics.ways import Ways, ways_of
from sizing.planning.answered import Answer, Planner, as_answer
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario


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
    scenario_or_answer: Scenario | Answer, *, planner: Planner | None = None, on: date | None = None
) -> results.CostAnswer:
    """What a plan costs, part by part, over 36 months, per token, and against the other ways, in USD.

    A scenario is answered first, by ``planner`` (:func:`sizing.plan` if left out), and then what would be bought or
    rented were the hardware chosen anew for the other place. Where a mixed fleet is asked and cheaper, all is of that.
    ``on``: the day against which the age of prices is counted and on which offers must be sold, that of the catalogue
    if left out. Raises InvalidScenario where nothing serves the
    scenario, and for a region, provider or model that is not known. Constants are those of
    ``sizing/data/cost_assumptions.yaml``, prices those of the lists beside it; :attr:`CostAnswer.sources` names them.
    """
    ways = ways_of_answer(as_answer(scenario_or_answer, planner), on=on)
    best = _best_elsewhere(ways, planner)
    return answer_of(ways, list(_views(ways, best, planner)), best)


@dataclass(frozen=True, kw_only=True)
class _Elsewhere:
    """The other place with the hardware that costs least there: bought for a plan of the cloud, else rented."""

    name: BaseWay
    called: ViewName
    ways: Ways

    @property
    def view(self) -> View:
        """What a month costs there."""
        return replace(self.ways.by_name[self.name](1.0), name=self.called)


def _best_elsewhere(ways: Ways, planner: Planner | None) -> _Elsewhere | None:
    """What would be planned were the place chosen anew; None where nothing serves there, or it has no cost."""
    scenario = ways.question.scenario
    name, called = _OTHER[scenario.deployment.location]
    moved = scenario.model_copy(
        update={"deployment": scenario.deployment.model_copy(update={"location": name, "mixed": 1})}
    )
    try:
        there = ways_of(Answer.of(moved, planner or _brief), on=ways.on)
    except InvalidScenario:
        return None
    return _Elsewhere(name=name, called=called, ways=there)


_OTHER: Mapping[Location, tuple[Literal["on_prem", "cloud"], ViewName]] = {
    "on_prem": ("cloud", "cloud_best"),
    "hybrid": ("cloud", "cloud_best"),
    "cloud": ("on_prem", "on_prem_best"),
}


def _brief(scenario: Scenario) -> Plan:
    from sizing.planning.plan import plan  # and with it the simulator, which takes its time

    return plan(scenario, alternatives=0, brief=True)


def _views(ways: Ways, best: _Elsewhere | None, planner: Planner | None) -> Iterator[View]:
    """Every way at the planned load."""
    yield from (way(1.0) for way in ways.by_name.values())
    if best is not None:
        yield best.view
    if (window := ways.in_the_window()) is not None:
        yield window
    offers = offered(ways.question.model.id, ways.on, ways.month)
    if offers and ways.question.scenario.costs.api.chosen:
        yield replace(api(offers[0], ways.month), name="api_cheapest")
    if len(offers) > 1:
        yield replace(api(median_offer(offers), ways.month), name="api_median")
    if (split := blended(ways, planner)) is not None:
        yield split


def month_of_plan(answer: Answer, rent: float = 1.0) -> MonthlyCost:
    """What a month of a plan costs in the way that the scenario chose, with both ends: the same figures as of
    :func:`cost`, in a fraction of the time; of one fleet, where a mix is asked too. None where a price is not known.

    Raises InvalidScenario as :func:`cost`."""
    return _month_of(ways_of(answer, rent))


def month_of_answer(answer: Answer) -> MonthlyCost:
    """The same of what the answer advises: of a mixed fleet, where that is cheaper. Raises InvalidScenario as
    :func:`cost`."""
    return _month_of(ways_of_answer(answer))


def _month_of(ways: Ways) -> MonthlyCost:
    return _range(ways.by_name[ways.chosen](1.0))


def answer_of(ways: Ways, views: list[View], best: _Elsewhere | None = None) -> results.CostAnswer:
    """The answer from every way at the planned load; ``best``: the hardware that costs least in the other place."""
    chosen = next(view for view in views if view.name == ways.chosen)
    counted = used_in(ways.chosen, ways.money.costs)
    months = cash(ways.over_time[ways.chosen], ways.fleet.peak_rps, ways.money.costs)
    out, documents = ways.money.costs.leave_out, ways.month.documents
    usd = _range(chosen)["usd_per_month"]
    answer = results.CostAnswer(
        answer="",
        **_range(chosen),
        parts=_parts(chosen),
        stages=_stages(ways.plan.pipeline),
        counted=_counted(out),
        hardware_and_power_usd_per_month=chosen.hardware_and_power_usd_per_month if chosen.known else None,
        left_out=out,
        investment=_investment(ways, best),
        api_offers=tuple(_offers(ways)),
        documents_per_month=documents,
        usd_per_document=None if usd is None or documents is None else usd / documents,
        cash=tuple(amount.value for amount in months),
        cash_low=tuple(amount.low for amount in months),
        cash_high=tuple(amount.bounded_high for amount in months),
        **_unit_costs(ways, chosen),
        break_even=_break_even(ways, chosen, views),
        lens="allocated",
        sources=tuple(_sources(views, [ways.money.assumptions[name] for name in counted], ways.on)),
        location=ways.chosen,
        ways=tuple(_way(best.ways if best and view.name == best.called else ways, view) for view in views),
        spot=None if isinstance(ways, WaysOfMix) else spot_of(ways),
        mixed=mixed_cost(ways, chosen),
        burst=next((burst_of(ways, view) for view in views if view.name == "hybrid"), None),
        requests_per_day=ways.month.requests_per_day,
        gpus=ways.fleet.gpus,
        assumptions=tuple(_constant(one) for one in ways.money.assumptions.values()),
        not_counted=tuple(name for name in counted if ways.money.assumptions[name].basis == "left_out"),
        priced_on=ways.on.isoformat(),
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )
    return answer.model_copy(update={"answer": sentences(answer)})


def _stages(pipeline: Pipeline | None) -> results.StagesBeside | None:
    if pipeline is None:
        return None
    return results.StagesBeside(gpus=pipeline.gpus, usd_per_month=pipeline.usd_per_month, power_kw=pipeline.power_kw)


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
        "marginal": ways.marginal(chosen),
    }


def _parts(view: View) -> dict[PartName, float]:
    return {name: amount.value for name, amount in view.parts.items()}


def _way(ways: Ways, view: View) -> results.WayToPay:
    assumed = ways.money.assumptions
    energy, carbon = energy_of(view, assumed), carbon_of(view, assumed)
    return results.WayToPay(
        name=view.name,
        unavailable=view.unavailable,
        **_range(view),
        gpu="" if view.gpus_per_system == 0 else _gpu_of(ways, view),
        gpus=0 if view.gpus_per_system == 0 else ways.fleet.gpus,
        hardware_and_power_usd_per_month=view.hardware_and_power_usd_per_month if view.known else None,
        parts=_parts(view),
        system=view.system,
        place=view.place,
        payment=_payment(view, ways.money.costs),
        systems=None if view.systems is None else view.systems.value,
        utilization=utilization(view, ways.month) if view.capacity_requests is not None else None,
        energy_kwh_per_month=None if energy is None else energy.value,
        carbon_kg_per_month=None if carbon is None else carbon.value,
    )


def _payment(view: View, costs: Costs) -> Purchase | None:
    """How what is rented is paid for, or would be; None where nothing is rented."""
    match view.name:
        case "cloud" | "cloud_best":
            return costs.purchase
        case "cloud_hours":
            return "on_demand"
        case "hybrid":
            return "on_demand" if view.base is not None and view.base.burst_system else None
        case "on_prem" | "on_prem_best" | "api" | "api_cheapest" | "api_median" | "blended":
            return None
        case unknown:
            assert_never(unknown)


def _gpu_of(ways: Ways, view: View) -> str:
    """Catalogue id, of several fleets one after the other."""
    each = ways.each if isinstance(ways, WaysOfMix) and view.fleets else (ways,)
    return " and ".join(dict.fromkeys(one.gpu.id for one in each))


def _counted(left_out: tuple[OptionalPart, ...]) -> results.CountedParts:
    if not left_out:
        return "full"
    return "hardware_and_power" if set(left_out) == set(BEYOND) else "partly"


def _break_even(ways: Ways, chosen: View, views: list[View]) -> results.BreakEvens:
    own = next(view for view in views if view.name == "on_prem")
    idle = ways.idle() if chosen.name == "on_prem" else chosen
    followed = ways.chosen != "hybrid"  # whose base is looked for anew at each load
    return results.BreakEvens(
        api=against_api(chosen, ways.prices, ways.fleet, ways.month, idle),
        renting=against_renting(own, ways.rented_by_the_hour()),
        api_ranges=cheaper_ranges(ways.by_name[ways.chosen], ways.api, ways.fleet, ways.month) if followed else None,
        renting_ranges=cheaper_ranges(ways.on_prem, ways.cloud, ways.fleet, ways.month),
    )


def _investment(ways: Ways, best: _Elsewhere | None) -> present_value.Investment | None:
    """Purchases, cash flow and present value of every way whose cost is known."""
    named: list[tuple[ViewName, CashFlow | None]] = [(name, cash_flow(ways, name)) for name in ways.by_name]
    if best is not None:
        named.append((best.called, cash_flow(best.ways, best.name)))
    flows = {name: flow for name, flow in named if flow is not None}
    if not flows:
        return None
    rate = ways.money.assumptions.amount(DISCOUNT).value
    present = {name: flow.present_value(rate) for name, flow in flows.items()}
    own = flows.get("on_prem")
    return present_value.Investment(
        discount_percent_per_year=rate,
        months=MONTHS,
        ways=tuple(
            present_value.WayOverTime(
                name=name,
                purchase_usd=flow.purchases[0],
                residual_usd=flow.residual,
                payments=flow.payments,
                paid_usd=sum(flow.payments),
                present_cost_usd=present[name],
            )
            for name, flow in flows.items()
        ),
        owning_against=()
        if own is None
        else tuple(
            present_value.OwningAgainst(
                name=name, npv_usd=present[name] - present["on_prem"], payback_month=payback_month(own, flow)
            )
            for name, flow in flows.items()
            if name not in ("on_prem", "on_prem_best")
        ),
    )


def _offers(ways: Ways) -> Iterator[results.ApiOffer]:
    """The month behind every API that prices the model, the cheapest first."""
    for one in offered(ways.question.model.id, ways.on, ways.month):
        yield results.ApiOffer(
            provider=one.provider,
            model=one.model,
            input_usd_per_mtok=one.input_usd,
            cached_input_usd_per_mtok=one.cached_input_usd,
            output_usd_per_mtok=one.output_usd,
            usd_per_month=one.of_request(ways.month) * ways.month.requests,
            source=one.source.source,
            date="; ".join(one.source.dates),
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
    return None if view.mean_kw is None else energy_kwh(view.mean_kw, assumed)


def carbon_of(view: View, assumed: Assumptions) -> Amount | None:
    """kg of CO2 equivalent in a month: ``kWh x g/kWh / 1000``; None where energy or grid are not known.

    The grid is that of the scenario; of instances in a region for which the provider publishes a figure, that one.
    """
    if view.fleets:
        each = [carbon_of(one, assumed) for one in view.fleets]
        known = [one for one in each if one is not None]
        return total(known) if len(known) == len(each) else None
    energy, grid = energy_of(view, assumed), assumed[CARBON]
    rented = view.name in ("cloud", "cloud_best", "cloud_hours")
    published = cloud_carbon(view.provider, view.place) if rented else None
    if published is not None and published.typical is not None and grid.basis != "scenario":
        per_kwh: Amount | None = Amount.exactly(published.typical)
    else:
        per_kwh = grid.amount
    return None if energy is None or per_kwh is None else energy * per_kwh * (1.0 / G_PER_KG)
