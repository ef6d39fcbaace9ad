"""Imported points as rows of the table that ``sizing predict`` reads, so that the engine predicts the same runs.

The measured columns are filled as well; ``predict`` ignores them. Names as in the evidence library.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from collectors.benchmarks.records import BenchmarkedSystem, BenchmarkRun, MeasuredMode

Cell = str | float | int | None

MODES: dict[MeasuredMode, str] = {
    "fixed_concurrency": "fixed_concurrency",
    "fixed_rate": "fixed_rate",
    "offline": "offline_max_throughput",
}


@dataclass(frozen=True, kw_only=True)
class MeasuredSystem(BenchmarkedSystem):
    """What the user says about the system that was measured; it wins over the file, which often does not know."""

    software_year: float | None = None


def to_measurements(points: Iterable[BenchmarkRun], stated: MeasuredSystem | None = None) -> list[dict[str, Cell]]:
    """One row per point, in order; None where neither the file nor the user says.

    ``itl_ms_*`` holds TPOT where the tool measured it, as the evidence library does, else ITL.
    """
    return [_row(point, stated or MeasuredSystem()) for point in points]


def _row(point: BenchmarkRun, stated: MeasuredSystem) -> dict[str, Cell]:
    step = point.tpot_ms if point.tpot_ms.stated else point.itl_ms
    tp, pp, dp = stated.tp or point.tp, stated.pp or point.pp, stated.dp or point.dp
    gpus = stated.gpus or point.gpus or (tp * (pp or 1) if tp else None)
    return {
        "source": f"{point.file}, row {point.row}",
        "engine": stated.engine or point.engine,
        "engine_version": stated.engine_version or point.engine_version,
        "software_year": stated.software_year or _year(point),
        "model": stated.model or point.model,
        "weight_precision": stated.weight_precision or point.weight_precision,
        "kv_precision": stated.kv_precision or point.kv_precision,
        "gpu": stated.gpu or point.gpu,
        "gpus": gpus,
        "tp": tp,
        "pp": pp,
        "ep": stated.ep or point.ep,
        "dp": dp,
        "isl": point.isl_mean,
        "osl": point.osl_mean,
        "output_variation": point.osl_variation,
        "prefix_cached_tokens": point.prefix_cached_tokens,
        "mode": MODES[point.mode] if point.mode else None,
        "concurrency_or_batch": point.concurrency,
        "request_rate_rps": point.request_rate_rps,
        "requests": point.requests_completed,
        "ttft_ms_mean": point.ttft_ms.mean,
        "ttft_ms_p50": point.ttft_ms.at(50.0),
        "ttft_ms_p99": point.ttft_ms.at(99.0),
        "itl_ms_mean": step.mean,
        "itl_ms_p50": step.at(50.0),
        "itl_ms_p99": step.at(99.0),
        "e2e_ms_mean": point.e2e_ms.mean,
        "output_tokens_per_s": point.output_tokens_per_s,
        "total_tokens_per_s": point.total_tokens_per_s,
        "requests_per_s": point.requests_per_s,
        "notes": "; ".join((*point.notes, "itl_*=TPOT") if point.tpot_ms.stated else point.notes),
    }


def _year(point: BenchmarkRun) -> float | None:
    """Decimal year of the run, the best the file says about the age of the software."""
    return None if point.when is None else round(point.when.year + (point.when.timetuple().tm_yday - 1) / 365.25, 2)
