"""TensorRT-LLM's older benchmarks: what ``gptManagerBenchmark`` and the benchmarks of sessions print.

After the public source (benchmarks/cpp, 0.8 to 0.17; benchmarks/python/benchmark.py) and published runs. Lines
"[BENCHMARK] token_throughput(token/sec) 2870.80" follow each other, or all values of a batch stand in one line.
"""

import re
from collections.abc import Iterator

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, mean_alone, quotient
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BATCH_NOTE, BenchmarkLoad, read_rows
from commandline.percentiles import key_of

FORMAT = "gptManagerBenchmark"
FILE = "the lines that begin with `[BENCHMARK]`"
PRIORITY = 14  # the lowest is asked first: see reader.Tool
ENGINE = "trtllm"
NOTES = (
    "The engine runs in process: no HTTP, no tokenisation of the requests, so latencies are lower than a server's.",
    "The lines name neither model nor GPUs: state them before comparing.",
)
_LINE = re.compile(r"\[BENCHMARK\] (.+)")
_TYPED = re.compile(r"--(request_rate|concurrency)[ =](-?[\d.]+)")
_FIRST = "total_latency(ms)"
"""The value that every run has, behind its numbers of requests."""


def detect(document: Document) -> bool:
    """The mark of its lines."""
    return document.kind == "text" and bool(_LINE.search(document.text))


def parse(document: Document) -> Imported:
    """One point a run or a batch."""
    return read_rows(document.name, FORMAT, _runs(document.text), _point, notes=NOTES, cells=True)


def _runs(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The values of each run by name, with the options that were typed above it; a value that comes again, after the
    total, begins another run."""
    typed: dict[str, str] = {}
    run: dict[str, str] = {}
    row = 0
    for number, line in enumerate(text.splitlines(), 1):
        options = dict(_TYPED.findall(line))
        match = _LINE.search(line)
        words = match[1].split() if match else []
        values = dict(zip(words[::2], words[1::2], strict=False))
        if _FIRST in run and (options or run.keys() & values.keys()):
            yield row, typed | run
            run = {}
        typed = options or typed
        if {"batch_size", "latency(ms)"} <= values.keys():
            yield number, values
        elif values:
            row = row if run else number
            run |= values
    if run:
        yield row, typed | run


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    if fields.has("batch_size"):
        return _batch(file, row, fields)
    load = _load(fields)
    rate, tokens = fields.number("seq_throughput(seq/sec)"), fields.number("token_throughput(token/sec)")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        engine=ENGINE,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        osl_mean=quotient(tokens, rate),
        duration_s=fields.number(_FIRST, scale=1e-3),
        requests_completed=fields.whole("num_samples", "num_samples(ms)"),
        requests_failed=fields.whole("num_error_samples"),
        ttft_ms=_stats(fields, "time_to_first_token"),
        tpot_ms=_stats(fields, "inter_token_latency"),
        e2e_ms=_stats(fields, "sequence_latency"),
        requests_per_s=rate,
        output_tokens_per_s=tokens,
        notes=load.notes,
    )


def _load(fields: Fields) -> BenchmarkLoad:
    """A rate above 0, or a concurrency; without either everything is sent at once."""
    rate, concurrency = (str(fields.values.get(name, "")) for name in ("request_rate", "concurrency"))
    if concurrency and not concurrency.startswith("-"):
        return BenchmarkLoad(mode="fixed_concurrency", concurrency=fields.number("concurrency"))
    if rate and not rate.startswith("-"):
        return BenchmarkLoad(mode="fixed_rate", rate_rps=fields.number("request_rate"))
    return BenchmarkLoad(mode="offline", notes=() if rate else ("no rate is stated: taken as sent at once",))


def _stats(fields: Fields, name: str) -> LatencyStats:
    return latency_stats(
        name, mean=fields.number(f"avg_{name}(ms)"), at=lambda percent: fields.number(f"{key_of(percent)}_{name}(ms)")
    )


def _batch(file: str, row: int, fields: Fields) -> BenchmarkRun:
    """One batch of equal sequences: its latency, and tokens/s of all of them."""
    batch, latency = fields.number("batch_size"), fields.number("latency(ms)", scale=1e-3)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        engine=ENGINE,
        tp=fields.count("tp_size"),
        concurrency=batch,
        isl_mean=fields.number("input_length"),
        osl_mean=fields.number("output_length"),
        e2e_ms=mean_alone(latency),
        requests_per_s=quotient(batch, latency),
        output_tokens_per_s=fields.number("tokens_per_sec", "tokensPerSec"),
        notes=(BATCH_NOTE,),
    )
