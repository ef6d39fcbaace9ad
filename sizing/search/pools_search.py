"""The best split into prefill and decode instances for every GPU, engine and number format.

Both pools use the same GPU type, engine and formats; parallelism may differ. The search is separable: the prefill
instances that hold the TTFT limit with the fewest GPUs, the decode instances that hold the ITL limit with the fewest;
only an E2E limit joins them, and is then met by more instances of either kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Counts, Flags, Floats, Rows, least_by_group
from sizing.base.compiled_rows import non_decreasing
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_transfer import supports
from sizing.question.understand import Question
from sizing.queueing.capacity import rate_at_limit
from sizing.queueing.pools import FirstToken, first_token, joined
from sizing.queueing.waiting import gamma_quantile
from sizing.scenario.schema import Layout
from sizing.search.batch_limits import first_of_each
from sizing.search.pools import (
    Pools,
    at_loads,
    decode_capacity,
    decoding_of_pairs,
    longest_transfer,
    prefill_capacity,
    prefill_stable,
    times_of,
)
from sizing.search.screen import Evaluated, instances_needed

BEST_OF_UNIT = 2
"""Configurations of each pool kept for every GPU, engine and formats; all their pairs are looked at."""

HALVINGS = 8
"""Of the distance to the limit of a pool, in which the load within an E2E limit is looked for: to 0.4 % of it."""

SEVERAL = 2
"""Instances of each kind that pools have at least where the scenario leaves open whether prefill and decode run apart.
Chosen: one of a kind is a single point of failure for all answers, and published deployments have several; at small
loads these make pools as dear as they are there."""

MORE = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Multiples of the smallest pools that are tried where an E2E limit, or less latency, asks for more."""


def wanted(question: Question) -> bool:
    """Whether the scenario lets pools be considered: offline only when serving for, because nothing is interrupted."""
    deployment = question.scenario.deployment
    if question.traffic.output_tokens < 2.0:
        return False
    if question.scenario.workload.mode == "offline":
        return not deployment.allows("aggregated")
    return deployment.allows("disaggregated")


def fewest_of_a_kind(question: Question) -> int:
    """Instances of each kind at least, spares aside."""
    return SEVERAL if question.scenario.deployment.allows("aggregated") else 1


def smallest_pools(question: Question, evaluated: Evaluated) -> Pools | None:
    """The best pairs of every GPU, engine and formats; None when there is none or none is wanted."""
    if not wanted(question) or not len(evaluated):
        return None
    first, second = instances_of_pools(question, evaluated.candidates)
    prefill, prefill_rps = prefill_rows(question, evaluated, first)
    decode, decode_rps = decode_rows(question, evaluated, second)
    pools = _pairs(question, evaluated, (prefill, prefill_rps), (decode, decode_rps))
    if np.isfinite(question.limits.e2e_s):
        pools = _within_e2e(question, pools)
    return pools if len(pools) else None


def instances_of_pools(question: Question, candidates: Candidates) -> tuple[Rows, Rows]:
    """The rows that prefill instances may be, and those that decode instances may be. Prefill instances draft nothing,
    unless all instances are asked to."""
    supported = np.array([supports(unit) for unit in candidates.units], dtype=np.bool_)[candidates.unit]
    plain = candidates.draft_tokens == 0
    plain |= not plain.any()
    deployment = question.scenario.deployment

    def laid_out(layout: Layout | None, possible: Flags) -> Rows:
        if layout is None:
            return np.flatnonzero(possible)
        fits = [getattr(candidates, name) == degree for name, degree in layout.model_dump().items()]
        return np.flatnonzero(possible & np.logical_and.reduce(fits))

    return laid_out(deployment.prefill, supported & plain), laid_out(deployment.decode, supported)


def prefill_rows(question: Question, evaluated: Evaluated, rows: Rows) -> tuple[Rows, Floats]:
    """The best prefill instances of every unit, and the requests/s that one carries within the TTFT limit.

    The transfer is taken over the network and through a single GPU, the longest it can be.
    """
    limit = min(question.limits.ttft_s, question.limits.e2e_s)
    moved = longest_transfer(question, evaluated, rows)
    one = times_of(question, evaluated, rows)
    stable = prefill_stable(question, evaluated, rows, one)
    alone = one.alone_s + moved
    idle = gamma_quantile(alone, question.variability.prompt * alone**2, question.limits.percentile)
    able = np.flatnonzero(idle < limit)
    return _best_of_units(question, evaluated, rows[able], stable[able], prefill_capacity)


