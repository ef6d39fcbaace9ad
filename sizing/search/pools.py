"""The best split into prefill and decode instances for every GPU, engine and number format.

A pair of pools is what its instances carry and give under load by the analytic load model. Both pools use the same GPU
type, engine and formats; parallelism may differ. The search is separable: the prefill instances that hold the TTFT
limit with the fewest GPUs, the decode instances that hold the ITL limit with the fewest; only an E2E limit joins them,
and is then met by more instances of either kind.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, SHARED, Columns, Counts, Flags, Floats, Rows, least_by_group, moved
from sizing.base.compiled_rows import non_decreasing
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_transfer import (
    inside_bytes_per_s,
    largest_share,
    network_bytes_per_s,
    prompt_kv_bytes,
    supports,
    transfer_s,
)
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import rate_at_limit
from sizing.queueing.pools import Decoding, FirstToken, PrefillTimes, decoding, first_token, joined, prefill_times
from sizing.queueing.steady_state import SteadyState
from sizing.queueing.waiting import gamma_quantile
from sizing.scenario.schema import Layout
from sizing.search.batch_limits import first_of_each
from sizing.search.preferences import of_instances
from sizing.search.screen import Evaluated, expected, instances_needed

BUSY = np.concatenate([np.linspace(0.02, 0.9, 12), [0.93, 0.95, 0.97, 0.985, 0.995]])
"""Busy shares of a prefill instance at which TTFT is computed."""

BETWEEN = np.linspace(0.0, 1.0, 17)[:-1]
"""Parts of the way between two of these, where a line between them says less than TTFT is."""

BEST_OF_UNIT = 2
"""Configurations of each pool kept for every GPU, engine and formats; all their pairs are looked at."""

HALVINGS = 8
"""How often the distance to the limit of a pool is halved to find the load within an E2E limit: to 0.4 % of it."""

SEVERAL = 2
"""Instances of each kind that pools have at least where the scenario leaves open whether prefill and decode run apart.
Chosen: one of a kind is a single point of failure for all answers, and published deployments have several; at small
loads these make pools as dear as they are there."""

MORE = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Multiples of the smallest pools that are tried where an E2E limit, or less latency, asks for more."""


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
    """The steady state of both pools of each pair at the peak load, (N, 1)."""
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


def considers_pools(question: Question) -> bool:
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
    """The best pairs of every GPU, engine and formats; None when there is none or the scenario leaves them out."""
    if not considers_pools(question) or not len(evaluated):
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
    """The rows of every unit that carry the peak with the fewest GPUs, spares counted, as an expert counts them, and
    their ``capacity``.

    ``most`` (N,) is what a row carries at best. Capacities, which take longer, are computed for the likeliest rows and
    for those that could still do with fewer GPUs than these; of these, those with most to spare come first.
    """
    c, peak, spares = evaluated.candidates, question.demand.sustained_rps, question.scenario.deployment.spare_instances
    least, factors = fewest_of_a_kind(question), np.ones(len(evaluated))
    factors[rows] = of_instances(question, evaluated, rows)

    def counted(rows: Rows, rps: Floats) -> Floats:
        instances = np.maximum(instances_needed(peak, rps), least) + spares
        return np.asarray(instances * c.gpus[rows] * factors[rows])

    def rank(rows: Rows, rps: Floats) -> Floats:
        spare = rps / c.gpus[rows]
        return np.asarray(counted(rows, rps) - spare / (1.0 + spare))

    likely = first_of_each(c.unit[rows], rank(rows, most), BEST_OF_UNIT)
    known, rps = rows[likely], capacity(question, evaluated, rows[likely])
    fewest = least_by_group(c.unit[known], counted(known, rps), len(c.units))
    promising = counted(rows, most) < fewest[c.unit[rows]]
    promising[likely] = False
    if promising.any():
        others = rows[promising]
        known, rps = np.concatenate([known, others]), np.concatenate([rps, capacity(question, evaluated, others)])
    known, rps = known[rps > 0], rps[rps > 0]
    ranked = rank(known, rps)
    # One of each layout: others of the same layout are as far off their estimate as the best of it, where that is off.
    each = first_of_each(_layout_of(c, known), ranked, 1)
    best = each[first_of_each(c.unit[known[each]], ranked[each], BEST_OF_UNIT)]
    return known[best], rps[best]


def _layout_of(candidates: Candidates, rows: Rows) -> Counts:
    """A number for each unit and parallelism of ``rows``, (N,), growing with the unit."""
    degrees = (candidates.unit, candidates.tp, candidates.pp, candidates.ep, candidates.dp)
    table = np.stack([one[rows] for one in degrees], axis=1)
    return np.asarray(np.unique(table, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)


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
