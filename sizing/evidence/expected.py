"""The expected measurements of a table of points: each mode by its own protocol, all rows of a mode at once."""

from collections.abc import Callable, Mapping
from dataclasses import fields

import numpy as np

from sizing.base.arrays import Floats
from sizing.evidence.closed_loop import closed_loops
from sizing.evidence.open_loop import fixed_rate
from sizing.evidence.point_table import AnySource, PointTable, first_token_steps, step_times
from sizing.evidence.points import CLOSED_LOOP, OFFLINE, OPEN_LOOP
from sizing.evidence.pools import disaggregated_concurrency
from sizing.evidence.protocols import (
    Expected,
    FrontEnd,
    burst_sizes,
    fixed_concurrency,
    offline_burst,
    offline_max_throughput,
    static_batch,
    sustained,
)
from sizing.steps.efficiency import Efficiencies, efficiencies
from sizing.steps.times import StepTimes

POOLS = "pools"
"""Closed loops on prefill and decode instances, beside the modes of points."""


def expected(points: PointTable, source: AnySource) -> Expected:
    """What every row measures, per instance, columns (C, 1)."""
    return _by_mode(points, source, {CLOSED_LOOP: closed_loops, OPEN_LOOP: fixed_rate})


def steady(points: PointTable, source: AnySource) -> Expected:
    """As :func:`expected` without simulating anything: closed loops in a steady state; open loops have no answer."""
    return _by_mode(points, source, {CLOSED_LOOP: _in_flight})


Protocol = Callable[[PointTable, AnySource], Expected]


def _by_mode(points: PointTable, source: AnySource, of_mode: Mapping[str, Protocol]) -> Expected:
    modes = np.array([POOLS if p.prefill else p.mode for p in points.points])
    out = {f.name: np.full((len(points), 1), np.nan) for f in fields(Expected)}
    protocols = {"static_batch": _batch, POOLS: _pools, OFFLINE: _queued, **of_mode}
    for mode in set(modes) & protocols.keys():
        index = np.flatnonzero(modes == mode)
        answers = protocols[str(mode)](points if len(index) == len(points) else points.take(index), source)
        for name, values in out.items():
            values[index] = getattr(answers, name)
    return Expected(**out)


def _batch(points: PointTable, source: AnySource) -> Expected:
    """One batch of equal prompts, run to its end."""
    running = np.minimum(points.concurrency, points.holds)
    return static_batch(step_times(points, running, source), points.lengths, points.concurrency, points.holds)


def _pools(points: PointTable, source: AnySource) -> Expected:
    """Closed loops on prefill and decode instances."""
    return disaggregated_concurrency(points, front_end(points, source), source)


def _in_flight(points: PointTable, source: AnySource) -> Expected:
    """Closed loops in their steady state."""
    running = np.minimum(points.concurrency, points.fits)
    return closed_loop(points, step_times(points, running, source), front_end(points, source))


def _queued(points: PointTable, source: AnySource) -> Expected:
    """Offline runs: every request is queued from the start."""
    return offline(points, step_times(points, offline_sizes(points), source))


def closed_loop(points: PointTable, times: StepTimes, front: FrontEnd) -> Expected:
    """What a closed loop with so many requests in flight measures, with step times at those of them that fit."""
    again = points.again_at(np.minimum(points.concurrency, points.fits))
    return fixed_concurrency(times, points.lengths, points.concurrency, points.fits, front, again)


def offline_slots(points: PointTable) -> Floats:
    """Sequences in flight of offline runs, (C, 1): as many as memory and engine hold and the token budget sustains."""
    batches = (points.candidates.dp * points.candidates.pp)[:, None]
    return np.minimum(np.minimum(points.fits, points.scheduled), sustained(points.lengths, batches))


def offline_sizes(points: PointTable) -> Floats:
    """Sequences in flight of offline runs at which their step times are read, (C, K): :func:`offline_slots`, and from
    there to the last one where a run states how many requests it sent."""
    fits, requests = offline_slots(points), points.requests
    if not np.any(np.isfinite(requests)):
        return fits
    return np.where(np.isfinite(requests), burst_sizes(requests, fits), fits)


def offline(points: PointTable, times: StepTimes) -> Expected:
    """All requests queued, with step times at :func:`offline_sizes`: a steady state, or a burst where the run states
    how many requests it sent."""
    fits, requests = offline_slots(points), points.requests
    full = times.on_grid(lambda values: values[:, :1])
    running = np.fmin(requests, fits)
    steady_state = offline_max_throughput(full, points.lengths, running, points.again_at(running))
    if not np.any(np.isfinite(requests)):
        return steady_state
    return offline_burst(times, steady_state, points.lengths, requests, fits)


def front_end(points: PointTable, source: AnySource) -> FrontEnd:
    """The fitted times of the front end by engine; sources without a fit share the committed one."""
    fit: Efficiencies = getattr(source, "fit", None) or efficiencies()
    of_engine = np.array([fit.overhead(e).request_s for e in points.facts.engines])
    return FrontEnd(
        request_s=of_engine[points.facts.engine][:, None],
        prompt_token_s=fit.common.prompt_token_s,
        first_token_steps=first_token_steps(points, fit),
    )