def decode_rows(question: Question, evaluated: Evaluated, rows: Rows) -> tuple[Rows, Floats]:
    """The best decode instances of every unit, and the requests/s that one carries within the ITL limit.

    At best an instance carries the load at which the gap between tokens is within the limit in the mean, without waits
    for a slot.
    """
    tokens = max(question.traffic.output_tokens - 1.0, 1.0)
    steps = np.maximum(tokens / evaluated.times.tokens_of(rows), 1.0)[:, None]
    limit = min(question.limits.itl_s, question.limits.e2e_s / tokens)
    step = non_decreasing(evaluated.times.decode_s[rows])
    reached = non_decreasing(evaluated.state.concurrency[rows] / (steps * step))
    gap = (step * (steps + 0.5)) / tokens
    most = np.minimum(rate_at_limit(reached, gap, limit), reached[:, -1])
    able = np.flatnonzero(most > 0)
    return _best_of_units(question, evaluated, rows[able], most[able], decode_capacity)


def _best_of_units(
    question: Question,
    evaluated: Evaluated,
    rows: Rows,
    most: Floats,
    capacity: Callable[[Question, Evaluated, Rows], Floats],
) -> tuple[Rows, Floats]:
    """The rows of every unit that carry the peak with the fewest GPUs, spares counted, and their ``capacity``.

    ``most`` (N,) is what a row carries at best. Capacities, which take longer, are computed for the likeliest rows and
    for those that could still do with fewer GPUs than these; of these, those with most to spare come first.
    """
    c, peak, spares = evaluated.candidates, question.demand.sustained_rps, question.scenario.deployment.spare_instances

    least = fewest_of_a_kind(question)

    def gpus(rows: Rows, rps: Floats) -> Counts:
        instances = np.maximum(instances_needed(peak, rps), least) + spares
        return np.asarray(instances * c.gpus[rows], dtype=np.int64)

    def rank(rows: Rows, rps: Floats) -> Floats:
        spare = rps / c.gpus[rows]
        return np.asarray(gpus(rows, rps) - spare / (1.0 + spare))

    likely = first_of_each(c.unit[rows], rank(rows, most), BEST_OF_UNIT)
    known, rps = rows[likely], capacity(question, evaluated, rows[likely])
    fewest = least_by_group(c.unit[known], gpus(known, rps), len(c.units))
    promising = gpus(rows, most) < fewest[c.unit[rows]]
    promising[likely] = False
    if promising.any():
        others = rows[promising]
        known, rps = np.concatenate([known, others]), np.concatenate([rps, capacity(question, evaluated, others)])
    known, rps = known[rps > 0], rps[rps > 0]
    best = first_of_each(c.unit[known], rank(known, rps), BEST_OF_UNIT)
    return known[best], rps[best]


def _pairs(
    question: Question, evaluated: Evaluated, prefill: tuple[Rows, Floats], decode: tuple[Rows, Floats]
) -> Pools:
    """Every pair of a prefill and a decode configuration of the same unit, each pool as small as its limits let it.

    Both are in order of their units.
    """
    of_prefill, of_decode = (evaluated.candidates.unit[rows] for rows, _ in (prefill, decode))
    first, end = (np.searchsorted(of_decode, of_prefill, side=side) for side in ("left", "right"))
    p = np.repeat(np.arange(len(first)), end - first)
    d = np.arange(len(p)) + (end - np.cumsum(end - first))[p]
    peak, fewest = question.demand.sustained_rps, fewest_of_a_kind(question)
    return Pools(
        evaluated=evaluated,
        prefill=prefill[0][p],
        decode=decode[0][d],
        prefill_instances=np.maximum(instances_needed(peak, prefill[1][p]), fewest),
        decode_instances=np.maximum(instances_needed(peak, decode[1][d]), fewest),
        prefill_rps=prefill[1][p],
        decode_rps=decode[1][d],
    )


def grown(pools: Pools) -> Pools:
    """Every pair with more instances of either pool, up to three times as many."""
    p, d = (np.array(m).ravel() for m in np.meshgrid(MORE, MORE))
    every = np.repeat(np.arange(len(pools)), len(p)).astype(np.intp)
    many = pools.take(every)
    return replace(
        many,
        prefill_instances=_times(many.prefill_instances, np.tile(p, len(pools))),
        decode_instances=_times(many.decode_instances, np.tile(d, len(pools))),
    )


def _within_e2e(question: Question, pools: Pools) -> Pools:
    """The smallest pair of every unit that meets the E2E limit: not every pair can grow into it."""
    c, peak = pools.evaluated.candidates, question.demand.sustained_rps
    many, held = grown_into_e2e(question, pools, longest_transfer(question, pools.evaluated, pools.prefill))
    many = many.take(np.flatnonzero(held))
    spares = question.scenario.deployment.spare_instances
    many = many.take(first_of_each(c.unit[many.decode], many.gpus_with(spares), 1))
    carried = peak * room_within_e2e(question, many, longest_transfer(question, many.evaluated, many.prefill))
    return replace(
        many,
        prefill_rps=np.minimum(many.prefill_rps, carried / many.prefill_instances),
        decode_rps=np.minimum(many.decode_rps, carried / many.decode_instances),
    )


