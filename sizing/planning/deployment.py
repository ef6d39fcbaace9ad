"""One deployment of a ranking and everything that a plan states of it, the same for every kind of serving.

:mod:`sizing.planning.aggregated` and :mod:`sizing.planning.disaggregated` are the two implementations; units become
those of the contract (ms, GB).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from sizing.base.arrays import Floats
from sizing.base.choices import DecidedBy, NotSimulated
from sizing.base.deployed import Deployed, PerInstance
from sizing.base.latency_and_cost import NO_LATENCY, Cost, Latencies, Latency
from sizing.base.provenance import Provenance
from sizing.base.result import Candidate, CrossCheck, Explained, LoadPoint, PlanWarning
from sizing.base.units import MS_PER_S
from sizing.planning.binding import Binding
from sizing.planning.business import business_of
from sizing.planning.explain import Stated
from sizing.planning.sentences import bindings_text, source_of
from sizing.planning.spread import Spread
from sizing.prices.cost import cost_of
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.deployments import Deployments
from sizing.search.replicas import PlannedReplicas
from sizing.search.screen import Evaluated

LEAST_CHANCE = 0.01
"""Smallest chance that is stated, and one less the largest. Chosen: because the intervals come from some hundred
configurations, whose worst single ones decide what lies beyond."""

CHANCES = 45
"""Chances at which the room of a deployment is looked at, evenly spaced in standard deviations: a tenth apart."""

Kind = TypeVar("Kind", bound=Deployments)
LatencyMetric = Literal["ttft_s", "itl_s", "e2e_s"]


@dataclass(frozen=True, eq=False)
class PlannedDeployment(ABC, Generic[Kind]):
    """Deployment ``k`` of ``kind``, with steps as long as expected: what is stated of it.

    ``sized`` and ``sized_k``: the same as the search sized it, with steps so slow as the asked confidence takes them:
    what it surely carries, and what keeps it from being smaller.
    """

    kind: Kind
    k: int
    sized: Kind
    sized_k: int

    @classmethod
    @abstractmethod
    def spreads(cls, kind: Kind, chosen: Sequence[int]) -> list[Spread]:
        """80 % interval of each of ``chosen``; many at once take hardly longer than one."""

    @abstractmethod
    def deployed(self, option: HardwareOption | None = None, systems: int | None = None) -> Deployed:
        """What to deploy; in ``systems`` systems of ``option`` instead of the cheapest, where these are given."""

    @abstractmethod
    def per_instance(self) -> PerInstance:
        """What an instance that generates answers needs and does at the planned load."""

    @abstractmethod
    def percentile_s(self, metric: LatencyMetric, percentile: float) -> float:
        """A latency at the planned load by the analytic load model, in seconds."""

    @property
    @abstractmethod
    def max_rps(self) -> float:
        """Requests/s of such an instance within the limits, as surely as asked."""

    @property
    @abstractmethod
    def expected_gpus(self) -> int:
        """GPUs with which the limits hold if steps take as long as expected, spares counted; as planned at most."""

    @abstractmethod
    def rooms(self, confidences: Floats) -> Floats:
        """How many times the planned load the planned instances carry within the limits, if steps are as slow as each
        of the ``confidences`` (N,) takes them; 0 where a limit is broken without load. Shape (N,)."""

    @property
    @abstractmethod
    def output_tokens_per_s_per_gpu(self) -> float:
        """Generated tokens per second and GPU at the planned load."""

    @abstractmethod
    def bindings(self) -> tuple[Binding, ...]:
        """What keeps it from being smaller at the planned load; of prefill and decode where these run apart."""

    @abstractmethod
    def reached_first(self) -> Binding:
        """What a growing load reaches first."""

    @property
    @abstractmethod
    def headroom(self) -> float:
        """How many times the planned load it carries within the limits, spares aside."""

    @property
    def headroom_is_simulated(self) -> bool:
        """Whether a simulation says so, or the load model."""
        return False

    def limited_by(self) -> str:
        """What binds at the planned load, in words."""
        return bindings_text(self.bindings())

    @abstractmethod
    def load_curve(self) -> tuple[LoadPoint, ...]:
        """Latency of an instance from idle to its stability limit, at the asked percentile."""

    @abstractmethod
    def with_steps_at(self, end: str) -> PlannedDeployment[Kind]:
        """The same instances with all step times at one of :data:`sizing.planning.spread.ENDS`, idle or busy."""

    @abstractmethod
    def assumed(self, load_model: DecidedBy) -> Iterator[str]:
        """Engine settings and simplifications that the answer rests on, its latencies being from ``load_model``."""

    @abstractmethod
    def assumed_by_simulation(self) -> tuple[str, ...]:
        """What simulated percentiles rest on."""

    @abstractmethod
    def explained(self, stated: Stated) -> Iterator[Explained]:
        """Every public figure followed from the inputs to the formula to the source."""

    @abstractmethod
    def to_simulate(self) -> PlannedReplicas:
        """The working instances, without spares, as the simulator takes them."""

    @abstractmethod
    def second_opinion(self, stated: Stated) -> CrossCheck:
        """The same by another source of step times, or why there is none."""

    def per_prefill_instance(self) -> PerInstance | None:
        """What a prefill instance needs and does, where prefill runs apart."""
        return None

    def about_serving(self, instead: int | None) -> Iterator[PlanWarning]:
        """What this kind of serving takes; ``instead``: GPUs that other kinds would need."""
        yield from ()

    def about_limits(self) -> Iterator[PlanWarning]:
        """A limit that costs many GPUs."""
        yield from ()

    def gpu_range(self, around: Spread) -> tuple[int, int | None]:
        """Whole GPUs at both ends of the interval; None where the limits could no longer be met."""
        return around.gpu_range

    def probability_within_limits(self) -> float:
        """Chance that every limit holds at the planned load with the planned instances: at least the asked one, for
        which they were sized.

        The chance with which steps are no slower than those at which the instances just carry the load; stated between
        :data:`LEAST_CHANCE` and its complement, as errors of so few runs tell no more.
        """
        return max(self._chance(), self.question.confidence)

    def _chance(self) -> float:
        z = np.linspace(ndtri(LEAST_CHANCE), ndtri(1.0 - LEAST_CHANCE), CHANCES)
        rooms = np.minimum.accumulate(self.rooms(ndtr(z)))
        held = np.flatnonzero(rooms >= 1.0)
        if not len(held):
            return LEAST_CHANCE
        last = int(held[-1])
        if last == len(z) - 1:
            return 1.0 - LEAST_CHANCE
        part = (rooms[last] - 1.0) / (rooms[last] - rooms[last + 1])
        return float(ndtr(z[last] + part * (z[last + 1] - z[last])))

    @property
    def benchmarked(self) -> bool:
        """Whether an imported benchmark measured this very deployment."""
        return False

    @property
    def question(self) -> Question:
        """The question that this deployment answers."""
        return self.kind.question

    @property
    def evaluated(self) -> Evaluated:
        """The candidates that the deployment is made of."""
        return self.kind.evaluated

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The kinds of instances: one that does both, or prefill and decode."""
        return self.kind.configurations(self.k)

    @cached_property
    def row(self) -> Configuration:
        """The configuration of the instances that generate answers."""
        return self.configurations[-1]

    @property
    def option(self) -> HardwareOption:
        """The system or cloud offer whose GPUs the instances run on."""
        return self.kind.option(self.k)

    def provenance(
        self, load_model: DecidedBy = "analytic", requests: int = 0, not_simulated: NotSimulated | None = None
    ) -> Provenance:
        """What the numbers come from; ``requests``: simulated for its instances, unless its candidate says how many."""
        index = int(self.kind.rows[self.k])
        simulated = int(self.evaluated.requests[index]) or requests
        return Provenance(
            step_times=self.evaluated.sources[index],
            load_model=load_model,
            requests=simulated if simulated else None,
            not_simulated=not_simulated,
        )

    def cost(self) -> Cost:
        """The cost of the systems at list prices, and what an output token costs of it at the peak and over the day."""
        question = self.question
        per_s = question.demand.sustained_rps * question.traffic.output_tokens
        per_day = business_of(question).output_tokens_per_day
        return cost_of(self.option, int(self.kind.systems[self.k]), per_s, per_day)

    def latencies(self, around: Spread) -> Latencies:
        """Percentiles at the planned load; the interval is that of the asked percentile."""
        return Latencies(
            ttft_ms=self._latency("ttft_s", around),
            itl_ms=self._latency("itl_s", around) if self._has_gaps else NO_LATENCY,
            e2e_ms=self._latency("e2e_s", around),
        )

    @property
    def _has_gaps(self) -> bool:
        """Whether there is an ITL: an answer of one token has no gap between tokens."""
        return self.question.traffic.output_tokens > 1.0

    def _latency(self, metric: LatencyMetric, around: Spread) -> Latency:
        percents = (*Latency.percents(), self.question.limits.percentile)
        *percentiles, value = (self.percentile_s(metric, p) * MS_PER_S for p in percents)
        low, high = (end * MS_PER_S for end in getattr(around, metric))
        return Latency(
            percentiles=tuple(percentiles),
            low=min(low, value),
            at_percentile=value,
            high=max(high, value) if np.isfinite(high) else None,
        )

    def candidate(self, around: Spread, simulated_ms: Mapping[LatencyMetric, float] | None = None) -> Candidate:
        """This deployment in a list; ``simulated_ms`` are latencies that were counted, for those of the load model."""
        cost, (low, high) = self.cost(), self.gpu_range(around)
        provenance = self.provenance("analytic" if simulated_ms is None else "simulation")
        kind, k, counted = self.kind, self.k, simulated_ms or {}
        itl_ms = float(kind.itl_s[k]) * MS_PER_S if self._has_gaps else None
        return Candidate(
            deployment=self.deployed(),
            max_rps=self.max_rps,
            ttft_ms=counted.get("ttft_s", float(kind.ttft_s[k]) * MS_PER_S),
            itl_ms=counted.get("itl_s", itl_ms),
            e2e_ms=counted.get("e2e_s", float(kind.e2e_s[k]) * MS_PER_S),
            output_tokens_per_s_per_gpu=self.output_tokens_per_s_per_gpu,
            gpus_low=low,
            gpus_high=high,
            hardware_usd_per_month=cost.hardware_usd_per_month,
            power_kw=cost.power_kw,
            limited_by=self.limited_by(),
            source=source_of(provenance),
            decided_by=provenance.load_model,
            provenance=provenance,
        )
