"""Measured points of one configuration, and what the protocol of each would measure for given step times.

Closed loops, static batches and offline runs as in ``sizing.evidence.protocols``, open loops by the simulation of
``sizing.evidence.open_loop``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.choices import PublishedMode
from sizing.base.compiled_rows import position
from sizing.deployments.concurrency import evicted_share
from sizing.evidence.closed_loop import closed_loops
from sizing.evidence.expected import closed_loop, front_end, offline, offline_sizes
from sizing.evidence.open_loop import EQUAL_LENGTHS, SimulatedInstance, columns, fitted_to, run_requests, systems
from sizing.evidence.point_table import PointTable, alike, asked_at, point_table, step_times, traffic_of
from sizing.evidence.points import CLOSED_LOOP, MODES, Point
from sizing.evidence.protocols import Expected, static_batch
from sizing.queueing.steady_state import SteadyState, steady_state
from sizing.steps.mixture import Mixture
from sizing.steps.roofline import Roofline
from sizing.steps.times import StepTimes

HIGHEST_SHARE = 0.99
"""Share of its capacity at which the load model is read at most: at 1 its waits have no end."""

SHORTEST_S = 1e-9
"""Time whose logarithm stands for that of 0."""


@dataclass(frozen=True, kw_only=True)
class CalibrationPoint:
    """One measured point. Seconds, and requests/s of everything that served the load; None where not measured."""

    point: Point
    itl_s: float | None = None
    ttft_s: float | None = None
    rps: float | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Points of one mode with the step times that the uncalibrated source gives at their load; ``run``: what closed
    loops as long as these measure with them, by simulation."""

    mode: PublishedMode
    index: NDArray[np.intp]
    points: PointTable
    grid: Floats
    times: StepTimes
    source: Mixture | Roofline
    open_loops: OpenLoops | None = None
    run: Expected | None = None

    def of(self, calibration_points: Sequence[CalibrationPoint]) -> list[CalibrationPoint]:
        """The calibration points of this mode, in their order."""
        return [calibration_points[i] for i in self.index]

    def in_flight(self) -> Floats:
        """Requests in flight per instance (C,): as kept, as fits, or by Little's law at the asked rate."""
        if self.open_loops is None:
            return np.asarray(self.grid[:, 0])
        expected = self.expected(self.times)
        return np.asarray((expected.rps * expected.e2e_s)[:, 0])

    def expected(self, times: StepTimes) -> Expected:
        """What these points measure, per instance, columns (C, 1), if their step times are ``times``: smooth in them,
        and finite beyond the capacity of an open loop, too, so that a fit can follow it."""
        points, lengths = self.points, self.points.lengths
        match self.mode:
            case "static_batch":
                return static_batch(times, lengths, points.concurrency, points.holds)
            case "offline_max_throughput":
                return offline(points, times)
            case "fixed_rate":
                assert self.open_loops is not None
                return self.open_loops.expected(times, self)
            case "fixed_concurrency":
                assert self.run is not None
                front = front_end(points, self.source)
                now, then = (vars(closed_loop(points, each, front)) for each in (times, self.times))
                return Expected(**{name: run * now[name] / then[name] for name, run in vars(self.run).items()})
            case unknown:
                assert_never(unknown)

    def unstable(self) -> dict[int, float]:
        """The largest stable rate, of all instances, for each point of an open loop that asks for more."""
        rates = zip(self.index, self.points.instances[:, 0], self.points.rate_rps[:, 0], strict=True)
        systems = () if self.open_loops is None else self.open_loops.systems
        return {
            int(place): one.stable_rps * float(instances)
            for one, (place, instances, rate) in zip(systems, rates, strict=False)
            if one.unstable(float(rate))
        }

    def stated(self, times: StepTimes) -> Expected:
        """As :meth:`expected`, an open loop as ``predict`` answers it: NaN where its queue grows without end."""
        return self.expected(times) if self.open_loops is None else self.open_loops.simulated(times, self)


