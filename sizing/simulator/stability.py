"""The largest load a deployment can carry for ever: its rate with the queue never empty."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.simulator.arrivals import requests
from sizing.simulator.fleet import Fleet, Replica, SimulatedDeployment
from sizing.simulator.layout import FIRST_ROW, ID_ROW, STARTED_ROW
from sizing.simulator.pool import MeasuredSpan, SimulatedFleet
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths
from sizing.simulator.work import Work

ROUNDS = 30
"""Requests per sequence slot in a saturated run. Chosen: because the start and the end of the run, which are left out,
then count for about one of them."""

FEWEST, MOST = 1_000, 40_000
"""Bounds on the number of requests of a saturated run. Chosen: because the rate of fewer scatters by some per cent,
and more would take longer than the rest of a plan."""

FEWEST_ROUNDS = 4
"""Requests per sequence slot at least, however many slots there are: with fewer the slots never change hands."""

START_PART, LONGEST_END_PART = 6, 4
"""One in so many requests at the start of a run is left out (sequences still run in step with each other), and at most
one in so many at its end (the engine empties)."""

SHORTEST_RUN_S = 1e-12
"""Length of a run at least, so that nothing is divided by 0."""

KEPT_RATES = 512
"""Saturated rates kept in memory: those of more replicas than :data:`step_grid.KEPT_GRIDS`."""

MOST_EVENTS = 3_000_000
"""Work of a saturated run at most. Chosen: half a second; what was served until then gives the rate."""


@dataclass(frozen=True)
class Saturated:
    """Requests/s of a replica that never runs out of work, and the events it took to tell."""

    rps: float
    events: int


def saturated(replica: Replica, sample: Floats, *, prefill_only: bool = False, decode_only: bool = False) -> Saturated:
    """What one replica serves that never runs out of work; ``sample`` (4, n) are lengths as they come.

    All requests wait from the start. Counted from the first to the last admission: all that entered in this time, over
    the time. 0 when no request of the sample fits.
    """
    count = sample.shape[1]
    chunk = requests(np.zeros(count), sample)
    if decode_only:
        chunk[STARTED_ROW], chunk[FIRST_ROW], chunk[ID_ROW] = 0.0, 0.0, np.arange(count)
    pool = SimulatedFleet(
        Fleet(replicas=(replace(replica, queue_limit=None),)),
        MeasuredSpan(expected=count, horizon_s=1.0, keep_records=True, most_events=MOST_EVENTS),
        prefill_only=prefill_only,
    )
    records = pool.run(chunk, math.inf)
    ended = np.sort(records["first" if prefill_only else "finished"])
    emptying = 0 if pool.exhausted else min(slots(replica, sample), len(ended) // LONGEST_END_PART)
    return Saturated(_rate(ended, emptying), pool.events)


def _rate(ended: Floats, emptying: int) -> float:
    """Requests/s from when they ``ended`` (N,), of which the last ``emptying`` and some at the start do not count."""
    if not len(ended):
        return 0.0
    first, last = len(ended) // START_PART, max(len(ended) - emptying, 1)
    if ended[last - 1] <= ended[first]:
        return float(len(ended) / max(ended[-1], SHORTEST_RUN_S))
    return float((last - 1 - first) / (ended[last - 1] - ended[first]))


def slots(replica: Replica, sample: Floats) -> int:
    """Sequences that fit at once: by the scheduler and by KV cache at mean lengths, of answers half where nothing is
    reserved."""
    of_answer = 1.0 if replica.reserve_output else 0.5
    mean = float(sample[0].mean() + of_answer * sample[1].mean()) + replica.sequence_tokens
    return max(int(min(replica.max_sequences, replica.kv_tokens / mean)), 1)


def largest_stable_rps(
    deployment: SimulatedDeployment, lengths: RequestLengths, seed: int = 0, *, work: Work | None = None
) -> float:
    """Requests/s beyond which the queue of the deployment grows for ever.

    By routing: in turn or at random, the slowest replica decides (N x its rate); weighted, the one with the least rate
    per weight; by load, the sum. Of two pools the smaller counts. Failures are left out. ``work`` is what may be done:
    raises OutOfWork when that was all.
    """
    return min(
        _fleet_rps(stage.fleet, lengths, seed, work, prefill_only=stage.prefill_only, decode_only=stage.decode_only)
        for stage in deployment.stages
    )


def stable_rps_of(
    replica: Replica,
    lengths: RequestLengths,
    seed: int = 0,
    *,
    prefill_only: bool = False,
    decode_only: bool = False,
    work: Work | None = None,
) -> float:
    """Requests/s beyond which the queue of one replica grows for ever, in the role it plays."""
    fleet = Fleet(replicas=(replica,))
    return _fleet_rps(fleet, lengths, seed, work, prefill_only=prefill_only, decode_only=decode_only)


def _fleet_rps(
    fleet: Fleet,
    lengths: RequestLengths,
    seed: int,
    work: Work | None,
    *,
    prefill_only: bool = False,
    decode_only: bool = False,
) -> float:
    kinds = tuple(dict.fromkeys(fleet.replicas))
    # An observed trace may be large: its rates are not kept, because the trace would be, too.
    rates_of = _rates_of_drawn if isinstance(lengths, DrawnLengths) else _rates
    known = dict(zip(kinds, rates_of(kinds, lengths, seed, prefill_only, decode_only), strict=True))
    if work is not None:  # whether or not the rates were kept
        work.spend(sum(one.events for one in known.values()), 0)
    rates = np.array([known[r].rps for r in fleet.replicas])
    if fleet.routing in ("round_robin", "random", "session_affinity"):
        return float(len(rates) * rates.min())
    if fleet.routing == "weighted":
        weights = np.array([r.weight for r in fleet.replicas])
        return float((rates / weights).min() * weights.sum())
    return float(rates.sum())


def _rates(
    kinds: tuple[Replica, ...], lengths: RequestLengths, seed: int, prefill_only: bool, decode_only: bool
) -> tuple[Saturated, ...]:
    """Saturated rates of replicas under the same requests; no load takes part in them."""
    rngs = tuple(np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    most = max(slots(k, lengths.sample(rngs, FEWEST)) for k in kinds)
    sample = lengths.sample(rngs, int(np.clip(ROUNDS * most, FEWEST, max(MOST, FEWEST_ROUNDS * most))))
    sample[3] = -1.0
    return tuple(saturated(k, sample, prefill_only=prefill_only, decode_only=decode_only) for k in kinds)


_rates_of_drawn = lru_cache(maxsize=KEPT_RATES)(_rates)
