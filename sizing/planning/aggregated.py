"""A deployment whose instances do prefill and decode, as a plan states it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Floats, Position
from sizing.base.choices import DecidedBy, Redundancy
from sizing.base.deployed import Adapters, Deployed, PerInstance
from sizing.base.format import percent
from sizing.base.result import CrossCheck, Explained, LoadPoint, PlanWarning
from sizing.base.units import MS_PER_S
from sizing.calibration.benchmark import calibrated_configuration
from sizing.evidence.error_factors import ErrorFactors
from sizing.planning import assumptions, media, rules
from sizing.planning.binding import Binding, at_the_load, reached_first
from sizing.planning.deployment import LatencyMetric, PlannedDeployment
from sizing.planning.explain import Stated, explain
from sizing.planning.instance_start import start_up_in_words
from sizing.planning.second_opinion import second_opinion
from sizing.planning.shared_fields import adapters_of, drafts_of, identity_of, memory_gb
from sizing.planning.spread import (
    ENDS,
    AtEnd,
    Spread,
    capacity_factors,
    factors,
    intervals_at,
    spreads_of,
    with_slower_steps,
)
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration
from sizing.queueing.capacity import at_rate
from sizing.queueing.steady_state import SteadyState
from sizing.search.aggregated import Aggregated
from sizing.search.caution import step_factors
from sizing.search.replicas import PlannedReplicas, planned_instances
from sizing.search.screen import instances_needed


def deployed_as(
    row: Configuration,
    option: HardwareOption,
    instances: int,
    spares: int,
    systems: int,
    redundancy: Redundancy = "none",
    adapters: Adapters | None = None,
) -> Deployed:
    """What to deploy, from one configuration and what it runs in."""
    return Deployed(
        **identity_of(row),
        speculation=drafts_of(row.speculation),
        instances=instances,
        spare_instances=spares,
        gpus=instances * row.gpus,
        system=option.name,
        systems=systems,
        gpus_bought=systems * option.gpus,
        redundancy=redundancy,
        batch_limit=row.batch_limit,
        adapters=adapters,
    )


class PlannedAggregated(PlannedDeployment[Aggregated]):
    """Instances of one kind, which do both."""

    @property
    def index(self) -> int:
        """Row of the candidate that is deployed, in the table of all evaluated candidates."""
        return int(self.kind.index[self.k])

    @classmethod
    def spreads(cls, kind: Aggregated, chosen: Sequence[int]) -> list[Spread]:
        """The spread of the plan's figures with all step times at either end of their error interval."""
        only = kind.take(np.array(chosen, dtype=np.intp))
        decode, prefill = step_intervals(only)
        fast, slow = (_holding_the_plan(only, _at_end(only, decode, prefill, end), end) for end in ENDS)
        return spreads_of(fast, slow, decode, prefill)

    def deployed(self, option: HardwareOption | None = None, systems: int | None = None) -> Deployed:
        """The instances of the one configuration, in ``systems`` of an ``option``; those of the plan where not
        given."""
        kind, k = self.kind, self.k
        bought = int(kind.systems[k]) if systems is None else systems
        (spares,), redundancy = kind.spares(k), self.question.scenario.deployment.redundancy
        adapters = adapters_of(self.question, self.row, kind.working(k)[0])
        return deployed_as(
            self.row, option or self.option, int(kind.instances[k]), spares, bought, redundancy, adapters
        )

    def per_instance(self) -> PerInstance:
        """The figures of one instance, which is one copy of the model."""
        i, row, evaluated, rps = self.index, self.row, self.evaluated, float(self.kind.rps[self.k])
        memory, state, at = evaluated.memory, evaluated.state, self.kind.position.take(np.array([self.k]))
        concurrency = float(at.of(state.concurrency[[i]])[0])
        tokens_per_s = rps * self.question.traffic.output_tokens
        return PerInstance(
            max_rps=self.max_rps,
            stable_rps=float(self.sized.evaluated.capacity.stable_rps[self.sized.index[self.sized_k]]),
            rps=rps,
            concurrency=concurrency,
            max_concurrency=int(memory.max_concurrency[i]),
            **memory_gb(self.question, memory, i, row, concurrency),
            output_tokens_per_s=tokens_per_s,
            output_tokens_per_s_per_gpu=tokens_per_s / row.gpus,
            prefill_share=float(at.of(state.prefill_load[[i]])[0]),
            decode_step_ms=float(at.of(evaluated.times.decode_s[[i]])[0]) * MS_PER_S,
            prefill_ms=float(evaluated.times.prefill_s[i]) * MS_PER_S,
        )

    def percentile_s(self, metric: LatencyMetric, percentile: float) -> float:
        """A percentile of a latency in seconds, from the steady state at the load of one instance."""
        state, at = self._at_load
        of: Floats = getattr(state, metric)(percentile)
        return float(at.of(np.maximum.accumulate(of, axis=1))[0])

    @cached_property
    def _at_load(self) -> tuple[SteadyState, Position]:
        """The steady state of its candidate, and the place of its load in that."""
        return self.evaluated.state.take(np.array([self.index])), self.kind.position.take(np.array([self.k]))

    @property
    def max_rps(self) -> float:
        """Requests/s that one instance serves within every limit."""
        return float(self.sized.evaluated.capacity.rps[self.sized.index[self.sized_k]])

    @property
    def expected_gpus(self) -> int:
        """GPUs that would be needed at the expected capacity of an instance, without the caution of the plan.

        What a simulation takes off the capacity at the plan's steps, it takes off here; what it adds is not carried
        over: near the fastest possible token the load model is too careful, by a factor that ends with that nearness.
        """
        moved, screened = self.evaluated.capacity.rps, self.evaluated.screened_rps
        rps = (moved if screened is None else np.minimum(moved, screened))[[self.index]]
        needed = int(instances_needed(self.question.demand.sustained_rps, rps)[0]) + self.kind.spares(self.k)[0]
        return min(needed, int(self.kind.instances[self.k])) * self.row.gpus

    def rooms(self, confidences: Floats) -> Floats:
        """As the base says, by the analytic load model, moved as the simulation moved the capacity."""
        one = self.kind.take(np.array([self.k]))
        decode, prefill = (step_factors(around, confidences) for (around,) in step_intervals(one))
        kind = one.take(np.zeros(len(confidences), dtype=np.intp))
        rps = capacity_with(kind, decode, prefill)
        return rps / kind.rps

    @property
    def output_tokens_per_s_per_gpu(self) -> float:
        """Output tokens/s of one instance at the peak, divided by its GPUs."""
        gpus = float(self.evaluated.candidates.gpus[self.index])
        return float(self.kind.rps[self.k]) * self.question.traffic.output_tokens / gpus

    def bindings(self) -> tuple[Binding, ...]:
        """What binds the one kind of instance at the planned load."""
        index = int(self.sized.index[self.sized_k])
        return (at_the_load(self.question, self.sized.evaluated, index, *self.sized.working(self.sized_k)),)

    def reached_first(self) -> Binding:
        """The limit that one instance reaches first when its load grows."""
        return reached_first(self.question, self.sized.evaluated, int(self.sized.index[self.sized_k]))

    @property
    def headroom(self) -> float:
        """Load that all instances together carry within the limits, over the peak load."""
        return float(self.sized.max_rps[self.sized_k]) / self.question.demand.sustained_rps

    @property
    def headroom_is_simulated(self) -> bool:
        """Whether a simulation confirmed the capacity from which the headroom follows."""
        return self.sized.evaluated.screened_rps is not None

    def load_curve(self) -> tuple[LoadPoint, ...]:
        """The latencies at every load of the candidate's grid."""
        evaluated, i = self.evaluated, self.index
        state, latencies = evaluated.state, evaluated.latencies
        gpus = float(evaluated.candidates.gpus[i])
        rates = np.maximum.accumulate(state.rps[i])
        return tuple(
            LoadPoint(
                rps=float(rates[k]),
                concurrency=float(state.concurrency[i, k]),
                ttft_ms=float(latencies.ttft_s[i, k]) * MS_PER_S,
                itl_ms=float(latencies.itl_s[i, k]) * MS_PER_S,
                e2e_ms=float(latencies.e2e_s[i, k]) * MS_PER_S,
                output_tokens_per_s_per_gpu=float(rates[k]) * self.question.traffic.output_tokens / gpus,
            )
            for k in range(state.rps.shape[1])
        )

    def with_steps_at(self, end: str) -> PlannedAggregated:
        """The same candidate alone, its step times at one ``end`` of their error intervals."""
        kind, question = self.kind.take(np.array([self.k])), self.question
        decode, prefill = (
            factors(intervals_at(question, what, self.evaluated, kind.index), end) for what in ("decode", "prefill")
        )
        there = with_slower_steps(question, kind.evaluated, kind.index, decode, prefill)
        one = replace(kind, evaluated=there, index=np.zeros(1, dtype=np.intp))
        return PlannedAggregated(one, 0, one, 0)

    def about_limits(self) -> Iterator[PlanWarning]:
        """A limit of which a little slack would save many GPUs."""
        return rules.about_limits(self.sized, self.sized_k)

    @property
    def benchmarked(self) -> bool:
        """Whether an imported benchmark measured this very configuration."""
        calibrated = calibrated_configuration(self.question)
        return calibrated is not None and calibrated.covers(self.row)

    def assumed(self, load_model: DecidedBy) -> Iterator[str]:
        """Engine settings, how requests are routed, and whose measurements stand for this engine."""
        row, question = self.row, self.question
        capped = f" ({row.engine.batch_option})" if row.batch_limit and row.engine.batch_option else ""
        yield (
            f"{row.engine.label}: {row.engine.budget(row.gpu):,} tokens per step, at most "
            f"{row.batch_limit or row.engine.sequences(row.gpu):,} sequences{capped}, "
            f"{percent(row.memory_fraction(question.model))} of GPU memory, chunked prefill."
        )
        yield f"KV cache in {'FP8' if row.kv_precision == 'fp8' else '16 bit'}."
        yield from assumptions.uneven_ranks(row)
        if load_model == "analytic":
            yield assumptions.analytic(question)
        yield from assumptions.speculative(row.speculation)
        yield from assumptions.adapted(question, row)
        yield from media.assumed(question)
        if row.engine.surrogate != row.engine.id:
            yield f"{row.engine.label} has no measurements of its own: step times of {row.engine.surrogate} are used."
        yield from assumptions.usage(question)
        yield from start_up_in_words(question.scenario, question.model, row)

    def assumed_by_simulation(self) -> tuple[str, ...]:
        """The routing that is asked for is the one that was simulated."""
        return assumptions.simulated(self.question.scenario.deployment.routing)

    def explained(self, stated: Stated) -> Iterator[Explained]:
        """Figures of instances that do both."""
        return explain(stated)

    def to_simulate(self) -> PlannedReplicas:
        """The working instances as the simulator takes them."""
        return planned_instances(self.kind, self.k)

    def second_opinion(self, stated: Stated) -> CrossCheck:
        """What the roofline alone says of the figures that the plan states."""
        return second_opinion(stated)


