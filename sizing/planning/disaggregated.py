"""A pair of pools of prefill and decode instances, as a plan states it.

What sets the size of each pool is part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.choices import DecidedBy
from sizing.base.deployed import Deployed, PerInstance, Pool
from sizing.base.result import CrossCheck, Explained, LoadPoint, PlanWarning
from sizing.base.units import GB, MS_PER_S
from sizing.deployments.kv_transfer import largest_share, link_name, prompt_kv_bytes
from sizing.evidence.error_factors import ErrorFactors
from sizing.planning import assumptions, rules
from sizing.planning.binding import Binding, Binds, saturated, smaller_units, smallest
from sizing.planning.deployment import LatencyMetric, PlannedDeployment
from sizing.planning.explain import Stated
from sizing.planning.explain_disaggregated import explain_pools
from sizing.planning.second_opinion import AGGREGATED_ONLY, no_opinion
from sizing.planning.shared_fields import adapters_of, drafts_of, identity_of, memory_gb, parallelism_of
from sizing.planning.spread import ENDS, AtEnd, Spread, capacity_factors, factors, intervals_at, spreads_of
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.steady_state import SteadyState
from sizing.search.caution import step_factors
from sizing.search.disaggregated import PoolPairs
from sizing.search.pools import (
    Pools,
    apart_rows,
    at_loads,
    at_peak,
    decode_capacity,
    decode_stable,
    decoding_of,
    grown_into_e2e,
    moved_by_simulation,
    prefill_capacity,
    prefill_stable,
    prefill_stable_of,
    times_of,
)
from sizing.search.pools_simulated import planned_pools
from sizing.search.replicas import PlannedReplicas
from sizing.search.screen import instances_needed
from sizing.simulator.run_length import HEAVIEST

LOADS = np.concatenate([np.geomspace(0.01, 0.6, 16), [0.68, 0.75, 0.81, 0.86, 0.9, 0.93, 0.95, 0.97, 0.985]])
"""Shares of what the pools carry for ever at which the load curve is drawn. Chosen: closer where latency bends."""

LEAST_PROMPT_GB = 1e-9
"""KV cache of one prompt at least, so that nothing is divided by 0; a real one has megabytes."""

NEARLY_EQUAL = 1.001
"""Two rates that differ by no more than this factor count as the same."""

BELOW_STABLE = 0.999
"""Share of the stability limit from which on it, and not a latency, counts as what limits a pool."""


class PlannedDisaggregated(PlannedDeployment[PoolPairs]):
    """Prefill and decode instances; :attr:`row` is a decode instance."""

    @classmethod
    def spreads(cls, kind: PoolPairs, chosen: Sequence[int]) -> list[Spread]:
        """The same pools with all step times at the ends of their interval."""
        only = kind.take(np.array(chosen, dtype=np.intp))
        decode, prefill = _intervals(only)
        fast, slow = (_at_end(only, decode, prefill, end) for end in ENDS)
        fast = replace(fast, gpus=np.minimum(fast.gpus, only.gpus))  # what is planned does with faster steps, too
        return spreads_of(fast, slow, decode, prefill)

    def gpu_range(self, around: Spread) -> tuple[int, int | None]:
        """A range that holds the planned number: pools are rounded up apart, so an end may overtake the centre."""
        low, high = around.gpu_range
        return low, None if high is None else max(high, int(self.kind.gpus[self.k]))

    def deployed(self, option: HardwareOption | None = None, systems: int | None = None) -> Deployed:
        """Parallelism at the top is of a decode instance, instances count both kinds."""
        kind, k, row, hardware = self.kind, self.k, self.row, option or self.option
        bought = int(kind.systems[k]) if systems is None else systems
        sized = self.sized.pools
        rates = float(sized.prefill_rps[self.sized_k]), float(sized.decode_rps[self.sized_k])
        prefill, decode = (
            self._pool(config, working, spares, max_rps)
            for config, working, spares, max_rps in zip(
                self.configurations, kind.working(k), kind.spares(k), rates, strict=True
            )
        )
        limits = self.question.scenario.deployment.batch_limits
        return Deployed(
            **identity_of(row),
            speculation=drafts_of(row.speculation),
            adapters=adapters_of(self.question, row, kind.working(k)[1]),
            instances=prefill.instances + decode.instances,
            spare_instances=sum(kind.spares(k)),
            gpus=int(kind.gpus[k]),
            system=hardware.name,
            systems=bought,
            gpus_bought=bought * hardware.gpus,
            redundancy=self.question.scenario.deployment.redundancy,
            serving=kind.serving,
            batch_limit=max(limits) if limits else None,
            prefill=prefill,
            decode=decode,
        )

    def _pool(self, row: Configuration, working: int, spares: int, max_rps: float) -> Pool:
        """One pool; ``working`` instances without spares."""
        instances = working + spares
        return Pool(
            **parallelism_of(row),
            instances=instances,
            spare_instances=spares,
            gpus=instances * row.gpus,
            max_rps=max_rps,
            rps=self.question.demand.sustained_rps / working,
        )

    @cached_property
    def state(self) -> SteadyState:
        """The steady state of both pools at the peak load, (1, 1)."""
        one = np.array([self.k])
        return at_peak(self.question, self.kind.pools.take(one), self.kind.transfer_s[one])

    def per_instance(self) -> PerInstance:
        """A decode instance; output tokens per GPU count the GPUs of both pools."""
        question, pools, evaluated, row = self.question, self.kind.pools, self.evaluated, self.row
        i, (n_p, n_d) = int(pools.decode[self.k]), self.kind.working(self.k)
        concurrency = float(self.state.concurrency[0, 0])
        tokens = question.demand.sustained_rps / n_d * question.traffic.output_tokens
        times, known, memory = evaluated.times, evaluated.state.concurrency[i], evaluated.memory
        return PerInstance(
            max_rps=self.max_rps,
            stable_rps=decode_stable(question, self.sized.pools.take(np.array([self.sized_k]))),
            rps=question.demand.sustained_rps / n_d,
            concurrency=concurrency,
            max_concurrency=int(memory.max_concurrency[i]),
            **memory_gb(question, memory, i, row, concurrency),
            output_tokens_per_s=tokens,
            output_tokens_per_s_per_gpu=tokens * n_d / (n_p * self.configurations[0].gpus + n_d * row.gpus),
            prefill_share=None,
            decode_step_ms=float(np.interp(concurrency, known, times.decode_s[i])) * MS_PER_S,
            prefill_ms=float(times.prefill_s[pools.prefill[self.k]]) * MS_PER_S,
        )

    def per_prefill_instance(self) -> PerInstance:
        """A prefill instance; it generates the first token of every answer."""
        question, pools, evaluated, row = self.question, self.kind.pools, self.evaluated, self.configurations[0]
        i, n = int(pools.prefill[self.k]), self.kind.working(self.k)[0]
        state, rps = self.state, question.demand.sustained_rps / n
        candidates, memory = evaluated.candidates, evaluated.memory
        shares = largest_share(question.model, candidates, pools.prefill[[self.k]])
        copies = float(shares[0]) * row.tp * row.pp  # heads beyond the KV heads are copied
        of_row = prompt_kv_bytes(question.model, candidates, question.traffic.input_tokens, pools.prefill[[self.k]])
        prompt = float(of_row[0]) * copies / GB
        fits = int(float(memory.kv_available[i]) * row.gpus / GB / max(prompt, LEAST_PROMPT_GB))
        times = times_of(question, evaluated, pools.prefill[[self.k]])
        in_flight = min(rps * float(state.ttft_mean_s[0, 0]), float(fits))
        return PerInstance(
            max_rps=float(self.sized.pools.prefill_rps[self.sized_k]),
            stable_rps=prefill_stable_of(question, self.sized.pools.take(np.array([self.sized_k]))),
            rps=rps,
            concurrency=in_flight,
            max_concurrency=fits,
            **memory_gb(question, memory, i, row, in_flight, prompt),
            output_tokens_per_s=rps,
            output_tokens_per_s_per_gpu=rps / row.gpus,
            prefill_share=float(state.prefill_load[0, 0]),
            decode_step_ms=None,
            prefill_ms=float(times.alone_s[0]) * MS_PER_S,
        )

    def percentile_s(self, metric: LatencyMetric, percentile: float) -> float:
        """A percentile of a latency in seconds, of a request that passes both pools at the peak load."""
        of: Floats = getattr(self.state, metric)(percentile)
        return float(of[0, 0])

    @property
    def max_rps(self) -> float:
        """Requests/s that one decode instance serves within the ITL limit."""
        return float(self.sized.pools.decode_rps[self.sized_k])

    @property
    def expected_gpus(self) -> int:
        """GPUs that would be needed at the expected capacities of both kinds of instances."""
        one = self.kind.take(np.array([self.k]))
        return int(min(_gpus(one, one.pools)[0], one.gpus[0]))

    def rooms(self, confidences: Floats) -> Floats:
        """By the analytic load model: what the pool carries that has less room, and within the E2E limit."""
        question, one = self.question, self.kind.take(np.array([self.k]))
        decode, prefill = (step_factors(around, confidences) for (around,) in _intervals(one))
        kind = one.take(np.zeros(len(confidences), dtype=np.intp))
        scaled = _sized_again(kind, decode, prefill)
        rooms = scaled.max_rps / question.demand.sustained_rps
        if np.isfinite(question.limits.e2e_s):
            in_time = at_peak(question, scaled, kind.transfer_s).e2e_s(question.limits.percentile)[:, 0]
            rooms = np.where(in_time <= question.limits.e2e_s, rooms, 0.0)
        return np.asarray(rooms)

    @property
    def output_tokens_per_s_per_gpu(self) -> float:
        """Output tokens/s of the whole deployment at the peak, divided by its GPUs without spares."""
        kinds = zip(self.kind.working(self.k), self.configurations, strict=True)
        working = sum(instances * row.gpus for instances, row in kinds)
        return self.question.demand.sustained_rps * self.question.traffic.output_tokens / working

    def bindings(self) -> tuple[Binding, ...]:
        """What binds the prefill pool and the decode pool."""
        return pool_bindings(self.sized, self.sized_k)

    def reached_first(self) -> Binding:
        """The limit that is reached first when the load grows, which is one of the pool with less room."""
        prefill, decode = self._rooms()
        binds = prefill_binds if prefill < decode else decode_binds
        return binds(self.sized, self.sized_k)

    @property
    def headroom(self) -> float:
        """Load that the pool with less room carries within the limits, over the peak load."""
        return min(self._rooms())

    def _rooms(self) -> tuple[float, float]:
        """How many times the planned load either pool carries."""
        (n_p, n_d), pools, peak = self.kind.working(self.k), self.sized.pools, self.question.demand.sustained_rps
        prefill, decode = float(pools.prefill_rps[self.sized_k]), float(pools.decode_rps[self.sized_k])
        return n_p * prefill / peak, n_d * decode / peak

    def load_curve(self) -> tuple[LoadPoint, ...]:
        """Loads from idle to the stability limit, per decode instance with its share of the prefill instances."""
        kind, k, question, evaluated = self.kind, self.k, self.question, self.evaluated
        one = kind.pools.take(np.array([k]))
        (prefill, row), (n_p, n_d) = kind.configurations(k), kind.working(k)
        stable = min(
            float(prefill_stable(question, evaluated, one.prefill, times_of(question, evaluated, one.prefill))[0])
            * n_p,
            float(decoding_of(question, evaluated, one.decode).rps[0, -1]) * n_d,
        )
        rates, gpus = stable * LOADS[None, :], n_p * prefill.gpus + n_d * row.gpus
        state, percentile = at_loads(question, one, kind.transfer_s[[k]], rates), question.limits.percentile
        values = [
            np.maximum.accumulate(of(percentile)[0]) * MS_PER_S for of in (state.ttft_s, state.itl_s, state.e2e_s)
        ]
        return tuple(
            LoadPoint(
                rps=float(rate) / n_d,
                concurrency=float(state.concurrency[0, j]),
                ttft_ms=float(values[0][j]),
                itl_ms=float(values[1][j]),
                e2e_ms=float(values[2][j]),
                output_tokens_per_s_per_gpu=float(rate) * question.traffic.output_tokens / gpus,
            )
            for j, rate in enumerate(rates[0])
        )

    def with_steps_at(self, end: str) -> PlannedDisaggregated:
        """The same pair of pools alone, its step times at one ``end`` of their error intervals."""
        kind = self.kind.take(np.array([self.k]))
        one = ("prefill", kind.pools.prefill), ("decode", kind.pools.decode)
        prefill, decode = (factors(intervals_at(self.question, what, self.evaluated, rows), end) for what, rows in one)
        scaled = _with_other_steps(kind.pools, decode, prefill)
        there = replace(kind, evaluated=scaled.evaluated, pools=scaled)
        return PlannedDisaggregated(there, 0, there, 0)

    @property
    def link(self) -> str:
        """What carries the KV cache from prefill to decode."""
        return link_name(self.row.gpu, bool(self.kind.inside[self.k]))

    def about_serving(self, instead: int | None) -> Iterator[PlanWarning]:
        """What it takes to run both pools."""
        return rules.about_pools(self.row.engine.id, self.link, instead)

    def assumed(self, load_model: DecidedBy) -> Iterator[str]:
        """Engine settings, the transfer of the KV cache, and where splitting is documented."""
        return assumptions.of_pools(self.question, self.configurations, self.link, load_model)

    def assumed_by_simulation(self) -> tuple[str, ...]:
        """Random routing, whatever is asked for."""
        return assumptions.simulated_pools(self.question.scenario.deployment.routing)

    def explained(self, stated: Stated) -> Iterator[Explained]:
        """Figures of both kinds of instances, and of the transfer between them."""
        return explain_pools(stated, float(self.kind.transfer_s[self.k]), self.link)

    def to_simulate(self) -> PlannedReplicas:
        """Prefill replicas, decode replicas, and how long a KV cache takes between them."""
        return planned_pools(self.kind, self.k)

    def second_opinion(self, stated: Stated) -> CrossCheck:
        """No second opinion, because the tables of the other source say nothing of KV-cache transfers."""
        return no_opinion(AGGREGATED_ONLY)


def _at_end(kind: PoolPairs, decode: Sequence[ErrorFactors], prefill: Sequence[ErrorFactors], end: str) -> AtEnd:
    """GPUs needed, and the latencies at the planned load (inf where it would be unstable), at one end."""
    question, moved = kind.question, kind.transfer_s
    scaled = _with_other_steps(kind.pools, factors(decode, end), factors(prefill, end))
    state, percentile = at_peak(question, scaled, moved), question.limits.percentile
    peak = question.demand.sustained_rps
    steady = peak / scaled.prefill_instances <= prefill_stable(
        question, scaled.evaluated, scaled.prefill, times_of(question, scaled.evaluated, scaled.prefill)
    )
    steady &= peak / scaled.decode_instances <= decoding_of(question, scaled.evaluated, scaled.decode).rps[:, -1]
    ttft, itl, e2e = (np.where(steady, of(percentile)[:, 0], np.inf) for of in (state.ttft_s, state.itl_s, state.e2e_s))
    wide = (capacity_factors(each, end) for each in (decode, prefill))
    return AtEnd(gpus=_gpus(kind, _sized_again(kind, *wide)), ttft_s=ttft, itl_s=itl, e2e_s=e2e)


def _intervals(kind: PoolPairs) -> tuple[list[ErrorFactors], list[ErrorFactors]]:
    """The intervals of decode times of the decode instances and of prefill times of the prefill instances."""
    question, evaluated, pools = kind.question, kind.evaluated, kind.pools
    return (
        intervals_at(question, "decode", evaluated, pools.decode),
        intervals_at(question, "prefill", evaluated, pools.prefill),
    )


def _with_other_steps(pools: Pools, decode: Floats, prefill: Floats) -> Pools:
    """The pairs with step times ``decode`` and ``prefill`` (N,) times as long, as rows of their own."""
    own = apart_rows(pools)
    times = own.evaluated.times.scaled(np.tile(decode, 2), np.tile(prefill, 2))
    return replace(own, evaluated=replace(own.evaluated, times=times))


def _sized_again(kind: PoolPairs, decode: Floats, prefill: Floats) -> Pools:
    """The same pairs and instances with other steps, and what either instance then carries, as the simulation moved
    it."""
    question, moved = kind.question, moved_by_simulation(kind.question, kind.pools)
    pools = _with_other_steps(kind.pools, decode, prefill)
    return replace(
        pools,
        prefill_rps=prefill_capacity(question, pools.evaluated, pools.prefill) * moved[0],
        decode_rps=decode_capacity(question, pools.evaluated, pools.decode) * moved[1],
    )


def _gpus(kind: PoolPairs, pools: Pools) -> Floats:
    """GPUs with which every limit holds with what the instances of ``pools`` carry, spares included; inf where no
    number helps."""
    question, peak = kind.question, kind.question.demand.sustained_rps
    counts = [instances_needed(peak, rps) for rps in (pools.prefill_rps, pools.decode_rps)]
    needed, held = replace(pools, prefill_instances=counts[0], decode_instances=counts[1]), np.full(len(pools), True)
    if np.isfinite(question.limits.e2e_s):
        needed, held = grown_into_e2e(question, needed, kind.transfer_s)
    carried = (pools.prefill_rps > 0) & (pools.decode_rps > 0) & held
    gpus = pools.evaluated.candidates.gpus.astype(np.int64)
    standing_by = kind.prefill_standing_by * gpus[pools.prefill] + kind.decode_standing_by * gpus[pools.decode]
    return np.where(carried, needed.gpus + standing_by, np.inf)


def pool_bindings(kind: PoolPairs, k: int) -> tuple[Binding, ...]:
    """What keeps the prefill and the decode pool of ``k`` from being smaller: what an instance reaches first, or that a
    single one is the smallest."""
    rows, reached = (kind.pools.prefill, kind.pools.decode), (prefill_binds(kind, k), decode_binds(kind, k))
    return tuple(
        Binding(smallest(kind.question))
        if working == 1 and not len(smaller_units(kind.evaluated, int(row[k])))
        else first
        for working, row, first in zip(kind.working(k), rows, reached, strict=True)
    )


def prefill_binds(kind: PoolPairs, k: int) -> Binding:
    """What sets the capacity of a prefill instance."""
    question, pair = kind.question, kind.pools.take(np.array([k]))
    times = times_of(question, kind.evaluated, pair.prefill)
    highest = _highest(question, prefill_stable_of(question, pair), simulated=pair.prefill_stable_rps is not None)
    own = (Binds.TTFT, _room(question.limits.ttft_s, kind.ttft_s[k]))
    if limit := _limit(float(pair.prefill_rps[0]), highest, own, kind, k):
        return Binding(limit)
    if question.scenario.deployment.max_utilization < 1:
        return Binding(Binds.UTILIZATION)
    stable = prefill_stable(question, kind.evaluated, pair.prefill, times)[0]
    matrices = 1.0 / times.full_s[0] <= stable * NEARLY_EQUAL
    return Binding(Binds.PREFILL_RATE if matrices else Binds.NETWORK)


def decode_binds(kind: PoolPairs, k: int) -> Binding:
    """What sets the capacity of a decode instance."""
    question, evaluated, pair = kind.question, kind.evaluated, kind.pools.take(np.array([k]))
    deployment, index = question.scenario.deployment, int(pair.decode[0])
    highest = _highest(question, decode_stable(question, pair), simulated=pair.decode_stable_rps is not None)
    own = (Binds.ITL, _room(question.limits.itl_s, kind.itl_s[k]))
    if limit := _limit(float(pair.decode_rps[0]), highest, own, kind, k):
        return Binding(limit)
    if deployment.max_utilization < 1:
        return Binding(Binds.UTILIZATION)
    named = deployment.batch_limits
    if named and evaluated.memory.max_concurrency[index] >= max(named):
        return Binding(Binds.BATCH_LIMIT, max(named))
    rates = decoding_of(question, evaluated, pair.decode).rps[0]
    return Binding(saturated(evaluated, index, rates, of_prompts=False))


def _highest(question: Question, stable_rps: float, *, simulated: bool) -> float:
    """The heaviest load of an instance, requests/s, that no latency limit lowers."""
    share = question.scenario.deployment.max_utilization
    return stable_rps * (min(share, HEAVIEST) if simulated else share)


def _limit(rps: float, highest: float, own: tuple[Binds, float], kind: PoolPairs, k: int) -> Binds | None:
    """The limit that keeps a pool below the ``highest`` load, its ``own`` or that of E2E, whichever leaves less room at
    the planned load; None where none does. Each with how many times its latency it is."""
    limits = (own, (Binds.E2E, _room(kind.question.limits.e2e_s, kind.e2e_s[k])))
    limit, room = min(limits, key=lambda each: each[1])
    return limit if rps < BELOW_STABLE * highest and np.isfinite(room) else None


def _room(limit_s: float, latency_s: float) -> float:
    """How many times a latency its limit is; infinite without either."""
    return limit_s / latency_s if latency_s > 0.0 else np.inf
