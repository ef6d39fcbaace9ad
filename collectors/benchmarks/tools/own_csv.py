"""Our own CSV for results of any other tool: one run a row, units in the column names; docs/BENCHMARK_CSV.md.

The names of the evidence library (``isl``, ``concurrency_or_batch``, ``offline_max_throughput``) are understood too.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime
from difflib import get_close_matches

from collectors.benchmarks.csv_columns import COLUMNS, LATENCIES, STATISTICS, latency_column
from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.measurements import MeasuredSystem
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats, MeasuredMode, RowError
from collectors.benchmarks.rows import BenchmarkLoad, moment, read_rows
from collectors.errors import BadRow, BenchmarkFileError
from commandline.foreign_text import shown
from commandline.percentiles import key_of

FORMAT = "own CSV"
FILE = ""  # described apart, docs/BENCHMARK_CSV.md
PRIORITY = 120  # the lowest is asked first: see reader.Tool
ENGINE = None

MODES: dict[str, MeasuredMode] = {
    "fixed_concurrency": "fixed_concurrency",
    "fixed_rate": "fixed_rate",
    "offline": "offline",
    "offline_max_throughput": "offline",
}
ALIASES = {"isl": "isl_tokens", "osl": "osl_tokens", "concurrency_or_batch": "concurrency"}
STATED = tuple(name for field in fields(MeasuredSystem) if (name := field.name) != "software_year")
"""What a user may state of a deployment and a file may, too."""
NAMES = tuple(column.name for column in COLUMNS)
NEEDED = tuple(column.name for column in COLUMNS if column.group == "needed")
# Columns of the evidence library that describe its source, not the run.
IGNORED = ("quality", "source", "source_url_or_repo_path", "source_date_or_version", "software_year")


def detect(document: Document) -> bool:
    """A table whose header has a mode and a length."""
    if document.kind != "text":
        return False
    head = document.text.lstrip()[:10_000].split("\n", 1)[0].lower()
    return "mode" in head and "isl" in head and any(mark in head for mark in ",;\t")


def parse(document: Document) -> Imported:
    """One point a row. Raises BenchmarkFileError when a needed column is missing or one stands there twice."""
    table = document.table
    names = [ALIASES.get(name.lower(), name.lower()) for name in table[0][1]]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise BenchmarkFileError(f"{document.name} lacks the column {', '.join(missing)}: see docs/BENCHMARK_CSV.md.")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise BenchmarkFileError(f"{document.name} has the column {shown(', '.join(twice), 100)} twice.")
    rows: list[tuple[int, object]] = []
    longer: list[RowError] = []
    for line, cells in table[1:]:
        if any(cells[len(names) :]):
            message = f"{len(cells)} cells for {len(names)} columns: quote a cell that holds the delimiter"
            longer.append(RowError(file=document.name, row=line, message=message))
        else:
            rows.append((line, dict(zip(names, cells, strict=False))))
    notes = _unknown_columns(names)
    return read_rows(document.name, FORMAT, rows, _point, notes=notes, errors=tuple(longer), cells=True)


def _unknown_columns(names: list[str]) -> tuple[str, ...]:
    notes = []
    for name in names:
        if name and name not in NAMES and name not in IGNORED:
            near = get_close_matches(name, NAMES, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            notes.append(f"The column {shown(name)} is not known and left out.{hint}")
    return tuple(notes)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = _load(fields)
    isl, osl = _lengths(fields)
    gpus, tp, pp = _gpus(fields)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=fields.text("tool") or FORMAT,
        tool_version=fields.text("tool_version"),
        when=_when(fields),
        model=fields.text("model"),
        engine=fields.text("engine"),
        engine_version=fields.text("engine_version"),
        weight_precision=fields.text("weight_precision"),
        kv_precision=fields.text("kv_precision"),
        gpu=fields.text("gpu"),
        gpus=gpus,
        tp=tp,
        pp=pp,
        ep=fields.count("ep"),
        dp=fields.count("dp"),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        isl_mean=isl,
        osl_mean=osl,
        prefix_cached_tokens=fields.number("prefix_cached_tokens"),
        duration_s=fields.number("duration_s"),
        requests_completed=fields.whole("requests_completed"),
        requests_failed=fields.whole("requests_failed"),
        ttft_ms=_stats(fields, "ttft"),
        tpot_ms=_stats(fields, "tpot"),
        itl_ms=_stats(fields, "itl"),
        e2e_ms=_stats(fields, "e2e"),
        requests_per_s=fields.number("requests_per_s"),
        output_tokens_per_s=fields.number("output_tokens_per_s"),
        total_tokens_per_s=fields.number("total_tokens_per_s"),
        notes=tuple(filter(None, [fields.text("notes")])),
    )


def _gpus(fields: Fields) -> tuple[int | None, int | None, int | None]:
    """GPUs, TP and PP. Raises BadRow."""
    gpus, tp, pp = (fields.count(name) for name in ("gpus", "tp", "pp"))
    if gpus and tp and tp * (pp or 1) > gpus:
        raise BadRow(f"tp {tp} x pp {pp or 1} is more than gpus {gpus}")
    return gpus, tp, pp


def _lengths(fields: Fields) -> tuple[float, float]:
    """Mean prompt and output length in tokens. Raises BadRow."""
    isl, osl = (fields.number(name) for name in ("isl_tokens", "osl_tokens"))
    if not isl or not osl:
        raise BadRow(f"{'osl_tokens' if isl else 'isl_tokens'} is empty or zero")
    return isl, osl


def _load(fields: Fields) -> BenchmarkLoad:
    """Mode and what it needs. Raises BadRow."""
    mode = _mode(fields)
    concurrency, rate = fields.number("concurrency") or None, fields.number("request_rate_rps") or None
    if mode == "fixed_concurrency" and concurrency is None:
        raise BadRow("concurrency is empty, which fixed_concurrency needs")
    if mode == "fixed_rate" and rate is None:
        raise BadRow("request_rate_rps is empty, which fixed_rate needs")
    return BenchmarkLoad(mode=mode, concurrency=concurrency, rate_rps=rate)


def _mode(fields: Fields) -> MeasuredMode:
    text = (fields.text("mode") or "").lower()
    if not text:
        raise BadRow("mode is empty")
    if text not in MODES:
        raise BadRow(f"mode is not fixed_concurrency, fixed_rate or offline: “{shown(text)}”")
    return MODES[text]


def _when(fields: Fields) -> datetime | None:
    text = fields.text("when")
    if text is None:
        return None
    when = moment(text)
    if when is None:
        raise BadRow(f"when is not a date such as 2026-11-20 or 2026-11-20T23:30:00Z: “{shown(text)}”")
    return when


def _stats(fields: Fields, metric: str) -> LatencyStats:
    def read(statistic: str) -> float | None:
        return fields.number(latency_column(metric, statistic))

    return latency_stats(metric, mean=read("mean"), at=lambda percent: read(key_of(percent)))


_RENAMED = {"isl_tokens": "isl_mean", "osl_tokens": "osl_mean"}
_DIGITS = 6
"""Significant digits that are written. Chosen: finer than any measurement."""


def write_csv(points: Iterable[BenchmarkRun], stated: MeasuredSystem | None = None) -> str:
    """One line a run, only columns in which some run says something; what the user stated wins over the file.

    A run without mode or lengths keeps empty cells there, and is refused when the file is read again.
    """
    given = {name: getattr(stated, name) for name in STATED if getattr(stated, name, None) is not None}
    rows = [_cells(replace(point, **given)) for point in points]
    used = [name for name in NAMES if any(row[name] for row in rows)]
    out = io.StringIO()
    writer = csv.DictWriter(out, used, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _cells(point: BenchmarkRun) -> dict[str, str]:
    latencies = {
        latency_column(metric, statistic): getattr(point, f"{metric}_ms").named(statistic)
        for metric in LATENCIES
        for statistic in STATISTICS
    }
    values = {name: getattr(point, _RENAMED.get(name, name), None) for name in NAMES if name not in latencies}
    values["when"] = point.when.isoformat() if point.when else None
    values["notes"] = "; ".join(point.notes)
    return {name: _text(value) for name, value in (values | latencies).items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
