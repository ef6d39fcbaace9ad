"""The instances of a plan as a fleet: how many at another load, and how many whole systems hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sizing.base.arrays import ROUNDING
from sizing.base.choices import Redundancy
from sizing.base.deployed import Deployed, Pool
from sizing.base.errors import InvalidScenario
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_MONTH, S_PER_HOUR
from sizing.economics.amount import Amount
from sizing.prices.packing import MAX_COUNT, Reserve, systems_for_both, systems_needed


@dataclass(frozen=True, kw_only=True)
class FleetKind:
    """Instances of one kind: ``working`` carry the load, ``spares`` stand by; ``max_rps`` is requests/s of each."""

    gpus: int
    working: int
    spares: int
    max_rps: float

    @property
    def instances(self) -> int:
        """Instances of this kind, spares included."""
        return self.working + self.spares


@dataclass(frozen=True, kw_only=True)
class PricedFleet:
    """The instances that carry ``peak_rps``, the mean rate of the busiest time: one kind, or prefill and decode.

    ``redundancy``: what may fail at the peak as a whole. ``gpus_low`` and ``gpus_high`` are the range of GPUs of the
    plan, ``gpus_high`` infinite where nothing bounds it.
    """

    kinds: tuple[FleetKind, ...]
    peak_rps: float
    gpus_low: float
    gpus_high: float
    redundancy: Redundancy = "none"

    @property
    def gpus(self) -> int:
        """GPUs that run the model, spares included."""
        return sum(kind.instances * kind.gpus for kind in self.kinds)

    @property
    def working_gpus(self) -> int:
        """GPUs that carry the load, without those that stand by."""
        return sum(kind.working * kind.gpus for kind in self.kinds)

    def busy(self, requests: float, gpus_bought: float) -> float:
        """Mean share of so many GPUs that is busy in a month of so many requests: ``requests / requests it could serve
        (at most 1) x GPUs that carry the load / GPUs``; 0 where nothing stands there."""
        if not self.working_gpus or not gpus_bought:
            return 0.0
        return min(requests / self.requests_per_month, 1.0) * self.working_gpus / gpus_bought

    @property
    def largest(self) -> int:
        """GPUs of the largest instance."""
        return max(kind.gpus for kind in self.kinds)

    @property
    def max_rps(self) -> float:
        """Requests/s that all working instances carry together within the limits."""
        return min(kind.working * kind.max_rps for kind in self.kinds)

    @property
    def requests_per_month(self) -> float:
        """Requests of a month in which every working instance carries what it can, day and night."""
        return self.max_rps * S_PER_HOUR * HOURS_PER_MONTH

    def at(self, load: float) -> PricedFleet:
        """The fleet for ``load`` times the planned peak: ``ceil(peak x load / requests/s per instance)``, at least 1.

        Up to the planned peak never more instances than planned, beyond it never fewer. Raises InvalidScenario where
        more instances would be needed than can be counted.
        """
        return self if load == 1.0 else self.of(tuple(self._kind(kind, load) for kind in self.kinds))

    def of(self, kinds: tuple[FleetKind, ...]) -> PricedFleet:
        """The fleet with other numbers of instances; its range of GPUs is as wide in relation."""
        share = sum(kind.instances * kind.gpus for kind in kinds) / self.gpus
        return replace(self, kinds=kinds, gpus_low=self.gpus_low * share, gpus_high=_times(self.gpus_high, share))

    def _kind(self, kind: FleetKind, load: float) -> FleetKind:
        wanted = self.peak_rps * load / kind.max_rps - ROUNDING
        if not wanted < MAX_COUNT:
            problem = f"{load:,.3g} times the planned load needs more instances than can be counted."
            raise InvalidScenario.at("costs", problem)
        needed = max(math.ceil(wanted), 1)
        return replace(kind, working=min(needed, kind.working) if load <= 1.0 else max(needed, kind.working))

    def systems(self, system_gpus: int) -> int:
        """Whole systems of so many GPUs that hold all instances, and those that may fail."""
        pairs = [(self._held(kind, system_gpus), kind.gpus) for kind in self.kinds]
        if len(pairs) == 1:
            return int(systems_needed(*pairs[0], system_gpus))
        return int(systems_for_both(pairs[0], pairs[1], system_gpus))

    def _held(self, kind: FleetKind, system_gpus: int) -> int:
        """Instances of a kind for which there is room in systems of so many GPUs."""
        reserve = Reserve(spares=kind.spares if self.redundancy == "none" else 0, redundancy=self.redundancy)
        return max(int(reserve.held(kind.working, kind.gpus, system_gpus)), kind.instances)

    def systems_range(self, system_gpus: int) -> Amount:
        """Whole systems, at the low and the high end of the plan's GPUs too.

        Of one kind, the instances that these GPUs make; of two, the GPUs filled one system after the other.
        """
        value = self.systems(system_gpus)
        more = value - replace(self, redundancy="none").systems(system_gpus)
        ends = [self._systems_of(gpus, system_gpus) + more for gpus in (self.gpus_low, self.gpus_high)]
        return Amount(value=value, low=min(ends[0], value), high=max(ends[1], value))

    def _systems_of(self, gpus: float, system_gpus: int) -> float:
        if not math.isfinite(gpus):
            return gpus
        if len(self.kinds) == 1:
            each = self.kinds[0].gpus
            return float(systems_needed(math.ceil(gpus / each - ROUNDING), each, system_gpus))
        return math.ceil(gpus / system_gpus - ROUNDING)


def _times(gpus: float, share: float) -> float:
    """No GPUs are none, whatever their range."""
    return gpus * share if share else 0.0


def fleet_of(plan: Plan) -> PricedFleet:
    """The instances of a feasible plan. Raises InvalidScenario where nothing serves the scenario."""
    deployed, one = plan.deployment, plan.per_instance
    if not plan.feasible or deployed is None or one is None or plan.gpus_low is None:
        raise InvalidScenario([f"There is no deployment to price. {plan.answer}"])
    kinds = tuple(_kind_of(pool, pool.max_rps) for pool in deployed.pools or ())
    high = math.inf if plan.gpus_high is None else float(plan.gpus_high)
    kinds = kinds or (_kind_of(deployed, one.max_rps),)
    return PricedFleet(
        kinds=kinds,
        peak_rps=plan.sustained_rps,
        gpus_low=float(plan.gpus_low),
        gpus_high=high,
        redundancy=deployed.redundancy,
    )


def _kind_of(kind: Deployed | Pool, max_rps: float) -> FleetKind:
    spares = min(kind.spare_instances, kind.instances - 1)
    return FleetKind(gpus=kind.gpus // kind.instances, working=kind.instances - spares, spares=spares, max_rps=max_rps)
