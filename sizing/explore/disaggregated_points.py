"""Pools of prefill and decode instances at one load each, as points beside those of instances that do both.

A point is a few decode instances at some concurrency beside as many whole prefill instances as keep them supplied: the
smallest group that is worth repeating. Rates and costs are those of both kinds together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Counts, Floats, Rows
from sizing.base.choices import Serving
from sizing.base.compiled_rows import non_decreasing
from sizing.deployments.candidates import Candidates
from sizing.explore.at_load import fleet_for, usd_per_million
from sizing.explore.operating_point import (
    Ends,
    Loads,
    OperatingPoint,
    Performance,
    PrefillGroup,
    SystemShare,
    as_loads,
    operating_point,
    share_of_systems,
)
from sizing.explore.points import Points, pareto_front
from sizing.planning.spread import ENDS, factors, intervals_at
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.pools import Decoding, FirstToken, first_token, joined
from sizing.queueing.steady_state import SteadyState
from sizing.search.disaggregated import PoolPairs
from sizing.search.pools import (
    BUSY,
    at_peak,
    considers_pools,
    decoding_of,
    instances_of_pools,
    longest_transfer,
    prefill_stable,
    times_of,
)
from sizing.search.screen import Evaluated

PREFILL_POINTS, DECODE_POINTS = 6, 24
"""Points of either kind of instance kept for every GPU, engine and formats; all their pairs are looked at. Chosen:
because more points hardly change a frontier, and pairs grow with their product."""

MOST_DECODE = 8
"""Decode instances of a group at most: a larger group is no unit to repeat. Chosen: because few loads of one customer
fill several of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DisaggregatedPoints(Points[PoolPairs]):
    """``prefill`` and ``decode`` are rows of ``evaluated``, ``busy`` and ``slot`` their load, all (N,).

    ``counts``: prefill and decode instances of a group. ``figures`` are (N, 1).
    """

    serving: ClassVar[Serving] = "disaggregated"

    prefill: Rows
    busy: Floats
    decode: Rows
    slot: Rows
    counts: tuple[Counts, Counts]

    @classmethod
    def considered(cls, question: Question, evaluated: Evaluated, share: SystemShare) -> Self | None:
        """The pairs worth a look for every GPU, engine and formats; None where no pools are wanted or possible."""
        candidates, percentile = evaluated.candidates, question.limits.percentile
        of_prefill, of_decode = instances_of_pools(question, candidates)
        if not considers_pools(question) or not len(of_prefill) or not len(of_decode):
            return None
        unit, gpus = candidates.unit, candidates.gpus
        times = times_of(question, evaluated, of_prefill)
        rates = np.multiply.outer(prefill_stable(question, evaluated, of_prefill, times), BUSY)
        moved = longest_transfer(question, evaluated, of_prefill)
        ttft = first_token(times, rates, moved, question.variability).at(percentile)
        p, busy = _few(ttft, gpus[of_prefill][:, None] / rates, unit[of_prefill], PREFILL_POINTS)
        pool = decoding_of(question, evaluated, of_decode)
        gap = non_decreasing(pool.gap_s(percentile))
        d, slot = _few(gap, gpus[of_decode][:, None] / pool.rps, unit[of_decode], DECODE_POINTS)
        one, other = of_prefill[p], of_decode[d]
        first, second = np.nonzero(unit[one][:, None] == unit[other][None, :])
        needed = pool.rps[d, slot][second] / rates[p, busy][first]  # prefill instances to a decode instance
        counts = _whole(needed, gpus[one[first]], gpus[other[second]])
        used = BUSY[busy[first]] * needed * counts[1] / counts[0]
        prefill, decode = (one[first], used), (other[second], slot[second])
        return cls(
            question=question,
            evaluated=evaluated,
            share=share,
            prefill=prefill[0],
            busy=used,
            decode=decode[0],
            slot=decode[1],
            counts=counts,
            figures=_figures(question, evaluated, share, prefill, decode),
        )

    @staticmethod
    def planned(planned: PoolPairs) -> OperatingPoint:
        """The pools of a plan at its peak."""
        question, pools = planned.question, planned.pools
        share = share_of_systems(question, pools.evaluated.candidates)
        figures = _loads(
            question,
            pools.evaluated,
            share,
            (pools.prefill, pools.decode),
            pools.prefill_instances / pools.decode_instances,
            at_peak(question, pools, planned.transfer_s),
            pools.decode_rps,
            np.ones(1, dtype=np.bool_),
        )
        return _pool_point(planned.configurations(0), planned.working(0), figures, 0)

    @property
    def rows(self) -> Rows:
        """The decode instance of each point, (N,)."""
        return self.decode

    def point(self, i: int, *, best: bool = False, ends: Ends | None = None) -> OperatingPoint:
        """Point ``i``; its parallelism and load are those of a decode instance."""
        rows = self.evaluated.candidates.rows
        kinds = rows[self.prefill[i]], rows[self.decode[i]]
        counts = int(self.counts[0][i]), int(self.counts[1][i])
        return _pool_point(kinds, counts, self.figures, i, best=best, ends=ends)

    def at_ends(self, index: Rows) -> Iterator[list[Performance]]:
        """With the same busy share, too."""
        place = np.arange(len(index))
        both = np.concatenate([self.prefill[index], self.decode[index]])
        used, of_both = np.unique(both, return_inverse=True)
        intervals = [intervals_at(self.question, what, self.evaluated, used) for what in ("decode", "prefill")]
        small, share = self.evaluated.take(both), self.share.take(both)
        prefill, decode = (place, self.busy[index]), (place + len(index), self.slot[index])
        for end in ENDS:
            times = small.times.scaled(*(factors(each, end)[of_both] for each in intervals))
            there = _figures(self.question, replace(small, times=times), share, prefill, decode)
            yield [there.performance(k, 0) for k in place.tolist()]


