"""The calculator of a scenario: the engine asked over the load, and its cost model taken apart into inputs."""

from collections.abc import Iterator

from sharing.report.addresses import cleared
from sharing.report.calculator import (
    BoughtSystem,
    Calculator,
    CalculatorInput,
    CalculatorMonth,
    InstanceKind,
    LoadRow,
    Way,
    WayName,
)
from sharing.report.calculator_inputs import inputs_of
from sharing.report.content import Released
from sharing.report.money import Dollars, ReportCurrency
from sharing.report.names import engine_name, gpu_name, precision_name
from sizing.base.deployed import Deployed
from sizing.catalog.payment_terms import TERMS
from sizing.economics.assumptions import DISCOUNT
from sizing.economics.cash import MONTHS, load_in, views_over_time
from sizing.economics.fleet import PricedFleet, fleet_of
from sizing.economics.investment import cash_flow_of
from sizing.economics.views import PartName, View
from sizing.economics.ways import Ways, ways_of
from sizing.explore.load_steps import AnswerAt, answers_over_load
from sizing.planning.answered import Answer

FOLLOWED: dict[WayName, frozenset[PartName]] = {
    "on_prem": frozenset(
        ("servers", "switches", "storage", "support", "capital_charge", "power", "colocation", "licence", "staff")
    ),
    "cloud": frozenset(("instances", "interruptions", "licence", "staff")),
    "api": frozenset(("api_input", "api_cached_input", "api_output")),
}
"""The parts of each way that formulas follow."""


def calculator_of(answer: Answer, released: Released, money: ReportCurrency | None = None) -> Calculator | None:
    """What a workbook of an answer computes with; None where nothing serves the scenario, and of a mixed fleet, whose
    fleets each have counts of their own that these formulas do not follow.

    ``answer`` has no more money in it than is released
    (:func:`sharing.report.prices.as_released`). Raises InvalidScenario as :func:`sizing.economics.cost.cost`.
    """
    deployed = answer.plan.deployment
    if not answer.plan.feasible or deployed is None or answer.fleets or answer.pools:
        return None
    ways, answers = ways_of(answer), answers_over_load(answer)
    money = money or Dollars()
    bought, rented = _bought(ways), _rented(ways)
    return Calculator(
        currency=money.code,
        deployment=_deployment(ways, deployed),
        planned_rps=ways.fleet.peak_rps,
        kinds=_kinds(ways.fleet),
        redundancy=ways.fleet.redundancy,
        rows=tuple(_row(one) for one in answers),
        bought=bought,
        rented=rented,
        input_tokens=ways.month.input_tokens,
        cached_tokens=ways.month.cached_tokens,
        output_tokens=ways.month.output_tokens,
        inputs=tuple(_public(one) for one in inputs_of(ways, _views(ways), money, released)),
        months=tuple(_months(ways, bought, rented)),
        ways=() if released is Released.NOTHING else tuple(_ways(ways, money)),
        chosen=ways.chosen,
        committed=TERMS[ways.question.scenario.costs.purchase].commits,
    )


def _deployment(ways: Ways, one: Deployed) -> str:
    parallel = f"TP{one.tp}" + "".join(
        f" {name}{n}" for name, n in (("PP", one.pp), ("EP", one.ep), ("DP", one.dp)) if n > 1
    )
    named = (gpu_name(one.gpu, ways.question), engine_name(one.engine), precision_name(one.weight_precision), parallel)
    return ", ".join(named)


def _public(one: CalculatorInput) -> CalculatorInput:
    """The input without addresses inside a company in the source that somebody typed."""
    return one.model_copy(update={"source": cleared(one.source)})


def _kinds(fleet: PricedFleet) -> tuple[InstanceKind, ...]:
    labels = ("Prefill instances", "Decode instances") if len(fleet.kinds) > 1 else ("Instances",)
    pairs = zip(labels, fleet.kinds, strict=True)
    return tuple(InstanceKind(label=label, gpus=kind.gpus, spares=kind.spares) for label, kind in pairs)


def _row(answer: AnswerAt) -> LoadRow:
    kinds = fleet_of(answer.plan).kinds
    return LoadRow(
        requests_per_s=answer.requests_per_s,
        working=tuple(kind.working for kind in kinds),
        capacity_rps=tuple(kind.max_rps for kind in kinds),
    )


def _bought(ways: Ways) -> BoughtSystem:
    return BoughtSystem(name=ways.option.name, gpus=ways.option.gpus, power_kw=ways.option.power_kw)


def _rented(ways: Ways) -> BoughtSystem | None:
    view = ways.cloud(1.0)
    if not view.known or view.systems is None:
        return None
    kw = None if view.power_kw is None else view.power_kw.value / view.systems.value
    return BoughtSystem(name=view.system, gpus=view.gpus_per_system, power_kw=kw, place=view.place)


def _views(ways: Ways) -> dict[WayName, View]:
    """Every way whose price is known, at the planned load, as far as formulas follow its parts."""
    each: dict[WayName, View] = {"on_prem": ways.on_prem(1.0), "cloud": ways.cloud(1.0), "api": ways.api(1.0)}
    return {name: view for name, view in each.items() if view.known and set(view.parts) <= FOLLOWED[name]}


def _ways(ways: Ways, money: ReportCurrency) -> Iterator[Way]:
    rate = ways.money.assumptions.amount(DISCOUNT).value
    for name, view in _views(ways).items():
        views = views_over_time(ways.over_time[name], ways.fleet.peak_rps, ways.money.costs)
        flow = cash_flow_of(views, ways.money)
        yield Way(
            name=name,
            system=view.system,
            parts={part: money.of(amount.value) for part, amount in view.parts.items()},
            cash=tuple(money.of(month.usd_per_month.value) for month in views),
            payments=tuple(map(money.of, flow.payments)),
            present_cost=money.of(flow.present_value(rate)),
        )


def _months(ways: Ways, bought: BoughtSystem, rented: BoughtSystem | None) -> Iterator[CalculatorMonth]:
    costs = ways.money.costs
    for month in range(MONTHS):
        load = load_in(month, costs)
        there = ways.fleet.at(max(load, 1.0))
        running = there if TERMS[costs.purchase].commits else ways.fleet.at(load)
        yield CalculatorMonth(
            working=tuple(kind.working for kind in there.kinds),
            bought=there.systems(bought.gpus),
            rented=None if rented is None else running.systems(rented.gpus),
        )
