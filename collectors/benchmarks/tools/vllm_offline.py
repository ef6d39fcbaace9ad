"""vLLM ``bench throughput`` and ``bench latency``: the JSON of ``--output-json``, or the lines that they print.

After the source of vLLM 0.1 to 0.32: throughput gives requests/s and all tokens/s of prompts that were sent at once;
latency gives the seconds of whole batches. Neither file states lengths: only the options that are printed do.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import BATCH_NOTE, BenchmarkLoad, rate_or_concurrency, read_rows
from collectors.units import MS_PER_S

FORMAT = "vLLM bench throughput or latency"
FILE = "the JSON of `--output-json`, or what is printed"
PRIORITY = 12  # the lowest is asked first: see reader.Tool
ENGINE = "vllm"

NOTES = (
    "The JSON states no lengths, and neither GPUs nor parallelism: state them before comparing, or paste what is "
    "printed with the line of options above it.",
)
_THROUGHPUT = re.compile(
    r"Throughput:\s+([\d.]+) requests/s(?:,\s+([\d.]+) (?:total )?tokens/s)?(?:,\s+([\d.]+) output tokens/s)?"
)
_AVERAGE = re.compile(r"Avg latency:\s+([\d.]+) seconds")
_PERCENTILE = re.compile(r"(\d+)% percentile latency:\s+([\d.]+) seconds")
_SERVED = re.compile(r"(Total time|Average latency):\s+([\d.]+) s\b")
"""What ``benchmark_serving.py`` printed until 0.3 around its throughput: no first tokens, whole requests in s."""
_TOKENS = re.compile(r"Total num (prompt|output) tokens:\s+(\d+)")
_OPTION = re.compile(
    r"\b(model|input_len|output_len|num_prompts|batch_size|tensor_parallel_size|request_rate)="
    r"(?:'([^']*)'|([\d.]+|inf))"
)
_TYPED = re.compile(
    r"-{1,2}(model|m|(?:random-)?input-len|(?:random-)?output-len|num-prompts|batch-size|tensor-parallel-size|tp"
    r"|request-rate)"
    r"[ =]+'?([^\s'\"-][^\s'\"]*)"
)
_TYPED_NAMES = {"m": "model", "tp": "tensor_parallel_size"}
_OF_THROUGHPUT, _OF_LATENCY = {"elapsed_time", "num_requests", "requests_per_second"}, {"avg_latency", "percentiles"}


def detect(document: Document) -> bool:
    """The keys of either file, or the last line of either console."""
    keys = document.first.keys()
    printed = document.kind == "text" and bool(_THROUGHPUT.search(document.text) or _AVERAGE.search(document.text))
    return keys >= _OF_THROUGHPUT or keys >= _OF_LATENCY or printed


def parse(document: Document) -> Imported:
    """One point a file, or a run that was printed."""
    rows = tuple(_runs(document.text)) if document.kind == "text" else document.rows
    return read_rows(
        document.name, FORMAT, rows, _point, notes=NOTES, errors=document.errors, cells=document.kind == "text"
    )


def _runs(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The line of each result with what is printed of it: options stand above it, everything else from it on."""
    results = sorted([*_THROUGHPUT.finditer(text), *_AVERAGE.finditer(text)], key=lambda match: match.start())
    starts = [match.start() for match in results]
    for before, start, after in zip([0, *starts], starts, [*starts[1:], len(text)], strict=False):
        stated = _options(text[before:start]) | _printed(text[start:after])
        if served := dict(_SERVED.findall(text[start:after])):
            stated |= {"served_latency": served.get("Average latency")}
            stated["elapsed_time"] = dict(_SERVED.findall(text[before:start])).get("Total time")
        yield text.count("\n", 0, start) + 1, stated


def _options(text: str) -> dict[str, object]:
    """Options as vLLM prints them (input_len=1024), or as they were typed (--input-len 1024)."""
    stated: dict[str, object] = {name: quoted or bare for name, quoted, bare in _OPTION.findall(text)}
    for name, value in _TYPED.findall(text):
        stated[_TYPED_NAMES.get(name, name.removeprefix("random-").replace("-", "_"))] = value
    return stated


def _printed(text: str) -> dict[str, object]:
    """What is printed of a run, by the keys of the files."""
    stated: dict[str, object] = {f"{kind}_tokens": number for kind, number in _TOKENS.findall(text)}
    if match := _THROUGHPUT.search(text):
        names = ("requests_per_second", "tokens_per_second", "output_tokens_per_second")
        stated |= {name: value for name, value in zip(names, match.groups(), strict=True) if value}
    if match := _AVERAGE.search(text):
        stated |= {"avg_latency": match[1], "percentiles": dict(_PERCENTILE.findall(text))}
    return stated


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = _served(fields) if fields.has("served_latency") else BenchmarkLoad(mode="offline")
    batch, percentiles = fields.number("batch_size"), fields.child("percentiles")
    latency = fields.has("avg_latency")
    requests = fields.whole("num_requests", "num_prompts")
    length = {kind: _length(fields, kind, name, requests) for kind, name in (("input", "prompt"), ("output", "output"))}
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        model=fields.text("model"),
        engine=ENGINE,
        tp=fields.count("tensor_parallel_size"),
        mode=None if latency else load.mode,
        concurrency=batch,
        request_rate_rps=load.rate_rps,
        isl_mean=length["input"],
        osl_mean=length["output"],
        duration_s=fields.number("elapsed_time"),
        requests_completed=requests,
        e2e_ms=latency_stats(
            "latency",
            mean=fields.number("avg_latency", "served_latency", scale=MS_PER_S),
            at=lambda percent: percentiles.number(f"{percent:g}", scale=MS_PER_S),
        ),
        requests_per_s=fields.number("requests_per_second"),
        output_tokens_per_s=fields.number("output_tokens_per_second"),
        total_tokens_per_s=fields.number("tokens_per_second"),
        notes=(*load.notes, *((BATCH_NOTE,) if latency else ())),
    )


def _served(fields: Fields) -> BenchmarkLoad:
    """The load of the first ``benchmark_serving.py``: a rate, everything at once at an infinite one."""
    rate = fields.text("request_rate", "request-rate")
    if rate is None:
        return BenchmarkLoad(notes=("the rate that was asked for is not stated above the result",))
    return BenchmarkLoad(mode="offline") if rate == "inf" else rate_or_concurrency(fields)


def _length(fields: Fields, kind: str, counted: str, requests: int | None) -> float | None:
    """Mean tokens: as they were counted, or as they were asked for."""
    total = fields.number(f"{counted}_tokens")
    return total / requests if total and requests else fields.number(f"{kind}_len")
