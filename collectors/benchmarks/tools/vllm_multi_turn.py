"""vLLM ``benchmark_serving_multi_turn.py``: the summary that it prints, a table of pandas below its parameters.

After the public source and the example of its README (2025 and 2026). All times in ms. Several tables are the same run
with more of its beginning left out: the first one is read.
"""

import re

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, median_or_key
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import read_rows

FORMAT = "vLLM multi-turn benchmark"
FILE = "what is printed at its end, from `Parameters:` on"
PRIORITY = 6  # the lowest is asked first: see reader.Tool
ENGINE = "vllm"

NOTES = (
    "Turns of conversations: each prompt holds the history, most of which the prefix cache may have had; the file does "
    "not say how much.",
    "Clients send one request each at a time: the concurrency is their number.",
)
_PARAMETER = re.compile(r"^\s*(model|num_clients|runtime_sec|requests_per_sec)\s*=\s*(\S+)\s*$", re.MULTILINE)
_HEAD = re.compile(r"^\s*count\s+mean\s+std\s+min\s.*max\s*$", re.MULTILINE)
_ROWS = ("ttft_ms", "tpot_ms", "latency_ms", "input_num_tokens", "output_num_tokens")


def detect(document: Document) -> bool:
    """The head of the table and the rows that only it has."""
    return document.kind == "text" and bool(_HEAD.search(document.text)) and "input_num_turns" in document.text


def parse(document: Document) -> Imported:
    """The one point of the run."""
    return read_rows(document.name, FORMAT, [(1, _printed(document.text))], _point, notes=NOTES, cells=True)


def _printed(text: str) -> dict[str, str]:
    """Parameters by their name, cells of the table as "row statistic"."""
    stated: dict[str, str] = {}
    head: list[str] = []
    for line in text.splitlines():
        if match := _PARAMETER.match(line):
            stated.setdefault(match[1], match[2])
        elif _HEAD.match(line):
            head = line.split()
        elif (cells := line.split()) and cells[0] in _ROWS and len(cells) == len(head) + 1:
            for name, cell in zip(head, cells[1:], strict=True):
                stated.setdefault(f"{cells[0]} {name}", cell)
    return stated


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    clients = fields.number("num_clients")
    rate, generated = fields.number("requests_per_sec"), fields.number("output_num_tokens mean")
    sent = fields.number("input_num_tokens mean")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model"),
        engine=ENGINE,
        mode="fixed_concurrency" if clients else None,
        concurrency=clients,
        isl_mean=sent,
        osl_mean=generated,
        duration_s=fields.number("runtime_sec"),
        requests_completed=fields.whole("ttft_ms count"),
        ttft_ms=_stats(fields, "ttft_ms"),
        tpot_ms=_stats(fields, "tpot_ms"),
        e2e_ms=_stats(fields, "latency_ms"),
        requests_per_s=rate,
        output_tokens_per_s=rate * generated if rate and generated else None,
        total_tokens_per_s=rate * (sent + generated) if rate and generated and sent else None,
    )


def _stats(fields: Fields, row: str) -> LatencyStats:
    def at(percent: float) -> float | None:
        return fields.number(f"{row} {percent:g}%", f"{row} {median_or_key(percent)}")

    return latency_stats(row, mean=fields.number(f"{row} mean"), at=at)