@dataclass(frozen=True, kw_only=True)
class OpenLoops:
    """Points of an open loop as the simulation sees them, and what was counted of each before calibration: at its rate,
    or at the heaviest stable load."""

    systems: tuple[SimulatedInstance, ...]
    counted: Expected

    def expected(self, times: StepTimes, part: Prepared) -> Expected:
        """What was counted before, changed as the analytic load model changes from the step times of then to ``times``:
        a simulation has steps that a fit cannot follow."""
        now, then = (vars(_steady(part.points, each, part.grid)) for each in (times, part.times))
        return Expected(**{name: counted * now[name] / then[name] for name, counted in vars(self.counted).items()})

    def simulated(self, times: StepTimes, part: Prepared) -> Expected:
        """What the simulation counts with step times ``times``."""
        rows = []
        loads = zip(self.systems, part.points.rate_rps[:, 0], run_requests(part.points), strict=True)
        for i, (system, rate, number) in enumerate(loads):
            index = np.array([i])
            one = fitted_to(system, times.take(index), part.times.take(index), part.grid[i])
            rows.append(one.answer(float(rate), float(number)))
        return columns(rows)


def prepare(points: Sequence[Point], source: Mixture | Roofline) -> tuple[Prepared, ...]:
    """The points by mode, each with its step times before calibration."""
    whole = point_table(points)
    modes = np.array([p.mode for p in points])
    places = ((mode, np.flatnonzero(modes == mode)) for mode in sorted(MODES))
    return tuple(_prepared(mode, index, whole, source) for mode, index in places if len(index))


def _prepared(mode: PublishedMode, index: NDArray[np.intp], whole: PointTable, source: Mixture | Roofline) -> Prepared:
    points = whole.take(index)
    match mode:
        case "fixed_rate":
            grid = asked_at(points)
        case "offline_max_throughput":
            grid = offline_sizes(points)
        case "static_batch":
            grid = np.minimum(points.concurrency, points.holds)
        case "fixed_concurrency":
            grid = np.minimum(points.concurrency, points.fits)
        case unknown:
            assert_never(unknown)
    times = step_times(points, grid, source)
    loops = _open_loops(points, source) if mode == "fixed_rate" else None
    run = closed_loops(points, source) if mode == CLOSED_LOOP else None
    return Prepared(
        mode=mode, index=index, points=points, grid=grid, times=times, source=source, open_loops=loops, run=run
    )


def _open_loops(points: PointTable, source: Mixture | Roofline) -> OpenLoops:
    """Every point simulated at its rate, or at the largest that is stable where its run has no end."""
    each, numbers = tuple(systems(points, source)), run_requests(points)
    rates = [
        float(rate) if np.isfinite(number) else min(float(rate), one.stable_rps)
        for one, rate, number in zip(each, points.rate_rps[:, 0], numbers, strict=True)
    ]
    counted = [one.answer(rate, float(n)) for one, rate, n in zip(each, rates, numbers, strict=True)]
    return OpenLoops(systems=each, counted=columns(counted))


def _steady(points: PointTable, times: StepTimes, grid: Floats) -> Expected:
    """Every point by the analytic load model at its rate, at most :data:`HIGHEST_SHARE` of the capacity."""
    out = {f.name: np.full((len(points), 1), np.nan) for f in fields(Expected)}
    for index in alike([traffic_of(p) for p in points.points]):
        some, budget = times.take(index), points.facts.budget[index, 0]
        slots = np.minimum(points.fits, points.scheduled)[index]
        again = points.again[index] * evicted_share(slots, points.fits[index])
        traffic = traffic_of(points.points[index[0]])
        state = steady_state(some, grid[index], slots[:, 0], budget, traffic, EQUAL_LENGTHS, again)
        for name, values in vars(_read(state, points.rate_rps[index])).items():
            out[name][index] = values
    return Expected(**out)


def _read(state: SteadyState, rate_rps: Floats) -> Expected:
    """A steady state at the rates (C, 1)."""
    rising = np.maximum.accumulate(state.rps, axis=1)
    capacity = rising[:, -1:]
    place = position(rising, np.minimum(rate_rps, HIGHEST_SHARE * capacity))

    def at(values: Floats) -> Floats:
        return np.exp(place.of(np.log(np.maximum(values, SHORTEST_S))))

    return Expected(
        ttft_s=at(state.ttft_s(50.0)),
        itl_s=at(state.itl_mean_s),
        e2e_s=at(state.e2e_mean_s),
        rps=np.minimum(rate_rps, capacity),
        ttft_p99_s=at(state.ttft_s(99.0)),
        itl_p99_s=at(state.itl_s(99.0)),
    )
