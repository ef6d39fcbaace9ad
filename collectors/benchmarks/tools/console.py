"""What ``vllm bench serve`` and SGLang's ``bench_serving`` print at their end, as people paste it.

Lines "Mean TTFT (ms):   60.77" below "Serving Benchmark Result", a run for each such block. What stands above a block
(the options, "Traffic request rate: 4.0") belongs to it. Read from real blocks of vLLM 0.6 to 0.32 and SGLang 0.4 and
0.5. Latencies are in ms.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, median_or_key
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import engine_of, rate_or_concurrency, read_rows
from commandline.percentiles import name_of

FORMAT = "Console of vLLM or SGLang"
FILE = "the block that begins with `Serving Benchmark Result`, pasted or saved as text"
PRIORITY = 5  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = (
    "TPOT is the mean per request, ITL the gap between two chunks of an answer.",
    "The block names neither GPUs nor parallelism nor the engine's version: state them before comparing.",
)
_HEAD = "Serving Benchmark Result"
_LINE = re.compile(r"(?:^|[\]) |])\s*([A-Z][\w ./()%-]*?)\s*:\s+(\S+)\s*$")
_OPTION = re.compile(r"\b(model|backend|request_rate|max_concurrency|num_prompts)=(?:'([^']*)'|([\w.+-]+))")
_RULE = re.compile(r"^\W*={20,}\W*$")
_NAMES = {
    "Traffic request rate": "request_rate",
    "Request rate configured (RPS)": "request_rate",
    "Maximum request concurrency": "max_concurrency",
    "Max request concurrency": "max_concurrency",
    "Backend": "backend",
}
"""Lines that state the load, by the names that both tools give it in their files."""
_NOTHING = ("None", "N/A", "nan")


def detect(document: Document) -> bool:
    """Both tools write the same headline."""
    return document.kind == "text" and _HEAD in document.text


def parse(document: Document) -> Imported:
    """One point a block."""
    return read_rows(document.name, FORMAT, _blocks(document.text), _point, notes=NOTES, cells=True)


def _blocks(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The line of each headline, and what stands in its block and above it by name."""
    above: dict[str, str] = {}
    block: dict[str, str] | None = None
    row = 0
    for number, line in enumerate(text.splitlines(), 1):
        if _HEAD in line:
            if block is not None:
                yield row, block
            block, row = dict(above), number
            above = {}
            continue
        if block is None:
            above |= dict(_stated(line))
        elif _RULE.match(line):
            yield row, block
            block = None
        else:
            block |= dict(_stated(line))
    if block is not None:
        yield row, block


def _stated(line: str) -> Iterator[tuple[str, str]]:
    """What a line states: options of a command, or a name with its value."""
    for name, quoted, bare in _OPTION.findall(line):
        if (quoted or bare) not in _NOTHING:
            yield name, quoted or bare
    match = _LINE.search(line)
    if match and match[2] not in _NOTHING:
        yield _NAMES.get(match[1], match[1]), match[2]


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = rate_or_concurrency(_with_number(fields))
    completed = fields.whole("Successful requests")
    sent, generated = fields.number("Total input tokens"), fields.number("Total generated tokens")
    backend = fields.text("backend")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model"),
        engine=engine_of(backend),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=fields.number("Concurrency"),
        isl_mean=sent / completed if sent and completed else None,
        osl_mean=generated / completed if generated and completed else None,
        duration_s=fields.number("Benchmark duration (s)"),
        requests_completed=completed,
        requests_failed=fields.whole("Failed requests"),
        ttft_ms=_stats(fields, "TTFT"),
        tpot_ms=_stats(fields, "TPOT"),
        itl_ms=_stats(fields, "ITL"),
        e2e_ms=_stats(fields, "E2EL", "E2E Latency"),
        requests_per_s=fields.number("Request throughput (req/s)"),
        output_tokens_per_s=fields.number("Output token throughput (tok/s)"),
        total_tokens_per_s=fields.number("Total Token throughput (tok/s)", "Total token throughput (tok/s)"),
        notes=load.notes + ((f"the engine is taken from the client's backend “{backend}”",) if backend else ()),
    )


def _with_number(fields: Fields) -> Fields:
    """The fields with the rate as a number, as both tools write it into their files; a number of requests that is
    capped and no rate is a closed loop."""
    rate = fields.text("request_rate")
    stated = {} if rate is None or rate == "inf" else {"request_rate": fields.number("request_rate")}
    return Fields(values={**fields.values, **stated}, cells=True)


def _stats(fields: Fields, *names: str) -> LatencyStats:
    """The statistics of a latency, by the names that the tools print for it."""

    def of(label: str) -> float | None:
        return fields.number(*(f"{label} {name} (ms)" for name in names))

    return latency_stats(
        names[0], mean=of("Mean"), at=lambda percent: of(median_or_key(percent).title()) or of(name_of(percent).upper())
    )
