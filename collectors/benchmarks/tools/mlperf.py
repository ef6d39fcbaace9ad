"""MLPerf Inference: ``mlperf_log_summary.txt`` of LoadGen, which people also paste.

After the public source of LoadGen (results.cc) and published summaries of 2023 to 2026. Times are in nanoseconds. What
stands twice is told by what stands last; a text may hold several summaries.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, quotient
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, read_rows
from collectors.errors import BadRow, NotAResultFile

FORMAT = "MLPerf LoadGen"
FILE = "`mlperf_log_summary.txt`"
PRIORITY = 9  # the lowest is asked first: see reader.Tool
ENGINE = None
NOTES = (
    "The summary names neither model nor prompt lengths nor GPUs nor the engine: state them before comparing.",
    "Generated tokens of a request are tokens/s over requests/s.",
)
IN_MS = 1e-6
"""Milliseconds of a nanosecond."""

_HEAD = re.compile(r"^\W*MLPerf Results Summary\s*$", re.MULTILINE)
_LINE = re.compile(r"^(?P<name>[A-Z0-9][^:\n]*?|target_qps|samples_per_query)\s*:\s*(?P<value>\S+)", re.MULTILINE)


def detect(document: Document) -> bool:
    """The heading of a summary, or the lines of the detailed log beside it."""
    detail = document.text.startswith(":::MLLOG")
    return document.kind == "text" and (detail or (bool(_HEAD.search(document.text)) and "Scenario" in document.text))


def parse(document: Document) -> Imported:
    """One point a summary. Raises NotAResultFile for the detailed log."""
    if document.text.startswith(":::MLLOG"):
        raise NotAResultFile(f"{document.name} is LoadGen's detailed log: import mlperf_log_summary.txt beside it.")
    return read_rows(document.name, FORMAT, _summaries(document.text), _point, notes=NOTES, cells=True)


def _summaries(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    starts = [match.start() for match in _HEAD.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        stated = {" ".join(match["name"].split()): match["value"] for match in _LINE.finditer(text[start:end])}
        yield text.count("\n", 0, start) + 1, stated


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    if fields.text("Mode") not in ("PerformanceOnly", None):
        raise BadRow(f"a run in the mode {fields.text('Mode')} measures no speed: import the one of PerformanceOnly")
    load = _load(fields)
    rate = fields.number("Completed samples per second", "Samples per second")
    tokens = fields.number("Completed tokens per second", "Tokens per second")
    invalid = fields.text("Result is") not in ("VALID", None)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        osl_mean=quotient(tokens, rate),
        ttft_ms=_stats(fields, "First Token latency", "first token latency"),
        tpot_ms=_stats(fields, "Time per Output Token", "time to output token"),
        e2e_ms=_stats(fields, "latency", "latency"),
        requests_per_s=rate,
        output_tokens_per_s=tokens,
        notes=load.notes + (("LoadGen calls the result invalid",) if invalid else ()),
    )


def _load(fields: Fields) -> BenchmarkLoad:
    """Offline sends everything, Server and Interactive keep a Poisson rate, SingleStream one request."""
    scenario = fields.text("Scenario") or ""
    if scenario == "Offline":
        return BenchmarkLoad(mode="offline")
    if scenario in ("Server", "Interactive"):
        target, sent = fields.number("target_qps"), fields.number("Scheduled samples per second")
        note = () if target else ("the rate is that at which requests were scheduled",)
        return BenchmarkLoad(mode="fixed_rate" if target or sent else None, rate_rps=target or sent, notes=note)
    if scenario.replace(" ", "").startswith("SingleStream"):
        return BenchmarkLoad(mode="fixed_concurrency", concurrency=1.0)
    return BenchmarkLoad(notes=(f"the scenario {scenario or 'is not named'}: no load that is compared",))


def _stats(fields: Fields, mean: str, percentile: str) -> LatencyStats:
    return latency_stats(
        percentile,
        mean=fields.number(f"Mean {mean} (ns)", scale=IN_MS),
        at=lambda percent: fields.number(f"{percent:.2f} percentile {percentile} (ns)", scale=IN_MS),
    )
