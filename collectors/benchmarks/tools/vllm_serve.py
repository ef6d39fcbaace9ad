"""vLLM ``bench serve`` (formerly benchmark_serving.py): one JSON object a run, or one a line with ``--append-result``.

Read from real files of vLLM 0.32, with and without ``--save-detailed``; older files differ only in what they leave out.
Summaries are in ms, the arrays of ``--save-detailed`` in s; what the summary lacks is computed from the arrays. Keys
without a unit (``median_ttft``) are in s.
"""

from dataclasses import dataclass

import numpy as np

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, Floats, latency_stats, median_or_key, sample_stats
from collectors.benchmarks.records import NOT_STATED, BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import engine_of, moment, rate_or_concurrency, read_objects
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "vLLM bench serve"
FILE = "the JSON of `--save-result`"
PRIORITY = 10  # the lowest is asked first: see reader.Tool
ENGINE = "vllm"

NOTES = (
    "ITL is the gap between two chunks of an answer: several tokens in one chunk count as gaps of nearly zero, so its "
    "median can be far below the time per token. TPOT is the mean per request.",
    "One warm-up request is sent first and not reported.",
    "Output tokens are those the server reports, or the client's count of the text where it reports none.",
    "The file names neither GPUs nor parallelism nor the engine's version: state them before comparing.",
)


def detect(document: Document) -> bool:
    """A result names its model, its prompts and its throughput."""
    return {"model_id", "num_prompts", "request_throughput"} <= document.first.keys()


def parse(document: Document) -> Imported:
    """One point a run."""
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
    load = rate_or_concurrency(fields)
    detail = _detail(fields)
    completed, failed = fields.whole("completed"), fields.whole("failed")
    backend = fields.text("backend", "endpoint_type")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        when=moment(fields.values.get("date")),
        model=fields.text("model_id"),
        engine=engine_of(backend),
        tp=fields.count("tensor_parallel_size"),
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
        output_tokens_per_s=fields.number("output_throughput"),
        total_tokens_per_s=fields.number("total_token_throughput"),
        notes=load.notes + _notes(fields, backend),
    )


def _per_request(total: float | None, completed: int | None) -> float | None:
    return None if total is None or not completed else total / completed


def _summary(fields: Fields, metric: str, detail: LatencyStats) -> LatencyStats:
    """The summary, its gaps filled from the detail: ``--metric-percentiles`` decides what is in the file."""

    def pick(key: str, other: str, computed: float | None) -> float | None:
        stated = fields.number(f"{key}_{metric}_ms", f"{other}_{metric}_ms")
        if stated is None:  # results that were written anew leave the unit out: seconds, as in the arrays
            stated = fields.number(f"{key}_{metric}", f"{other}_{metric}", scale=MS_PER_S)
        return computed if stated is None else stated

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
    if fields.text("ramp_up_strategy"):
        notes.append("the rate was ramped up during the run: one rate does not describe it")
    if engine_of(backend):
        notes.append(f"the engine is taken from the client's backend “{backend}”")
    return tuple(notes)
