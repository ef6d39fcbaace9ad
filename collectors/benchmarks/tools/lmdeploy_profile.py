"""LMDeploy's ``profile_throughput.py`` and ``profile_restful_api.py``: their CSV, or what they print.

After InternLM/lmdeploy benchmark/profile_throughput.py (01143d5; read 2026-11-30). Times are in SECONDS. Later versions
of profile_restful_api.py print and write what vLLM's benchmark does and are read as that.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, quotient
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import read_rows
from collectors.units import MS_PER_S

FORMAT = "LMDeploy profile"
FILE = "the CSV of `profile_throughput.py` or `profile_restful_api.py`, or what they print"
PRIORITY = 25  # the lowest is asked first: see reader.Tool
ENGINE = None  # of the catalogue

NOTES = (
    "Lengths are the tokens/s over the requests/s; the file names neither model nor GPUs: state them before comparing.",
)
_COLUMNS = {"batch", "RPS", "throughput(out tok/s)"}
_PRINTED = {
    "batch": re.compile(r"^concurrency: (\d+)$", re.MULTILINE),
    "elapsed": re.compile(r"^elapsed_time: ([\d.]+)s$", re.MULTILINE),
    "FTL(ave)(s)": re.compile(
        r"^first.token latency\(s\)\(min, max, ave\): [\d.]+s?, [\d.]+s?, ([\d.]+)", re.MULTILINE
    ),
    "50%(s)": re.compile(r"percentile\(50, 75, 95, 99\): \[([\d.]+)"),
    "95%(s)": re.compile(r"percentile\(50, 75, 95, 99\): \[[\d.]+, [\d.]+, ([\d.]+)"),
    "99%(s)": re.compile(r"percentile\(50, 75, 95, 99\): \[(?:[\d.]+, ){3}([\d.]+)"),
    "throughput(out tok/s)": re.compile(r"^token throughput \(completion token\): ([\d.]+) token/s", re.MULTILINE),
    "throughput(total tok/s)": re.compile(
        r"^token throughput \(prompt \+ completion token\): ([\d.]+) token/s", re.MULTILINE
    ),
    "RPS": re.compile(r"^RPS \(request per second\): ([\d.]+) req/s", re.MULTILINE),
}


def detect(document: Document) -> bool:
    """The columns of the table, or the lines of a block."""
    printed = document.kind == "text" and bool(_PRINTED["throughput(out tok/s)"].search(document.text))
    return document.has_columns(_COLUMNS) or printed


def parse(document: Document) -> Imported:
    """One point a row, or a block."""
    rows = document.records if document.has_columns(_COLUMNS) else tuple(_blocks(document.text))
    return read_rows(document.name, FORMAT, rows, _point, notes=NOTES, cells=True)


def _blocks(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each printed block by the columns of the table."""
    starts = [match.start() for match in _PRINTED["batch"].finditer(text)] or [0]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        matches = {name: sign.search(text, start, end) for name, sign in _PRINTED.items()}
        yield text.count("\n", 0, start) + 1, {name: match[1] for name, match in matches.items() if match}


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """A closed loop of as many threads as the batch; "-" stands where answers were not streamed."""
    fields = Fields(values={key: cell for key, cell in fields.values.items() if cell != "-"}, cells=True)
    rate, generated = fields.number("RPS"), fields.number("throughput(out tok/s)")
    total = fields.number("throughput(total tok/s)")
    sent = total - generated if total and generated and total > generated else None
    first = fields.number("FTL(ave)(s)", scale=MS_PER_S)
    requests = fields.whole("num_promts", "num_prompts")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        engine="lmdeploy",
        mode="fixed_concurrency",
        concurrency=fields.number("batch"),
        isl_mean=quotient(sent, rate),
        osl_mean=quotient(generated, rate),
        requests_completed=requests,
        duration_s=fields.number("elapsed") or quotient(None if requests is None else float(requests), rate),
        ttft_ms=LatencyStats(mean=first) if first else LatencyStats(),
        itl_ms=latency_stats(
            "per-token latency", mean=None, at=lambda percent: fields.number(f"{percent:g}%(s)", scale=MS_PER_S)
        ),
        requests_per_s=rate,
        output_tokens_per_s=generated,
        total_tokens_per_s=total,
    )
