"""The fewest instances at which requests wait no longer than they may, in few runs.

What requests wait grows with the busy share u of an instance about as u / (1 - u) (Pollaczek-Khinchine formula, M/G/1
queue), which is a straight line in u / (1 - u): two runs tell about where it crosses the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sizing.search.instances import RESOLUTION

MOST_GUESSED = 5
"""Runs after which what is left between two counts is halved. Chosen: because the line nearly always leads there in
three."""


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A latency with a number of instances in seconds; ``alone_s``: about what it is without any wait."""

    seconds: float
    alone_s: float


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a search is for: a latency of ``limit_s`` at most, with ``least`` to ``most`` instances.

    ``busy``: instances that the load would keep busy all the time, fewer than ``least``.
    """

    limit_s: float
    busy: float
    least: int
    most: int


def fewest_waiting(latency: Callable[[int], Latency], bounds: Bounds, guess: int) -> int | None:
    """The smallest count at which the latency is within its limit, searched from ``guess``; None when not even the
    most will do.

    ``latency`` must not rise with the count. Of large counts as closely as :data:`RESOLUTION`.
    """
    if bounds.most < bounds.least:
        return None
    known: dict[int, Latency] = {}
    bad, good, trial = bounds.least - 1, None, min(max(guess, bounds.least), bounds.most)
    while good is None or good - bad > max(1, int(RESOLUTION * good)):
        known[trial] = latency(trial)
        if known[trial].seconds <= bounds.limit_s:
            good = trial
        elif trial == bounds.most:
            return None
        else:
            bad = trial
        trial = _next(known, bad, good, bounds)
    return good


def _next(known: Mapping[int, Latency], bad: int, good: int | None, bounds: Bounds) -> int:
    """The count to look at after those that are ``known``, between ``bad`` and ``good``, or above ``bad``."""
    if good is None:
        farther = bad + (1 << (len(known) - 1))
        return min(max(_crossing(known, [bad], bounds), farther), bounds.most)
    if len(known) >= MOST_GUESSED:
        return (bad + good) // 2
    ends = [count for count in (bad, good) if count in known]
    crossing = _crossing(known, ends, bounds)
    return min(max(crossing, bad + 1), good - 1)


def _crossing(known: Mapping[int, Latency], ends: Sequence[int], bounds: Bounds) -> int:
    """Where the line through both ends, or through one and no wait at all, meets the limit."""
    points = [(_queue(count, bounds.busy), known[count].seconds) for count in ends]
    (x, y), (other_x, other_y) = points[0], points[1] if len(points) > 1 else (0.0, known[ends[0]].alone_s)
    if y <= other_y:
        return bounds.most
    queue = other_x + (bounds.limit_s - other_y) / (y - other_y) * (x - other_x)
    return math.ceil(min(bounds.busy * (1.0 + 1.0 / queue), bounds.most)) if queue > 0.0 else bounds.most


def _queue(count: int, busy: float) -> float:
    """u / (1 - u) with the busy share u of each of so many."""
    return busy / (count - busy)
