"""The tables that GuideLLM prints, as people paste them: those of 0.2 and 0.3, and those of 0.4 and later.

Read from published consoles of 2025 and 2026 and from the source (benchmark/outputs/console.py). A cell that goes on
over columns is followed by empty ones; a run has the same place in every table. The request latency of 0.2 is headed
"ms" and is in seconds, as the sum of TTFT and ITL shows. Newer tables print neither rates nor numbers of requests.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, read_rows
from collectors.benchmarks.tools import guidellm
from collectors.benchmarks.tools.guidellm import cut_off_note, strategy_load
from collectors.errors import BadRow
from collectors.units import MS_PER_S

FORMAT = "Console of GuideLLM"
FILE = "the tables that it prints at its end, pasted or saved as text"
PRIORITY = 8  # the lowest is asked first: see reader.Tool
ENGINE = None
NOTES = (
    guidellm.NOTES[0],
    "The tables round to one decimal and name neither GPUs nor the engine: state them before comparing.",
)
MEDIAN_NOTE = "lengths are the medians that the table prints"
RATE_NOTE = "the table does not print the rate that was asked for"
STREAMS_NOTE = "the concurrency is the mean number of requests in flight, rounded"

_RULE = re.compile(r"[|=\-+]{10,}")
_OLD_NAME = re.compile(r"(?P<kind>[a-z]+)(?:@(?P<value>[\d.]+))?")
_MODEL = re.compile(r"(?:backend_model=|--model[ =]\"?|\"model\": \")([\w./:-]+)")
_SIGNS = ("Req Latency (", "Request Latency Statistics", "Server Throughput Statistics")
_LATENCIES = {"Request Latency|Sec": MS_PER_S, "TTFT|ms": 1.0, "ITL|ms": 1.0}
"""Latencies of the newer tables with the milliseconds of their unit."""
_OLD = {"e2e": ("Req Latency (sec)", "Req Latency (ms)"), "ttft": ("TTFT (ms)",), "tpot": ("ITL (ms)",)}


def detect(document: Document) -> bool:
    """The heads of the table of latencies."""
    return document.kind == "text" and "|" in document.text and any(sign in document.text for sign in _SIGNS)


def parse(document: Document) -> Imported:
    """One point a benchmark: its rows of all tables together."""
    model = _MODEL.search(document.text)

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        return _point(file, row, fields, model[1] if model else None)

    return read_rows(document.name, FORMAT, _runs(document.text), read, notes=NOTES, cells=True)


def _runs(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and cells of each benchmark; a table that comes again begins another report."""
    runs: list[tuple[int, dict[str, str]]] = []
    seen: set[tuple[str, ...]] = set()
    for head, rows in _tables(text):
        if tuple(head) in seen:
            yield from runs
            runs, seen = [], set()
        seen.add(tuple(head))
        for place, (number, cells) in enumerate(rows):
            if place == len(runs):
                runs.append((number, {}))
            stated = {name: cell for name, cell in zip(head, cells, strict=False) if cell not in ("", "--", "None")}
            runs[place][1].update({name: cell for name, cell in stated.items() if name not in runs[place][1]})
    yield from runs


def _tables(text: str) -> Iterator[tuple[list[str], list[tuple[int, list[str]]]]]:
    """Names of the columns and rows of each table: a rule of dashes stands between them, one of "=" around them."""
    heads: list[list[str]] = []
    rows: list[tuple[int, list[str]]] = []
    below = False
    for number, line in enumerate([*text.splitlines(), "=" * 20], 1):
        bare = line.strip().removeprefix("ℹ").strip()
        rule = _RULE.fullmatch(bare.replace(" ", ""))
        if rule and "-" in bare and "=" not in bare:
            below = True
        elif "|" not in bare or rule:
            if rows:
                yield _names(heads), rows
            heads, rows, below = [], [], False
        else:
            cells = [cell.strip() for cell in bare.split("|")]
            cells = cells[1:-1] if bare.startswith("|") else cells
            rows.append((number, cells)) if below else heads.append(cells)


