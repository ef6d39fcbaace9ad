"""The steepest scale-out of a day, simulated: instances join a fleet while the load rises."""

import math
from collections.abc import Iterator

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.units import MS_PER_S, S_PER_HOUR
from sizing.question.understand import Question
from sizing.replay.day_result import ScaleOut
from sizing.search.replicas import lengths_of
from sizing.search.trials import finding
from sizing.simulator.arrivals import CHUNK, requests
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Outage, Replica
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import quantile

WINDOW_S = S_PER_HOUR
"""Longest part of the day that is simulated. Chosen: because a rise of the load is over by then."""

MOST_REQUESTS = 100_000.0
"""Requests simulated at most. Chosen: because that takes less than a second, and leaves a hundred beyond p99.9."""

WARM_UP_SHARE = 0.05
"""Share of the requests that fill the empty system and are not measured."""


def simulated_scale_out(
    question: Question, replica: Replica, rps: Floats, step_s: float, serving: Counts, needed: Counts, startup_s: float
) -> ScaleOut | None:
    """Latency while the most instances are added: in time as planned, and ordered only once they are needed.

    None when no instance is ever added.
    """
    start, end = steepest_rise(rps, step_s, serving)
    if serving[end - 1] <= serving[start]:
        return None
    part = slice(start, end)
    on_time = _outages(serving[part], step_s, 0.0)
    late = _outages(needed[part], step_s, startup_s)
    outcome = _run(question, replica, rps[part], step_s, int(serving[end - 1]), on_time)
    delayed = _run(question, replica, rps[part], step_s, int(needed[part].max()), late)
    share = question.limits.percentile / 100.0

    def at(counted: SimulationCounts, metric: int) -> float:
        return quantile(counted.histogram[metric].every_bin(), share) * MS_PER_S

    gaps = at(outcome, ITL)
    return ScaleOut(
        start_s=start * step_s,
        end_s=end * step_s,
        instances_before=int(serving[start]),
        instances_after=int(serving[end - 1]),
        requests=outcome.finished,
        ttft_ms=at(outcome, TTFT),
        itl_ms=gaps if math.isfinite(gaps) else None,
        e2e_ms=at(outcome, E2E),
        meets_limits=finding(outcome, question.limits) != "broken",
        late_ttft_ms=at(delayed, TTFT),
    )


def steepest_rise(rps: Floats, step_s: float, serving: Counts) -> tuple[int, int]:
    """First moment and end of the part, an hour and 100,000 requests at most, in which the most instances are added
    and none is removed."""
    total = np.concatenate([[0.0], np.cumsum(rps * step_s)])
    falls = np.flatnonzero(np.diff(serving) < 0) + 1
    best, part = -1, (0, 1)
    steps = max(round(WINDOW_S / step_s), 1)
    for start in range(len(rps)):
        end = min(start + steps, len(rps), int(np.searchsorted(total, total[start] + MOST_REQUESTS, side="right")))
        after = int(np.searchsorted(falls, start, side="right"))
        end = max(min(end, int(falls[after]) if after < len(falls) else len(rps)), start + 1)
        if serving[end - 1] - serving[start] > best:
            best, part = int(serving[end - 1] - serving[start]), (start, end)
    return part


def _outages(serving: Counts, step_s: float, delay_s: float) -> tuple[Outage, ...]:
    """Instances that join later, as ones that are down until then."""
    joins = [
        (replica, float(np.argmax(serving > replica)) * step_s + delay_s)
        for replica in range(int(serving[0]), int(serving.max()))
    ]
    return tuple(Outage(replica=replica, start_s=0.0, end_s=time) for replica, time in joins)


def _run(
    question: Question, replica: Replica, rps: Floats, step_s: float, instances: int, outages: tuple[Outage, ...]
) -> SimulationCounts:
    expected = max(round(float(rps.sum()) * step_s), 1)
    measurement = MeasuredSpan(expected=expected, horizon_s=len(rps) * step_s, warm_up=int(WARM_UP_SHARE * expected))
    fleet = Fleet(replicas=(replica,) * instances, outages=outages, routing=question.scenario.deployment.routing)
    return drive(fleet, _stream(question, rps, step_s), measurement)


def _stream(question: Question, rps: Floats, step_s: float) -> Iterator[Floats]:
    """Poisson arrivals at a rate that changes from moment to moment, in chunks; the same every time."""
    gaps, *rngs = (np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(4))
    lengths, edges = lengths_of(question), np.arange(len(rps) + 1) * step_s
    total = np.concatenate([[0.0], np.cumsum(rps * step_s)])
    epoch = 0.0
    while epoch < total[-1]:
        epochs = epoch + np.cumsum(gaps.standard_exponential(CHUNK))
        epoch = float(epochs[-1])
        kept = int(np.searchsorted(epochs, total[-1]))
        time = np.interp(epochs[:kept], total, edges)
        yield requests(time, lengths.sample(tuple(rngs), CHUNK)[:, :kept])
