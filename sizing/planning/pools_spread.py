"""From the interval of the step times to intervals of GPUs and latency of pools."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.planning.spread import Spread, interval_of
from sizing.question.understand import Question
from sizing.search.pools import (
    Pools,
    SizedPools,
    at_peak,
    decode_capacity,
    decoding_of,
    prefill_capacity,
    prefill_stable,
    times_of,
)
from sizing.search.pools_search import grown_into_e2e
from sizing.search.screen import instances_needed


def spread_of_pools(question: Question, sized: SizedPools, rows: Rows) -> Spread:
    """The same pools with all step times at the ends of their interval; ``rows`` index into ``sized``."""
    pools, candidates = sized.pools.take(rows), sized.pools.evaluated.candidates
    decode = tuple(interval_of(question, "decode", candidates.rows[i]) for i in pools.decode)
    prefill = tuple(interval_of(question, "prefill", candidates.rows[i]) for i in pools.prefill)
    ends = [
        _at_end(
            question,
            pools,
            sized.transfer_s[rows],
            sized.spares,
            *(np.array([getattr(one, end) for one in of]) for of in (decode, prefill)),
        )
        for end in ("low_factor", "high_factor")
    ]
    (gpus_low, low), (gpus_high, high) = ends
    ttft, itl, e2e = (np.stack([low[k], high[k]]) for k in range(3))
    return Spread(
        gpus_low=gpus_low, gpus_high=gpus_high, ttft_s=ttft, itl_s=itl, e2e_s=e2e, decode=decode, prefill=prefill
    )


def with_other_steps(pools: Pools, decode: Floats, prefill: Floats) -> Pools:
    """The pairs with step times ``decode`` and ``prefill`` (N,) times as long, as rows of their own."""
    count = len(pools)
    small = pools.evaluated.take(np.concatenate([pools.prefill, pools.decode]))
    small = replace(small, times=small.times.scaled(np.tile(decode, 2), np.tile(prefill, 2)))
    return replace(pools, evaluated=small, prefill=np.arange(count), decode=np.arange(count) + count)


def _at_end(
    question: Question, pools: Pools, moved: Floats, spares: int, decode: Floats, prefill: Floats
) -> tuple[Floats, list[Floats]]:
    """GPUs needed, and the latencies at the planned load (inf where it would be unstable), at one end."""
    scaled = with_other_steps(pools, decode, prefill)
    state, percentile, peak = at_peak(question, scaled, moved), question.limits.percentile, question.demand.peak_rps
    steady = peak / scaled.prefill_instances <= prefill_stable(
        question, scaled.evaluated, scaled.prefill, times_of(question, scaled.evaluated, scaled.prefill)
    )
    steady &= peak / scaled.decode_instances <= decoding_of(question, scaled.evaluated, scaled.decode).rps[:, -1]
    latencies = [np.where(steady, of(percentile)[:, 0], np.inf) for of in (state.ttft_s, state.itl_s, state.e2e_s)]
    return _gpus(question, scaled, moved, spares), latencies


def _gpus(question: Question, pools: Pools, moved: Floats, spares: int) -> Floats:
    """GPUs with which every limit holds, spares included; inf where no number helps."""
    peak, evaluated = question.demand.peak_rps, pools.evaluated
    rates = prefill_capacity(question, evaluated, pools.prefill), decode_capacity(question, evaluated, pools.decode)
    counts = [instances_needed(peak, r) for r in rates]
    needed, held = replace(pools, prefill_instances=counts[0], decode_instances=counts[1]), np.full(len(pools), True)
    if np.isfinite(question.limits.e2e_s):
        needed, held = grown_into_e2e(question, needed, moved)
    return np.where((rates[0] > 0) & (rates[1] > 0) & held, needed.gpus_with(spares), np.inf)
