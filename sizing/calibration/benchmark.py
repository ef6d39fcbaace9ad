"""The benchmark of a scenario: its names resolved, its points as anchors, and the calibration they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.format import gigabytes, significant
from sizing.base.units import GB, S_PER_MS
from sizing.calibration.calibrated import CalibratedConfiguration, counted
from sizing.calibration.fit import fit_calibration
from sizing.calibration.protocol_points import CalibrationPoint
from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import gpu_supports, resolve_kv_precision, resolve_precision
from sizing.deployments.candidates import Configuration, table
from sizing.deployments.memory import weights_per_gpu
from sizing.evidence.points import Point
from sizing.scenario.schema import Benchmark, BenchmarkPoint
from sizing.steps.efficiency import REFERENCE_YEAR

T = TypeVar("T")

SERVED = 0.9
"""An open loop that serves less than this share of the asked rate is overloaded: it shows the capacity, no latency."""

_MODES = {"fixed_concurrency": "fixed_concurrency", "fixed_rate": "fixed_rate", "offline": "offline_max_throughput"}


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a benchmark gives for a model: the calibrated configuration, or none and why; ``note`` says it."""

    calibrated: CalibratedConfiguration | None
    note: str


def calibration(benchmark: Benchmark, model: Model, gpus: Sequence[Gpu]) -> Calibration:
    """The calibration of ``model`` by a benchmark; a benchmark of another model calibrates nothing.

    ``gpus`` are those of the scenario, custom ones included. Raises InvalidScenario for unknown names.
    """
    if benchmark.model is not None and not _same_model(benchmark.model, model):
        return Calibration(
            calibrated=None, note=f"The imported benchmark is of {benchmark.model}, not of {model.id}: it is not used."
        )
    custom = tuple(g for g in gpus if g.custom)
    calibrated = _fitted(benchmark.model_dump_json(), model, custom)
    said = f"The imported benchmark {benchmark.source}".rstrip()
    if calibrated.of_something_else:
        return Calibration(
            calibrated=None,
            note=f"{said} ran {speed(calibrated)} as predicted for {calibrated.configuration.label}, which no "
            "calibration explains: it is not used. Check what was measured, and the unit of the times.",
        )
    return Calibration(
        calibrated=calibrated,
        note=f"{said} ({counted(calibrated.calibration_points, 'point')}) calibrates the step times of "
        f"{calibrated.configuration.label} only; every other deployment keeps the uncalibrated ones.",
    )


def speed(calibrated: CalibratedConfiguration) -> str:
    """How fast the points were, of what was predicted: "2.1 times as slow"."""
    slow = calibrated.ratio >= 1
    return f"{significant(calibrated.ratio if slow else 1 / calibrated.ratio, 2)} times as {'slow' if slow else 'fast'}"


@lru_cache(maxsize=64)
def _fitted(benchmark_json: str, model: Model, custom: tuple[Gpu, ...]) -> CalibratedConfiguration:
    benchmark = Benchmark.model_validate_json(benchmark_json)
    found = calibration_points(benchmark, model, custom)
    return fit_calibration(found, name=benchmark.source, any_kv=benchmark.kv_precision is None)


def calibration_points(benchmark: Benchmark, model: Model, custom: Sequence[Gpu] = ()) -> list[CalibrationPoint]:
    """The points of a benchmark with their measurements. Raises InvalidScenario for unknown names."""
    row = configuration(benchmark, custom)
    gpus = benchmark.gpus or row.gpus
    _check_possible(row, gpus, model)
    return [
        _calibration_point(point, _point(number, point, row, model, max(gpus / row.gpus, 1.0)))
        for number, point in enumerate(benchmark.points)
    ]


def _check_possible(row: Configuration, gpus: int, model: Model) -> None:
    """Raises InvalidScenario for what cannot have run: half an instance, or weights larger than memory."""
    if gpus % row.gpus:
        raise InvalidScenario(
            [f"benchmark.gpus: {gpus} GPUs are no whole number of instances of {row.gpus} (TP x PP x DP)."]
        )
    weights = float(weights_per_gpu(model, table([row]))[0])
    if weights > row.gpu.memory_bytes:
        raise InvalidScenario(
            [
                f"benchmark.tp: {model.id} in {row.precision.label} with {row.parallelism} needs "
                f"{gigabytes(weights / GB)} "
                f"per GPU, and {row.gpu.name} has {gigabytes(row.gpu.memory_bytes / GB)}: this cannot have run."
            ]
        )


def configuration(benchmark: Benchmark, custom: Sequence[Gpu] = ()) -> Configuration:
    """What one instance of the benchmark ran on. Raises InvalidScenario with one sentence per unknown name."""
    problems: list[str] = []

    def named(key: str, resolve: Callable[[str], T], name: str | None) -> T | None:
        try:
            return resolve(name) if name is not None else None
        except SizingError as error:
            problems.append(f"benchmark.{key}: {error}")
            return None

    own = {g.id: g for g in custom}
    gpu = named("gpu", lambda name: own.get(name) or resolve_gpu(name), benchmark.gpu)
    engine = named("engine", resolve_engine, benchmark.engine)
    precision = named("weight_precision", resolve_precision, benchmark.weight_precision)
    kv = named("kv_precision", resolve_kv_precision, benchmark.kv_precision)
    if gpu is None or engine is None or precision is None or problems:
        raise InvalidScenario(problems)
    if not gpu.sizable or not gpu_supports(gpu, precision):
        raise InvalidScenario([f"benchmark.weight_precision: {gpu.name} does not run {precision.label}."])
    narrow = gpu.supports_fp8 and precision.is_narrow
    return Configuration(
        gpu=gpu,
        engine=engine,
        precision=precision,
        kv_precision=kv or ("fp8" if narrow else "fp16"),
        tp=benchmark.tp,
        pp=benchmark.pp,
        ep=benchmark.ep,
        dp=benchmark.dp,
    )


def _point(number: int, point: BenchmarkPoint, row: Configuration, model: Model, instances: float) -> Point:
    nan = float("nan")
    return Point(
        row=number,
        model=model,
        configuration=row,
        instances=instances,
        input_tokens=point.input_tokens,
        output_tokens=point.output_tokens,
        cached_tokens=min(point.prefix_cached_tokens, point.input_tokens - 1.0),
        mode=_MODES[point.mode],
        concurrency=nan if point.concurrency is None else point.concurrency,
        rate_rps=nan if point.request_rate_rps is None else point.request_rate_rps,
        software_year=REFERENCE_YEAR,
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
    if measured.mode == "offline":  # the queue is in TTFT, and the mix of prompts and answers in ITL
        return CalibrationPoint(point=point, rps=rps, itl_s=itl if rps is None else None)
    return CalibrationPoint(
        point=point, itl_s=itl, ttft_s=ttft, rps=rps if measured.mode == "fixed_concurrency" else None
    )


def overloaded(point: BenchmarkPoint) -> bool:
    """Whether an open loop served clearly less than was asked."""
    if point.mode != "fixed_rate" or point.request_rate_rps is None or point.requests_per_s is None:
        return False
    return point.requests_per_s < SERVED * point.request_rate_rps


def _same_model(name: str, model: Model) -> bool:
    if name == model.id:
        return True
    try:
        return resolve_model(name)[0].id == model.id
    except SizingError:
        return False
