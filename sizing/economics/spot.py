"""Spot instances: how many keep the limits while some are taken back, and what they cost with the time on demand.

All instances of a type in one zone are taken back together (92 % within three minutes of each other, of 2,635
interruptions on AWS and Azure: "Spot-and-Scoot", arXiv 2604.16457, 2026), and a zone has capacity for all or none. So
zones fail, not instances: more instances in one zone hold nothing, those of another zone do. What is lost is rented on
demand, and serves after the start-up time.

Zones that are starting again at a moment are binomial, each with ``u = r t / (1 + r t)``: r interruptions an hour,
t start-up time. N instances over Z zones suffice where N less the m fullest zones is what is needed, m being the
fewest with ``P(Binomial(Z, u) <= m)`` as asked. Cost: ``N ((1 - d) spot + d on demand)``, d the share of the time
without capacity.
"""

import math
from dataclasses import dataclass, replace

from sizing.base.units import HOURS_PER_MONTH, PERCENT, S_PER_HOUR, S_PER_MINUTE
from sizing.catalog.spot import spot_interruptions
from sizing.economics.amount import Amount
from sizing.economics.assumptions import Assumptions
from sizing.economics.cloud import Rented, cheapest
from sizing.economics.fleet import PricedFleet
from sizing.economics.fleet_results import RateFrom

INTERRUPTED, WITHOUT_CAPACITY = "spot_interrupted_percent_per_month", "spot_without_capacity_percent"
ZONES, HELD, START_UP = "spot_zones", "spot_held_percent", "burst_start_up_minutes"
"""Keys in ``cost_assumptions.yaml`` of what a spot price depends on."""


@dataclass(frozen=True, kw_only=True)
class ZoneSpread:
    """Instances over zones: ``number`` in ``zones``, of which so ``many`` may be lost at once; ``short`` is the chance
    that more are, at any moment."""

    number: int
    zones: int
    many: int
    short: float

    def held(self, share: float) -> bool:
        """Whether enough run in at least a share of the time."""
        return 1.0 - self.short >= share


@dataclass(frozen=True, kw_only=True)
class TakenBack:
    """How often instances are taken back: percent of them in a month, and who says so."""

    percent: float
    rate_from: RateFrom
    source: str
    date: str


def starting_again(percent_per_month: float, start_up_minutes: float) -> float:
    """Share of the time that a zone is lost and its replacement starts: ``r t / (1 + r t)``."""
    per_hour = percent_per_month / PERCENT / HOURS_PER_MONTH
    lost = per_hour * start_up_minutes * S_PER_MINUTE / S_PER_HOUR
    return lost / (1.0 + lost)


def left(number: int, zones: int, many: int) -> int:
    """Instances that are left of a number spread evenly over zones, once the fullest so ``many`` are lost."""
    each, more = divmod(number, zones)
    return number - many * each - min(many, more)


def spread_over(needed: int, share: float, zones: int, held: float) -> ZoneSpread:
    """The fewest instances, and how they are spread, with which enough run in a share ``held`` of the time; ``share``:
    time that a zone is starting again. Where no spread does, that in which the fewest zones are short.

    Of as few the one that may lose most zones, then the one over most.

    Equation: smallest N with N - sum of the m fullest zones >= needed, P(Binomial(Z, share) <= m) >= held.
    """
    from scipy.special import bdtr  # the binomial distribution

    tried: list[tuple[tuple[bool, int, int, int], ZoneSpread]] = []
    for used in range(1, zones + 1):
        for many in range(used):
            short = max(1.0 - float(bdtr(many, used, share)), 0.0)
            number = next(n for n in range(needed, needed * used + used + 1) if left(n, used, many) >= needed)
            one = ZoneSpread(number=number, zones=min(used, number), many=many, short=short)
            enough = one.held(held)
            tried.append(((not enough, number if enough else 0, -many, -used), one))
    return min(tried, key=lambda each: each[0])[1]


def taken_back(one: Rented, assumed: Assumptions) -> TakenBack:
    """How often instances of a type are taken back: as the scenario says, as published of the type, or of all types."""
    constant = assumed[INTERRUPTED]
    row = spot_interruptions().get((one.provider, one.option.id.partition(":")[2]))
    stated = constant.basis == "scenario"
    if stated or row is None:
        return TakenBack(
            percent=assumed.amount(INTERRUPTED).value,
            rate_from="scenario" if stated else "other_types",
            source=constant.source,
            date=constant.date,
        )
    return TakenBack(percent=row.typical_percent, rate_from="type", source=row.source, date=row.date)


def spread_of(one: Rented, needed: int, assumed: Assumptions) -> ZoneSpread:
    """The spread of so many instances of a type that are needed."""
    share = starting_again(taken_back(one, assumed).percent, assumed.amount(START_UP).value)
    zones = round(assumed.amount(ZONES).value)
    return spread_over(needed, share, zones, assumed.share(HELD).value)


def with_interruptions(
    one: Rented, fleet: PricedFleet, assumed: Assumptions, on_demand: tuple[Rented, ...], asked_percent: float | None
) -> Rented:
    """Spot instances with what they cost on top of their price for a fleet: those beyond what is needed, and the time
    on demand; ``asked_percent`` in its place where the scenario states it.

    ``(N / n) ((1 - d) + d x on demand / spot) - 1``. Where nobody rents on demand, nothing takes their place.
    """
    if asked_percent is not None:
        return replace(one, on_top=Amount.exactly(asked_percent / PERCENT))
    needed = fleet.systems(one.option.gpus)
    if not needed or not one.usd_per_hour.value:
        return one
    more = spread_of(one, needed, assumed).number / needed
    dearer = max(on_demand_usd(one, fleet, on_demand) / (needed * one.usd_per_hour.value), 1.0)
    without = assumed.share(WITHOUT_CAPACITY)
    value, low, high = (more * (1.0 + d * (dearer - 1.0)) - 1.0 for d in (without.value, without.low, without.high))
    return replace(one, on_top=Amount(value=value, low=low, high=high))


def on_demand_usd(one: Rented, fleet: PricedFleet, on_demand: tuple[Rented, ...]) -> float:
    """USD per hour of the same fleet on demand: of the same instance type, else of the cheapest; that of the spot
    instances where nobody rents on demand."""
    same = next((other for other in on_demand if other.option.id == one.option.id), None)
    if same is None and not on_demand:
        return fleet.systems(one.option.gpus) * one.usd_per_hour.value
    best = same or cheapest(on_demand, fleet)
    usd = fleet.systems(best.option.gpus) * best.usd_per_hour.value
    return usd if math.isfinite(usd) else 0.0