def _names(heads: list[list[str]]) -> list[str]:
    """One name a column: its cells in all lines of the head, each of which goes on over empty ones."""
    columns = max(map(len, heads), default=0)
    lines = []
    for cells in heads:
        filled: list[str] = []
        for cell in cells:
            filled.append(cell or (filled[-1] if filled else ""))
        lines.append(filled + filled[-1:] * (columns - len(filled)))
    return ["|".join(dict.fromkeys(filter(None, column))) for column in zip(*lines, strict=True)]


def _point(file: str, row: int, fields: Fields, model: str | None) -> BenchmarkRun:
    name = fields.text("Metadata|Benchmark", "Benchmark|Strategy")
    if name is None:
        raise BadRow("a row without the strategy of its benchmark")
    in_flight = fields.number("Request Stats|Concurrency", "Requests|Concurrency|Mean")
    load = _load(name, in_flight)
    sent, generated = fields.number("Prompt Tok/Req|Comp"), fields.number("Output Tok/Req|Comp")
    notes = load.notes
    if sent is None and generated is None:
        sent, generated = fields.number("Input Tok|Per Req|Mdn"), fields.number("Output Tok|Per Req|Mdn")
        notes += (MEDIAN_NOTE,) if sent or generated else ()
    completed, cut_off = fields.whole("Requests Made|Comp"), fields.whole("Requests Made|Inc")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=model,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=in_flight,
        isl_mean=sent,
        osl_mean=generated,
        duration_s=fields.number("Metadata|Duration (s)", "Timings|Dur|Sec"),
        requests_completed=completed,
        requests_failed=fields.whole("Requests Made|Err"),
        requests_cut_off=cut_off,
        ttft_ms=_stats(fields, "TTFT|ms", "ttft"),
        tpot_ms=_stats(fields, "ITL|ms", "tpot"),
        e2e_ms=_stats(fields, "Request Latency|Sec", "e2e"),
        requests_per_s=fields.number("Request Stats|Per Second", "Requests|Per Sec|Mean"),
        output_tokens_per_s=fields.number("Out Tok/sec|mean", "Output Tokens|Per Sec|Mean"),
        total_tokens_per_s=fields.number("Tot Tok/sec|mean", "Total Tokens|Per Sec|Mean"),
        notes=notes + cut_off_note(completed, cut_off),
    )


def _load(name: str, in_flight: float | None) -> BenchmarkLoad:
    """From "constant@0.69" or "concurrent@16"; newer tables print the strategy alone."""
    match = _OLD_NAME.fullmatch(name)
    if match is None:
        return BenchmarkLoad(notes=(f"unknown strategy “{name}”",))
    kind, value = match["kind"], match["value"]
    values: dict[str, object] = {"type_": kind, "streams" if kind == "concurrent" else "rate": value}
    load = strategy_load(Fields(values=values, cells=True))
    if value is not None or load.mode not in ("fixed_rate", "fixed_concurrency") or load.concurrency:
        return load
    if load.mode == "fixed_rate":
        return BenchmarkLoad(mode="fixed_rate", notes=(*load.notes, RATE_NOTE))
    streams = float(max(1, round(in_flight))) if in_flight else None
    return BenchmarkLoad(mode="fixed_concurrency" if streams else None, concurrency=streams, notes=(STREAMS_NOTE,))


def _stats(fields: Fields, newer: str, older: str) -> LatencyStats:
    """Median and p95 of the newer tables; mean, median and p99 of the older ones."""
    scale = _LATENCIES[newer]

    def read(*statistics: str) -> float | None:
        names = [f"{column}|{statistic}" for column in (newer, *_OLD[older]) for statistic in statistics]
        return fields.number(*names, scale=scale)

    def at(percent: float) -> float | None:
        return read("median", "Mdn") if percent == 50.0 else read(f"p{percent:g}")

    return latency_stats(older, mean=read("mean", "Mean"), at=at)
