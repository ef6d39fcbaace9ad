"""How many prefill and decode instances a simulation says are needed.

One prefill and one decode instance are simulated under their share of the load, as in
:mod:`sizing.search.trials`: each request goes to any instance of a pool at random. Both see the same requests
(common random numbers): what request i took in the prefill pool is taken along to request i in the decode pool, so that
every latency of a request is that of its own lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from sizing.base.arrays import ROUNDING, Counts, Flags, Floats
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.search.disaggregated import Disaggregated, disaggregated
from sizing.search.instances import fewest
from sizing.search.pools_case import PoolsCase, case_of
from sizing.search.pools_search import MORE
from sizing.search.trials import FARTHER, FARTHEST, LARGEST_BELOW, Finding, finding, share_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet
from sizing.simulator.layout import CHUNK_FIELDS, E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.pool import Measurement, Pool
from sizing.simulator.quantiles import quantile
from sizing.simulator.run_length import WARM_UP_SHARE
from sizing.simulator.stability import stable_rps_of
from sizing.simulator.work import Work

Wins = Callable[[Counts, Counts], Flags]
"""Whether pools with so many prefill and decode instances, (N,) each, would be the answer if they met the limits."""

MOST_TRIED = 4096
"""Numbers of instances whose price is looked at; of more, as many evenly spaced in their logarithm."""

BATCHES = 10
"""Parts of a prefill run whose percentiles give its Monte-Carlo error."""

T_QUANTILE = 2.26
"""95 % interval from ten batches (Student's t, 9 degrees of freedom)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NeededPools:
    """The fewest instances of both kinds that met every limit, and what was counted there.

    ``stable_rps``: what a prefill and a decode instance carry for ever by simulation.
    """

    prefill_instances: int
    decode_instances: int
    stable_rps: tuple[float, float]
    outcome: Outcome


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstTokens:
    """What requests took, in the order they were sent: until their prompt began, and first token with transfer."""

    queue_s: Floats
    ttft_s: Floats


def first_tokens(case: PoolsCase, instances: int) -> FirstTokens:
    """One of so many prefill instances under its share of the load. Raises OutOfWork."""
    share = share_of(case.arrivals, 1.0 / instances)
    duration = case.requests / share.rate_rps
    fleet = Fleet(replicas=(case.prefill,))
    pool = Pool(
        fleet,
        Measurement(expected=case.requests, horizon_s=duration, keep_records=True, most_events=max(case.work.left, 0)),
        prefill_only=True,
    )
    ended = []
    for chunk in share.stream(case.lengths, duration, case.seed):
        if chunk.shape[1]:
            ended.append(pool.run(chunk, float(chunk[0, -1])).copy())
    ended.append(pool.run(np.zeros((len(CHUNK_FIELDS), 0)), math.inf).copy())
    case.work.spend(pool.events, case.requests)
    records = np.concatenate(ended)
    records = records[np.argsort(records["id"], kind="stable")]
    moved = case.transfer_latency_s + records["prompt"] * case.transfer_s_per_token
    front = fleet.front_end_s(records["prompt"] - records["cached"])
    waited = records["arrived"]
    return FirstTokens(
        queue_s=front + records["started"] - waited,
        ttft_s=front + records["first"] - waited + np.where(records["output"] > 1.0, moved, 0.0),
    )


def within(first: FirstTokens, limits: LatencyLimits) -> Finding:
    """Whether TTFT lies within its limit at the asked percentile, its Monte-Carlo interval included."""
    counted = first.ttft_s[int(WARM_UP_SHARE * len(first.ttft_s)) :]
    value = float(np.percentile(counted, limits.percentile))
    parts = [np.percentile(part, limits.percentile) for part in np.array_split(counted, BATCHES)]
    margin = T_QUANTILE * float(np.std(parts, ddof=1)) / math.sqrt(BATCHES)
    if value - margin > limits.ttft_s:
        return "broken"
    return "met" if value + margin <= limits.ttft_s else "unclear"


def decoded(case: PoolsCase, first: FirstTokens, instances: int) -> Outcome:
    """One of so many decode instances under its share of the load, requests coming with their time to first token.

    Raises OutOfWork.
    """
    share = share_of(case.arrivals, 1.0 / instances)
    duration = case.requests / share.rate_rps
    measurement = Measurement(
        expected=case.requests,
        horizon_s=duration,
        warm_up=int(WARM_UP_SHARE * case.requests),
        most_events=max(case.work.left, 0),
    )
    outcome = drive(Fleet(replicas=(case.decode,)), _handed_over(case, first, share, duration), measurement)
    case.work.spend_on(outcome)
    return outcome


def _handed_over(case: PoolsCase, first: FirstTokens, share: Arrivals, duration: float) -> Iterator[Floats]:
    """The stream of a decode instance: rows as in :func:`sizing.simulator.entry.run_chunk`; one token needs none."""
    seen, known = 0, len(first.ttft_s)
    for chunk in share.stream(case.lengths, duration, case.seed):
        number = seen + np.arange(chunk.shape[1])
        seen += chunk.shape[1]
        of = number % known
        arrived = chunk[0] - first.ttft_s[of]
        chunk[1], chunk[6], chunk[7], chunk[8] = arrived, arrived + first.queue_s[of], chunk[0], number
        yield chunk[:, chunk[3] > 1.0]


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
    least = [max(math.ceil(case.arrivals.rate_rps / case.heaviest(rps) - ROUNDING), 1) for rps in stable]
    first_of = cache(partial(first_tokens, case))

    def in_time(instances: int) -> bool:
        return within(first_of(instances), case.limits) == "met"

    most = _most(wins, guess[0], decode=least[1])
    smallest = None if most == 0 else fewest(in_time, least=least[0], guess=guess[0], most=most)
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


def _most(wins: Wins, guess: int, *, prefill: int | None = None, decode: int | None = None) -> int | None:
    """The most instances of a pool, the other being given, that are worth a try; 0: none; None: there is no bound."""
    farthest = FARTHEST * guess + FARTHER
    tried = np.arange(1, farthest + 1)
    if farthest > MOST_TRIED:
        tried = np.unique(np.geomspace(1, farthest, MOST_TRIED).round().astype(np.int64))
    other = np.full_like(tried, prefill or decode or 1)
    worth = tried[wins(tried, other) if prefill is None else wins(other, tried)]
    return None if len(worth) == len(tried) else int(worth.max(initial=0))


def _decode_instances(
    case: PoolsCase, first: FirstTokens, least: int, guess: int, most: int | None
) -> tuple[int, Outcome] | None:
    """The fewest decode instances that meet the ITL and E2E limits, and what was counted there."""
    others, outcomes = replace(case.limits, ttft_s=math.inf), dict[int, Outcome]()

    def met(instances: int) -> bool:
        if instances not in outcomes:
            outcomes[instances] = decoded(case, first, instances)
        return held(outcomes[instances], others)

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
