"""What an imported benchmark is, whatever tool measured it.

A row that cannot be used is not an exception but a RowError beside the good rows.

Words, the same for every tool: *TTFT* time to first token; *TPOT* per-request mean time per output token after the
first, (E2E - TTFT) / (OSL - 1); *ITL* gap between two pieces of one answer as they arrive, over all requests; *E2E*
time from sending to the last token. Tools use "ITL" and "TPOT" for other things; each importer says what it takes for
which.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from commandline.percentiles import key_of

MeasuredMode = Literal["fixed_concurrency", "fixed_rate", "offline"]
"""Closed loop at a concurrency; open loop at a request rate; everything sent at once."""


@dataclass(frozen=True, kw_only=True)
class LatencyStats:
    """Mean and percentiles over the requests of one run, in milliseconds; None where the file does not say."""

    mean: float | None = None
    percentiles: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Percentiles that the file states, by their name ("p95")."""

    @property
    def stated(self) -> bool:
        """Whether the file states any of them."""
        return self.mean is not None or bool(self.percentiles)

    def at(self, percent: float) -> float | None:
        """One percentile; None where the file does not say."""
        return self.percentiles.get(key_of(percent))

    def named(self, statistic: str) -> float | None:
        """One statistic by its name: "mean" or that of a percentile."""
        return self.mean if statistic == "mean" else self.percentiles.get(statistic)


NOT_STATED = LatencyStats()


@dataclass(frozen=True, kw_only=True)
class BenchmarkedSystem:
    """What was measured, as far as whoever describes it says so; nothing is assumed."""

    model: str | None = None
    """As the file names it, often the served name rather than the Hugging Face id."""
    engine: str | None = None
    engine_version: str | None = None
    weight_precision: str | None = None
    kv_precision: str | None = None
    gpu: str | None = None
    gpus: int | None = None
    """GPUs of everything that served the load, all replicas together."""
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None


@dataclass(frozen=True, kw_only=True)
class BenchmarkRun(BenchmarkedSystem):
    """One run at one load. None means that the file does not say; nothing is assumed."""

    file: str
    row: int
    """Line of a CSV or JSON Lines file, place in a JSON list, 1 for a file with one result."""
    tool: str
    tool_version: str | None = None
    when: datetime | None = None
    """Start of the run, UTC; a local time without zone is taken as UTC."""

    mode: MeasuredMode | None = None
    concurrency: float | None = None
    """Requests kept in flight (fixed_concurrency), or the cap on them where a rate was asked."""
    request_rate_rps: float | None = None
    """Requests/s asked for (fixed_rate)."""
    concurrency_mean: float | None = None
    """Requests in flight on average, as measured."""
    isl_mean: float | None = None
    """Mean tokens sent per request."""
    osl_mean: float | None = None
    """Mean tokens generated per request."""
    osl_variation: float | None = None
    """Squared coefficient of variation of the tokens generated per request."""
    prefix_cached_tokens: float | None = None
    """Mean tokens per request that the prefix cache held."""

    duration_s: float | None = None
    requests_completed: int | None = None
    requests_failed: int | None = None
    requests_cut_off: int | None = None
    """Requests still running when the time was up."""
    ttft_ms: LatencyStats = NOT_STATED
    tpot_ms: LatencyStats = NOT_STATED
    itl_ms: LatencyStats = NOT_STATED
    e2e_ms: LatencyStats = NOT_STATED
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    """Input and output tokens together."""

    notes: tuple[str, ...] = ()
    """What is special about this run and has to be known when it is compared."""


@dataclass(frozen=True, kw_only=True)
class RowError:
    """Why one row was left out; ``row`` is None when it was the whole file."""

    file: str
    row: int | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What one file, or several, gave: the good rows, the bad ones, and what to know about the format."""

    points: tuple[BenchmarkRun, ...] = ()
    errors: tuple[RowError, ...] = ()
    format: str
    notes: tuple[str, ...] = ()
