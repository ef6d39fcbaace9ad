"""Latencies of the requests that were in the system during a part of a simulation, such as an outage."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.simulator.layout import BINS, E2E, ITL, METRICS, QUEUE, TTFT, UPPER_S


@dataclass(frozen=True, kw_only=True)
class SimulatedWindow:
    """A part of the simulated time, in seconds from its start."""

    start_s: float
    end_s: float


@dataclass(kw_only=True, eq=False)
class Tally:
    """Counts of the requests that were in the system in a window: memory does not grow with their number."""

    window: SimulatedWindow
    front_end_s: Callable[[Floats], Floats]
    requests: int = 0
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros((METRICS, BINS), dtype=np.int64))

    def add(self, ended: NDArray[Any]) -> None:
        """Count those of the requests that ended (:data:`sizing.simulator.layout.RECORD`)."""
        inside = (ended["arrived"] < self.window.end_s) & (ended["finished"] > self.window.start_s)
        one = ended[inside]
        self.requests += len(one)
        self._count(TTFT, one["first"] - one["arrived"])
        self._count(E2E, one["finished"] - one["arrived"])
        front = self.front_end_s(np.maximum(one["prompt"] - one["cached"], 0.0))
        self._count(QUEUE, one["started"] - one["arrived"] - front)
        several = one[one["output"] > 1.0]
        self._count(ITL, (several["finished"] - several["first"]) / (several["output"] - 1.0))

    def _count(self, metric: int, seconds: Floats) -> None:
        bins = np.minimum(np.searchsorted(UPPER_S, seconds, side="right"), BINS - 1)
        self.histogram[metric] += np.bincount(bins, minlength=BINS)
