"""GuideLLM JSON and YAML: a report with one benchmark per load of the sweep.

Read from a real report of GuideLLM 0.8; versions 0.2 to 0.7 follow their public schema and are unverified against a
real file: there the strategy stands under ``args`` (0.2, 0.3) or ``scheduler`` (0.4), and the counts stand beside the
metrics. E2E is in seconds, everything else in milliseconds.
"""

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, latency_stats
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats
from collectors.benchmarks.rows import EVEN_NOTE, BenchmarkLoad, moment, read_rows
from collectors.errors import BadRow, BenchmarkFileError
from collectors.format import percent
from collectors.units import MS_PER_S
from commandline.percentiles import key_of

FORMAT = "GuideLLM"
FILE = "`benchmarks.json`, `.yaml` or `.csv`"
PRIORITY = 30  # the lowest is asked first: see reader.Tool
ENGINE = None
MAX_BENCHMARKS = 1_000
"""Loads of one sweep; a YAML file can repeat one benchmark a million times in a few bytes each."""

NOTES = (
    "GuideLLM's “inter token latency” is (E2E - TTFT) / (OSL - 1) per request, weighted by tokens: it is read as TPOT. "
    "Its “time per output token” divides the whole E2E by all tokens, first one included, and is left out.",
    "Only successful requests are read; requests cut off at the end of the run are counted, their latencies are not.",
    "By default the chat endpoint is used: the chat template adds tokens to what was asked for.",
)


def detect(document: Document) -> bool:
    """A report is an object with benchmarks that hold metrics."""
    benchmarks = document.first.get("benchmarks")
    if not document.is_object or not isinstance(benchmarks, list):
        return False
    first = next((item for item in benchmarks if isinstance(item, dict)), {})
    metadata = document.first.get("metadata")
    return "metrics" in first or (isinstance(metadata, dict) and "guidellm_version" in metadata)


def parse(document: Document) -> Imported:
    """One point per benchmark of the report. Raises BenchmarkFileError when there is none."""
    report = Fields(values=document.first)
    try:
        version = report.child("metadata").text("guidellm_version")
        model = report.child("args").text("model")
    except BadRow as error:
        raise BenchmarkFileError(f"{document.name} is not a report of GuideLLM: {error}.") from None
    benchmarks = report.items("benchmarks")
    if not benchmarks:
        raise BenchmarkFileError(f"{document.name} is a report of GuideLLM without benchmarks.")
    if len(benchmarks) > MAX_BENCHMARKS:
        raise BenchmarkFileError(f"{document.name} holds more than {MAX_BENCHMARKS:,} benchmarks.")

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        return _point(file, row, fields, version, model)

    return read_rows(document.name, FORMAT, enumerate(benchmarks, 1), read, notes=NOTES)


def _point(file: str, row: int, fields: Fields, version: str | None, model: str | None) -> BenchmarkRun:
    config = fields.child("config")
    load = strategy_load(_strategy(fields, config))
    metrics = fields.child("metrics")
    counts = metrics.child("request_totals") if metrics.has("request_totals") else fields.child("request_totals")
    start, end = fields.number("start_time"), fields.number("end_time")
    duration = fields.number("duration")
    if duration is None and start is not None and end is not None and end > start:
        duration = end - start
    cut_off = counts.whole("incomplete")
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        tool_version=version,
        when=moment(start),
        model=_model(fields, config) or model,
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=_mean(metrics, "request_concurrency"),
        isl_mean=_mean(metrics, "prompt_token_count"),
        osl_mean=_mean(metrics, "output_token_count"),
        duration_s=duration,
        requests_completed=counts.whole("successful"),
        requests_failed=counts.whole("errored"),
        requests_cut_off=cut_off,
        ttft_ms=_stats(metrics, "time_to_first_token_ms"),
        tpot_ms=_stats(metrics, "inter_token_latency_ms"),
        e2e_ms=_stats(metrics, "request_latency", scale=MS_PER_S),
        requests_per_s=_mean(metrics, "requests_per_second"),
        output_tokens_per_s=_mean(metrics, "output_tokens_per_second"),
        total_tokens_per_s=_mean(metrics, "tokens_per_second"),
        notes=load.notes + cut_off_note(counts.whole("successful"), cut_off),
    )


def _strategy(fields: Fields, config: Fields) -> Fields:
    """Where the version at hand keeps the strategy."""
    for parent in (config, fields.child("scheduler"), fields.child("args")):
        if parent.has("strategy"):
            return parent.child("strategy")
    return Fields()


def strategy_load(strategy: Fields) -> BenchmarkLoad:
    """Synchronous is a concurrency of one; throughput sends everything; constant, poisson and async keep a rate."""
    kind = strategy.text("type_", "type")
    if kind == "synchronous":
        return BenchmarkLoad(mode="fixed_concurrency", concurrency=1.0)
    if kind == "concurrent":
        return BenchmarkLoad(
            mode="fixed_concurrency", concurrency=strategy.number("streams", "max_concurrency", "rate")
        )
    if kind == "throughput":
        cap = strategy.number("max_concurrency")
        note = (f"at most {cap:g} requests were in flight",) if cap else ()
        return BenchmarkLoad(mode="offline", concurrency=cap, notes=note)
    if kind in ("constant", "poisson", "async"):
        note = () if kind == "poisson" else (EVEN_NOTE,)
        return BenchmarkLoad(mode="fixed_rate", rate_rps=strategy.number("rate"), notes=note)
    return BenchmarkLoad(notes=(f"unknown strategy “{kind}”",) if kind else ())


def cut_off_note(completed: int | None, cut_off: int | None) -> tuple[str, ...]:
    """Long requests are the ones that get cut off, so the rest looks faster than it was."""
    if not cut_off or not completed:
        return ()
    share = cut_off / (cut_off + completed)
    return (f"{cut_off} requests ({percent(share)}) were cut off at the end: the latencies lean to the short ones",)


def _model(fields: Fields, config: Fields) -> str | None:
    backend = config.child("backend") if config.has("backend") else fields.child("benchmarker").child("backend")
    return backend.text("model") or fields.child("worker").text("backend_model")


def _mean(metrics: Fields, name: str) -> float | None:
    return metrics.child(name).child("successful").number("mean")


def _stats(metrics: Fields, name: str, *, scale: float = 1.0) -> LatencyStats:
    summary = metrics.child(name).child("successful")
    percentiles = summary.child("percentiles")

    def at(percent: float) -> float | None:
        stated = percentiles.number(key_of(percent), scale=scale)
        return summary.number("median", scale=scale) if stated is None and percent == 50.0 else stated

    return latency_stats(name, mean=summary.number("mean", scale=scale), at=at)
