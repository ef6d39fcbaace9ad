"""Makes an imported curve the benchmark of a scenario, in the session."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from collectors.benchmarks import BenchmarkRun, MeasuredSystem, RowError, to_measurements
from sharing.form.problems import message_of
from sizing.scenario.schema import Benchmark
from sizing.scenario.schema import BenchmarkPoint as Measured
from ui import state

_MODES = {"offline_max_throughput": "offline"}
MOST_POINTS = 200
"""Runs that a scenario holds; of more, as many spread evenly over the loads."""


def benchmark_of(curve: Sequence[BenchmarkRun], stated: MeasuredSystem) -> tuple[Benchmark | None, list[RowError]]:
    """The benchmark that a scenario holds, and the runs that say too little for it."""
    points, left_out = [], []
    for point, row in zip(curve, to_measurements(curve, stated), strict=True):
        try:
            points.append(Measured.model_validate(_point(row)))
        except ValidationError as error:
            left_out.append(RowError(file=point.file, row=point.row, message=_why(error)))
    if not points:
        return None, left_out
    named = {
        "gpu": stated.gpu,
        "engine": stated.engine,
        "weight_precision": stated.weight_precision,
        "kv_precision": stated.kv_precision,
        "model": stated.model,
        "gpus": stated.gpus,
    }
    parallelism = {name: getattr(stated, name) or 1 for name in ("tp", "pp", "ep", "dp")}
    return Benchmark.model_validate(
        {**named, **parallelism, "source": source_of(curve), "points": _spread(points)}
    ), left_out


def _spread(points: list[Measured]) -> list[Measured]:
    """At most MOST_POINTS of the points, first and last among them."""
    if len(points) <= MOST_POINTS:
        return points
    return [points[i * (len(points) - 1) // (MOST_POINTS - 1)] for i in range(MOST_POINTS)]


def source_of(curve: Sequence[BenchmarkRun]) -> str:
    """Tool, date and first file of a curve."""
    first = curve[0]
    day = f" of {first.when:%Y-%m-%d}" if first.when else ""
    files = list(dict.fromkeys(PurePosixPath(p.file).name for p in curve))
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{first.tool}{day} ({files[0][:80]}{more})"


def use_with_model(benchmark: Benchmark) -> None:
    """Use a benchmark of another model of the catalogue: the scenario asks for that one now (for callbacks)."""
    state.use_benchmark(benchmark)
    state.choose_model(benchmark.model or "")


def _point(row: dict[str, Any]) -> dict[str, Any]:
    """Means, and medians where only they are stated; the TTFT of an open loop is its median."""
    mode = _MODES.get(row["mode"], row["mode"])
    first = ("ttft_ms_p50", "ttft_ms_mean") if mode == "fixed_rate" else ("ttft_ms_mean", "ttft_ms_p50")
    return {
        "mode": mode,
        "concurrency": row["concurrency_or_batch"] or None,
        "request_rate_rps": row["request_rate_rps"],
        "requests": row["requests"] or None,
        "input_tokens": row["isl"],
        "output_tokens": row["osl"],
        "output_variation": row["output_variation"] if row["requests"] else None,
        "prefix_cached_tokens": row["prefix_cached_tokens"] or 0.0,
        "ttft_ms": row[first[0]] or row[first[1]] or None,
        "ttft_p99_ms": (row["ttft_ms_p99"] or None) if mode == "fixed_rate" else None,
        "itl_ms": row["itl_ms_mean"] or row["itl_ms_p50"] or None,
        "requests_per_s": row["requests_per_s"] or None,
        "output_tokens_per_s": row["output_tokens_per_s"] or None,
    }


_NAMES = {"mode": "how the load was offered", "input_tokens": "the prompt length", "output_tokens": "the output length"}


def _why(error: ValidationError) -> str:
    """One sentence for the first thing that is missing or impossible."""
    fault = error.errors(include_url=False)[0]
    name = _NAMES.get(str(fault["loc"][0]) if fault["loc"] else "")
    if name and fault["input"] is None:
        return f"The file does not say {name}."
    what = f"{str(fault['loc'][0]).replace('_', ' ')}: " if fault["loc"] else ""
    return f"{what}{message_of(fault).replace('Input should be', 'it must be')}."