def _whole(ratio: Floats, prefill_gpus: Floats, decode_gpus: Floats) -> tuple[Counts, Counts]:
    """Whole prefill and decode instances of the group that takes the fewest GPUs for each decode instance, (N,)."""
    decode = np.arange(1, MOST_DECODE + 1)
    prefill = np.maximum(np.ceil(np.multiply.outer(ratio, decode) - ROUNDING), 1.0)
    best = (prefill * prefill_gpus[:, None] / decode + decode_gpus[:, None]).argmin(axis=1)
    return prefill[np.arange(len(best)), best].astype(np.int64), decode[best]


def _pool_point(
    rows: tuple[Configuration, ...],
    counts: tuple[int, ...],
    figures: Loads,
    i: int,
    *,
    best: bool = False,
    ends: Ends | None = None,
) -> OperatingPoint:
    """Point ``i`` of ``figures`` as a result; ``rows`` and ``counts`` are of prefill and decode instances."""
    prefill, decode = rows
    point = operating_point(decode, figures, (i, 0), best=best, ends=ends)
    group = PrefillGroup(
        tp=prefill.tp, pp=prefill.pp, ep=prefill.ep, dp=prefill.dp, instances=counts[0], beside=counts[1]
    )
    words = (
        f"{decode.gpu.name}, {decode.engine.label}, {decode.precision.label}, {counts[0]} x prefill "
        f"{prefill.parallelism} + {counts[1]} x decode {decode.parallelism}"
    )
    return point.model_copy(update={"prefill": group, "configuration": words})


def _few(latency: Floats, per_request: Floats, unit: NDArray[np.int64], count: int) -> tuple[Rows, Rows]:
    """Rows and columns of (N, K) that no other of their unit beats on latency and GPUs per request, evenly thinned."""
    each = latency.shape[1]
    group = np.repeat(unit, each)
    kept = pareto_front(-latency.ravel(), -per_request.ravel(), group)
    _, starts, sizes = np.unique(group[kept], return_index=True, return_counts=True)  # sorted by group
    place = np.arange(len(kept)) - np.repeat(starts, sizes)
    share = place * (count - 1) / np.maximum(np.repeat(sizes, sizes) - 1, 1)
    step = np.floor(share + ROUNDING)
    kept = kept[(place == 0) | (step != np.concatenate([[-1.0], step[:-1]]))]
    return kept // each, kept % each


