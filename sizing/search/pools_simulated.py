"""How many prefill and decode instances a simulation says are needed.

One prefill and one decode instance of a pair are simulated under their share of the load, as in
:mod:`sizing.search.trials`: each request goes to any instance of a pool at random. Both see the same requests (common
random numbers): what request i took in the prefill pool is taken along to request i in the decode pool, so that every
latency of a request is that of its own lengths. Runs are kept: scenarios that differ in a limit or a price simulate the
same ones.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Counts, Flags, Floats
from sizing.deployments.kv_transfer import SETUP_S
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.search.disaggregated import PoolPairs, disaggregated
from sizing.search.instances import InstanceBounds, InstanceLatency, fewest, fewest_waiting
from sizing.search.pools import MORE, Pools, fewest_of_a_kind
from sizing.search.replicas import PlannedPools, PlannedReplicas, arrivals_of, lengths_of, replica_at
from sizing.search.trials import FAR_ADDEND, LARGEST_BELOW, NEARLY_IDLE, finding, looked_at, share_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.kept_runs import KeptRuns
from sizing.simulator.layout import (
    ARRIVED_ROW,
    CHUNK_FIELDS,
    E2E,
    FIRST_ROW,
    ID_ROW,
    ITL,
    OUTPUT_ROW,
    STARTED_ROW,
    TIME_ROW,
    TTFT,
)
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet
from sizing.simulator.quantiles import quantiles
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths
from sizing.simulator.run_length import HEAVIEST, IN_FLIGHT_ROUNDS, WARM_UP_SHARE
from sizing.simulator.stability import stable_rps_of
from sizing.simulator.work import MOST_WORK, Work

REQUESTS, MOST_REQUESTS = 12_000, 48_000
"""Requests simulated at each count, and at most where many are in flight at once."""

KEPT = 64
"""Whole runs of either kind that are kept, some 0.6 MB each. Chosen: a plan makes up to half a dozen, and a report asks
for the scenario as it is, one that is moved, and that one again at what flips the answer."""

FEW_REQUESTS = 3_000
"""Requests of a run that only says where to look for the number of prefill instances: that is then mostly within two of
it."""

KEPT_SHORT = 256
"""Runs of so few requests that are kept apart, so that they drive no whole one out: some 0.05 MB each."""

_DECODE_RUNS = KeptRuns(KEPT)
"""The simulated runs of decode pools that this process keeps, so that none is simulated twice."""

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
class PoolsCase:
    """A pair of pools under the whole load: what is simulated and what it must meet; ``requests`` in each run."""

    prefill: Replica
    decode: Replica
    arrivals: Arrivals
    lengths: RequestLengths
    limits: LatencyLimits
    max_utilization: float
    transfer_latency_s: float
    transfer_s_per_token: float
    requests: int
    fewest: int = 1
    """Instances of each kind at least."""
    seed: int = 0
    work: Work = field(default_factory=Work)
    """What may still be simulated."""

    def heaviest(self, stable_rps: float) -> float:
        """The heaviest load of an instance that counts as carried, requests/s."""
        return stable_rps * min(self.max_utilization, HEAVIEST)


def case_of(question: Question, deployments: PoolPairs, k: int, seed: int, work: Work | None = None) -> PoolsCase:
    """Pair ``k`` as the simulation sees it; ``work`` is what may still be simulated."""
    evaluated, pools = deployments.evaluated, deployments.pools
    prefill, decode = int(pools.prefill[k]), int(pools.decode[k])
    moved, tokens = float(deployments.transfer_s[k]), question.traffic.input_tokens
    stay = question.demand.sustained_rps / int(pools.decode_instances[k]) * float(deployments.e2e_s[k])
    return PoolsCase(
        prefill=replica_at(question, evaluated, prefill),
        decode=_limited(question, replica_at(question, evaluated, decode)),
        arrivals=arrivals_of(question),
        lengths=lengths_of(question),
        limits=question.limits,
        max_utilization=question.scenario.deployment.max_utilization,
        transfer_latency_s=SETUP_S,
        transfer_s_per_token=max(moved - SETUP_S, 0.0) / tokens,
        requests=int(np.clip(np.nan_to_num(IN_FLIGHT_ROUNDS * stay), REQUESTS, MOST_REQUESTS)),
        fewest=fewest_of_a_kind(question),
        seed=seed,
        work=work or Work(),
    )


def _limited(question: Question, decode: Replica) -> Replica:
    """A decode instance with no more sequences in flight than the largest batch limit that the scenario names."""
    named = question.scenario.deployment.batch_limits
    return replace(decode, max_sequences=min(decode.max_sequences, max(named))) if named else decode


def planned_pools(deployments: PoolPairs, k: int) -> PlannedPools:
    """Pair ``k`` as it is simulated whole, spares not counted."""
    case, (prefill, decode) = case_of(deployments.question, deployments, k, seed=0), deployments.configurations(k)
    working = deployments.working(k)
    return PlannedPools(
        row=decode,
        working=working[1],
        replica=case.decode,
        prefill=PlannedReplicas(row=prefill, working=working[0], replica=case.prefill),
        transfer_latency_s=case.transfer_latency_s,
        transfer_s_per_token=case.transfer_s_per_token,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class FirstTokens:
    """What requests took, in the order they were sent: until their prompt began, and first token with transfer.

    ``events``: the work of simulating them.
    """

    queue_s: Floats
    ttft_s: Floats
    events: int


@dataclass(frozen=True, kw_only=True)
class _Prefilled:
    """What a run of a prefill instance depends on."""

    replica: Replica
    arrivals: Arrivals
    lengths: RequestLengths
    requests: int
    seed: int
    transfer_latency_s: float
    transfer_s_per_token: float


def first_tokens(case: PoolsCase, instances: int) -> FirstTokens:
    """One of so many prefill instances under its share of the load. Raises OutOfWork."""
    run = _Prefilled(
        replica=case.prefill,
        arrivals=share_of(case.arrivals, 1.0 / instances),
        lengths=case.lengths,
        requests=case.requests,
        seed=case.seed,
        transfer_latency_s=case.transfer_latency_s,
        transfer_s_per_token=case.transfer_s_per_token,
    )
    kept = _kept_short if case.requests <= FEW_REQUESTS else _kept_first_tokens
    first = (kept if isinstance(case.lengths, DrawnLengths) else _first_tokens)(run)
    case.work.spend(first.events, case.requests)  # whether or not the run was kept
    return first


def _first_tokens(run: _Prefilled) -> FirstTokens:
    duration, fleet = run.requests / run.arrivals.rate_rps, Fleet(replicas=(run.replica,))
    measurement = MeasuredSpan(expected=run.requests, horizon_s=duration, keep_records=True, most_events=MOST_WORK)
    pool = SimulatedFleet(fleet, measurement, prefill_only=True)
    queue, ttft = np.full(0, np.nan), np.full(0, np.nan)
    for chunk in run.arrivals.stream(run.lengths, duration, run.seed):
        if chunk.shape[1]:
            queue, ttft = (np.append(one, np.full(chunk.shape[1], np.nan)) for one in (queue, ttft))
            _put(run, fleet, pool.run(chunk, float(chunk[TIME_ROW, -1])), queue, ttft)
    _put(run, fleet, pool.run(np.zeros((len(CHUNK_FIELDS), 0)), math.inf), queue, ttft)
    served = ~np.isnan(ttft)  # what is too long for the KV cache is turned away
    return FirstTokens(queue_s=queue[served], ttft_s=ttft[served], events=pool.events)


def _put(run: _Prefilled, fleet: Fleet, ended: NDArray[Any], queue: Floats, ttft: Floats) -> None:
    """Write what the requests that ``ended`` took to their places."""
    request, prompt, arrived = ended["id"], ended["prompt"], ended["arrived"]
    moved = run.transfer_latency_s + prompt * run.transfer_s_per_token
    front = fleet.front_end_s(prompt - ended["cached"])
    queue[request] = front + ended["started"] - arrived
    ttft[request] = front + ended["first"] - arrived + np.where(ended["output"] > 1.0, moved, 0.0)


_kept_first_tokens = lru_cache(maxsize=KEPT)(_first_tokens)
_kept_short = lru_cache(maxsize=KEPT_SHORT)(_first_tokens)


def decoded(case: PoolsCase, first: FirstTokens, instances: int) -> SimulationCounts:
    """One of so many decode instances under its share of the load, requests coming with their time to first token.

    Raises OutOfWork.
    """
    share = share_of(case.arrivals, 1.0 / instances)
    simulate, most = partial(_decoded, case, first, share), max(case.work.left, 0)
    if isinstance(case.lengths, DrawnLengths):
        # The key holds the first tokens themselves: those of a kept run are the same object.
        key = (case.decode, share, case.lengths, case.requests, case.seed, first)
        outcome = _DECODE_RUNS.kept(key, simulate, most)
    else:
        outcome = simulate(most)
    case.work.spend_on(outcome)
    return outcome


def _decoded(case: PoolsCase, first: FirstTokens, share: Arrivals, most_events: int) -> SimulationCounts:
    duration = case.requests / share.rate_rps
    measurement = MeasuredSpan(
        expected=case.requests, horizon_s=duration, warm_up=int(WARM_UP_SHARE * case.requests), most_events=most_events
    )
    # The front end is before prefill: its time is in the first tokens.
    behind = replace(case.decode, request_s=0.0, prompt_token_s=0.0)
    return drive(Fleet(replicas=(behind,)), _handed_over(case, first, share, duration), measurement)


def _handed_over(case: PoolsCase, first: FirstTokens, share: Arrivals, duration: float) -> Iterator[Floats]:
    """The stream of a decode instance: rows as in :func:`sizing.simulator.entry.run_chunk`; one token needs none."""
    seen, known = 0, len(first.ttft_s)
    for chunk in share.stream(case.lengths, duration, case.seed):
        number = seen + np.arange(chunk.shape[1])
        seen += chunk.shape[1]
        # A slice of both where there are as many, which takes a tenth of the time.
        of = slice(seen - len(number), seen) if seen <= known else number % known
        arrived = chunk[TIME_ROW] - first.ttft_s[of]
        chunk[ARRIVED_ROW], chunk[STARTED_ROW] = arrived, arrived + first.queue_s[of]
        chunk[FIRST_ROW], chunk[ID_ROW] = chunk[TIME_ROW], number
        more = chunk[OUTPUT_ROW] > 1.0
        yield chunk if more.all() else chunk[:, more]


@dataclass(frozen=True, kw_only=True, eq=False)
class NeededPools:
    """The fewest instances of both kinds that met every limit, and what was counted there.

    ``stable_rps``: what a prefill and a decode instance carry for ever by simulation.
    """

    prefill_instances: int
    decode_instances: int
    stable_rps: tuple[float, float]
    outcome: SimulationCounts


def ttft_at_most(first: FirstTokens, percentile: float, part: float = 1.0) -> InstanceLatency:
    """TTFT at a percentile, the upper end of its Monte-Carlo interval; what it would be about, if this is a ``part``
    of the requests."""
    counted = first.ttft_s[int(WARM_UP_SHARE * len(first.ttft_s)) :]
    batches = _percentiles(counted, percentile)
    margin = T_QUANTILE * float(np.std(batches, ddof=1)) / math.sqrt(BATCHES)
    return InstanceLatency(
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


def held(outcome: SimulationCounts, limits: LatencyLimits) -> bool:
    """Whether the limits are met for sure: by the Monte-Carlo interval, or because no request at all exceeded them.

    Requests that decode together have nearly the same gap between tokens; its percentile then scatters so much between
    parts of a run that its interval has no upper end, however far it is from the limit.
    """
    if finding(outcome, limits) == "met":
        return True
    limit_of = ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s))
    return all(math.isinf(limit) or quantiles(outcome, metric, [100.0])[0] <= limit for metric, limit in limit_of)


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
    farthest = NEARLY_IDLE * (max(guess[0], least[0]) + FAR_ADDEND) if most is None else most
    busy = case.arrivals.rate_rps / stable[0]
    bounds = InstanceBounds(limit_s=case.limits.ttft_s, busy=busy, least=least[0], most=farthest)
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
    case: PoolsCase, first_of: Callable[[int], FirstTokens], bounds: InstanceBounds, guess: int
) -> int | None:
    """The fewest prefill instances that meet the TTFT limit: short runs say where to look, whole ones decide."""
    percentile, few = case.limits.percentile, replace(case, requests=min(FEW_REQUESTS, case.requests))

    def nearly(instances: int) -> InstanceLatency:
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
) -> tuple[int, SimulationCounts] | None:
    """The fewest decode instances that meet the ITL and E2E limits, and what was counted there."""
    limits, outcomes = replace(case.limits, ttft_s=math.inf), dict[int, SimulationCounts]()

    def met(instances: int) -> bool:
        if instances not in outcomes:
            outcomes[instances] = decoded(case, first, instances)
        return held(outcomes[instances], limits)

    smallest = fewest(met, least=least, guess=guess, most=most)
    return None if smallest is None else (smallest, outcomes[smallest])


def simulated(
    question: Question, deployments: PoolPairs, k: int, seed: int, wins: Wins, work: Work
) -> tuple[PoolPairs, SimulationCounts] | None:
    """Pair ``k`` with the instances that a simulation asks for, sized again, and what was counted; None when no number
    of instances meets the limits and wins. Raises OutOfWork."""
    case, one = case_of(question, deployments, k, seed, work), deployments.pools.take(np.array([k]))
    needed = needed_pools(case, (int(one.prefill_instances[0]), int(one.decode_instances[0])), wins)
    if needed is None:
        return None
    return disaggregated(question, sized_by(one, case, needed)), needed.outcome


def sized_by(one: Pools, case: PoolsCase, needed: NeededPools) -> Pools:
    """A pair of pools with the instances that a simulation asks for, and what each then carries."""
    prefill, decode = needed.stable_rps
    return replace(
        one,
        prefill_instances=np.array([needed.prefill_instances]),
        decode_instances=np.array([needed.decode_instances]),
        prefill_rps=_between(one.prefill_rps, case, needed.prefill_instances, prefill),
        decode_rps=_between(one.decode_rps, case, needed.decode_instances, decode),
        prefill_stable_rps=np.array([prefill]),
        decode_stable_rps=np.array([decode]),
    )


def _between(rps: Floats, case: PoolsCase, instances: int, stable_rps: float) -> Floats:
    """A capacity moved between the load that was met and that of one instance fewer, or the heaviest carried."""
    rate, highest = case.arrivals.rate_rps, case.heaviest(stable_rps)
    if instances > 1:
        highest = min(highest, rate / (instances - 1) * LARGEST_BELOW)
    return np.clip(rps, rate / instances, max(highest, rate / instances))
