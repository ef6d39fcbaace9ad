"""How many prefill and decode instances a simulation says are needed.

One prefill and one decode instance are simulated under their share of the load (:mod:`sizing.search.pools_runs`), as
in :mod:`sizing.search.trials`: each request goes to any instance of a pool at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from sizing.base.arrays import ROUNDING, Counts, Flags, Floats
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.search.disaggregated import Disaggregated, disaggregated
from sizing.search.fewest_waiting import Bounds, Latency, fewest_waiting
from sizing.search.instances import fewest
from sizing.search.pools_case import PoolsCase, case_of
from sizing.search.pools_runs import FEW_REQUESTS, FirstTokens, decoded, first_tokens
from sizing.search.pools_search import MORE
from sizing.search.trials import FARTHER, LARGEST_BELOW, NEARLY_IDLE, finding, looked_at
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.quantiles import quantile
from sizing.simulator.run_length import WARM_UP_SHARE
from sizing.simulator.stability import stable_rps_of
from sizing.simulator.work import Work

Wins = Callable[[Counts, Counts], Flags]
"""Whether pools with so many prefill and decode instances, (N,) each, would be the answer if they met the limits."""

BATCHES = 10
"""Parts of a prefill run whose percentiles give its Monte-Carlo error."""

T_QUANTILE = 2.26
"""95 % interval from ten batches (Student's t, 9 degrees of freedom)."""

LIKELY_SHARE = 0.7
"""Busy share of a prefill instance that is looked at first. Chosen: because prompts that vary in length leave no more
within usual limits, and from there a line leads to any other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NeededPools:
    """The fewest instances of both kinds that met every limit, and what was counted there.

    ``stable_rps``: what a prefill and a decode instance carry for ever by simulation.
    """

    prefill_instances: int
    decode_instances: int
    stable_rps: tuple[float, float]
    outcome: Outcome


def ttft_at_most(first: FirstTokens, percentile: float, part: float = 1.0) -> Latency:
    """TTFT at a percentile, the upper end of its Monte-Carlo interval; what it would be about, if this is a ``part``
    of the requests."""
    counted = first.ttft_s[int(WARM_UP_SHARE * len(first.ttft_s)) :]
    batches = _percentiles(counted, percentile)
    margin = T_QUANTILE * float(np.std(batches, ddof=1)) / math.sqrt(BATCHES)
    return Latency(
        seconds=float(np.percentile(counted, percentile)) + margin * math.sqrt(part),
        alone_s=float(np.percentile(first.ttft_s[:FEW_REQUESTS] - first.queue_s[:FEW_REQUESTS], percentile)),
    )


def _percentiles(counted: Floats, percentile: float) -> Floats:
    """A percentile of each of :data:`BATCHES` parts of what was counted, as ``np.array_split`` parts it.

    All parts of one size at once: one by one takes five times as long.
    """
    longer, size = len(counted) % BATCHES, len(counted) // BATCHES
    cut = longer * (size + 1)
    parts = counted[:cut].reshape(longer, size + 1), counted[cut:].reshape(BATCHES - longer, size)
    return np.concatenate([np.percentile(part, percentile, axis=1) for part in parts if len(part)])


def held(outcome: Outcome, limits: LatencyLimits) -> bool:
    """Whether the limits are met for sure: by the Monte-Carlo interval, or because no request at all exceeded them.

    Requests that decode together have nearly the same gap between tokens; its percentile then scatters so much between
    parts of a run that its interval has no upper end, however far it is from the limit.
    """
    if finding(outcome, limits) == "met":
        return True
    limit_of = ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s))
    counts = outcome.histogram.sum(axis=0, dtype=np.int64)
    return all(math.isinf(limit) or quantile(counts[metric], 1.0) <= limit for metric, limit in limit_of)


def needed_pools(case: PoolsCase, guess: tuple[int, int], wins: Wins) -> NeededPools | None:
    """The fewest instances that meet every limit, prefill first; an E2E limit may ask for more prefill instances.

    Never fewer than the stability limits times the utilisation cap ask for. None when even many do not meet a limit, or
    when those that do are no longer worth it, as ``wins`` says. Raises OutOfWork.
    """
    stable = (
        stable_rps_of(case.prefill, case.lengths, case.seed, prefill_only=True, work=case.work),
        stable_rps_of(case.decode, case.lengths, case.seed, decode_only=True, work=case.work),
    )
    if min(stable) <= 0.0:
        return None
    least = [max(math.ceil(case.arrivals.rate_rps / case.heaviest(rps) - ROUNDING), case.fewest) for rps in stable]
    first_of = cache(partial(first_tokens, case))
    most = _most(wins, guess[0], decode=least[1])
    farthest = NEARLY_IDLE * (max(guess[0], least[0]) + FARTHER) if most is None else most
    busy = case.arrivals.rate_rps / stable[0]
    bounds = Bounds(limit_s=case.limits.ttft_s, busy=busy, least=least[0], most=farthest)
    smallest = _prefill_instances(case, first_of, bounds, guess[0])
    if smallest is None:
        return None
    tried = MORE if math.isfinite(case.limits.e2e_s) else MORE[:1]
    for count in dict.fromkeys(math.ceil(smallest * more - ROUNDING) for more in tried):
        most = _most(wins, guess[1], prefill=count)
        if most is not None and most < least[1]:  # more of either kind only cost more
            return None
        decode = _decode_instances(case, first_of(count), least[1], guess[1], most)
        if decode is not None:
            return NeededPools(
                prefill_instances=count, decode_instances=decode[0], stable_rps=stable, outcome=decode[1]
            )
    return None


def _prefill_instances(
    case: PoolsCase, first_of: Callable[[int], FirstTokens], bounds: Bounds, guess: int
) -> int | None:
    """The fewest prefill instances that meet the TTFT limit: short runs say where to look, whole ones decide."""
    percentile, few = case.limits.percentile, replace(case, requests=min(FEW_REQUESTS, case.requests))

    def nearly(instances: int) -> Latency:
        return ttft_at_most(first_tokens(few, instances), percentile, few.requests / case.requests)

    near = fewest_waiting(nearly, bounds, max(guess, math.ceil(bounds.busy / LIKELY_SHARE)))
    start = bounds.most if near is None else near
    return fewest_waiting(lambda instances: ttft_at_most(first_of(instances), percentile), bounds, start)


def _most(wins: Wins, guess: int, *, prefill: int | None = None, decode: int | None = None) -> int | None:
    """The most instances of a pool, the other being given, that are worth a try; 0: none; None: there is no bound."""
    tried = looked_at(guess)
    other = np.full_like(tried, prefill or decode or 1)
    worth = tried[wins(tried, other) if prefill is None else wins(other, tried)]
    return None if len(worth) == len(tried) else int(worth.max(initial=0))


def _decode_instances(
    case: PoolsCase, first: FirstTokens, least: int, guess: int, most: int | None
) -> tuple[int, Outcome] | None:
    """The fewest decode instances that meet the ITL and E2E limits, and what was counted there."""
    limits, outcomes = replace(case.limits, ttft_s=math.inf), dict[int, Outcome]()

    def met(instances: int) -> bool:
        if instances not in outcomes:
            outcomes[instances] = decoded(case, first, instances)
        return held(outcomes[instances], limits)

    smallest = fewest(met, least=least, guess=guess, most=most)
    return None if smallest is None else (smallest, outcomes[smallest])


def simulated(
    question: Question, deployments: Disaggregated, k: int, seed: int, wins: Wins, work: Work
) -> tuple[Disaggregated, Outcome] | None:
    """Pair ``k`` with the instances that a simulation asks for, sized again, and what was counted; None when no number
    of instances meets the limits and wins. Raises OutOfWork."""
    case, one = case_of(question, deployments, k, seed, work), deployments.pools.take(np.array([k]))
    needed = needed_pools(case, (int(one.prefill_instances[0]), int(one.decode_instances[0])), wins)
    if needed is None:
        return None
    prefill, decode = needed.stable_rps
    moved = replace(
        one,
        prefill_instances=np.array([needed.prefill_instances]),
        decode_instances=np.array([needed.decode_instances]),
        prefill_rps=_between(one.prefill_rps, case, needed.prefill_instances, prefill),
        decode_rps=_between(one.decode_rps, case, needed.decode_instances, decode),
        prefill_stable_rps=np.array([prefill]),
        decode_stable_rps=np.array([decode]),
    )
    return disaggregated(question, moved), needed.outcome


def _between(rps: Floats, case: PoolsCase, instances: int, stable_rps: float) -> Floats:
    """A capacity moved between the load that was met and that of one instance fewer, or the heaviest carried."""
    rate, highest = case.arrivals.rate_rps, case.heaviest(stable_rps)
    if instances > 1:
        highest = min(highest, rate / (instances - 1) * LARGEST_BELOW)
    return np.clip(rps, rate / instances, max(highest, rate / instances))
