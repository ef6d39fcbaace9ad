"""GuideLLM 0.1 (2024 and early 2025): a report of reports, every request with its own times, no statistics.

After the public source of 0.1 (``core/result.py``). ``start_time`` and ``end_time`` are Unix seconds,
``first_token_time`` and ``decode_times`` seconds. Statistics are computed here.
"""

import numpy as np

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, Floats, quotient, sample_stats
from collectors.benchmarks.records import BenchmarkRun, Imported
from collectors.benchmarks.rows import BenchmarkLoad, moment, read_rows
from collectors.benchmarks.tools import guidellm
from collectors.benchmarks.tools.guidellm import strategy_load
from collectors.errors import BadRow
from collectors.units import MS_PER_S

FORMAT = guidellm.FORMAT
FILE = ""  # named with the JSON of later versions
PRIORITY = 28  # the lowest is asked first: see reader.Tool
ENGINE = None
NOTES = (
    "TPOT is (E2E - TTFT) / (OSL - 1) per request, ITL the gap between two pieces of an answer.",
    "Tokens of the prompt are as counted by the client.",
)


def detect(document: Document) -> bool:
    """Benchmarks within benchmarks, each with its results."""
    return document.is_object and any(True for _ in _runs(document))


def _runs(document: Document) -> list[tuple[Fields, Fields]]:
    """Each benchmark with the arguments of its report."""
    reports = document.first.get("benchmarks")
    runs = []
    for report in reports if isinstance(reports, list) else []:
        inner = report.get("benchmarks") if isinstance(report, dict) else None
        for run in inner if isinstance(inner, list) else []:
            if isinstance(run, dict) and {"mode", "results"} <= run.keys():
                runs.append((Fields(values=run), Fields(values=report)))
    return runs


def parse(document: Document) -> Imported:
    """One point a benchmark."""
    runs = _runs(document)[: guidellm.MAX_BENCHMARKS]
    models = {id(run.values): report.child("args").text("model") for run, report in runs}

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        return _point(file, row, fields, models[id(fields.values)])

    return read_rows(
        document.name, FORMAT, [(row, run.values) for row, (run, _) in enumerate(runs, 1)], read, notes=NOTES
    )


def _point(file: str, row: int, fields: Fields, model: str | None) -> BenchmarkRun:
    requests = [Fields(values=one, path="results.") for one in fields.items("results") if isinstance(one, dict)]
    if not requests:
        raise BadRow("no request was completed")
    columns = ("start_time", "end_time", "first_token_time", "prompt_token_count", "output_token_count")
    start, end, first, sent, generated = (_column(requests, name) for name in columns)
    ttft, e2e = first * MS_PER_S, (end - start) * MS_PER_S
    several = generated > 1
    load = _load(fields)
    duration = float(end.max() - start.min())
    gaps = [one.child("decode_times").series("data") for one in requests]
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version="0.1",
        when=moment(float(start.min())),
        model=model,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        isl_mean=float(sent.mean()),
        osl_mean=float(generated.mean()),
        duration_s=duration,
        requests_completed=len(requests),
        requests_failed=len(fields.items("errors")),
        ttft_ms=sample_stats(ttft),
        tpot_ms=sample_stats(np.maximum(e2e - ttft, 0.0)[several] / (generated[several] - 1)),
        itl_ms=sample_stats(np.concatenate([np.empty(0) if one is None else one for one in gaps]) * MS_PER_S),
        e2e_ms=sample_stats(e2e),
        requests_per_s=quotient(len(requests), duration),
        output_tokens_per_s=quotient(float(generated.sum()), duration),
        total_tokens_per_s=quotient(float(sent.sum() + generated.sum()), duration),
        notes=load.notes,
    )


def _load(fields: Fields) -> BenchmarkLoad:
    """The mode by the names of later versions; "asynchronous" had a rate at even intervals."""
    kind = fields.text("mode")
    return strategy_load(
        Fields(values={"type_": {"asynchronous": "async"}.get(kind or "", kind), "rate": fields.values.get("rate")})
    )


def _column(requests: list[Fields], name: str) -> Floats:
    values = [one.number(name) for one in requests]
    if any(value is None for value in values):
        raise BadRow(f"{name} of a request is missing")
    return np.array([value or 0.0 for value in values])
