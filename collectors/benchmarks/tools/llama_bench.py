"""llama.cpp's ``llama-bench`` (JSON, JSON Lines, CSV, Markdown) and ``llama-batched-bench`` (its table, JSON Lines).

After the public source of llama.cpp (b4000 to b6900) and published tables. A test is either the prefill of a prompt
(pp512), or the generation of tokens (tg128) behind ``n_depth`` tokens that lie in the cache, or both (pp512+tg128); the
engine runs in process. The batched form generates for several sequences at once.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, mean_alone, quotient
from collectors.benchmarks.records import NOT_STATED, BenchmarkRun, Imported
from collectors.benchmarks.rows import BATCH_NOTE, moment, read_objects, read_rows
from collectors.errors import BadRow

FORMAT = "llama-bench"
FILE = "the output of `llama-bench` (`-o json`, `jsonl`, `csv` or `md`) or `llama-batched-bench`"
PRIORITY = 24  # the lowest is asked first: see reader.Tool
ENGINE = "llamacpp"

NOTES = (
    "A test is the prefill of a prompt or the generation of tokens, one request at a time: TTFT is the prefill alone.",
    "The engine runs in process: no HTTP, no tokenisation of the requests, so latencies are lower than a server's.",
)
_TESTS, _BATCHED = {"n_prompt", "n_gen", "avg_ts"}, {"pp", "tg", "pl", "speed_tg"}
_TEST = re.compile(r"(?:pp(?P<pp>\d+))?\+?(?:tg(?P<tg>\d+))?(?:\s*@\s*d(?P<depth>\d+))?")
_SPEED = re.compile(r"([\d.]+)\s*(?:±|\+/-)?")
_BATCHED_NAMES = {
    "PP": "pp",
    "TG": "tg",
    "B": "pl",
    "T_PP s": "t_pp",
    "T_TG s": "t_tg",
    "S_TG t/s": "speed_tg",
    "T s": "t",
    "S t/s": "speed",
}
_DEVICE = re.compile(r"Device \d+: ([^,\n]+),")


def detect(document: Document) -> bool:
    """The columns of a test in either form, or the heads of the tables that are printed."""
    keys = document.first.keys()
    tables = document.kind == "text" and any(_is_head(cells) for _, cells in _cells(document.text))
    return keys >= _TESTS or keys >= _BATCHED or document.has_columns(_TESTS) or tables


def parse(document: Document) -> Imported:
    """One point a test."""
    if document.kind != "text":
        return read_objects(document, FORMAT, _point, notes=NOTES)
    rows = document.records if document.has_columns(_TESTS) else tuple(_printed(document.text))
    return read_rows(document.name, FORMAT, rows, _point, notes=NOTES, cells=True)


def _cells(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of the lines of Markdown tables."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count("|") > 1:
            yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]


def _is_head(cells: list[str]) -> bool:
    return {"model", "test", "t/s"} <= set(cells) or {"PP", "TG", "B", "S_TG t/s"} <= set(cells)


def _printed(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of the tables by the names of the files."""
    head: list[str] = []
    devices = set(_DEVICE.findall(text))
    gpu = {"gpu_info": devices.pop()} if len(devices) == 1 else {}
    for number, cells in _cells(text):
        if _is_head(cells):
            head = cells
        elif len(cells) == len(head) and not set(cells[0]) <= set("-: "):
            yield number, gpu | _renamed(dict(zip(head, cells, strict=True)))


def _renamed(row: dict[str, str]) -> dict[str, str]:
    """One row of a table: "pp512 @ d4096" is a test, "142.20 ± 0.50" a speed."""
    if "test" not in row:
        return {_BATCHED_NAMES[name]: cell for name, cell in row.items() if name in _BATCHED_NAMES}
    test, speed = _TEST.fullmatch(row["test"]), _SPEED.match(row["t/s"])
    parts = test.groupdict() if test else {}
    return {
        "model_type": row["model"],
        "n_prompt": parts.get("pp") or "0",
        "n_gen": parts.get("tg") or "0",
        "n_depth": parts.get("depth") or "0",
        "avg_ts": speed[1] if speed else row["t/s"],
    }


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    return _batched(file, row, fields) if fields.has("speed_tg") else _test(file, row, fields)


def _test(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """One test: TTFT = prompt / speed, or TPOT = 1 / speed, or E2E = both lengths / speed."""
    sent, generated = fields.number("n_prompt") or 0.0, fields.number("n_gen") or 0.0
    depth, speed = fields.number("n_depth") or 0.0, fields.number("avg_ts")
    if not speed or not (sent or generated):
        raise BadRow("neither a length nor a speed is stated")
    took = mean_alone((sent + generated) / speed)
    rate = speed / (sent + generated)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version=fields.text("build_number"),
        when=moment(fields.values.get("test_time")),
        model=fields.text("model_filename", "model_type"),
        engine=ENGINE,
        engine_version=fields.text("build_number"),
        gpu=fields.text("gpu_info"),
        mode="fixed_concurrency",
        concurrency=1.0,
        isl_mean=sent + depth or 1.0,  # without a prompt generation begins behind one token
        osl_mean=generated or 1.0,  # the prefill ends with one
        prefix_cached_tokens=depth or None,
        ttft_ms=took if not generated else NOT_STATED,
        tpot_ms=took if generated == 1 else mean_alone(1.0 / speed) if not sent else NOT_STATED,
        e2e_ms=took if sent and generated else NOT_STATED,
        requests_per_s=rate,
        output_tokens_per_s=rate * generated if generated else None,
        total_tokens_per_s=speed,
        notes=(f"{fields.text('model_type')}",) if fields.has("model_filename") and fields.has("model_type") else (),
    )


def _batched(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """Several sequences at once: TTFT = the prefill of all, TPOT = sequences / speed of generation."""
    sent, generated, batch = (fields.number(key) for key in ("pp", "tg", "pl"))
    prefill, total, speed = fields.number("t_pp"), fields.number("t"), fields.number("speed_tg")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        engine=ENGINE,
        gpu=fields.text("gpu_info"),
        concurrency=batch,
        isl_mean=sent,
        osl_mean=generated,
        requests_completed=None if batch is None else int(batch),
        duration_s=total,
        ttft_ms=mean_alone(prefill or None),
        tpot_ms=mean_alone(quotient(batch, speed)),
        e2e_ms=mean_alone(total or None),
        requests_per_s=quotient(batch, total),
        output_tokens_per_s=batch * generated / total if batch and generated and total else None,
        total_tokens_per_s=fields.number("speed"),
        notes=(BATCH_NOTE,),
    )