def step_intervals(kind: Aggregated) -> tuple[list[ErrorFactors], list[ErrorFactors]]:
    """The intervals of decode and of prefill times of every deployment, at its load."""
    load = kind.position.of(kind.evaluated.state.concurrency, kind.index)
    decode, prefill = (
        intervals_at(kind.question, what, kind.evaluated, kind.index, load) for what in ("decode", "prefill")
    )
    return decode, prefill


def capacity_with(kind: Aggregated, decode: Floats, prefill: Floats) -> Floats:
    """Requests/s of an instance of every deployment within the limits with steps so many times as long, (N,), as a
    simulation moved the capacity."""
    scaled = with_slower_steps(kind.question, kind.evaluated, kind.index, decode, prefill)
    return np.asarray(scaled.capacity.rps * kind.evaluated.moved_by_simulation[kind.index])


def _at_end(kind: Aggregated, decode: Sequence[ErrorFactors], prefill: Sequence[ErrorFactors], end: str) -> AtEnd:
    """GPUs needed, and the latencies at the planned load (inf where it would be unstable), at one end."""
    question, load = kind.question, kind.rps
    rps = capacity_with(kind, capacity_factors(decode, end), capacity_factors(prefill, end))
    needed = np.where(rps > 0, instances_needed(question.demand.sustained_rps, rps), np.inf)
    scaled = with_slower_steps(question, kind.evaluated, kind.index, factors(decode, end), factors(prefill, end))
    position = at_rate(scaled.state.rps, load)
    stable = load <= scaled.capacity.stable_rps

    def where_stable(values: Floats) -> Floats:
        return np.where(stable, position.of(values), np.inf)

    return AtEnd(
        gpus=(needed + kind.standing_by) * scaled.candidates.gpus,
        ttft_s=where_stable(scaled.latencies.ttft_s),
        itl_s=where_stable(scaled.latencies.itl_s),
        e2e_s=where_stable(scaled.latencies.e2e_s),
    )


def _holding_the_plan(kind: Aggregated, at: AtEnd, end: str) -> AtEnd:
    """The range holds the planned number, also where that is simulated."""
    return replace(at, gpus=np.minimum(at.gpus, kind.gpus) if end == ENDS[0] else np.maximum(at.gpus, kind.gpus))
