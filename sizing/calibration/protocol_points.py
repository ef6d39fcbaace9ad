"""Measured points of one configuration, and what the protocol of each would measure for given step times.

Closed loops, static batches and offline runs as in ``sizing.evidence.protocols``. An open loop is read at exactly the
rate that was asked: unlike most published results, a sweep of one's own is not chosen to lie just below the capacity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.evidence.expected import BENCHMARK_SPREAD, HIGHEST_SHARE, NO_SLOT_LIMIT, SHORTEST_S, first_token
from sizing.evidence.point_table import PointTable, point_table, step_times, traffic_of
from sizing.evidence.points import Point
from sizing.evidence.protocols import Expected, fixed_concurrency, offline_max_throughput, queue_growth_s, static_batch
from sizing.queueing.steady_state import concurrency_grid, steady_state
from sizing.steps.roofline import Roofline
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class CalibrationPoint:
    """One measured point. Seconds, and requests/s of everything that served the load; None where not measured."""

    point: Point
    itl_s: float | None = None
    ttft_s: float | None = None
    rps: float | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Points of one mode with the step times that the uncalibrated source gives at their load."""

    mode: str
    index: NDArray[np.intp]
    points: PointTable
    grid: Floats
    times: StepTimes
    source: Roofline

    def of(self, calibration_points: Sequence[CalibrationPoint]) -> list[CalibrationPoint]:
        """The calibration points of this mode, in their order."""
        return [calibration_points[i] for i in self.index]

    def in_flight(self) -> Floats:
        """Requests in flight per instance (C,): as kept, as fits, or by Little's law at the asked rate."""
        if self.mode != "fixed_rate":
            return np.asarray(self.grid[:, 0])
        expected = self.expected(self.times)
        return np.asarray((expected.rps * expected.e2e_s)[:, 0])

    def expected(self, times: StepTimes) -> Expected:
        """What these points measure, per instance, columns (C, 1), if their step times are ``times``."""
        points, lengths = self.points, self.points.lengths
        match self.mode:
            case "fixed_rate":
                return _open_loop(points, times, self.grid)
            case "static_batch":
                return static_batch(times, lengths, points.concurrency, points.fits)
            case "offline_max_throughput":
                return offline_max_throughput(times, lengths, self.grid)
            case _:
                first = first_token(points, self.source)
                return fixed_concurrency(times, lengths, points.concurrency, points.fits, first)


def prepare(points: Sequence[Point], source: Roofline) -> tuple[Prepared, ...]:
    """The points by mode, each with its step times before calibration."""
    whole = point_table(points)
    modes = np.array([p.mode for p in points])
    return tuple(_prepared(str(mode), np.flatnonzero(modes == mode), whole, source) for mode in np.unique(modes))


def _prepared(mode: str, index: NDArray[np.intp], whole: PointTable, source: Roofline) -> Prepared:
    points = whole.take(index)
    most = np.minimum(points.fits, points.scheduled)
    match mode:
        case "fixed_rate":
            grid = concurrency_grid(most[:, 0])
        case "offline_max_throughput":
            grid = most
        case _:
            grid = np.minimum(points.concurrency, points.fits)
    times = step_times(points, grid, source)
    return Prepared(mode=mode, index=index, points=points, grid=grid, times=times, source=source)


def _open_loop(points: PointTable, times: StepTimes, grid: Floats) -> Expected:
    """The steady state at the asked rate: TTFT (p50, p99), mean ITL and E2E; beyond the capacity a queue grows."""
    rows = [_at_rate(points, times, grid, i) for i in range(len(points))]
    names = [f.name for f in fields(Expected)]
    return Expected(**{name: np.array([[row[name]] for row in rows]) for name in names})


def _at_rate(points: PointTable, times: StepTimes, grid: Floats, row: int) -> dict[str, float]:
    """One point of an open loop; the gaps between tokens are not asked for at a percentile."""
    index = np.array([row])
    budget, offered = points.facts.budget[index, 0], float(points.rate_rps[row, 0])
    traffic = traffic_of(points.points[row])
    state = steady_state(times.take(index), grid[index], np.full(1, NO_SLOT_LIMIT), budget, traffic, BENCHMARK_SPREAD)
    rising = np.maximum.accumulate(state.rps[0])
    capacity = float(rising[-1])
    at = min(offered, HIGHEST_SHARE * capacity)

    def read(values: Floats) -> float:
        return float(np.exp(np.interp(at, rising, np.log(np.maximum(values[0], SHORTEST_S)))))

    grown = last = 0.0
    if offered > capacity:
        rate, most = points.rate_rps[index], np.array([[capacity]])
        grown, last = (float(queue_growth_s(rate, most, share)[0, 0]) for share in (0.5, 0.99))
    return {
        "ttft_s": read(state.ttft_s(50.0)) + grown,
        "itl_s": read(state.itl_mean_s),
        "e2e_s": read(state.e2e_mean_s) + grown,
        "rps": min(offered, capacity),
        "ttft_p99_s": read(state.ttft_s(99.0)) + last,
        "itl_p99_s": math.nan,
    }
