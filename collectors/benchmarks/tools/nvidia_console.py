"""The tables that GenAI-Perf and AIPerf print: "Time To First Token (ms) │ 16.26 │ 12.39 │ ...".

Read from a real console of AIPerf 0.13, the tables in the documentation of both and published consoles of GenAI-Perf
of 2024, whose table is called "LLM Metrics" and has the rates below it. A name that is too long for its column goes on
in the next line, whose other cells are empty; a number that is too long is cut ("1,081…"). AIPerf prints its command
below, which states the load; the command of GenAI-Perf stands above. A title that comes again begins another run.
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

_TITLE = re.compile(r"(?:GenAI-Perf|AIPerf) \| .*Metrics|^[`\s]*LLM Metrics\s*$", re.MULTILINE)
_BELOW = re.compile(r"CLI Command:\s*(.*)")
_TYPED = re.compile(r"(?:^|[$#]\s)\s*((?:aiperf|genai-perf)\s+(?:profile\s+)?-.*)$", re.MULTILINE)
_FOOTER = re.compile(r"^\W*((?:Output token|Request) (?:throughput|goodput)) \(per sec\):\s*([\d.,]+)", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MODEL = re.compile(r"(?:--model|-m)[ =]'?([^\s']+)")
CUT_NOTE = "the table cut numbers off (…), which are left out: paste it from a wider window, or import the JSON"
_BETWEEN = re.compile(r"[│┃|]")
_HEADS = ("statistic", "metric")


def detect(document: Document) -> bool:
    """The title of the table with the latency that all of them hold."""
    return document.kind == "text" and bool(_TITLE.search(document.text)) and "Request Latency" in document.text.title()


def parse(document: Document) -> Imported:
    """One point a run."""
    return read_rows(document.name, FORMAT, _runs(document.text), _point, notes=NOTES, cells=True)


def _runs(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The line of each run with its metrics, what was cut off and its command."""
    text = re.sub(r"\\\s*\n\s*", " ", text)  # a command goes on behind a backslash
    titles = list(_TITLE.finditer(text))
    first = [title for title in titles if title[0].strip("` ") == titles[0][0].strip("` ")]
    starts = [title.start() for title in first]
    for before, start, end in zip([0, *starts], starts, [*starts[1:], len(text)], strict=False):
        below, typed = _BELOW.search(text, start, end), _TYPED.findall(text[before:start])
        command = below[1] if below else typed[-1] if typed else ""
        blocks: dict[str, object] = {}
        for name, statistics in _metrics(text[start:end]):
            key, block = named_block(name, {key: cell for key, cell in statistics.items() if "…" not in cell})
            blocks.setdefault(key, block)
        for name, value in _FOOTER.findall(text[start:end]):
            key, block = named_block(name, {"avg": value.replace(",", "")})
            blocks.setdefault(key, block)
        cut = "…" in text[start:end]
        yield text.count("\n", 0, start) + 1, blocks | {"command": command} | ({"cut": "yes"} if cut else {})


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    command = str(fields.values["command"])
    load = load_of_command(command)
    load = load if load.mode else load_of_path(file)
    model = _MODEL.search(command)
    point = point_of(file, row, FORMAT, fields)
    return replace(
        point,
        model=model[1] if model else None,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        notes=point.notes + ((CUT_NOTE,) if fields.has("cut") else ()),
    )


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
            name, statistics = cells[0], dict(zip(head, map(_plain, cells[1:]), strict=True))
    if name:
        yield name, statistics


def _plain(cell: str) -> str:
    """A number without the commas that these tools put between thousands."""
    return cell.replace(",", "") if _NUMBER.fullmatch(cell) else cell
