"""vLLM ``bench serve`` (formerly benchmark_serving.py): one JSON object a run, or one a line with ``--append-result``.

Read from real files of vLLM 0.32, with and without ``--save-detailed``; older files differ only in what they leave out.
``vllm bench sweep`` collects them in a CSV, too. Summaries are in ms, the arrays of ``--save-detailed`` in s; what the
summary lacks is computed from the arrays. Keys of results that were written anew end in another unit, or in none, which
is s. ``--metadata version=0.3.3 tp=1`` (the example of vLLM's help) stands in the file as text.
"""

from dataclasses import dataclass

import numpy as np

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, Floats, latency_stats, median_or_key, sample_stats
from collectors.benchmarks.records import NOT_STATED, BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import (
    BenchmarkLoad,
    both_throughputs,
    drafts_note,
    engine_of,
    goodput_note,
    moment,
    rate_or_concurrency,
    read_objects,
    read_rows,
)
from collectors.errors import BadRow, NotAResultFile
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "vLLM bench serve"
FILE = "the JSON of `--save-result`"
PRIORITY = 10  # the lowest is asked first: see reader.Tool
ENGINE = "vllm"

UNITS = {"_ms": 1.0, "": MS_PER_S, "_s": MS_PER_S, "_sec": MS_PER_S, "_us": 1e-3}
"""Milliseconds of what stands in a key with this ending, vLLM's own first."""

NOTES = (
    "ITL is the gap between two chunks of an answer: several tokens in one chunk count as gaps of nearly zero, so its "
    "median can be far below the time per token. TPOT is the mean per request.",
    "One warm-up request is sent first and not reported.",
    "Output tokens are those the server reports, or the client's count of the text where it reports none.",
    "The file names neither GPUs nor parallelism nor the engine's version: state them before comparing.",
)


def detect(document: Document) -> bool:
    """A result names its model, its prompts and its throughput; the form for PyTorch has one metric an entry."""
    signs = {"model_id", "num_prompts", "request_throughput"}
    return signs <= document.first.keys() or document.has_columns(signs) or _for_pytorch(document)


def _for_pytorch(document: Document) -> bool:
    return {"benchmark", "model", "metric"} <= document.first.keys()


def parse(document: Document) -> Imported:
    """One point a run. Raises NotAResultFile for the form that PyTorch's dashboard takes."""
    if _for_pytorch(document):
        raise NotAResultFile(
            f"{document.name} is the form of vLLM's results that PyTorch's dashboard takes, without the load: import "
            "the JSON of --save-result beside it."
        )
    if document.kind == "text":
        return read_rows(document.name, FORMAT, document.records, _point, notes=NOTES, cells=True)
    return read_objects(document, FORMAT, _point, notes=NOTES)


@dataclass(frozen=True, kw_only=True)
class _Detail:
    """What the per-request arrays give; a failed request is left out of all of it."""

    failed: int | None = None
    ttft: LatencyStats = NOT_STATED
    tpot: LatencyStats = NOT_STATED
    itl: LatencyStats = NOT_STATED
    e2e: LatencyStats = NOT_STATED
    osl_variation: float | None = None


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    load = _load(fields)
    detail = _Detail() if fields.cells else _detail(fields)
    output = fields.number("output_throughput")
    completed, failed = fields.whole("completed"), fields.whole("failed")
    backend = fields.text("backend", "endpoint_type")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        when=moment(fields.values.get("date")),
        model=fields.text("model_id"),
        engine=engine_of(backend),
        engine_version=fields.text("version"),
        tp=Fields(values=fields.values, cells=True).count("tensor_parallel_size", "tp"),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        isl_mean=_per_request(fields.number("total_input_tokens"), completed),
        osl_mean=_per_request(fields.number("total_output_tokens"), completed),
        osl_variation=detail.osl_variation,
        duration_s=fields.number("duration"),
        requests_completed=completed,
        requests_failed=detail.failed if failed is None else failed,
        ttft_ms=_summary(fields, "ttft", detail.ttft),
        tpot_ms=_summary(fields, "tpot", detail.tpot),
        itl_ms=_summary(fields, "itl", detail.itl),
        e2e_ms=_summary(fields, "e2el", detail.e2e),
        requests_per_s=fields.number("request_throughput"),
        output_tokens_per_s=output,
        total_tokens_per_s=both_throughputs(
            fields.number("total_token_throughput"), fields.number("input_throughput"), output
        ),
        notes=load.notes + _notes(fields, backend),
    )


