"""The tables that GenAI-Perf and AIPerf print: "Time To First Token (ms) │ 16.26 │ 12.39 │ ...".

Read from a real console of AIPerf 0.13 and the tables in the documentation of both. A name that is too long for its
column goes on in the next line, whose other cells are empty. AIPerf prints its command below, which states the load.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields
from collectors.benchmarks.nvidia_metrics import COMMON_NOTES, named_block, point_of
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import read_rows
from collectors.benchmarks.tools.aiperf import load_of_command, load_of_path

FORMAT = "Console of GenAI-Perf or AIPerf"
FILE = "the table below `LLM Metrics`, pasted or saved as text"
PRIORITY = 7  # the lowest is asked first: see reader.Tool
ENGINE = None
NOTES = (*COMMON_NOTES, "The table rounds to two decimals and names neither model nor GPUs: state them.")

_TITLE = re.compile(r"(GenAI-Perf|AIPerf) \| .*Metrics")
_COMMAND = re.compile(r"CLI Command:\s*(.*)|^\$?\s*((?:aiperf|genai-perf) profile .*)$", re.MULTILINE)
_MODEL = re.compile(r"(?:--model|-m)[ =]'?([^\s']+)")
_BETWEEN = re.compile(r"[│┃|]")
_HEADS = ("statistic", "metric")


def detect(document: Document) -> bool:
    """The title of the table with the latency that all of them hold."""
    return document.kind == "text" and bool(_TITLE.search(document.text)) and "Request Latency" in document.text


def parse(document: Document) -> Imported:
    """The one point of the run; further runs in the same text are not told apart, so that the first counts."""
    command = _COMMAND.search(document.text)
    typed = next((part for part in command.groups() if part), "") if command else ""

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        load = load_of_command(typed)
        load = load if load.mode else load_of_path(file)
        model = _MODEL.search(typed)
        return replace(
            point_of(file, row, FORMAT, fields),
            model=model[1] if model else None,
            mode=load.mode,
            concurrency=load.concurrency,
            request_rate_rps=load.rate_rps,
        )

    blocks: dict[str, object] = {}
    for name, statistics in _metrics(document.text):
        key, block = named_block(name, statistics)
        blocks.setdefault(key, block)
    return read_rows(document.name, FORMAT, [(1, blocks)], read, notes=NOTES, cells=True)


def _metrics(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Names with their statistics, line by line; the rest of a long name is put behind its beginning."""
    head: list[str] = []
    name, statistics = "", dict[str, str]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in _BETWEEN.split(line)][1:-1]
        if not cells:
            continue
        if cells[0].lower() in _HEADS:
            head = [cell.lower() for cell in cells[1:]]
        elif len(cells) == len(head) + 1 and not any(cells[1:]):
            name = f"{name} {cells[0]}"
        elif len(cells) == len(head) + 1:
            if name:
                yield name, statistics
            name, statistics = cells[0], dict(zip(head, cells[1:], strict=True))
    if name:
        yield name, statistics
