"""What ``vllm bench serve`` and SGLang's ``bench_serving`` print at their end, as people paste it.

Lines "Mean TTFT (ms):   60.77" below "Serving Benchmark Result", a run for each such block; the headline may be
missing. What stands above a block (the options, "Traffic request rate: 4.0") belongs to it. Lines are known by their
names, so that what logs, containers and mails write before them does not matter. ``bench_offline_throughput`` of SGLang
prints the same lines under a headline of its own. Read from real blocks of vLLM 0.6 to 0.32 and SGLang 0.4 and 0.5.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, median_or_key
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import (
    MAX_NAMED,
    both_throughputs,
    drafts_note,
    engine_of,
    goodput_note,
    rate_or_concurrency,
    read_rows,
)
from collectors.units import MS_PER_S
from commandline.percentiles import name_of

FORMAT = "Console of vLLM or SGLang"
FILE = "the block that begins with `Serving Benchmark Result`, pasted or saved as text"
PRIORITY = 5  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = (
    "TPOT is the mean per request, ITL the gap between two chunks of an answer.",
    "The block names neither GPUs nor parallelism nor the engine's version: state them before comparing.",
)
COUNTS = ("Successful requests", "Failed requests", "Total input tokens", "Total generated tokens")
"""Lines with whole numbers, in which a comma can only stand between thousands."""
NAMES = {
    "Traffic request rate": "request_rate",
    "Request rate configured (RPS)": "request_rate",
    "Maximum request concurrency": "max_concurrency",
    "Max request concurrency": "max_concurrency",
    "Max reqeuest concurrency": "max_concurrency",  # as SGLang wrote it until 2025
    "Backend": "backend",
}
"""Lines that state the load, by the names that both tools give it in their files."""
MEASURED = (
    *("Benchmark duration (s)", "Request throughput (req/s)", "Request goodput (req/s)", "Concurrency"),
    *("Input token throughput (tok/s)", "Output token throughput (tok/s)"),
    *("Total token throughput (tok/s)", "Accept length", "Acceptance length"),
)
UNITS = {"ms": 1.0, "s": MS_PER_S, "us": 1e-3}
"""Milliseconds in the units that lines of latencies name."""
UNREAD = "not read: "
"""Before the names of latencies that no field here takes, such as those of sound."""
FIRST = "Successful requests"
"""The line with which every block begins, but for what states the load."""

_HEAD = re.compile(r"(Serving|Offline Throughput) Benchmark Result")
_LATENCY = r"(?:Mean|Median|P\d+(?:\.\d+)?) (?:TTFT|TPOT|ITL|E2EL|E2E Latency|E2E|Latency) \((?:ms|s|us)\)"
_KNOWN = "|".join(map(re.escape, (*COUNTS, *NAMES, *MEASURED)))
_LINE = re.compile(rf"(?<![a-z] )(?<!\w)((?i:{_KNOWN})|{_LATENCY})\s*[:|]\s*([^\s|]+)\s*\|?\s*$")
_UNREAD = re.compile(r"(?<!\w)((?:Mean|Median|P\d+(?:\.\d+)?) [A-Z]\w*(?: \w+)*) \((?:ms|s|us)\)\s*[:|]\s*[\d.]+")
_OPTION = re.compile(r"\b(model|backend|request_rate|max_concurrency|num_prompts)=(?:'([^']*)'|([\w.+-]+))")
_RULE = re.compile(r"={20,}\W*$")
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_NOTHING = ("None", "N/A", "nan", "not")
_SPELLED = {name.lower(): name for name in (*COUNTS, *NAMES, *MEASURED)}


def detect(document: Document) -> bool:
    """Both tools write the same headline, and the same lines where it is missing."""
    if document.kind != "text":
        return False
    return bool(_HEAD.search(document.text)) or all(
        line in document.text for line in (FIRST, "Request throughput (req/s)")
    )


def parse(document: Document) -> Imported:
    """One point a block."""
    return read_rows(document.name, FORMAT, _blocks(document.text), _point, notes=NOTES, cells=True)


def _blocks(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The line of each headline, and what stands in its block and above it by name."""
    above: dict[str, str] = {}
    block: dict[str, str] | None = None
    row = 0
    for number, line in enumerate(text.splitlines(), 1):
        head, stated = _HEAD.search(line), dict(_stated(line))
        if head or (FIRST in stated and (block is None or FIRST in block)):
            if block is not None:
                yield row, block
            offline = {"request_rate": "inf"} if head and head[1] != "Serving" else {}
            block, row, above = above | offline | stated, number, {}
        elif block is None:
            above |= stated
        elif _RULE.search(line):
            yield row, block
            block = None
        else:
            block |= stated
    if block is not None:
        yield row, block


def _stated(line: str) -> Iterator[tuple[str, str]]:
    """What a line states: options of a command, or a name with its value."""
    for name, quoted, bare in _OPTION.findall(line):
        if (quoted or bare) not in _NOTHING:
            yield name, quoted or bare
    match = _LINE.search(line.replace("\u00a0", " ").replace("not set", "None"))
    if match and match[2] not in _NOTHING:
        name = _SPELLED.get(match[1].lower(), match[1])
        value = match[2].replace(",", "") if name in COUNTS and _THOUSANDS.fullmatch(match[2]) else match[2]
        yield NAMES.get(name, name), value
    elif unread := _UNREAD.search(line):
        yield f"{UNREAD}{unread[1]}", unread[1]


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = rate_or_concurrency(fields)
    completed = fields.whole("Successful requests")
    sent, generated = fields.number("Total input tokens"), fields.number("Total generated tokens")
    backend = fields.text("backend")
    output = fields.number("Output token throughput (tok/s)")
    total = fields.number("Total token throughput (tok/s)")
    notes = ((f"the engine is taken from the client's backend “{backend}”",) if engine_of(backend) else ()) + (
        goodput_note(fields.number("Request goodput (req/s)"))
    )
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
        e2e_ms=_stats(fields, "E2EL", "E2E Latency", "E2E", "Latency"),
        requests_per_s=fields.number("Request throughput (req/s)"),
        output_tokens_per_s=output,
        total_tokens_per_s=both_throughputs(total, fields.number("Input token throughput (tok/s)"), output),
        notes=load.notes + notes + _unread(fields) + drafts_note(fields.number("Accept length", "Acceptance length")),
    )


def _unread(fields: Fields) -> tuple[str, ...]:
    """What the block times and nothing here takes, by name."""
    names = [f"“{key.removeprefix(UNREAD)}”" for key in fields.values if key.startswith(UNREAD)]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (f"latencies that are not read: {', '.join(names[:MAX_NAMED])}{more}",) if names else ()


def _stats(fields: Fields, *names: str) -> LatencyStats:
    """The statistics of a latency, by the names that the tools print for it."""

    def of(*labels: str) -> float | None:
        for unit, scale in UNITS.items():
            stated = fields.number(*(f"{label} {name} ({unit})" for label in labels for name in names), scale=scale)
            if stated is not None:
                return stated
        return None

    def at(percent: float) -> float | None:
        return of(median_or_key(percent).title(), name_of(percent).upper())

    return latency_stats(names[0], mean=of("Mean"), at=at)
