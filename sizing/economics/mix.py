"""What a mixed fleet costs in every way: each fleet by itself at the same load, month and constants, and their sum.

Every fleet of a split takes its share of the requests at any load. So an instance that carries ``m`` requests/s of a
fleet whose peak is ``p`` of the ``P`` of all stands for ``m x P / p`` of all requests, and what is computed of one
fleet (how many instances at a load, how busy they are, what a further request costs) holds for each and adds up. Of
prefill and decode on two GPU types each pool is such a fleet, through which all requests go, and both stand in one
place.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sizing.economics.amount import Amount, total
from sizing.economics.cash import cash
from sizing.economics.cloud import Place, cheapest
from sizing.economics.fleet import PricedFleet, fleet_of
from sizing.economics.fleet_results import FleetOfMix, MixedCost, SplitBy
from sizing.economics.fleets import spot_of
from sizing.economics.results import UnitCost
from sizing.economics.units import marginal, per_unit
from sizing.economics.views import BaseOfHybrid, PartName, View, without_cost
from sizing.economics.ways import Ways, ways_of
from sizing.planning.answered import Answer


@dataclass(frozen=True, kw_only=True)
class WaysOfMix(Ways):
    """The ways of ``each`` fleet added up; what is one fleet in :class:`Ways` is all of them, each kind of instances
    counted by the requests of all that it stands for. ``plan`` is the one fleet that the mix is held against."""

    each: tuple[Ways, ...]
    one_fleet: Ways
    by: SplitBy = "prompts"

    def on_prem(self, load: float, least: float = 0.0) -> View:
        """What it costs to own the systems of all fleets; see :meth:`Ways.on_prem`."""
        return self._summed(lambda ways: ways.on_prem(load, least))

    def cloud(self, load: float, least: float = 0.0) -> View:
        """Instances for every fleet; see :meth:`Ways.cloud`."""
        return self._summed(lambda ways: ways.cloud(load, least))

    def hybrid(self, load: float) -> View:
        """A base with rented peaks of every fleet by itself; see :meth:`Ways.hybrid`."""
        return self._summed(lambda ways: ways.hybrid(load))

    def all_day(self, chosen: View) -> View:
        """The chosen way as if the planned peak lasted day and night."""
        if chosen.name != "hybrid":
            return chosen
        pairs = zip(self.each, chosen.fleets, strict=True)
        return together([ways.all_day(view) for ways, view in pairs])

    def rented_by_the_hour(self) -> View:
        """What the cloud costs on demand for the same fleets."""
        return self._summed(lambda ways: ways.rented_by_the_hour())

    def in_the_window(self) -> View | None:
        """Instances on demand in the working window of a batch alone; None without one, or where one is not rented."""
        views = [view for ways in self.each if (view := ways.in_the_window()) is not None]
        return together(views) if len(views) == len(self.each) else None

    def idle(self) -> View:
        """What it costs to own the systems of all fleets while no request comes."""
        return self._summed(lambda ways: ways.idle())

    def marginal(self, chosen: View) -> UnitCost:
        """What further requests cost that go to every fleet by its share, each adding systems of its own."""
        if chosen.name == "hybrid":
            return super().marginal(chosen)
        pairs = zip(self.each, chosen.fleets, strict=True)
        usd = math.fsum(marginal(view, ways.fleet, self.month).usd_per_request for ways, view in pairs)
        return per_unit(usd, 1.0, self.month)

    def _summed(self, view: Callable[[Ways], View]) -> View:
        return together([view(ways) for ways in self.each])


@dataclass(frozen=True, kw_only=True)
class WaysOfPools(WaysOfMix):
    """The ways of prefill and decode on two GPU types, which hand KV caches over and so stand in one place: bought, or
    rented of one provider in one region. ``rentable``: whether one has both to rent, paid as the scenario says."""

    rentable: bool

    def cloud(self, load: float, least: float = 0.0) -> View:
        """Instances for both pools, side by side; see :meth:`Ways.cloud`."""
        return super().cloud(load, least) if self.rentable else without_cost("cloud", "not_offered")

    def rented_by_the_hour(self) -> View:
        """What the cloud costs on demand for both, side by side."""
        return super().rented_by_the_hour() if self.rentable else without_cost("cloud", "not_offered")

    def in_the_window(self) -> View | None:
        """Both fleets in the working window of a batch alone; None where there is none, or they are not rented."""
        return super().in_the_window() if self.rentable else None

    def hybrid(self, load: float) -> View:
        """None: a burst would stand in another place than the pool that it hands KV caches to."""
        return without_cost("hybrid", "two_places")


def ways_of_answer(answer: Answer, rent: float = 1.0, on: date | None = None) -> Ways:
    """The ways of what an answer advises: of its mixed fleet where that is cheaper, of prefill and decode on two GPU
    types where these are advised, else of the plan.

    Raises InvalidScenario as :func:`sizing.economics.ways.ways_of`.
    """
    whole = ways_of(answer, rent, on)
    if answer.pools is not None:
        return _of_pools(whole, answer.pools)
    if not answer.fleets:
        return whole
    each = tuple(_of_part(whole, part) for part in answer.fleets)
    return WaysOfMix(**_with_fleets(whole, each), each=each, one_fleet=whole)


def _with_fleets(whole: Ways, each: Sequence[Ways]) -> dict[str, Any]:
    """The fields of the ways of all fleets together."""
    fields = {name: getattr(whole, name) for name in Ways.__dataclass_fields__}
    return fields | {"fleet": _all([ways.fleet for ways in each])}


def _of_pools(whole: Ways, pools: Answer) -> WaysOfPools:
    """The ways of both pools, rented where both together cost least."""
    mixed, both = pools.plan.mixed, fleet_of(pools.plan)
    assert mixed is not None
    assert mixed.apart is not None
    stated = mixed.apart.prefill, mixed.apart.decode
    each = [
        whole.with_fleet(both.of((kind,)), pool.gpu, pool.system) for kind, pool in zip(both.kinds, stated, strict=True)
    ]
    place = _cheapest_place(each)
    there = tuple(replace(ways, place=place) for ways in each)
    return WaysOfPools(
        **_with_fleets(whole, there), each=there, one_fleet=whole, by="phase", rentable=place is not None
    )


def _cheapest_place(each: Sequence[Ways]) -> Place | None:
    """Where all fleets can be rented, paid as the scenario says, for least; None where that is nowhere."""
    by_place = [_by_place(ways) for ways in each]
    common = [place for place in by_place[0] if all(place in other for other in by_place)]
    return min(common, key=lambda place: math.fsum(one[place] for one in by_place), default=None)


def _by_place(ways: Ways) -> dict[Place, float]:
    """USD of an hour of a fleet in every place that rents it, as :func:`sizing.economics.cloud.cheapest` chooses."""
    usd: dict[Place, float] = {}
    for place in dict.fromkeys(one.rented_in for one in ways.as_asked):
        best = cheapest(tuple(one for one in ways.as_asked if one.rented_in == place), ways.fleet)
        systems = ways.fleet.systems(best.option.gpus)
        usd[place] = systems * best.usd_per_hour.value * (1.0 + best.on_top.value)
    return usd


def _of_part(whole: Ways, part: Answer) -> Ways:
    """The ways of one fleet of a mix, its instances counted by the requests of all that they stand for."""
    deployed = part.plan.deployment
    assert deployed is not None
    return whole.with_fleet(standing_for(fleet_of(part.plan), whole.fleet.peak_rps), deployed.gpu, deployed.system)


def standing_for(fleet: PricedFleet, peak_rps: float) -> PricedFleet:
    """The fleet as part of a load of ``peak_rps``: each instance carries ``max requests/s x peak / peak of the
    fleet``."""
    times = peak_rps / fleet.peak_rps
    kinds = tuple(replace(kind, max_rps=kind.max_rps * times) for kind in fleet.kinds)
    return replace(fleet, kinds=kinds, peak_rps=peak_rps)


def _all(fleets: Sequence[PricedFleet]) -> PricedFleet:
    """All instances, of a kind each."""
    return replace(
        fleets[0],
        kinds=tuple(kind for fleet in fleets for kind in fleet.kinds),
        gpus_low=math.fsum(fleet.gpus_low for fleet in fleets),
        gpus_high=math.fsum(fleet.gpus_high for fleet in fleets),
    )


def together(views: Sequence[View]) -> View:
    """The sum of what several fleets cost in one way, part by part; staff, which is stated of all, counts once.

    Without a cost where one of them has none.
    """
    if lacking := next((view for view in views if not view.known), None):
        return lacking
    first = views[0]
    names = dict.fromkeys(name for view in views for name in view.parts)
    return replace(
        first,
        parts={name: _part(name, views) for name in names},
        system=" and ".join(dict.fromkeys(view.system for view in views)),
        place=" and ".join(dict.fromkeys(view.place for view in views if view.place)),
        provider=" and ".join(dict.fromkeys(view.provider for view in views if view.provider)),
        systems=_sum([view.systems for view in views]),
        gpus_per_system=max(view.gpus_per_system for view in views),
        power_kw=_sum([view.power_kw for view in views]),
        mean_kw=_sum([view.mean_kw for view in views]),
        capacity_requests=min((r for view in views if (r := view.capacity_requests) is not None), default=None),
        base=_bases([view.base for view in views]),
        fleets=tuple(views),
        sources=tuple(dict.fromkeys(source for view in views for source in view.sources)),
    )


def _part(name: PartName, views: Sequence[View]) -> Amount:
    each = [view.parts[name] for view in views if name in view.parts]
    return each[0] if name == "staff" else total(each)


def _sum(amounts: Sequence[Amount | None]) -> Amount | None:
    """None where one of them is not known."""
    known = [one for one in amounts if one is not None]
    return total(known) if len(known) == len(amounts) else None


def _bases(bases: Sequence[BaseOfHybrid | None]) -> BaseOfHybrid | None:
    """What all hybrids always have; from which share of the hours on owning pays differs between fleets."""
    known = [one for one in bases if one is not None]
    if not known or len(known) < len(bases):
        return None
    return BaseOfHybrid(
        instances=sum(one.instances for one in known),
        systems=sum(one.systems for one in known),
        burst=sum(one.burst for one in known),
        hours=math.fsum(one.hours for one in known),
        burst_system=" and ".join(dict.fromkeys(one.burst_system for one in known if one.burst_system)),
        worth_owning=None,
    )


def mixed_cost(ways: Ways, chosen: View) -> MixedCost | None:
    """What each fleet of a mix costs in the chosen way beside one fleet for all; None where no mix is priced."""
    if not isinstance(ways, WaysOfMix) or not chosen.known:
        return None
    one = ways.one_fleet.by_name[ways.chosen](1.0)
    paid, otherwise = (_over_months(each) for each in (ways, ways.one_fleet))
    return MixedCost(
        by=ways.by,
        fleets=tuple(
            FleetOfMix(
                gpu=each.gpu.id,
                name=each.gpu.name,
                gpus=each.fleet.gpus,
                system=view.system,
                place=view.place,
                systems=None if view.systems is None else view.systems.value,
                usd_per_month=total(amount for name, amount in view.parts.items() if name != "staff").value,
                spot=spot_of(each) if ways.chosen == "cloud" else None,
            )
            for each, view in zip(ways.each, chosen.fleets, strict=True)
        ),
        one_fleet_usd_per_month=one.usd_per_month.value if one.known else None,
        usd_over_months=paid,
        one_fleet_usd_over_months=otherwise,
    )


def _over_months(ways: Ways) -> float | None:
    """The cost of the months of the look ahead together; None where it is not known."""
    months = cash(ways.over_time[ways.chosen], ways.fleet.peak_rps, ways.money.costs)
    return math.fsum(month.value for month in months) if months else None
