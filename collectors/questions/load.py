"""The load of a deployment over weeks, for a forecast: mean arrivals per step, read in parts, gaps kept as NaN.

One expression a part, summed at the source: the number of replicas, their restarts and their turns make no difference
to the number of points. A rate counts on over counters that began anew.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend
from collectors.errors import SourceError
from collectors.queries.query import Query
from collectors.reading.discovery import discover
from collectors.reading.topology import find_topology
from collectors.source import Source
from collectors.units import S_PER_HOUR
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import scalar_queries

PART_POINTS = 168
"""Points of one question: a week of hours. Chosen: a rate over an hour reads all samples of it, so that one question
reads those of a week, as a dashboard does."""
MOST_POINTS = 3_000
"""Points of a history, at most: four months of hours, a year of every third hour."""
STEPS_H = (1, 2, 3, 4, 6)
"""Steps in hours that divide a day."""
ARRIVING = ("arrivals", "first_tokens")
"""Concepts that count arrivals, the better first: the second lacks requests that still wait."""
LONGEST_FLEET = 400
"""Questions about one part of a fleet, at most: a fleet's line is answered some points at a time."""


@dataclass(frozen=True, kw_only=True)
class LoadHistory:
    """Mean arrivals in requests/s of consecutive steps of ``step_s``: of step i until ``start_s`` + i x ``step_s``.

    NaN where nothing is known. ``replicas``: with data at the end. ``problems``: why parts are missing.
    """

    start_s: float
    step_s: float
    rps: tuple[float, ...]
    engine: str | None = None
    replicas: int | None = None
    problems: tuple[str, ...] = ()


def step_of(span_s: float) -> float:
    """The shortest step of whole hours that divides a day and leaves at most :data:`MOST_POINTS` points."""
    fits = (hours for hours in STEPS_H if span_s / (hours * S_PER_HOUR) <= MOST_POINTS)
    return next(fits, STEPS_H[-1]) * S_PER_HOUR


def load_history(
    backend: Backend, source: Source, *, start_s: float, end_s: float | None, clock: Callable[[], float] = time.time
) -> LoadHistory:
    """Arrivals from ``start_s`` to ``end_s`` (None: now), in steps of whole hours.

    Empty where no engine is seen at the end, or its arrivals are not counted. A part that cannot be read is a gap, with
    its sentence in ``problems``. Raises SourceError where nothing can be read.
    """
    discovery = discover(backend, source, end_s, clock)
    step = step_of(discovery.at_s - start_s)
    nothing = LoadHistory(start_s=start_s, step_s=step, rps=())
    engine = detect_engine(discovery.names, wanted=source.engine)
    if engine is None:
        return nothing
    topology = find_topology(backend, source, discovery, engine, source.window_s)
    seen = replace(nothing, engine=engine.vocabulary.id, replicas=topology.layout.replicas or None)
    key = next((k for k in ARRIVING if (c := topology.choices.get(k)) and c.candidate), None)
    candidate = topology.choices[key].candidate if key else None
    if key is None or candidate is None:
        return seen
    query = scalar_queries(key, candidate, replace(topology.scope, window_s=step))[0]
    first, last = math.ceil(start_s / step) + 1, math.floor(discovery.at_s / step)
    rps: dict[int, float] = {}
    problems: list[SourceError] = []
    parts = [(low, min(low + PART_POINTS - 1, last)) for low in range(first, last + 1, PART_POINTS)]
    for low, high in parts:
        try:
            rps |= _part(backend, query, low, high, step)
        except SourceError as error:
            problems.append(error)
    if parts and len(problems) == len(parts):
        raise problems[0]
    return replace(
        seen,
        start_s=first * step,
        rps=tuple(rps.get(i, math.nan) for i in range(first, last + 1)),
        problems=tuple(dict.fromkeys(map(str, problems))),
    )


def _part(backend: Backend, query: Query, first: int, last: int, step_s: float) -> dict[int, float]:
    """Values by their place in the grid of multiples of the step; a fleet is asked until its part is whole."""
    since = math.inf
    for _ in range(LONGEST_FLEET):
        answer = backend.ranges([query], start_s=first * step_s, end_s=last * step_s, step_s=step_s)
        begun = answer.since_s if answer.since_s is not None else answer.start_s
        if begun <= answer.start_s or begun >= since:
            break
        since = begun
    series = answer.of(query.subject)
    points = zip(series[0].times_s, series[0].values, strict=True) if series else ()
    return {round(t / step_s): v for t, v in points if math.isfinite(v) and v >= 0.0}
