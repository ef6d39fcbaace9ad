"""Pairs of a pool of prefill and one of decode instances: what they are, what each carries and gives under load."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import SHARED, Columns, Counts, Floats, Rows, moved
from sizing.base.compiled_rows import non_decreasing
from sizing.deployments.kv_transfer import (
    inside_bytes_per_s,
    largest_share,
    network_bytes_per_s,
    prompt_kv_bytes,
    transfer_s,
)
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import rate_at_limit
from sizing.queueing.pools import Decoding, PrefillTimes, decoding, first_token, joined, prefill_times
from sizing.queueing.steady_state import SteadyState
from sizing.search.screen import Evaluated, expected

BUSY = np.concatenate([np.linspace(0.02, 0.9, 12), [0.93, 0.95, 0.97, 0.985, 0.995]])
"""Busy shares of a prefill instance at which TTFT is computed."""

BETWEEN = np.linspace(0.0, 1.0, 17)[:-1]
"""Parts of the way between two of these, where a line between them says less than TTFT is."""


@dataclass(frozen=True, kw_only=True)
class Pools(Columns):
    """Pairs of pools, (N,): ``prefill`` and ``decode`` are rows of ``evaluated``; instances without spares.

    ``prefill_rps`` and ``decode_rps``: what one instance carries within the limits; with ``stable``, for ever, where a
    simulation has told (:func:`prefill_stable` and :func:`decoding_of` are those of the analytic load model).
    """

    evaluated: Evaluated = field(metadata=SHARED)
    prefill: Rows
    decode: Rows
    prefill_instances: Counts
    decode_instances: Counts
    prefill_rps: Floats
    decode_rps: Floats
    prefill_stable_rps: Floats | None = None
    decode_stable_rps: Floats | None = None

    @property
    def gpus(self) -> Counts:
        """GPUs of both pools without spares, (N,)."""
        return self.gpus_with(0)

    def gpus_with(self, spares: int) -> Counts:
        """GPUs of both pools with as many spare instances in each, (N,)."""
        each = self.evaluated.candidates.gpus.astype(np.int64)
        prefill, decode = self.prefill_instances + spares, self.decode_instances + spares
        return np.asarray(prefill * each[self.prefill] + decode * each[self.decode])

    @property
    def max_rps(self) -> Floats:
        """Requests/s that both pools carry within the limits, (N,): that of the smaller one."""
        return np.minimum(self.prefill_instances * self.prefill_rps, self.decode_instances * self.decode_rps)

    def label(self, k: int) -> str:
        """Short name of pair ``k`` for tables: GPU, engine, precision, parallelism of either kind of instance."""
        prefill, decode = (self.evaluated.candidates.rows[rows[k]] for rows in (self.prefill, self.decode))
        return (
            f"{decode.gpu.name}, {decode.engine.label}, {decode.precision.label}, prefill {prefill.parallelism}, "
            f"decode {decode.parallelism}{decode.speculation.label}"
        )


def apart_rows(pools: Pools) -> Pools:
    """The pairs as rows of their own: the prefill instances of all, then the decode instances."""
    pairs = len(pools)
    small = pools.evaluated.take(np.concatenate([pools.prefill, pools.decode]))
    return replace(pools, evaluated=small, prefill=np.arange(pairs), decode=np.arange(pairs) + pairs)


def moved_by_simulation(question: Question, pools: Pools) -> tuple[Floats, Floats]:
    """What prefill and decode instances carry, over the same by the analytic load model, (N,) each."""
    screened = (
        prefill_capacity(question, pools.evaluated, pools.prefill),
        decode_capacity(question, pools.evaluated, pools.decode),
    )
    return moved(pools.prefill_rps, screened[0]), moved(pools.decode_rps, screened[1])


def expected_pools(question: Question, pools: Pools) -> Pools:
    """The pairs with steps as long as expected, and as many instances; what a simulation moved stays moved in
    proportion."""
    own, (of_prefill, of_decode) = apart_rows(pools), moved_by_simulation(question, pools)
    there = expected(question, own.evaluated)
    return replace(
        own,
        evaluated=there,
        prefill_rps=prefill_capacity(question, there, own.prefill) * of_prefill,
        decode_rps=decode_capacity(question, there, own.decode) * of_decode,
        prefill_stable_rps=None,
        decode_stable_rps=None,
    )


def times_of(question: Question, evaluated: Evaluated, rows: Rows) -> PrefillTimes:
    """Prompt times of the candidates at ``rows`` as prefill instances."""
    c = evaluated.candidates
    budget = c.column(lambda r: r.engine.budget(r.gpu), rows)
    return prefill_times(evaluated.times.take(rows), c.pp[rows], budget, question.traffic.new_tokens)


def decoding_of(question: Question, evaluated: Evaluated, rows: Rows) -> Decoding:
    """The candidates at ``rows`` as decode instances."""
    return decoding(
        evaluated.times.decode_s[rows],
        evaluated.state.concurrency[rows],
        evaluated.memory.max_concurrency[rows],
        question.traffic,
        question.variability,
        evaluated.times.tokens_of(rows),
    )


def decode_stable(question: Question, pair: Pools) -> float:
    """What a decode instance of the one ``pair`` carries for ever: by simulation where that was looked at."""
    if pair.decode_stable_rps is not None:
        return float(pair.decode_stable_rps[0])
    return float(decoding_of(question, pair.evaluated, pair.decode).rps[0, -1])


def prefill_stable_of(question: Question, pair: Pools) -> float:
    """What a prefill instance of the one ``pair`` carries for ever: by simulation where that was looked at."""
    if pair.prefill_stable_rps is not None:
        return float(pair.prefill_stable_rps[0])
    times = times_of(question, pair.evaluated, pair.prefill)
    return float(prefill_stable(question, pair.evaluated, pair.prefill, times)[0])


def prefill_capacity(question: Question, evaluated: Evaluated, rows: Rows) -> Floats:
    """Requests/s of a prefill instance within the TTFT limit (N,), the transfer being the longest there is."""
    limits, limit = question.limits, min(question.limits.ttft_s, question.limits.e2e_s)
    one = times_of(question, evaluated, rows)
    stable = prefill_stable(question, evaluated, rows, one)
    rates, moved = np.multiply.outer(stable, BUSY), longest_transfer(question, evaluated, rows)

    def ttft_s(some: Rows, rps: Floats) -> Floats:
        return first_token(one.take(some), rps, moved[some], question.variability).at(limits.percentile)

    every = np.arange(len(rows))
    rps = rate_at_limit(rates, non_decreasing(ttft_s(every, rates)), limit)
    rps = np.minimum(np.minimum(rps, stable), question.scenario.deployment.max_utilization * stable)
    if len(above := np.flatnonzero(ttft_s(every, rps[:, None])[:, 0] > limit)):
        high, low = rps[above, None], (rates[above] * (rates[above] < rps[above, None])).max(axis=1, keepdims=True)
        tried = low + (high - low) * BETWEEN
        within = np.logical_and.accumulate(ttft_s(above, tried) <= limit, axis=1)
        rps[above] = (tried * within).max(axis=1)
    return rps


def longest_transfer(question: Question, evaluated: Evaluated, rows: Rows) -> Floats:
    """Seconds of a KV transfer over the network through a single GPU, (N,)."""
    c = evaluated.candidates
    network = c.column(_network, rows)
    kv = prompt_kv_bytes(question.model, c, question.traffic.input_tokens, rows)
    return transfer_s(kv, np.ones(len(rows)), network)


def prefill_stable(question: Question, evaluated: Evaluated, rows: Rows, one: PrefillTimes) -> Floats:
    """Requests/s of a prefill instance that never waits for work, or as many as its network sends away."""
    c = evaluated.candidates
    kv = prompt_kv_bytes(question.model, c, question.traffic.input_tokens, rows)
    network = c.column(_network, rows) * c.dp[rows]
    sent_s = kv * largest_share(question.model, c, rows) / network
    return np.asarray(1.0 / np.maximum(one.full_s, sent_s))


def decode_capacity(question: Question, evaluated: Evaluated, rows: Rows) -> Floats:
    """Requests/s of a decode instance within the ITL limit, (N,)."""
    limit = min(question.limits.itl_s, question.limits.e2e_s / max(question.traffic.output_tokens - 1.0, 1.0))
    pool = decoding_of(question, evaluated, rows)
    at = non_decreasing(pool.gap_s(question.limits.percentile))
    most = question.scenario.deployment.max_utilization * pool.rps[:, -1]
    return np.minimum(rate_at_limit(pool.rps, at, limit), most)


def at_peak(question: Question, pools: Pools, moved: Floats) -> SteadyState:
    """Both pools at the peak, (N, 1)."""
    return at_loads(question, pools, moved, np.full((len(pools), 1), question.demand.sustained_rps))


def at_loads(question: Question, pools: Pools, moved: Floats, rps: Floats) -> SteadyState:
    """Both pools at loads ``rps`` (N, K) of the whole deployment, transfers taking ``moved`` (N,) seconds."""
    one = times_of(question, pools.evaluated, pools.prefill)
    first = first_token(one, rps / pools.prefill_instances[:, None], moved, question.variability)
    gap = decoding_of_pairs(question, pools).at(rps / pools.decode_instances[:, None])
    return joined(first, gap, rps, question.traffic, question.variability)


def decoding_of_pairs(question: Question, pools: Pools) -> Decoding:
    """A decode instance of every pair."""
    rows, of_pair = np.unique(pools.decode, return_inverse=True)
    return decoding_of(question, pools.evaluated, rows).take(of_pair)


def _inside(row: Configuration) -> float:
    return inside_bytes_per_s(row.gpu)


def _network(row: Configuration) -> float:
    return network_bytes_per_s(row.gpu)


def exact_transfer(question: Question, pools: Pools, inside: NDArray[np.bool_]) -> Floats:
    """Seconds of a transfer with the share that passes the busiest GPU of either instance, (N,)."""
    c = pools.evaluated.candidates
    near, far = (c.column(speed, pools.decode) for speed in (_inside, _network))
    share = np.maximum(*(largest_share(question.model, c, rows) for rows in (pools.prefill, pools.decode)))
    kv = prompt_kv_bytes(question.model, c, question.traffic.input_tokens, pools.decode)
    return transfer_s(kv, share, np.where(inside, near, far))
