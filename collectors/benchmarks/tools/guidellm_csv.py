"""GuideLLM CSV: one row per benchmark.

Read from a real file of GuideLLM 0.8 (three header lines: group, field, statistic); the one header line of 0.2 to 0.4
follows the public source and is unverified against a real file. The percentiles stand as a list in one cell: minimum,
0.1, 1, 5, 10, 25, 75, 90, 95, 99, maximum. The median is not among them, it has a cell of its own.
"""

import json
import re

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, number
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, moment, read_rows
from collectors.benchmarks.tools import guidellm
from collectors.benchmarks.tools.guidellm import NOTES, cut_off_note, strategy_load
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown

FORMAT = guidellm.FORMAT
FILE = ""  # named with the JSON
PRIORITY = 40  # the lowest is asked first: see reader.Tool
ENGINE = None
HEADER_LINES = 3
"""Group, metric and statistic stand above each other."""
PERCENTILES: tuple[str, ...] = ("min", "0.1", "1", "5", "10", "25", "75", "90", "95", "99", "max")

_STRATEGY = re.compile(r"(?P<type_>[a-z]+)(@(?P<value>[\d.]+))?")
_OLD_LIST = re.compile(r"(?P<name>.+?) \[(?P<labels>[^\]]+)\]")

# Our name: (group, field of the successful requests) of 0.8, and the metric in the single header of older versions.
COLUMNS = {
    "request_latency": (("Request Latency", "Successful Sec"), "Request latency"),
    "ttft": (("Time to First Token", "Successful ms"), "Time to first token ms"),
    "tpot": (("Inter Token Latency", "Successful ms"), "Inter token latency ms"),
    "isl": (("Token Metrics", "Successful Input Tokens"), "Prompt token count"),
    "osl": (("Token Metrics", "Successful Output Tokens"), "Output token count"),
    "requests_per_s": (("Server Throughput", "Successful Requests/Sec"), "Requests per second"),
    "concurrency": (("Server Throughput", "Successful Concurrency"), "Request concurrency"),
    "output_tokens_per_s": (("Token Throughput", "Successful Output Tokens/Sec"), "Output tokens per second"),
    "total_tokens_per_s": (("Token Throughput", "Successful Total Tokens/Sec"), "Tokens per second"),
}


def detect(document: Document) -> bool:
    """The first header line holds the groups of 0.8, or the columns of older versions."""
    if document.kind != "text" or "," not in document.text[:10_000]:
        return False
    header = document.text.lstrip()[:10_000].split("\n", 1)[0]
    return header.startswith("Run Info,") or ("Successful Requests" in header and "Run Id" in header)


def parse(document: Document) -> Imported:
    """One point per row."""
    table = document.table
    old = "Run Id" in table[0][1]
    heads = table[: 1 if old else HEADER_LINES]
    keys = [_key(cells, old) for cells in zip(*(cells for _, cells in heads), strict=False)]
    rows = [(line, dict(zip(keys, cells, strict=False))) for line, cells in table[len(heads) :]]
    return read_rows(document.name, FORMAT, rows, _point, notes=NOTES, cells=True)


def _key(cells: tuple[str, ...], old: bool) -> str:
    """One name per column: "group|field|statistic" of 0.8, or the one header line of older versions."""
    if old:
        return cells[0]
    group, name, statistic = (*cells, "", "")[:3]
    return f"{group}|{name}|{statistic}"


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = _load(fields)
    completed = fields.whole("Request Counts|Successful|", "Successful Requests")
    cut_off = fields.whole("Request Counts|Incomplete|", "Incomplete Requests")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version=_json_cell(fields, "Runtime Info|Metadata|").text("guidellm_version"),
        when=moment(fields.values.get("Timings|Start Time|") or fields.values.get("Start Time")),
        model=_json_cell(fields, "Run Info|Backend|", "Backend").text("model"),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=_cell(fields, "concurrency", "Mean"),
        isl_mean=_cell(fields, "isl", "Mean"),
        osl_mean=_cell(fields, "osl", "Mean"),
        duration_s=fields.number("Timings|Duration|Sec", "Duration"),
        requests_completed=completed,
        requests_failed=fields.whole("Request Counts|Errored|", "Errored Requests"),
        requests_cut_off=cut_off,
        ttft_ms=_stats(fields, "ttft"),
        tpot_ms=_stats(fields, "tpot"),
        e2e_ms=_stats(fields, "request_latency", scale=MS_PER_S),
        requests_per_s=_cell(fields, "requests_per_s", "Mean"),
        output_tokens_per_s=_cell(fields, "output_tokens_per_s", "Mean"),
        total_tokens_per_s=_cell(fields, "total_tokens_per_s", "Mean"),
        notes=load.notes + cut_off_note(completed, cut_off),
    )


def _load(fields: Fields) -> BenchmarkLoad:
    """From "poisson@4.00", "concurrent@16" or "synchronous"."""
    text = fields.text("Benchmark|Strategy|", "Name") or ""
    match = _STRATEGY.fullmatch(text)
    if match is None:
        return BenchmarkLoad(notes=(f"unknown strategy “{shown(text)}”",) if text else ())
    value = None if match["value"] is None else number("Strategy", match["value"], cells=True)
    kind = match["type_"]
    values: dict[str, object] = {"type_": kind, "streams" if kind == "concurrent" else "rate": value}
    return strategy_load(Fields(values=values))


def _json_cell(fields: Fields, *keys: str) -> Fields:
    """A cell that holds a JSON object; an empty one where it does not."""
    text = next((fields.values[key] for key in keys if fields.values.get(key)), None)
    try:
        value = json.loads(str(text))
    except (ValueError, RecursionError):
        return Fields()
    return Fields(values=value) if isinstance(value, dict) else Fields()


def _cell(fields: Fields, metric: str, statistic: str, *, scale: float = 1.0) -> float | None:
    (group, name), old = COLUMNS[metric]
    return fields.number(f"{group}|{name}|{statistic}", f"Successful {old} {statistic.lower()}", scale=scale)


def _stats(fields: Fields, metric: str, *, scale: float = 1.0) -> LatencyStats:
    percentiles = _percentiles(fields, metric)

    def at(percent: float) -> float | None:
        if percent == 50.0:
            return _cell(fields, metric, "Median", scale=scale)
        label = f"{percent:g}"
        value = percentiles.get(label)
        return None if value is None else number(f"{metric} {label}", value, scale=scale)

    return latency_stats(metric, mean=_cell(fields, metric, "Mean", scale=scale), at=at)


def _percentiles(fields: Fields, metric: str) -> dict[str, object]:
    """Label to value of the cell with the list; an older header names the labels."""
    (group, name), old = COLUMNS[metric]
    key, labels = f"{group}|{name}|Percentiles", PERCENTILES
    for column in fields.values:
        match = _OLD_LIST.fullmatch(column)
        if match and match["name"] == f"Successful {old}":
            key, labels = column, tuple(label.strip() for label in match["labels"].split(","))
    if not fields.has(key):
        return {}
    try:
        values = json.loads(str(fields.values[key]))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or len(values) != len(labels):
        raise BadRow(f"{metric}: the cell with the percentiles is not a list of {len(labels)} numbers")
    return dict(zip(labels, values, strict=True))