def room_within_e2e(question: Question, pools: Pools, moved: Floats) -> Floats:
    """How many times the peak every pair carries within the E2E limit and the limits of its pools, (N,); 1 at least."""
    peak, limits = question.demand.sustained_rps, question.limits
    least, most = np.ones(len(pools)), np.maximum(pools.max_rps / peak, 1.0)
    for _ in range(HALVINGS):
        tried = np.sqrt(least * most)
        state = at_loads(question, pools, moved, (peak * tried)[:, None])
        within = state.e2e_s(limits.percentile)[:, 0] <= limits.e2e_s
        least, most = np.where(within, tried, least), np.where(within, most, tried)
    return least


def grown_into_e2e(question: Question, pools: Pools, moved: Floats) -> tuple[Pools, NDArray[np.bool_]]:
    """Every pair with so many instances that it meets the E2E limit, and whether it can, (N,); of either pool at most
    three times as many, and none that could be left out.

    For some numbers of decode instances the fewest prefill instances; then, for those with the fewest GPUs, the fewest
    decode instances. A waiting line grows so steeply near the capacity of a pool that one instance more may be enough.
    """
    tried = np.repeat(np.arange(len(pools)), len(MORE)).astype(np.intp)
    one, other = times_of(question, pools.evaluated, pools.prefill), decoding_of_pairs(question, pools)
    more = _times(pools.decode_instances[tried], np.tile(MORE, len(pools)))
    peak, variability = question.demand.sustained_rps, question.variability

    def first_of(rows: Rows, prefill: Counts) -> FirstToken:
        return first_token(one.take(rows), peak / prefill[:, None], moved[rows], variability)

    def gap_of(rows: Rows, decode: Counts) -> tuple[Floats, Floats, Floats]:
        return other.take(rows).at(peak / decode[:, None])

    def in_time(first: FirstToken, gap: tuple[Floats, Floats, Floats]) -> NDArray[np.bool_]:
        state = joined(first, gap, np.full_like(gap[0], peak), question.traffic, variability)
        return np.asarray(state.e2e_s(question.limits.percentile)[:, 0] <= question.limits.e2e_s)

    gap = gap_of(tried, more)
    least, able = _fewest(
        lambda rows, n: in_time(first_of(tried[rows], n), (gap[0][rows], gap[1][rows], gap[2][rows])),
        pools.prefill_instances[tried],
    )
    many = replace(pools.take(tried), prefill_instances=least, decode_instances=more)
    best = np.where(able, many.gpus, np.inf).reshape(-1, len(MORE)).argmin(axis=1) + np.arange(len(pools)) * len(MORE)
    chosen, every = many.take(best), np.arange(len(pools))
    first = first_of(every, chosen.prefill_instances)
    decode, _ = _fewest(lambda rows, n: in_time(first.take(rows), gap_of(rows, n)), pools.decode_instances)
    return replace(chosen, decode_instances=np.minimum(decode, chosen.decode_instances)), able[best]


def _times(instances: Counts, factor: float | Floats) -> Counts:
    """Whole instances, at least ``factor`` times as many."""
    return np.asarray(np.ceil(instances * factor - ROUNDING), dtype=np.int64)


def _fewest(enough: Callable[[Rows, Counts], NDArray[np.bool_]], least: Counts) -> tuple[Counts, NDArray[np.bool_]]:
    """The smallest numbers from ``least`` on that are enough, and whether any is, (N,): multiples, then bisection.

    ``enough`` says of some of the N rows whether a number for each is. The multiples come first because a median may
    rise with more instances, as what spreads round it becomes less.
    """
    able, too_few, most = np.zeros(len(least), dtype=np.bool_), least - 1, least.copy()
    for more in MORE:
        if not len(rows := np.flatnonzero(~able)):
            break
        tried = _times(least[rows], more)
        in_time = enough(rows, tried)
        too_few[rows[~in_time]], most[rows[in_time]] = tried[~in_time], tried[in_time]
        able[rows] = in_time
    too_few = np.where(able, too_few, most)
    while len(rows := np.flatnonzero(most - too_few > 1)):
        middle = (too_few[rows] + most[rows] + 1) // 2
        in_time = enough(rows, middle)
        too_few[rows[~in_time]], most[rows[in_time]] = middle[~in_time], middle[in_time]
    return most, able
