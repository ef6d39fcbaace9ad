"""AIPerf profile_export.jsonl: one line per request, aggregated here to the one point of the run.

Read from a real export of AIPerf 0.13. Tokens are the server's (``usage_*``) where a line has them, so TPOT needs no
conversion: (E2E - TTFT) / (OSL - 1). Warm-up requests are left out; a broken line is an error and leaves the rest.
"""

from dataclasses import dataclass, field

import numpy as np

from collectors.benchmarks.documents import Document
from collectors.benchmarks.fields import Fields, Floats, sample_stats
from collectors.benchmarks.nvidia_metrics import IN_MS
from collectors.benchmarks.records import BenchmarkRun, Imported, RowError
from collectors.benchmarks.rows import moment, read_rows
from collectors.benchmarks.tools import aiperf
from collectors.benchmarks.tools.aiperf import load_of_path
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown

FORMAT = aiperf.FORMAT
FILE = ""  # named with the JSON of the run
PRIORITY = 60  # the lowest is asked first: see reader.Tool
ENGINE = None
NOTES = (
    "TPOT is (E2E - TTFT) / (OSL - 1) per request; ITL is the gap between two chunks of an answer.",
    "The lines state neither model nor load: profile_export_aiperf.json beside them states both.",
)
NS = 1e-9  # seconds
LATEST_NS = 4e18
"""Unix nanoseconds of the year 2096."""


@dataclass(frozen=True, kw_only=True)
class _Request:
    """One request, times in ms and start and end in Unix seconds."""

    start_s: float
    end_s: float
    e2e_ms: float
    ttft_ms: float | None
    sent: float | None
    generated: float | None
    gaps_ms: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def tpot_ms(self) -> float | None:
        if self.ttft_ms is None or self.generated is None or self.generated <= 1:
            return None
        return max(self.e2e_ms - self.ttft_ms, 0.0) / (self.generated - 1)


def detect(document: Document) -> bool:
    """Lines with metadata of the request and its metrics."""
    first = document.first
    metadata = first.get("metadata")
    return isinstance(metadata, dict) and "request_start_ns" in metadata and ("metrics" in first or "error" in first)


def parse(document: Document) -> Imported:
    """The one point of the run."""
    requests: list[_Request] = []
    errors = list(document.errors)
    failed = cut_off = 0
    for row, value in document.rows:
        try:
            if not isinstance(value, dict):
                raise BadRow("not a JSON object")
            fields = Fields(values=value)
            metadata = fields.child("metadata")
            if metadata.text("benchmark_phase") not in (None, "profiling"):
                continue
            if fields.has("error"):
                failed += 1
            elif metadata.values.get("was_cancelled") is True:
                cut_off += 1
            else:
                requests.append(_request(metadata, fields.child("metrics")))
        except BadRow as error:
            errors.append(RowError(file=document.name, row=row, message=str(error)))

    def read(file: str, row: int, fields: Fields) -> BenchmarkRun:
        return _point(file, row, requests, failed, cut_off)

    return read_rows(document.name, FORMAT, [(1, {})], read, notes=NOTES, errors=tuple(errors))


def _request(metadata: Fields, metrics: Fields) -> _Request:
    start, end = _nanoseconds(metadata, "request_start_ns"), _nanoseconds(metadata, "request_end_ns")
    e2e = _ms(metrics, "request_latency")
    return _Request(
        start_s=start * NS,
        end_s=end * NS,
        e2e_ms=(end - start) * 1e-6 if e2e is None else e2e,
        ttft_ms=_ms(metrics, "time_to_first_token"),
        sent=_value(metrics, "usage_prompt_tokens", "input_sequence_length"),
        generated=_value(metrics, "usage_completion_tokens", "output_sequence_length"),
        gaps_ms=_gaps(metrics.child("inter_chunk_latency")),
    )


def _nanoseconds(metadata: Fields, key: str) -> float:
    value = metadata.values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST_NS:
        raise BadRow(f"{metadata.path}{key} is not a time in nanoseconds")
    return float(value)


def _value(metrics: Fields, *names: str) -> float | None:
    return next((value for name in names if (value := metrics.child(name).number("value")) is not None), None)


def _scale(metric: Fields) -> float:
    unit = metric.text("unit") or ""
    if unit not in IN_MS:
        raise BadRow(f"{metric.path}unit is not a unit of time: “{shown(unit, 20)}”")
    return IN_MS[unit]


def _ms(metrics: Fields, name: str) -> float | None:
    metric = metrics.child(name)
    return metric.number("value", scale=_scale(metric)) if metric.has("value") else None


def _gaps(metric: Fields) -> Floats:
    values = metric.series("value")
    return np.empty(0) if values is None else values * _scale(metric)


def _point(file: str, row: int, requests: list[_Request], failed: int, cut_off: int) -> BenchmarkRun:
    if not requests:
        raise BadRow("no request was completed")
    start, end = min(r.start_s for r in requests), max(r.end_s for r in requests)
    duration = end - start
    if duration <= 0:
        raise BadRow("the requests take no time")
    sent, generated = _known([r.sent for r in requests]), _known([r.generated for r in requests])
    e2e = np.array([r.e2e_ms for r in requests])
    load = load_of_path(file)
    whole = sent.size == generated.size == len(requests)
    return BenchmarkRun(
        file=file,
        row=row,
        tool=FORMAT,
        when=moment(start),
        mode=load.mode,
        concurrency=load.concurrency,
        request_rate_rps=load.rate_rps,
        concurrency_mean=float(e2e.sum()) / MS_PER_S / duration,
        isl_mean=float(sent.mean()) if sent.size else None,
        osl_mean=float(generated.mean()) if generated.size else None,
        duration_s=duration,
        requests_completed=len(requests),
        requests_failed=failed,
        requests_cut_off=cut_off,
        ttft_ms=sample_stats(_known([r.ttft_ms for r in requests])),
        tpot_ms=sample_stats(_known([r.tpot_ms for r in requests])),
        itl_ms=sample_stats(np.concatenate([r.gaps_ms for r in requests])),
        e2e_ms=sample_stats(e2e),
        requests_per_s=len(requests) / duration,
        output_tokens_per_s=float(generated.sum()) / duration if whole else None,
        total_tokens_per_s=float(sent.sum() + generated.sum()) / duration if whole else None,
    )


def _known(values: list[float | None]) -> Floats:
    return np.array([value for value in values if value is not None])
