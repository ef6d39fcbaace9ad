"""Predicted against measured, point by point of a benchmark: before calibration and after."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import S_PER_MS
from sizing.calibration.benchmark import benchmark_calibration, calibration_points
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.fit import left_out_errors
from sizing.calibration.protocol_points import Prepared, prepare
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.evidence.ends import point_ends
from sizing.question.benchmark import ResolvedBenchmark, resolve_benchmark
from sizing.scenario.schema import Benchmark
from sizing.steps.mixture import mixture
from sizing.steps.times import StepTimes

Quantity = Literal["itl_ms", "ttft_ms", "ttft_p99_ms", "output_tokens_per_s"]
QUANTITIES: tuple[Quantity, ...] = ("itl_ms", "ttft_ms", "ttft_p99_ms", "output_tokens_per_s")


@dataclass(frozen=True, kw_only=True)
class CheckedQuantity:
    """One quantity of one point; ``low`` and ``high`` are the 80 % interval of the prediction before calibration."""

    point: int
    quantity: Quantity
    load: float
    measured: float
    predicted: float
    low: float
    high: float
    calibrated: float

    @property
    def error(self) -> float:
        """Predicted relative to measured, minus 1."""
        return self.predicted / self.measured - 1.0

    @property
    def within(self) -> bool:
        """Whether the measurement lies in the interval of the prediction."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, kw_only=True)
class Check:
    """A benchmark against the engine. ``left_out`` has the error of each point when predicted from the others, NaN
    where only its first token was measured. ``unstable`` has the largest stable rate predicted, in requests/s of
    everything that serves, for each point that asks for more: none of its latencies is compared. ``overloaded`` are
    points whose rate step times at the slow end of their interval do not carry: its end is that of the heaviest load
    that they do."""

    calibrated: CalibratedConfiguration
    rows: tuple[CheckedQuantity, ...]
    left_out: tuple[float, ...]
    unstable: Mapping[int, float]
    overloaded: frozenset[int]

    @property
    def left_out_median(self) -> float | None:
        """Median absolute error of points predicted from the others; None with fewer than two of them."""
        errors = [abs(e) for e in self.left_out if not math.isnan(e)]
        return float(np.median(errors)) if errors else None


def check(benchmark: Benchmark, model: Model, custom: Sequence[Gpu] = ()) -> Check:
    """Predicted and measured values of every point. Raises InvalidScenario for unknown names."""
    return _check(resolve_benchmark(benchmark, model, tuple(custom)))


@lru_cache(maxsize=64)
def _check(resolved: ResolvedBenchmark) -> Check:
    benchmark, points = resolved.given, calibration_points(resolved)
    fitted = benchmark_calibration(resolved)
    parts = prepare([p.point for p in points], mixture())
    compared = [_of_mode(part, benchmark, fitted) for part in parts]
    rows = [row for of_mode, _ in compared for row in of_mode]
    left_out = left_out_errors(points, whole=fitted) if len(points) > 1 else []
    return Check(
        calibrated=fitted,
        rows=tuple(sorted(rows, key=lambda r: (r.point, QUANTITIES.index(r.quantity)))),
        left_out=tuple(left_out),
        unstable={point: rps for part in parts for point, rps in part.unstable().items()},
        overloaded=frozenset().union(*(points for _, points in compared)),
    )


def _of_mode(
    part: Prepared, benchmark: Benchmark, fitted: CalibratedConfiguration
) -> tuple[list[CheckedQuantity], set[int]]:
    """Every quantity of the points of one mode, and the points that are overloaded at the slow end."""
    before, after = (_values(part, times) for times in (part.times, fitted.scaled(part.times, part.grid)))
    plain: Mapping[str, Floats] = {str(name): values for name, values in before.items()}
    apart = part.times.apart_of(np.arange(len(part.points)))
    ends, overloaded = point_ends(part.points, plain, apart, part.source)
    loads = part.in_flight()
    out = []
    for place, index in enumerate(part.index):
        point = benchmark.points[int(index)]
        for quantity in QUANTITIES:
            measured = getattr(point, quantity)
            predicted = float(before[quantity][place])
            if measured is None or not math.isfinite(predicted):
                continue
            low, high = (float(end[place]) for end in ends[quantity])
            out.append(
                CheckedQuantity(
                    point=int(index),
                    quantity=quantity,
                    load=float(loads[place]),
                    measured=measured,
                    predicted=predicted,
                    low=low,
                    high=high,
                    calibrated=float(after[quantity][place]),
                )
            )
    return out, {int(index) for index in part.index[overloaded]}


def _values(part: Prepared, times: StepTimes) -> dict[Quantity, Floats]:
    """Predicted values of every point (C,), rates over all instances."""
    expected, points = part.stated(times), part.points
    return {
        "itl_ms": expected.itl_s[:, 0] / S_PER_MS,
        "ttft_ms": expected.ttft_s[:, 0] / S_PER_MS,
        "ttft_p99_ms": expected.ttft_p99_s[:, 0] / S_PER_MS,
        "output_tokens_per_s": (expected.rps * points.instances * points.output)[:, 0],
    }
