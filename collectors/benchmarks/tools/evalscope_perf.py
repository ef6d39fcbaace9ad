"""EvalScope ``perf``: ``benchmark_summary.json`` and ``benchmark_percentile.json`` of a run.

After published summaries of EvalScope 0.6 to 1.x (read 2026-11-30). Every key states its unit in parentheses, which
changed from seconds to milliseconds: it is the unit that is read, and one that is not known refuses the row.
"""

import re
from collections.abc import Mapping

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, number
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, capped_note, read_objects, read_rows
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown

FORMAT = "EvalScope perf"
FILE = "`benchmark_summary.json`, with `benchmark_percentile.json` beside it"
PRIORITY = 27  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = ("The files name neither model nor engine nor GPUs: state them before comparing.",)
IN_MS: Mapping[str, float] = {"s": MS_PER_S, "ms": 1.0}
"""Milliseconds of the units in parentheses behind a time."""
_MEANS = {
    "ttft": "average time to first token",
    "tpot": "average time per output token",
    "itl": "average inter-token latency",
    "latency": "average latency",
}
"""What the summary calls the mean of a column of the percentiles."""
_KEY = re.compile(r"^(?P<name>[^(]*?)\s*(?:\((?P<unit>[^)]*)\))?$")
_PERCENT = re.compile(r"^p?(?P<percent>[\d.]+)%?$", re.IGNORECASE)


def detect(document: Document) -> bool:
    """The words of a summary, or a table of percentiles with the columns of this tool."""
    names = _named(document.first)
    summary = {"succeed requests", "average latency"} <= names.keys() or "number of concurrency" in names
    return summary or bool({"percentiles", "percentile"} & names.keys() and "ttft" in names)


def parse(document: Document) -> Imported:
    """One point a summary; one of latencies alone for a table of percentiles."""
    if {"percentiles", "percentile"} & _named(document.first).keys():
        rows = [one for _, one in document.rows if isinstance(one, dict)]
        return read_rows(document.name, FORMAT, [(1, {"percentiles": rows})], _of_percentiles, notes=NOTES)
    return read_objects(document, FORMAT, _of_summary, notes=NOTES)


def _named(row: Mapping[str, object]) -> dict[str, tuple[str, object]]:
    """Name in small letters without the unit -> unit and value."""
    matches = ((_KEY.match(str(key)), value) for key, value in row.items())
    return {match["name"].lower(): (match["unit"] or "", value) for match, value in matches if match}


def _time(names: Mapping[str, tuple[str, object]], name: str) -> float | None:
    """A time in ms, None where it is not stated or was not measured (0)."""
    unit, value = names.get(name, ("", None))
    if value is None:
        return None
    if unit not in IN_MS:
        raise BadRow(f"{name} is in “{shown(unit)}”, which is no unit of time known here")
    return number(name, value, scale=IN_MS[unit], cells=True) or None


def _mean(names: Mapping[str, tuple[str, object]], column: str) -> LatencyStats:
    """The mean alone of a latency; nothing where it was not measured."""
    mean = _time(names, _MEANS[column])
    return LatencyStats() if mean is None else LatencyStats(mean=mean)


def _of_summary(file: str, row: int, fields: Fields) -> BenchmarkRun:
    names = _named(fields.values)
    plain = Fields(values={name: value for name, (_, value) in names.items() if value != -1}, cells=True)
    load = _load(plain)
    taken = _time(names, "time taken for tests")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        isl_mean=plain.number("average input tokens per request"),
        osl_mean=plain.number("average output tokens per request"),
        duration_s=None if taken is None else taken / MS_PER_S,
        requests_completed=plain.whole("succeed requests"),
        requests_failed=plain.whole("failed requests"),
        ttft_ms=_mean(names, "ttft"),
        tpot_ms=_mean(names, "tpot"),
        itl_ms=_mean(names, "itl"),
        e2e_ms=_mean(names, "latency"),
        requests_per_s=plain.number("request throughput", "average qps"),
        output_tokens_per_s=plain.number("output token throughput"),
        total_tokens_per_s=plain.number("total token throughput"),
        notes=load.notes,
    )


def _load(plain: Fields) -> BenchmarkLoad:
    """A rate with a cap on concurrency, or a closed loop; -1 stands for neither and was left out."""
    concurrency, rate = plain.number("number of concurrency", "concurrency"), plain.number("request rate")
    if rate:
        notes = (capped_note(concurrency),) if concurrency else ()
        return BenchmarkLoad(mode="fixed_rate", concurrency=concurrency, rate_rps=rate, notes=notes)
    return BenchmarkLoad(mode="fixed_concurrency", concurrency=concurrency) if concurrency else BenchmarkLoad()


def _of_percentiles(file: str, row: int, fields: Fields) -> BenchmarkRun:
    table: dict[float, dict[str, tuple[str, object]]] = {}
    for one in fields.items("percentiles"):
        names = _named(one if isinstance(one, dict) else {})
        match = _PERCENT.match(str(names.get("percentiles", names.get("percentile", ("", "")))[1]))
        if match:
            table[float(match["percent"])] = names

    def column(name: str) -> LatencyStats:
        return latency_stats(name, mean=None, at=lambda percent: _time(table.get(percent, {}), name))

    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        ttft_ms=column("ttft"),
        tpot_ms=column("tpot"),
        itl_ms=column("itl"),
        e2e_ms=column("latency"),
    )
