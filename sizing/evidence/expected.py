"""The expected measurements of a table of points: each mode by its own protocol, all rows of a mode at once."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.evidence.open_loop import fixed_rate
from sizing.evidence.point_table import AnySource, PointTable, step_times
from sizing.evidence.pools import disaggregated_concurrency
from sizing.evidence.protocols import (
    Expected,
    FirstToken,
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
    modes = np.array([POOLS if p.prefill else p.mode for p in points.points])
    out = {f.name: np.full((len(points), 1), np.nan) for f in fields(Expected)}
    for mode in np.unique(modes):
        index = np.flatnonzero(modes == mode)
        answers = _of_mode(str(mode), points if len(index) == len(points) else points.take(index), source)
        for name, values in out.items():
            values[index] = getattr(answers, name)
    return Expected(**out)


def _of_mode(mode: str, points: PointTable, source: AnySource) -> Expected:
    if mode == "static_batch":
        running = np.minimum(points.concurrency, points.holds)
        return static_batch(step_times(points, running, source), points.lengths, points.concurrency, points.holds)
    if mode == "fixed_concurrency":
        running = np.minimum(points.concurrency, points.fits)
        return closed_loop(points, step_times(points, running, source), first_token(points, source))
    if mode == POOLS:
        return disaggregated_concurrency(points, first_token(points, source), source)
    if mode == "fixed_rate":
        return fixed_rate(points, source)
    return offline(points, step_times(points, offline_sizes(points), source))


def closed_loop(points: PointTable, times: StepTimes, first: FirstToken) -> Expected:
    """So many requests in flight all the time, with step times at those of them that fit."""
    again = points.again_at(np.minimum(points.concurrency, points.fits))
    return fixed_concurrency(times, points.lengths, points.concurrency, points.fits, first, again)


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
    full = replace(times, decode_s=times.decode_s[:, :1])
    running = np.fmin(requests, fits)
    steady = offline_max_throughput(full, points.lengths, running, points.again_at(running))
    if not np.any(np.isfinite(requests)):
        return steady
    return offline_burst(times, steady, points.lengths, requests, fits)


def first_token(points: PointTable, source: AnySource) -> FirstToken:
    """The fitted delays of the first token by engine; sources without a fit share the committed one."""
    fit: Efficiencies = getattr(source, "fit", None) or efficiencies()
    engines = [fit.overhead(e) for e in points.facts.engines]

    def of_rows(name: str) -> Floats:
        return np.array([getattr(engine, name) for engine in engines])[points.facts.engine][:, None]

    return FirstToken(
        request_s=of_rows("request_s"),
        prompt_token_s=fit.common.prompt_token_s,
        first_token_steps=of_rows("first_token_steps"),
        cohort=of_rows("cohort"),
        burst=of_rows("burst"),
    )
