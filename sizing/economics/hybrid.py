"""A base that is always there and rented instances for the busy hours, the base being the one that costs least."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.units import HOURS_PER_DAY, HOURS_PER_MONTH, S_PER_HOUR, S_PER_MINUTE
from sizing.economics.amount import NOTHING, Amount
from sizing.economics.cloud import Rented, cheapest, cloud_parts
from sizing.economics.fleet import FleetKind, PricedFleet
from sizing.economics.on_prem import Money
from sizing.economics.views import BaseOfHybrid, PartName, View, without_cost
from sizing.prices.packing import systems_for_both, systems_needed
from sizing.scenario.demand import hourly
from sizing.scenario.schema import Workload

START_UP = "burst_start_up_minutes"
"""Name of the constant: from the order of a rented instance until it serves."""

MOST_TRIED = 48
"""Bases tried at a time. Chosen: because a day of 24 hours on servers of eight has no more."""


@dataclass(frozen=True, kw_only=True)
class Day:
    """Load over a day as shares of its peak, each of equal length; a month repeats it."""

    loads: tuple[float, ...]


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
    view: Callable[[PricedFleet], View]


def hybrid(
    base: Base, burst: tuple[Rented, ...], fleet: PricedFleet, day: Day | None, money: Money, load: float = 1.0
) -> View:
    """The base and the burst of least cost: every hour has the instances that its load needs, spares included.

    Tried as base: nothing, what each hour of the day needs, and that rounded to whole systems; between two of them cost
    goes in a straight line. What an hour needs beyond the base is rented by the hour, whole instances, on demand, and
    ordered ahead: paid for is at any moment the most that is needed within the start-up time from then on. ``load``: so
    many times the planned one.
    """
    if day is None:
        return without_cost("hybrid", "no_profile")
    if not burst:
        return without_cost("hybrid", "not_offered")
    steps = tuple(fleet.at(share * load) for share in day.loads)
    search = _Search(base=base, burst=burst, steps=steps, money=money)
    return _with_base(base, _least(list(_bases(base.system_gpus, search.distinct)), search.usd), burst, steps, money)


@dataclass(frozen=True, kw_only=True)
class _Search:
    """What a base costs with the burst beyond it; ``steps`` are the fleets of a day, one after the other."""

    base: Base
    burst: tuple[Rented, ...]
    steps: tuple[PricedFleet, ...]
    money: Money

    @cached_property
    def distinct(self) -> tuple[PricedFleet, ...]:
        """The fleets of the day, each once."""
        return tuple(dict.fromkeys(self.steps))

    @cached_property
    def counts(self) -> Counts:
        """Instances of each kind that every distinct fleet has, (H, K)."""
        return np.array([_instances(fleet) for fleet in self.distinct], dtype=np.int64)

    @cached_property
    def order(self) -> Counts:
        """Which of the distinct fleets each step of the day has, (T,)."""
        place = {fleet: k for k, fleet in enumerate(self.distinct)}
        return np.array([place[fleet] for fleet in self.steps], dtype=np.int64)

    @cached_property
    def largest(self) -> PricedFleet:
        """The fleet of the busiest hour."""
        return max(self.distinct, key=lambda fleet: fleet.gpus)

    def usd(self, always: PricedFleet) -> float:
        """USD per month; infinite where the base has no price."""
        below = self.base.view(always)
        busiest = _beyond(self.largest, always)
        if not below.known or not busiest.gpus:
            return below.usd_per_month.value if below.known else math.inf
        one = cheapest(self.burst, busiest)
        beyond = np.maximum(self.counts - np.array(_instances(always)), 0)
        systems = self._systems(beyond, one.option.gpus)[self.order].astype(np.float64)
        hours = paid_hours(systems, self.money.assumptions.amount(START_UP).value)
        paid = cloud_parts(one, Amount.exactly(hours), self.money, "on_demand")
        return below.usd_per_month.value + paid["instances"].value + paid["licence"].value

    def _systems(self, counts: Counts, system_gpus: int) -> Counts:
        """Whole instances of the cloud beside every distinct fleet, (H,)."""
        first, *others = ((counts[:, k], kind.gpus) for k, kind in enumerate(self.largest.kinds))
        return systems_for_both(first, others[0], system_gpus) if others else systems_needed(*first, system_gpus)


def _least(bases: list[PricedFleet], usd: Callable[[PricedFleet], float]) -> PricedFleet:
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


def paid_hours(needed: Floats, start_up_minutes: float) -> float:
    """Instance hours of a month that are paid for, ``needed`` being instances over a day in equal steps.

    An instance is paid for from its order, a start-up time before it is needed, and one that is needed again within it
    is kept: paid is at any moment the largest number within the start-up time from then on. A month repeats the day.
    """
    if not np.isfinite(needed).all():
        return math.inf
    step = HOURS_PER_DAY / len(needed)
    ahead = min(start_up_minutes * S_PER_MINUTE / S_PER_HOUR, HOURS_PER_DAY)
    whole = int(ahead / step)
    rest = ahead - whole * step
    window = np.max([np.roll(needed, -k) for k in range(whole + 1)], axis=0)
    further = np.maximum(window, np.roll(needed, -whole - 1))
    a_day = float(((step - rest) * window + rest * further).sum())
    return a_day * HOURS_PER_MONTH / HOURS_PER_DAY


def _bases(system_gpus: int, hours: tuple[PricedFleet, ...]) -> Iterator[PricedFleet]:
    """Fleets that may be the base: none, each of the day, and each with its systems full."""
    largest = max(hours, key=lambda fleet: fleet.gpus)
    yield _of_instances(largest, tuple(0 for _ in largest.kinds))
    tried: set[tuple[int, ...]] = set()
    for fleet in hours:
        for counts in (_instances(fleet), *_whole_systems(fleet, largest, system_gpus)):
            if counts not in tried:
                tried.add(counts)
                yield _of_instances(largest, counts)


def _whole_systems(fleet: PricedFleet, largest: PricedFleet, system_gpus: int) -> Iterator[tuple[int, ...]]:
    """Instances of one kind that fill the systems, rounded down and up, at most those of the busiest hour."""
    if len(fleet.kinds) > 1 or fleet.largest > system_gpus:
        return
    each = system_gpus // fleet.largest
    needed, most = fleet.kinds[0].instances, largest.kinds[0].instances
    for count in (needed // each * each, math.ceil(needed / each) * each):
        yield (min(count, most),)


def _with_base(
    base: Base, always: PricedFleet, burst: tuple[Rented, ...], steps: tuple[PricedFleet, ...], money: Money
) -> View:
    below = base.view(always)
    if not below.known:
        return replace(below, name="hybrid")
    beyond = {fleet: _beyond(fleet, always) for fleet in steps}
    busiest = max(beyond.values(), key=lambda fleet: fleet.gpus)
    parts: dict[PartName, Amount] = dict(below.parts)
    view = replace(below, name="hybrid", capacity_requests=_capacity(steps, always))
    one = cheapest(burst, busiest if busiest.gpus else always)
    owned = _owned(base, always, busiest, max(steps, key=lambda fleet: fleet.gpus), one)
    if not busiest.gpus:
        return replace(view, parts=parts | {"burst": NOTHING}, base=owned)
    rented = _instance_hours(one, [beyond[fleet] for fleet in steps], money.assumptions.amount(START_UP))
    paid = cloud_parts(one, rented, money, "on_demand")
    parts["burst"] = paid["instances"]
    parts["licence"] = parts["licence"] + paid["licence"]
    mean = rented * (1.0 / HOURS_PER_MONTH)
    kw, drawn = view.power_kw, view.mean_kw
    if kw is not None and drawn is not None:
        each, work = one.option.power_kw, money.assumptions.amount("power_utilization")
        kw, drawn = (None, None) if each is None else (kw + mean * each, drawn + mean * each * work)
    systems = mean if view.systems is None else view.systems + mean
    name = f"{below.system} + {one.option.name}" if always.gpus else one.option.name
    return replace(
        view,
        parts=parts,
        power_kw=kw,
        mean_kw=drawn,
        systems=systems,
        system=name,
        place=one.region,
        provider=one.provider,
        sources=(*(below.sources if always.gpus else ()), one.source),
        base=replace(owned, hours=rented.value, burst_system=one.option.name),
    )


def _owned(base: Base, always: PricedFleet, busiest: PricedFleet, largest: PricedFleet, one: Rented) -> BaseOfHybrid:
    """What always runs, beside a burst of up to ``busiest``, of which no hours are counted yet."""
    return BaseOfHybrid(
        instances=sum(_instances(always)),
        systems=always.systems(base.system_gpus) if always.gpus else 0,
        burst=sum(_instances(busiest)),
        hours=0.0,
        burst_system="",
        worth_owning=worth_owning(base, largest, one),
    )


def worth_owning(base: Base, fleet: PricedFleet, one: Rented) -> float | None:
    """The share of the hours from which on a GPU costs less in the base than rented for these hours: the critical ratio
    of the newsvendor (Arrow, Harris and Marschak, "Optimal inventory policy", 1951), a shortage costing the rent.

    ``(cost of the base of a fleet - that of an empty one) / its GPUs / (USD per GPU and hour on demand x 730)``.
    """
    all_of_it, none = base.view(fleet), base.view(_of_instances(fleet, tuple(0 for _ in fleet.kinds)))
    rent = one.usd_per_hour.value / one.option.gpus * HOURS_PER_MONTH
    if not all_of_it.known or not none.known or not rent:
        return None
    gpus = fleet.systems(base.system_gpus) * base.system_gpus
    return (all_of_it.usd_per_month.value - none.usd_per_month.value) / gpus / rent


def _instance_hours(one: Rented, beyond: list[PricedFleet], start_up: Amount) -> Amount:
    """Hours of rented instances in a month, at the ends of the range of GPUs and of the start-up time too."""
    systems = {fleet: fleet.systems_range(one.option.gpus) for fleet in set(beyond)}
    value, low, high = (
        paid_hours(np.array([getattr(systems[fleet], end) for fleet in beyond]), getattr(start_up, end))
        for end in ("value", "low", "high")
    )
    return Amount(value=value, low=min(low, value), high=max(high, value))


def _capacity(steps: tuple[PricedFleet, ...], always: PricedFleet) -> float:
    """Requests of a month that the instances of every hour could carry."""
    length_s = HOURS_PER_MONTH / len(steps) * S_PER_HOUR
    return sum(count * _larger(fleet, always).max_rps * length_s for fleet, count in Counter(steps).items())


def _instances(fleet: PricedFleet) -> tuple[int, ...]:
    return tuple(kind.instances for kind in fleet.kinds)


def _of_instances(fleet: PricedFleet, counts: tuple[int, ...]) -> PricedFleet:
    """The fleet with so many instances of each kind, its spares among them as far as they go."""
    return fleet.of(tuple(_counted(kind, count) for kind, count in zip(fleet.kinds, counts, strict=True)))


def _counted(kind: FleetKind, count: int) -> FleetKind:
    spares = min(kind.spares, count)
    return replace(kind, working=count - spares, spares=spares)


def _beyond(fleet: PricedFleet, always: PricedFleet) -> PricedFleet:
    """What an hour needs beyond the base."""
    pairs = zip(_instances(fleet), _instances(always), strict=True)
    beyond = tuple(max(needed - there, 0) for needed, there in pairs)
    return replace(_of_instances(fleet, beyond), redundancy="none")  # what may fail is held by the base


def _larger(fleet: PricedFleet, always: PricedFleet) -> PricedFleet:
    """What runs in an hour: what it needs, or the base where that is more."""
    pairs = zip(_instances(fleet), _instances(always), strict=True)
    return _of_instances(fleet, tuple(max(needed, there) for needed, there in pairs))
