"""inference-perf (Kubernetes): stage_N_lifecycle_metrics.json and summary_lifecycle_metrics.json.

Read from real files of a public run on H100 (KubeCon NA 2025); closed-loop stages (``load_summary.concurrency``) and
``output_tokens`` follow the public source of 2026 and are unverified against a real file. All times in seconds. The
*_prometheus_metrics.json beside them contradict the client (other request counts and lengths) and are refused.
"""

from pathlib import PurePosixPath

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats, median_or_key, quotient
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import BenchmarkLoad, goodput_note, read_objects
from collectors.errors import NotAResultFile
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "inference-perf"
FILE = "`stage_N_lifecycle_metrics.json`, all stages at once"
PRIORITY = 80  # the lowest is asked first: see reader.Tool
ENGINE = None

NOTES = (
    "TPOT is the mean per request, ITL the gap between two tokens as they arrive: within a chunk it is zero, "
    "and the median can be far below the time per token.",
    "Lengths are counted by the client.",
    "The file names neither model nor engine nor GPUs: state them before comparing.",
)
SUMMARY_NOTE = "mixes the requests of all stages, and so of all rates: import the stages instead"
LATE_S = 1.0
"""Mean delay of sending from which the load was not the one asked for. Chosen: a second."""
RATE_TOLERANCE = 0.05
"""Share by which the rate sent may differ from the one asked for. Chosen: five percent."""


def detect(document: Document) -> bool:
    """Load, successes and failures side by side."""
    return document.is_object and {"load_summary", "successes"} <= document.first.keys()


def parse(document: Document) -> Imported:
    """The one point of the stage. Raises NotAResultFile for the server's own metrics."""
    successes = document.first.get("successes")
    if isinstance(successes, dict) and "latency" not in successes:
        raise NotAResultFile(
            f"{document.name} holds what Prometheus saw, which inference-perf aggregates unreliably: import the "
            "*_lifecycle_metrics.json beside it."
        )
    return read_objects(document, FORMAT, _point, notes=NOTES)


def _point(file: str, row: int, fields: Fields) -> BenchmarkRun:
    offered, successes = fields.child("load_summary"), fields.child("successes")
    latency, throughput = successes.child("latency"), successes.child("throughput")
    load = _load(offered, stage="stage" in PurePosixPath(file).name)
    completed, rate = successes.whole("count"), throughput.number("requests_per_sec")
    duration = fields.number("benchmark_time_seconds")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        prefix_cached_tokens=quotient(successes.child("prompt_tokens").number("cached"), completed),
        isl_mean=successes.child("prompt_tokens").number("mean") or successes.child("prompt_len").number("mean"),
        osl_mean=successes.child("output_tokens").number("mean") or successes.child("output_len").number("mean"),
        duration_s=duration or quotient(completed, rate),
        requests_completed=completed,
        requests_failed=fields.child("failures").whole("count"),
        ttft_ms=_stats(latency, "time_to_first_token"),
        tpot_ms=_stats(latency, "time_per_output_token"),
        itl_ms=_stats(latency, "inter_token_latency"),
        e2e_ms=_stats(latency, "request_latency"),
        requests_per_s=rate,
        output_tokens_per_s=throughput.number("output_tokens_per_sec"),
        total_tokens_per_s=throughput.number("total_tokens_per_sec"),
        notes=load.notes + _late(offered) + goodput_note(successes.child("goodput_metrics").number("request_goodput")),
    )


def _load(offered: Fields, *, stage: bool) -> BenchmarkLoad:
    """A stage keeps a rate or a concurrency; the summary over all stages neither."""
    concurrency = offered.number("concurrency")
    if concurrency:
        return BenchmarkLoad(mode="fixed_concurrency", concurrency=concurrency)
    requested, sent = offered.number("requested_rate"), offered.number("achieved_rate")
    if not requested:
        return BenchmarkLoad(notes=() if stage else (SUMMARY_NOTE,))  # 0.1 leaves the rate of a stage out
    notes: tuple[str, ...] = ()
    if sent is not None and abs(sent / requested - 1) > RATE_TOLERANCE:
        notes = (f"{sent:.4g} requests/s were sent where {requested:.4g} were asked",)
    return BenchmarkLoad(mode="fixed_rate", rate_rps=requested, notes=notes)


def _late(offered: Fields) -> tuple[str, ...]:
    """A client that sends late offers another load than asked."""
    # Requests may be sent a little early: the mean is then negative, which is no fault.
    mean = offered.child("schedule_delay").values.get("mean")
    if isinstance(mean, float) and mean > LATE_S:
        return (f"the client sent requests {mean:.1f} s late on average: it could not keep up with the rate",)
    return ()


def _stats(latency: Fields, name: str) -> LatencyStats:
    block = latency.child(name)
    mean = block.number("mean", scale=MS_PER_S)

    def at(percent: float) -> float | None:  # the median was called p50 in 0.1
        return block.number(median_or_key(percent), key_of(percent), scale=MS_PER_S)

    return latency_stats(name, mean=mean, at=at)