def _load(fields: Fields) -> BenchmarkLoad:
    """The load; a rate that was ramped up is neither of the three modes, although it stands there as infinite."""
    if fields.text("ramp_up_strategy"):
        return BenchmarkLoad(notes=("the rate was ramped up during the run: no rate describes it",))
    return rate_or_concurrency(fields)


def _per_request(total: float | None, completed: int | None) -> float | None:
    return None if total is None or not completed else total / completed


def _summary(fields: Fields, metric: str, detail: LatencyStats) -> LatencyStats:
    """The summary, its gaps filled from the detail: ``--metric-percentiles`` decides what is in the file."""

    def pick(key: str, other: str, computed: float | None) -> float | None:
        for ending, scale in UNITS.items():
            stated = fields.number(f"{key}_{metric}{ending}", f"{other}_{metric}{ending}", scale=scale)
            if stated is not None:
                return stated
        return computed

    return latency_stats(
        metric,
        mean=pick("mean", "mean", detail.mean),
        at=lambda percent: pick(median_or_key(percent), key_of(percent), detail.at(percent)),
    )


def _detail(fields: Fields) -> _Detail:
    """Statistics of the per-request arrays.

    E2E = latency, or TTFT + sum of gaps where the version did not save it; TPOT = (E2E - TTFT) / (OSL - 1) of requests
    with more than one token.
    """
    ttfts, itls = fields.series("ttfts"), fields.nested_series("itls")
    if ttfts is None or itls is None or ttfts.size != len(itls):
        return _Detail()
    good = _succeeded(fields, ttfts.size)
    lengths, latencies = fields.series("output_lens"), fields.series("latencies")
    if latencies is None or latencies.size != ttfts.size:
        latencies = ttfts + np.array([gaps.sum() for gaps in itls])
    gaps = np.concatenate([gaps for gaps, ok in zip(itls, good, strict=True) if ok] or [np.empty(0)])
    tpot: Floats = np.empty(0)
    varied = None
    if lengths is not None and lengths.size == ttfts.size:
        several = good & (lengths > 1)
        tpot = np.maximum(latencies - ttfts, 0.0)[several] / (lengths[several] - 1)
        varied = float(np.var(lengths[good]) / np.mean(lengths[good]) ** 2) if several.any() else None
    return _Detail(
        failed=int((~good).sum()),
        ttft=sample_stats(ttfts[good] * MS_PER_S),
        tpot=sample_stats(tpot * MS_PER_S),
        itl=sample_stats(gaps * MS_PER_S),
        e2e=sample_stats(latencies[good] * MS_PER_S),
        osl_variation=varied,
    )


def _succeeded(fields: Fields, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which requests succeeded: those without an error text."""
    errors = fields.items("errors")
    if errors and len(errors) != count:
        raise BadRow("errors and ttfts are of different length")
    return np.array([not error for error in errors], dtype=np.bool_) if errors else np.ones(count, dtype=np.bool_)


def _notes(fields: Fields, backend: str | None) -> tuple[str, ...]:
    burstiness = fields.number("burstiness")
    notes = []
    if burstiness is not None and burstiness != 1.0:
        notes.append(f"arrivals are not Poisson: burstiness {burstiness:g}")
    if engine_of(backend):
        notes.append(f"the engine is taken from the client's backend “{backend}”")
    goodput = fields.number("request_goodput", "request_goodput:")  # the colon was part of the name in 0.6 and 0.7
    return (*notes, *goodput_note(goodput), *drafts_note(fields.number("spec_decode_acceptance_length")))
