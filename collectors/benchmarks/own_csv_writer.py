"""Imported runs as our own CSV (docs/BENCHMARK_CSV.md), whatever tool measured them; it reads back as the same runs."""

import csv
import io
from collections.abc import Iterable
from dataclasses import replace

from collectors.benchmarks.measurements import Deployment
from collectors.benchmarks.records import BenchmarkPoint
from collectors.benchmarks.tools.own_csv import COLUMNS, LATENCIES, STATISTICS

_RENAMED = {"isl_tokens": "isl_mean", "osl_tokens": "osl_mean"}
_STATED = (
    "model",
    "engine",
    "engine_version",
    "weight_precision",
    "kv_precision",
    "gpu",
    "gpus",
    "tp",
    "pp",
    "ep",
    "dp",
)
_DIGITS = 6
"""Significant digits that are written. Chosen: finer than any measurement."""


def write_csv(points: Iterable[BenchmarkPoint], stated: Deployment | None = None) -> str:
    """One line a run, only columns in which some run says something; what the user stated wins over the file.

    A run without mode or lengths keeps empty cells there, and is refused when the file is read again.
    """
    given = {name: getattr(stated, name) for name in _STATED if getattr(stated, name, None) is not None}
    rows = [_cells(replace(point, **given)) for point in points]
    used = [name for name in COLUMNS if any(row[name] for row in rows)]
    out = io.StringIO()
    writer = csv.DictWriter(out, used, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _cells(point: BenchmarkPoint) -> dict[str, str]:
    latencies = {
        f"{metric}_ms_{statistic}": getattr(getattr(point, f"{metric}_ms"), statistic)
        for metric in LATENCIES
        for statistic in STATISTICS
    }
    values = {name: getattr(point, _RENAMED.get(name, name), None) for name in COLUMNS if name not in latencies}
    values["when"] = point.when.isoformat() if point.when else None
    values["notes"] = "; ".join(point.notes)
    return {name: _text(value) for name, value in (values | latencies).items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