def _figures(
    question: Question,
    evaluated: Evaluated,
    share: SystemShare,
    prefill: tuple[Rows, Floats],
    decode: tuple[Rows, Rows],
) -> Loads:
    """All figures of pairs (N,) of a prefill instance at a busy share and a decode instance at a concurrency."""
    state, (prefill_rps, decode_rps, most_rps) = _together(question, evaluated, prefill, decode)
    ratio, cap = decode_rps / prefill_rps, question.scenario.deployment.max_utilization
    capped = (decode_rps <= cap * most_rps) & (prefill[1] <= cap)
    return _loads(question, evaluated, share, (prefill[0], decode[0]), ratio, state, decode_rps, capped)


def _together(
    question: Question, evaluated: Evaluated, prefill: tuple[Rows, Floats], decode: tuple[Rows, Rows]
) -> tuple[SteadyState, tuple[Floats, Floats, Floats]]:
    """Steady state (N, 1), and the requests/s of one prefill and one decode instance and the most of the latter."""
    rows, of_pair = np.unique(prefill[0], return_inverse=True)
    times = times_of(question, evaluated, rows)
    stable, moved = prefill_stable(question, evaluated, rows, times), longest_transfer(question, evaluated, rows)
    prefill_rps = stable[of_pair] * prefill[1]
    first: FirstToken = first_token(times.take(of_pair), prefill_rps[:, None], moved[of_pair], question.variability)
    rows, of_pair = np.unique(decode[0], return_inverse=True)
    pool: Decoding = decoding_of(question, evaluated, rows)
    at = (of_pair, decode[1])
    gap = tuple(values[at][:, None] for values in (pool.concurrency, pool.mean_s, pool.var))
    decode_rps = pool.rps[at]
    state = joined(first, (gap[0], gap[1], gap[2]), decode_rps[:, None], question.traffic, question.variability)
    return state, (prefill_rps, decode_rps, pool.rps[of_pair, -1])


def _loads(
    question: Question,
    evaluated: Evaluated,
    share: SystemShare,
    rows: tuple[Rows, Rows],
    ratio: Floats,
    state: SteadyState,
    rps: Floats,
    capped: NDArray[np.bool_],
) -> Loads:
    """All figures of pairs (N,) as (N, 1); ``rps`` are those of a decode instance, ``capped`` says which keep the
    utilisation cap."""
    prefill, decode = rows

    def both(of: Floats) -> Floats:
        """The sum over a decode instance and its share of the prefill instances, (N,)."""
        return np.asarray(of[decode] + ratio * of[prefill])

    shares = SystemShare(usd_per_hour=both(share.usd_per_hour), power_kw=both(share.power_kw))
    p = question.limits.percentile
    return as_loads(
        question,
        (state.ttft_s(p), state.itl_s(p), state.e2e_s(p)),
        state.concurrency,
        rps[:, None],
        both(evaluated.candidates.gpus),
        shares,
        capped[:, None],
        _usd_at_load(question, evaluated.candidates, rows, ratio, rps)[:, None],
    )


def _usd_at_load(
    question: Question, candidates: Candidates, rows: tuple[Rows, Rows], ratio: Floats, rps: Floats
) -> Floats:
    """USD per million output tokens at the asked load, (N,): decode instances for it, and their prefill instances."""
    prefill, decode = rows
    decoding = fleet_for(question, rps, candidates.gpus[decode])
    prefilling = fleet_for(question, rps / ratio, candidates.gpus[prefill])
    return usd_per_million(question, candidates.place_of_gpu(question.gpus, decode), decoding, prefilling)
