"""A base that is always there and rented instances for the busy hours, the base being the one that costs least."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.units import HOURS_PER_MONTH, S_PER_HOUR
from sizing.economics.amount import NOTHING, Amount
from sizing.economics.cloud import Rented, cheapest, cloud_parts
from sizing.economics.fleet import Fleet, Kind
from sizing.economics.on_prem import Money
from sizing.economics.views import PartName, View, without_cost
from sizing.prices.packing import systems_for_both, systems_needed
from sizing.scenario.demand import hourly
from sizing.scenario.schema import Workload

MOST_TRIED = 48
"""Bases tried at a time. Chosen: because a day of 24 hours on servers of eight has no more."""


@dataclass(frozen=True, kw_only=True)
class Day:
    """Load over a day as shares of its peak, each of equal length; a month repeats it."""

    loads: tuple[float, ...]

    @property
    def hours_each(self) -> float:
        """Hours of a month that each load has."""
        return HOURS_PER_MONTH / len(self.loads)


def day_of(workload: Workload) -> Day | None:
    """The day of a scenario with an hourly profile or a trace; None without one."""
    shape = hourly(workload)
    if not shape:
        return None
    return Day(loads=tuple(load / max(shape) for load in shape))


@dataclass(frozen=True, kw_only=True)
class Base:
    """What the base of a hybrid consists of: GPUs of one system, and what a fleet on such systems costs a month."""

    system_gpus: int
    view: Callable[[Fleet], View]


def hybrid(
    base: Base, burst: tuple[Rented, ...], fleet: Fleet, day: Day | None, money: Money, load: float = 1.0
) -> View:
    """The base and the burst of least cost: every hour has the instances that its load needs, spares included.

    Tried as base: nothing, what each hour of the day needs, and that rounded to whole systems; between two of them cost
    goes in a straight line. What an hour needs beyond the base is rented by the hour, whole instances, on demand.
    Start-up times are left out (``python -m sizing day`` has them). ``load``: so many times the planned one.
    """
    if day is None:
        return without_cost("hybrid", "no_profile")
    if not burst:
        return without_cost("hybrid", "not_offered")
    hours = _fleets(fleet, day, load)
    search = _Search(base=base, burst=burst, hours=hours, money=money)
    return _with_base(base, _least(list(_bases(base.system_gpus, hours)), search.usd), burst, hours, money)


@dataclass(frozen=True, kw_only=True)
class _Search:
    """What a base costs with the burst beyond it, hours of a month as arrays."""

    base: Base
    burst: tuple[Rented, ...]
    hours: Mapping[Fleet, float]
    money: Money

    @cached_property
    def counts(self) -> Counts:
        """Instances of each kind that every distinct hour needs, (H, K)."""
        return np.array([_instances(fleet) for fleet in self.hours], dtype=np.int64)

    @cached_property
    def lengths(self) -> Floats:
        """Hours of a month that each distinct hour stands for, (H,)."""
        return np.array(list(self.hours.values()))

    @cached_property
    def largest(self) -> Fleet:
        """The fleet of the busiest hour."""
        return max(self.hours, key=lambda fleet: fleet.gpus)

    def usd(self, always: Fleet) -> float:
        """USD per month; infinite where the base has no price."""
        below = self.base.view(always)
        busiest = _beyond(self.largest, always)
        if not below.known or not busiest.gpus:
            return below.usd_per_month.value if below.known else math.inf
        one = cheapest(self.burst, busiest)
        beyond = np.maximum(self.counts - np.array(_instances(always)), 0)
        hours = float((self._systems(beyond, one.option.gpus) * self.lengths).sum())
        paid = cloud_parts(one, Amount.exactly(hours), self.money, "on_demand")
        return below.usd_per_month.value + paid["instances"].value + paid["licence"].value

    def _systems(self, counts: Counts, system_gpus: int) -> Counts:
        """Whole instances of the cloud in every distinct hour, (H,)."""
        first, *others = ((counts[:, k], kind.gpus) for k, kind in enumerate(self.largest.kinds))
        return systems_for_both(first, others[0], system_gpus) if others else systems_needed(*first, system_gpus)


def _least(bases: list[Fleet], usd: Callable[[Fleet], float]) -> Fleet:
    """The base of least cost. Of many only every so many is tried, then all around the best of these.

    Cost falls and then rises with the base, but for what whole systems leave over.
    """
    ordered = sorted(bases, key=lambda fleet: fleet.gpus)
    while len(ordered) > MOST_TRIED:
        step = math.ceil(len(ordered) / (MOST_TRIED - 1))
        tried = sorted({*range(0, len(ordered), step), len(ordered) - 1})
        best = min(tried, key=lambda k: usd(ordered[k]))
        ordered = ordered[max(best - step, 0) : best + step + 1]
    return min(ordered, key=usd)


def _fleets(fleet: Fleet, day: Day, load: float) -> Mapping[Fleet, float]:
    """The fleets that the hours of a day need, each with its hours of a month."""
    times = Counter(fleet.at(share * load) for share in day.loads)
    return {one: count * day.hours_each for one, count in times.items()}


def _bases(system_gpus: int, hours: Mapping[Fleet, float]) -> Iterator[Fleet]:
    """Fleets that may be the base: none, each of the day, and each with its systems full."""
    largest = max(hours, key=lambda fleet: fleet.gpus)
    yield _of_instances(largest, tuple(0 for _ in largest.kinds))
    tried: set[tuple[int, ...]] = set()
    for fleet in hours:
        for counts in (_instances(fleet), *_whole_systems(fleet, largest, system_gpus)):
            if counts not in tried:
                tried.add(counts)
                yield _of_instances(largest, counts)


def _whole_systems(fleet: Fleet, largest: Fleet, system_gpus: int) -> Iterator[tuple[int, ...]]:
    """Instances of one kind that fill the systems, rounded down and up, at most those of the busiest hour."""
    if len(fleet.kinds) > 1 or fleet.largest > system_gpus:
        return
    each = system_gpus // fleet.largest
    needed, most = fleet.kinds[0].instances, largest.kinds[0].instances
    for count in (needed // each * each, math.ceil(needed / each) * each):
        yield (min(count, most),)


def _with_base(
    base: Base, always: Fleet, burst: tuple[Rented, ...], hours: Mapping[Fleet, float], money: Money
) -> View:
    below = base.view(always)
    if not below.known:
        return replace(below, name="hybrid")
    beyond = {fleet: _beyond(fleet, always) for fleet in hours}
    busiest = max(beyond.values(), key=lambda fleet: fleet.gpus)
    parts: dict[PartName, Amount] = dict(below.parts)
    view = replace(below, name="hybrid", capacity_requests=_capacity(hours, always))
    if not busiest.gpus:
        return replace(view, parts=parts | {"burst": NOTHING})
    one = cheapest(burst, busiest)
    rented = _instance_hours(one, hours, beyond)
    paid = cloud_parts(one, rented, money, "on_demand")
    parts["burst"] = paid["instances"]
    parts["licence"] = parts["licence"] + paid["licence"]
    mean = rented * (1.0 / HOURS_PER_MONTH)
    kw = view.power_kw
    if kw is not None:
        kw = None if one.option.power_kw is None else kw + mean * one.option.power_kw
    systems = mean if view.systems is None else view.systems + mean
    name = f"{below.system} + {one.option.name}" if always.gpus else one.option.name
    return replace(
        view,
        parts=parts,
        power_kw=kw,
        systems=systems,
        system=name,
        place=one.region,
        provider=one.provider,
        sources=(*(below.sources if always.gpus else ()), one.source),
    )


def _instance_hours(one: Rented, hours: Mapping[Fleet, float], beyond: Mapping[Fleet, Fleet]) -> Amount:
    """Hours of rented instances in a month, at the ends of the range of GPUs too."""
    each = (beyond[fleet].systems_range(one.option.gpus) * length for fleet, length in hours.items())
    return sum(each, NOTHING)


def _capacity(hours: Mapping[Fleet, float], always: Fleet) -> float:
    """Requests of a month that the instances of every hour could carry."""
    return sum(_larger(fleet, always).max_rps * length * S_PER_HOUR for fleet, length in hours.items())


def _instances(fleet: Fleet) -> tuple[int, ...]:
    return tuple(kind.instances for kind in fleet.kinds)


def _of_instances(fleet: Fleet, counts: tuple[int, ...]) -> Fleet:
    """The fleet with so many instances of each kind, its spares among them as far as they go."""
    return fleet.of(tuple(_counted(kind, count) for kind, count in zip(fleet.kinds, counts, strict=True)))


def _counted(kind: Kind, count: int) -> Kind:
    spares = min(kind.spares, count)
    return replace(kind, working=count - spares, spares=spares)


def _beyond(fleet: Fleet, always: Fleet) -> Fleet:
    """What an hour needs beyond the base."""
    pairs = zip(_instances(fleet), _instances(always), strict=True)
    return _of_instances(fleet, tuple(max(needed - there, 0) for needed, there in pairs))


def _larger(fleet: Fleet, always: Fleet) -> Fleet:
    """What runs in an hour: what it needs, or the base where that is more."""
    pairs = zip(_instances(fleet), _instances(always), strict=True)
    return _of_instances(fleet, tuple(max(needed, there) for needed, there in pairs))
