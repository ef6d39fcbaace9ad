"""The state of an observation with its reasons, one sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import Distribution
from collectors.reading.engine_values import queue_persists
from collectors.reading.layout import Layout
from collectors.reading.observation import State

FULL_KV = 0.95
QUEUE_SHARE = 0.5
LONG_QUEUE_MS = 100.0
FEW_REQUESTS = 20
"""Below this many requests in the window, shares and quantiles say little."""

PARTIAL_ANSWER = "The server marks its answer as partial"
"""Begins the reason when sums may lack whole series: unlike a replica that is down, that is seen in no count."""

CORE = ("running", "waiting", "finished", "kv_usage", "generation_tokens")
"""What every engine that exposes anything should expose; without one of them the picture is partial."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """State and reasons."""

    state: State
    reasons: tuple[str, ...]


def verdict(
    *,
    numbers: Mapping[str, float | None],
    distributions: Mapping[str, Distribution],
    vectors: Vectors,
    layout: Layout,
    core_missing: Sequence[str],
    down: Sequence[str],
) -> Verdict:
    """Saturated before partial before ok; the reasons of all are kept."""
    full = saturation(numbers, distributions, vectors)
    gaps = incompleteness(vectors, layout, core_missing, down)
    state = State.SATURATED if full else State.PARTIAL if gaps else State.OK
    return Verdict(state=state, reasons=(*full, *gaps))


def saturation(
    numbers: Mapping[str, float | None], distributions: Mapping[str, Distribution], vectors: Vectors
) -> tuple[str, ...]:
    """Signs that more is asked than can be served."""
    reasons = []
    waiting, growth = numbers["waiting"], numbers["waiting_growth_per_s"]
    if queue_persists(vectors) and waiting is not None:
        grows = f", growing by {growth:.2g} requests/s" if growth is not None and growth > 0.01 else ""
        reasons.append(f"The queue never emptied: {waiting:.3g} requests wait on average{grows}.")
    preempted, kv = numbers["preemptions_per_s"], numbers["kv_usage_max"]
    if preempted and kv is not None and kv >= FULL_KV:
        reasons.append(f"The KV cache is full ({kv:.0%}) and requests are preempted ({preempted:.2g}/s).")
    queue, ttft = distributions["queue_ms"], distributions["ttft_ms"]
    if queue.mean is not None and ttft.mean and (queue.count or 0) >= FEW_REQUESTS:
        share = min(1.0, queue.mean / ttft.mean)
        if share >= QUEUE_SHARE and queue.mean >= LONG_QUEUE_MS:
            reasons.append(f"Waiting in the queue, {queue.mean:.0f} ms on average, is {share:.0%} of the mean TTFT.")
    return tuple(reasons)


def incompleteness(
    vectors: Vectors, layout: Layout, core_missing: Sequence[str], down: Sequence[str]
) -> tuple[str, ...]:
    """Signs that part of the deployment or of the answer is not in the numbers."""
    reasons = []
    if vectors.notes.partial:
        said = f": {vectors.notes.warnings[0]}" if vectors.notes.warnings else ""
        reasons.append(f"{PARTIAL_ANSWER}{said}.".replace("..", "."))
    failed = [text for key, text in vectors.problems.items() if key.startswith("query ")]
    if failed:
        reasons.append(f"Some queries failed: {failed[0]}")
    rejected = sorted({key.split(".")[0] for key in vectors.problems if not key.startswith("query ")})
    if rejected:
        reasons.append(f"The server rejects the query of {', '.join(rejected[:5])}.")
    if layout.lost:
        reasons.append(f"{_named(layout.lost)} stopped reporting within the window.")
    missing_targets = [name for name in down if name not in layout.lost]
    if missing_targets:
        reasons.append(f"{_named(missing_targets)} of the same scrape job is down.")
    if core_missing:
        reasons.append(f"No data for {', '.join(core_missing)}.")
    return tuple(reasons)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
