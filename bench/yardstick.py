"""A fixed piece of work, timed beside everything else: what a time means on a machine that does other things too.

A third of it each is interpreted Python, NumPy and compiled loops, as in a plan. One yardstick takes :data:`QUIET_MS`
on the machine on which the limits were set, while that did nothing else: two cores of a virtual machine, AMD EPYC,
2026. A slower or busier machine takes longer for the yardstick and for what is measured alike, so that their ratio can
be compared with a limit in yardsticks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from bench.table import MS_OF, Row

QUIET_MS = 10.0
"""Milliseconds of one yardstick on the quiet machine."""
TOGETHER = 5
"""Yardsticks in a row beside each sample. Chosen: about as long as a page, so that both are interrupted alike."""
PYTHON_STEPS, NUMPY_ROUNDS, NUMPY_SIZE, COMPILED_STEPS = 43_000, 11, 20_000, 2_600_000
"""How much interpreted, NumPy and compiled work one yardstick is."""
_VALUES = np.linspace(0.1, 3.0, NUMPY_SIZE)

compiled: Any = njit
Clock = Callable[[], float]


def _interpreted() -> int:
    """Attributes, dictionaries and calls."""
    seen: dict[int, int] = {}
    total = 0
    for step in range(PYTHON_STEPS):
        key = step * 7 % 211
        seen[key] = seen.get(key, 0) + step
        total += seen[key] & 3
    return total


def _arrays() -> float:
    """Arithmetic, exponentials, sums along rows and sorting of arrays that fit in the cache."""
    total = 0.0
    for round_ in range(NUMPY_ROUNDS):
        moved = np.exp(-_VALUES * (1.0 + round_)) / (1.0 + _VALUES)
        total += float(moved.reshape(-1, 20).sum(axis=1).max())
        total += float(np.argsort(moved * _VALUES % 0.01)[0])
    return total


@compiled
def _compiled(steps: int) -> float:  # pragma: no cover - compiled
    """A queue whose next event depends on the last, as in a simulation."""
    state, clock, free = np.uint64(1), 0.0, 0.0
    for _ in range(steps):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        draw = (state >> np.uint64(40)) / 16777216.0
        clock += draw
        free = max(free, clock) + 0.4 / (1.0 + draw)
    return free


def in_yardsticks(quiet_ms: float) -> float:
    """A limit in yardsticks, from milliseconds on a quiet machine."""
    return quiet_ms / QUIET_MS


def yardstick() -> None:
    """Do the fixed piece of work once: interpreted, in arrays and compiled."""
    _interpreted()
    _arrays()
    _compiled(COMPILED_STEPS)


@cache
def _begin() -> None:
    """Compile before anything is timed."""
    _compiled(1)


def yardstick_ms(clock: Clock = time.perf_counter) -> float:
    """Milliseconds that one yardstick takes now, by the clock of what it stands beside: wall or processor time."""
    _begin()
    start = clock()
    for _ in range(TOGETHER):
        yardstick()
    return 1000 * (clock() - start) / TOGETHER


class Times:
    """Samples of one quantity in milliseconds, each with a yardstick right after it."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock = clock
        self._ms: list[float] = []
        self._beside_ms: list[float] = []

    def add(self, ms: float) -> None:
        """Keep a sample that was just timed, and time the yardstick."""
        self._ms.append(ms)
        self._beside_ms.append(yardstick_ms(self._clock))

    def time(self, call: Callable[[], object]) -> None:
        """Time one call."""
        start = self._clock()
        call()
        self.add(1000 * (self._clock() - start))

    def longest(self) -> Times:
        """The longest sample alone."""
        out, at = Times(self._clock), self._ms.index(max(self._ms))
        out._ms, out._beside_ms = [self._ms[at]], [self._beside_ms[at]]
        return out

    def row(self, what: str, limit: float | None = None, *, unit: str = "ms") -> Row:
        """What was timed, in ``unit``, against a limit in yardsticks."""
        samples = tuple(ms / MS_OF[unit] for ms in self._ms)
        return Row(what=what, unit=unit, samples=samples, beside_ms=tuple(self._beside_ms), limit=limit)
