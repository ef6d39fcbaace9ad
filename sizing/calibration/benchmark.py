"""The points of a benchmark as calibration points, and the calibration that they give a question."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

from sizing.base.choices import BenchmarkMode, PublishedMode, is_open_loop
from sizing.base.format import counted, significant
from sizing.base.units import S_PER_MS
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.fit import fit_calibration
from sizing.calibration.protocol_points import CalibrationPoint
from sizing.evidence.points import OFFLINE, Point
from sizing.question.benchmark import ResolvedBenchmark
from sizing.question.understand import Question
from sizing.scenario.schema import BenchmarkPoint
from sizing.steps.efficiency import TODAY

SERVED = 0.9
"""An open loop that serves less than this share of its rate is overloaded: it shows the capacity, and no latency.
Chosen: because a run that keeps up serves 98 % and more, what is in flight at its end missing."""

QUEUED_SHARE = 0.5
"""Share of the wait in a queue that grows over the whole run from which it counts as one. Chosen: a queue begins only
once an engine is full, and waits without one are shorter by far."""

_MODES: Mapping[BenchmarkMode, PublishedMode] = {
    "fixed_concurrency": "fixed_concurrency",
    "fixed_rate": "fixed_rate",
    "offline": OFFLINE,
}


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a benchmark gives for a model: the calibrated configuration, or none and why; ``note`` says it."""

    calibrated: CalibratedConfiguration | None
    note: str


def calibrated_configuration(question: Question) -> CalibratedConfiguration | None:
    """The configuration that the benchmark of the question calibrates; None without a benchmark that explains it."""
    return None if question.benchmark is None else calibration(question.benchmark).calibrated


def calibration_note(question: Question) -> tuple[str, ...]:
    """What is said about the calibration beside the assumptions of an answer; nothing without a benchmark."""
    return () if question.benchmark is None else (calibration(question.benchmark).note,)


@lru_cache(maxsize=64)
def calibration(benchmark: ResolvedBenchmark) -> Calibration:
    """The calibration that a benchmark gives."""
    calibrated = benchmark_calibration(benchmark)
    named = f"The imported benchmark {benchmark.given.source}".rstrip()
    if calibrated.of_something_else:
        return Calibration(
            calibrated=None,
            note=f"{named} ran {speed(calibrated)} as predicted for {calibrated.configuration.label}, which no "
            "calibration explains: it is not used. Check what was measured, and the unit of the times.",
        )
    return Calibration(
        calibrated=calibrated,
        note=f"{named} ({counted(calibrated.calibration_points, 'point')}) calibrates the step times of "
        f"{calibrated.configuration.label}; other layouts, formats and engines on this GPU have what is carried over "
        "from it, in a wider interval, and other GPUs keep the uncalibrated ones.",
    )


def benchmark_calibration(benchmark: ResolvedBenchmark) -> CalibratedConfiguration:
    """What the points of a benchmark ask for, beside what it states of running sequences."""
    given = benchmark.given
    return fit_calibration(
        calibration_points(benchmark),
        name=given.source,
        any_kv=given.kv_precision is None,
        sequence_s=given.sequence_ms * S_PER_MS,
    )


def speed(calibrated: CalibratedConfiguration) -> str:
    """How fast the points were, of what was predicted: "2.1 times as slow"."""
    slow = calibrated.ratio >= 1
    return f"{significant(calibrated.ratio if slow else 1 / calibrated.ratio, 2)} times as {'slow' if slow else 'fast'}"


def calibration_points(benchmark: ResolvedBenchmark) -> list[CalibrationPoint]:
    """The points of a benchmark with their measurements."""
    return [_calibration_point(point, _point(k, point, benchmark)) for k, point in enumerate(benchmark.given.points)]


def _point(number: int, point: BenchmarkPoint, benchmark: ResolvedBenchmark) -> Point:
    nan, mode = float("nan"), _MODES[point.mode]
    return Point(
        row=number,
        model=benchmark.model,
        configuration=benchmark.configuration,
        instances=float(benchmark.instances),
        input_tokens=point.input_tokens,
        output_tokens=point.output_tokens,
        cached_tokens=min(point.prefix_cached_tokens, point.input_tokens - 1.0),
        mode=mode,
        concurrency=nan if point.concurrency is None else point.concurrency,
        rate_rps=nan if point.request_rate_rps is None else point.request_rate_rps,
        software_year=TODAY,
        stated_variation=point.output_variation,
        requests=nan if point.requests is None else point.requests,
    )


def _calibration_point(measured: BenchmarkPoint, point: Point) -> CalibrationPoint:
    """What counts of one point: ITL and TTFT, throughput where neither latency says anything."""
    rps = measured.requests_per_s
    if rps is None and measured.output_tokens_per_s is not None:
        rps = measured.output_tokens_per_s / measured.output_tokens
    if overloaded(measured):
        return CalibrationPoint(point=point, rps=rps)
    itl = measured.itl_ms * S_PER_MS if measured.itl_ms is not None and measured.output_tokens > 1 else None
    ttft = measured.ttft_ms * S_PER_MS if measured.ttft_ms is not None else None
    match measured.mode:
        case "offline":  # the queue is in TTFT, and the mix of prompts and answers in ITL
            return CalibrationPoint(point=point, rps=rps, itl_s=itl if rps is None else None)
        case "fixed_concurrency":
            return CalibrationPoint(point=point, itl_s=itl, ttft_s=ttft, rps=rps)
        case "fixed_rate":
            return CalibrationPoint(point=point, itl_s=itl, ttft_s=ttft)
        case unknown:
            assert_never(unknown)


def overloaded(point: BenchmarkPoint) -> bool:
    """Whether an open loop served clearly less than was asked, and first tokens waited for it.

    In a queue that grows over n requests the median waits half of n / served - n / rate. A run of so few requests that
    its last answers made it late waits far less: it is answered from its start to its end.
    """
    rate, served = point.request_rate_rps, point.requests_per_s
    if not is_open_loop(point.mode) or rate is None or served is None or served >= SERVED * rate:
        return False
    if point.requests is None or point.ttft_ms is None:
        return True
    late_s = point.requests * (1.0 / served - 1.0 / rate)
    return point.ttft_ms * S_PER_MS >= QUEUED_SHARE * 0.5 * late_s
