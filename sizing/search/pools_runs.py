"""One prefill and one decode instance of a pair of pools, simulated under their share of the load.

Both see the same requests (common random numbers): what request i took in the prefill pool is taken along to request i
in the decode pool, so that every latency of a request is that of its own lengths. Runs are kept: scenarios that differ
in a limit or a price simulate the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.search.pools_case import PoolsCase
from sizing.search.trials import share_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.kept_runs import KeptRuns
from sizing.simulator.layout import ARRIVED_ROW, CHUNK_FIELDS, FIRST_ROW, ID_ROW, OUTPUT_ROW, STARTED_ROW, TIME_ROW
from sizing.simulator.outcome import Outcome
from sizing.simulator.pool import Measurement, Pool
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths
from sizing.simulator.run_length import WARM_UP_SHARE
from sizing.simulator.work import MOST_WORK

KEPT = 64
"""Whole runs of either kind that are kept, some 0.6 MB each. Chosen: a plan makes up to half a dozen, and a report asks
for the scenario as it is, one that is moved, and that one again at what flips the answer."""

FEW_REQUESTS = 3_000
"""Requests of a run that only says where to look for the number of prefill instances: that is then mostly within two of
it."""

KEPT_SHORT = 256
"""Runs of so few requests that are kept apart, so that they drive no whole one out: some 0.05 MB each."""

_DECODE_RUNS = KeptRuns(KEPT)
"""Of this process."""


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
    measurement = Measurement(expected=run.requests, horizon_s=duration, keep_records=True, most_events=MOST_WORK)
    pool = Pool(fleet, measurement, prefill_only=True)
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


def decoded(case: PoolsCase, first: FirstTokens, instances: int) -> Outcome:
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


def _decoded(case: PoolsCase, first: FirstTokens, share: Arrivals, most_events: int) -> Outcome:
    duration = case.requests / share.rate_rps
    measurement = Measurement(
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
