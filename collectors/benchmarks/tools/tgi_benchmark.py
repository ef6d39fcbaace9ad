"""TGI's ``text-generation-benchmark``: the tables that it prints at its end.

After published tables of 2023 to 2025 (read 2026-11-30). A batch is prefilled, then generated step by step: TTFT is the
prefill of the whole batch, TPOT a step. Percentiles of the steps are not in order in the tool's own tables (p50 above
p90), so of those the mean alone is read.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BATCH_NOTE, read_rows
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "text-generation-benchmark"
FILE = "the tables that TGI's benchmark prints at its end, from `Parameter` on"
PRIORITY = 23  # the lowest is asked first: see reader.Tool
ENGINE = "tgi"

NOTES = (
    "All sequences of a batch start together: TTFT is the prefill of the whole batch, TPOT a step of it.",
    "The router and its queue are not measured; GPUs are not named: state them before comparing.",
)
_HEAD = re.compile(r"\|\s*Step\s*\|\s*Batch Size\s*\|\s*Average\s*\|")
_TIME = re.compile(r"^([\d.]+) (ms|s)$")
_STEPS = ("Prefill", "Decode (token)", "Decode (total)")


def detect(document: Document) -> bool:
    """The head of the table of latencies with its steps."""
    return document.kind == "text" and bool(_HEAD.search(document.text)) and "Decode (token)" in document.text


def parse(document: Document) -> Imported:
    """One point a batch size."""
    return read_rows(document.name, FORMAT, tuple(_batches(document.text)), _point, notes=NOTES, cells=True)


def _batches(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of each table put together by batch size, with the parameters above it; an empty cell repeats."""
    stated: dict[str, str] = {}
    head: list[str] = []
    rows: dict[str, tuple[int, dict[str, str]]] = {}
    step = batch = ""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if _HEAD.search(line):
            if "p50" in cells:
                yield from rows.values()
                rows = {}
            head, step, batch = cells, "", ""
        elif len(cells) == 2 and "|" in line:
            stated[cells[0]] = cells[1]
        elif head and len(cells) == len(head) and not set(cells[0] + cells[1]) <= set("-: "):
            step, batch = cells[0] or step, cells[1] or batch
            if step in _STEPS and "p50" in head:
                kept = rows.setdefault(batch, (number, {**stated, "Batch Size": batch}))[1]
                kept |= {f"{step} {name}": cell for name, cell in zip(head[2:], cells[2:], strict=True)}
        elif head and line.strip() and "|" not in line:
            head = []
    yield from rows.values()


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    batch, sent, generated = (fields.number(key) for key in ("Batch Size", "Sequence Length", "Decode Length"))
    prefill, step, decode = (_ms(fields, f"{name} Average") for name in _STEPS)
    total = prefill + decode if prefill and decode else None
    whole_s = None if total is None else total / MS_PER_S
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("Model"),
        engine=ENGINE,
        concurrency=batch,
        isl_mean=sent,
        osl_mean=generated,
        duration_s=whole_s,
        requests_completed=None if batch is None else int(batch),
        ttft_ms=latency_stats("Prefill", mean=prefill, at=lambda p: _ms(fields, f"Prefill {key_of(p)}")),
        tpot_ms=LatencyStats(mean=step) if step else LatencyStats(),
        e2e_ms=LatencyStats(mean=total) if total else LatencyStats(),
        requests_per_s=batch / whole_s if batch and whole_s else None,
        output_tokens_per_s=batch * generated / whole_s if batch and generated and whole_s else None,
        notes=(BATCH_NOTE,),
    )


def _ms(fields: Fields, key: str) -> float | None:
    cell = fields.text(key)
    if cell is None:
        return None
    match = _TIME.match(cell)
    if match is None:
        raise BadRow(f"{key} is not a time in ms or s")
    return float(match[1]) * (1.0 if match[2] == "ms" else MS_PER_S)
