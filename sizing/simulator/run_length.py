"""How many requests a run has to serve until its latencies are those of a steady state, and the run itself."""

import math

from sizing.base.arrays import ROUNDING
from sizing.simulator.arrivals import CHUNK, Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import UNLIMITED, MeasuredSpan
from sizing.simulator.request_lengths import RequestLengths

REPORTED_REQUESTS = 12_000
"""Requests behind the percentiles of an answer, at least: some 120 beyond p99."""

SPARE_SHARE = 0.05
"""Requests asked for beyond a number that is to be finished, as arrivals are random."""

IN_FLIGHT_ROUNDS = 20.0
"""Requests simulated at least per request in flight: an engine with 500 sequences needs longer to settle."""

RELAXATIONS = 20.0
"""Times the memory of the queue that a load is simulated before it counts as met."""

MOST_SETTLING = 48_000
"""Requests simulated at most for a queue or an engine to settle. Chosen: to bound the time that a run takes."""

HEAVIEST = 0.97
"""Share of the stability limit up to which a load is simulated: nearer, a queue takes very long to reach its
percentiles, and the least growth in load makes it endless."""

SPARE_DRAWS = 512
"""Requests drawn beyond the expected number, so that one chunk nearly always holds a run."""

WARM_UP_SHARE = 0.15
"""Share of the requests at the start of a run that are not counted: the engine fills up first."""


def relaxation(utilization: float) -> float:
    """Requests in which a queue forgets its past: 1 / (1 - sqrt(rho))^2.

    Relaxation time of M/M/1 in service times. Source: Abate and Whitt, Transient behavior of the M/M/1 queue (1987).
    """
    return float((1.0 - math.sqrt(min(utilization, 1.0 - ROUNDING))) ** -2)


def forgotten(utilization: float) -> int:
    """Requests in which a queue has forgotten that it started empty: so many times :func:`relaxation`."""
    return min(int(RELAXATIONS * relaxation(utilization)), MOST_SETTLING)


def settling(in_flight: float, most: int = MOST_SETTLING) -> int:
    """Requests in which an engine with so many in flight has settled, at most ``most``."""
    return min(int(IN_FLIGHT_ROUNDS * in_flight), most)


def run(
    fleet: Fleet, arrivals: Arrivals, lengths: RequestLengths, requests: int, seed: int, *, most_events: int = UNLIMITED
) -> SimulationCounts:
    """The replicas of a fleet under ``arrivals`` of all of them: about ``requests`` requests each."""
    expected = requests * len(fleet.replicas)
    duration = expected / arrivals.rate_rps
    warm_up = int(WARM_UP_SHARE * expected)
    measurement = MeasuredSpan(expected=expected, horizon_s=duration, warm_up=warm_up, most_events=most_events)
    stream = arrivals.stream(lengths, duration, seed, chunk=min(expected + SPARE_DRAWS, CHUNK))
    return drive(fleet, stream, measurement)
