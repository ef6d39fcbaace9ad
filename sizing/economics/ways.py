"""Every way to get the capacity of a plan, as functions of the load: the same GPUs bought, rented, mixed, or an API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from sizing.base.choices import Location, Purchase
from sizing.base.errors import InvalidScenario
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_MONTH, S_PER_HOUR, S_PER_MINUTE
from sizing.catalog import data_date, resolve_gpu
from sizing.catalog.gpu import Gpu
from sizing.catalog.payment_terms import TERMS
from sizing.economics.api import TokenPrices, api, token_prices
from sizing.economics.assumptions import assumptions_for
from sizing.economics.cloud import Place, Rented, cheapest, cloud_on, rented
from sizing.economics.fleet import PricedFleet, fleet_of
from sizing.economics.hybrid import START_UP, Base, Day, day_of, hybrid
from sizing.economics.month import Month, month_of
from sizing.economics.on_prem import Money, on_prem
from sizing.economics.results import UnitCost
from sizing.economics.spot import with_interruptions
from sizing.economics.units import marginal, marginal_of_load
from sizing.economics.views import BaseWay, View, without_cost
from sizing.planning.answered import Answer
from sizing.planning.instance_start import with_start_up
from sizing.prices.hardware import HardwareOption, options
from sizing.question.understand import Question
from sizing.scenario.prices import Prices

Way = Callable[[float], View]
"""What a month costs at so many times the planned load."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """A plan as something to pay for: its fleet, its month, and what the ways to get it depend on.

    ``on`` is the day whose offers count: what is retired by then prices nothing. ``place``: the only one to rent in.
    """

    question: Question
    plan: Plan
    fleet: PricedFleet
    month: Month
    money: Money
    gpu: Gpu
    option: HardwareOption
    prices: TokenPrices | None
    day: Day | None
    on: date
    place: Place | None = None

    @cached_property
    def on_demand(self) -> tuple[Rented, ...]:
        """Instances that can be rented by the hour."""
        return self._rented("on_demand")

    @cached_property
    def as_asked(self) -> tuple[Rented, ...]:
        """Instances that can be paid for as the scenario says."""
        purchase = self.question.scenario.costs.purchase
        if purchase == "spot":
            return tuple(self._with_interruptions(one) for one in self._rented(purchase))
        return self.on_demand if purchase == "on_demand" else self._rented(purchase)

    @cached_property
    def in_place_of_spot(self) -> tuple[Rented, ...]:
        """Instances on demand at their list prices: what takes the place of spot instances that are taken back."""
        return self._in_place(rented(self.gpu, self.money, Prices(), "on_demand"))

    def _with_interruptions(self, one: Rented) -> Rented:
        on_top = self.money.costs.spot_interruption_percent
        return with_interruptions(one, self.fleet, self.money.assumptions, self.in_place_of_spot, on_top)

    def _rented(self, purchase: Purchase) -> tuple[Rented, ...]:
        return self._in_place(rented(self.gpu, self.money, self.question.prices, purchase))

    def _in_place(self, each: tuple[Rented, ...]) -> tuple[Rented, ...]:
        return each if self.place is None else tuple(one for one in each if one.rented_in == self.place)

    @property
    def by_name(self) -> Mapping[BaseWay, Way]:
        """Every way that follows the load."""
        return {"on_prem": self.on_prem, "cloud": self.cloud, "hybrid": self.hybrid, "api": self.api}

    @property
    def over_time(self) -> Mapping[BaseWay, Way]:
        """The same in the months to come: what is owned or committed to is there from the first of them, for the
        planned load at least."""
        committed = TERMS[self.question.scenario.costs.purchase].commits
        return {
            "on_prem": lambda load: self.on_prem(load, least=1.0),
            "cloud": lambda load: self.cloud(load, least=1.0 if committed else 0.0),
            "hybrid": lambda load: self.hybrid(max(load, 1.0)),
            "api": self.api,
        }

    @property
    def chosen(self) -> Location:
        """The way that the scenario asks for."""
        return self.question.scenario.deployment.location

    def on_prem(self, load: float, least: float = 0.0) -> View:
        """What it costs to own the systems, at a ``load`` relative to the planned one; there are systems for ``least``
        of it."""
        return on_prem(self.option, self.fleet.at(max(load, least)), self.money, self.month.requests * load)

    def cloud(self, load: float, least: float = 0.0) -> View:
        """Instances, paid for as the scenario says, of the type that is cheapest at the planned load."""
        if not self.as_asked:
            return without_cost("cloud", "not_offered")
        purchase, fleet = self.question.scenario.costs.purchase, self.fleet.at(max(load, least))
        return cloud_on(cheapest(self.as_asked, self.fleet), fleet, self.money, purchase, self.month.requests * load)

    def all_day(self, chosen: View) -> View:
        """The chosen way as if the planned peak lasted day and night: the same, but for a hybrid."""
        base = self._base(1.0) if chosen.name == "hybrid" else None
        if base is None:
            return chosen
        return hybrid(base, self.on_demand, self.fleet, Day(loads=(1.0,)), self.money)

    def rented_by_the_hour(self) -> View:
        """What the cloud costs on demand for the same fleet, whatever payment terms the scenario states."""
        if not self.on_demand:
            return without_cost("cloud", "not_offered")
        return cloud_on(cheapest(self.on_demand, self.fleet), self.fleet, self.money, "on_demand", self.month.requests)

    def in_the_window(self) -> View | None:
        """Instances on demand that run, start-up included, in the working window of a batch alone; None without one."""
        window = self.month.window_hours
        if window is None or not self.on_demand:
            return None
        starts = self.money.assumptions.amount(START_UP).value * S_PER_MINUTE / S_PER_HOUR * self.month.windows
        best = cheapest(self.on_demand, self.fleet)
        hours = min(window + starts, HOURS_PER_MONTH)
        view = cloud_on(best, self.fleet, self.money, "on_demand", self.month.requests, hours)
        return replace(view, name="cloud_hours")

    def hybrid(self, load: float) -> View:
        """A base with rented peaks."""
        if self.question.scenario.workload.batch is not None:
            return without_cost("hybrid", "no_peaks")
        base = self._base(load)
        if base is None:
            return without_cost("hybrid", "not_offered")
        return hybrid(base, self.on_demand, self.fleet, self.day, self.money, load)

    def api(self, load: float) -> View:
        """What an API costs that is paid by the token, at a ``load`` relative to the planned one."""
        return api(self.prices, self.month.times(load))

    def idle(self) -> View:
        """What it costs to own the systems while no request comes, where power follows them."""
        return on_prem(self.option, self.fleet, self.money, requests=0.0)

    def with_fleet(self, fleet: PricedFleet, gpu_id: str, system: str) -> Ways:
        """The same month and constants with another fleet, of a GPU by its id, in the system of that name."""
        gpu = _gpu(self.question, gpu_id)
        return replace(self, fleet=fleet, gpu=gpu, option=_system(self.question, system, gpu, fleet))

    def marginal(self, chosen: View) -> UnitCost:
        """What further requests cost in the chosen way."""
        if chosen.name == "hybrid":
            return marginal_of_load(chosen, self.hybrid, self.fleet, self.month)
        return marginal(chosen, self.fleet, self.month)

    def _base(self, load: float) -> Base | None:
        """The base of a hybrid, which serves what it can of the requests of the month."""
        purchase, requests = self.question.scenario.costs.hybrid_base, self.month.requests * load
        if purchase == "on_prem":
            own = self.option
            return Base(system_gpus=own.gpus, view=lambda fleet: on_prem(own, fleet, self.money, requests))
        offered = self._rented(purchase)
        if not offered:
            return None
        best = cheapest(offered, self.fleet)
        return Base(
            system_gpus=best.option.gpus, view=lambda fleet: cloud_on(best, fleet, self.money, purchase, requests)
        )


def ways_of(answer: Answer, rent: float = 1.0, on: date | None = None) -> Ways:
    """The ways of a plan, which is one fleet, on a day (that of the catalogue if left out), everything rented at
    ``rent`` times its price; of a mixed fleet: :func:`sizing.economics.mix.ways_of_answer`.

    Raises InvalidScenario where nothing serves, or for a place or model that is not known.
    """
    question, plan = answer.question, answer.plan
    fleet, scenario = fleet_of(plan), question.scenario
    assert plan.deployment is not None
    gpu = _gpu(question, plan.deployment.gpu)
    constants = assumptions_for(with_start_up(question, answer.chosen))
    money = Money(costs=scenario.costs, assumptions=constants, prices=question.prices, rent=rent)
    month = month_of(plan, question)
    day = on or date.fromisoformat(data_date())
    return Ways(
        question=question,
        plan=plan,
        fleet=fleet,
        month=month,
        money=money,
        gpu=gpu,
        option=_system(question, plan.deployment.system, gpu, fleet),
        prices=token_prices(scenario.costs.api, question.model, month, day),
        day=day_of(scenario.workload),
        on=day,
    )


def _gpu(question: Question, gpu_id: str) -> Gpu:
    return next((gpu for gpu in question.gpus if gpu.id == gpu_id), None) or resolve_gpu(gpu_id)


def _system(question: Question, planned: str, gpu: Gpu, fleet: PricedFleet) -> HardwareOption:
    """The planned system, or where that is rented the one of least price that holds an instance."""
    offers = options(gpu, "on_prem", question.prices, question.gpu_prices.get(gpu.id))
    named = next((offer for offer in offers if offer.name == planned), None)
    if named is not None:
        return named

    def cost(offer: HardwareOption) -> tuple[int, bool, float]:
        count = fleet.systems(offer.gpus)
        return -(-fleet.largest // offer.gpus), not offer.priced, count * (offer.usd_per_hour or 0.0)

    if not offers:
        raise InvalidScenario.at("costs", f"there is no system with {gpu.name}.")
    return min(offers, key=cost)
