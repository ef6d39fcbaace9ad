"""The state of an observation and what causes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import HistogramQuantiles
from collectors.reading.engine_values import FULL_KV, queue_persists
from collectors.reading.layout import ReplicaLayout
from collectors.reading.lost_replicas import Lost
from collectors.reading.observation import State
from collectors.reading.remarks import Names, Remark, RemarkKind, remark

SATURATED_SHARE = 0.5
"""Share of the minutes of a window from which all of it counts as saturated. Chosen: with fewer, most can be judged."""
GROWTH_FROM_PER_S = 0.01
"""Growth of a queue from which it is worth a word. Chosen: a request in 100 s."""
QUEUE_SHARE = 0.5
"""Mean time in the queue from which it counts as saturation, as a share of the mean TTFT. Chosen: a queue that takes
longer than the prefill."""
LONG_QUEUE_MS = 100.0
"""The mean time in the queue from which it does, in ms. Chosen: long enough to be felt."""
FEW_REQUESTS = 20
"""Below this many requests in the window, shares and quantiles say little."""

CORE = {
    "running": "running requests",
    "waiting": "waiting requests",
    "finished": "finished requests",
    "kv_usage": "use of the KV cache",
    "generation_tokens": "output tokens",
}
"""What every engine that exposes anything should expose, and what it is called; without one the picture is partial."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The state of an observation, with the remarks that caused it."""

    state: State
    causes: tuple[Remark, ...]


def verdict(
    *,
    numbers: Mapping[str, float | None],
    distributions: Mapping[str, HistogramQuantiles],
    vectors: Vectors,
    layout: ReplicaLayout,
    core_missing: Sequence[str],
    lost: Lost,
) -> Verdict:
    """Saturated before partial before ok; the causes of all are kept."""
    full = saturation(numbers, distributions, vectors)
    gaps = incompleteness(vectors, layout, core_missing, lost)
    state = State.SATURATED if full else State.PARTIAL if gaps else State.OK
    return Verdict(state=state, causes=(*full, *gaps))


def saturation(
    numbers: Mapping[str, float | None], distributions: Mapping[str, HistogramQuantiles], vectors: Vectors
) -> list[Remark]:
    """Signs that more is asked than can be served."""
    causes = []
    waiting, growth = numbers["waiting"], numbers["waiting_growth_per_s"]
    if queue_persists(vectors) and waiting is not None:
        if growth is not None and growth > GROWTH_FROM_PER_S:
            causes.append(remark(RemarkKind.QUEUE_PERSISTS_AND_GROWS, waiting=waiting, growth_per_s=growth))
        else:
            causes.append(remark(RemarkKind.QUEUE_PERSISTS, waiting=waiting))
    queue, ttft = distributions["queue_ms"], distributions["ttft_ms"]
    if queue.mean is not None and ttft.mean and (queue.count or 0) >= FEW_REQUESTS:
        share = min(1.0, queue.mean / ttft.mean)
        if share >= QUEUE_SHARE and queue.mean >= LONG_QUEUE_MS:
            causes.append(remark(RemarkKind.LONG_QUEUE, queue_ms=queue.mean, share=share))
    preempted, kv, ratio = numbers["preemptions_per_s"], numbers["kv_usage_max"], numbers["saturated_ratio"]
    if preempted and kv is not None and kv >= FULL_KV and (ratio is None or ratio >= SATURATED_SHARE):
        causes.append(remark(RemarkKind.KV_FULL, kv_usage=kv, preemptions_per_s=preempted))
    return causes


def incompleteness(vectors: Vectors, layout: ReplicaLayout, core_missing: Sequence[str], lost: Lost) -> list[Remark]:
    """Signs that part of the deployment or of the answer is not in the numbers."""
    causes = [lost.dead] if lost.dead is not None else []
    if vectors.notes.partial:
        warning = f": {vectors.notes.warnings[0]}".removesuffix(".") if vectors.notes.warnings else ""
        causes.append(remark(RemarkKind.PARTIAL_ANSWER, warning=warning))
    if vectors.failures:
        causes.append(remark(RemarkKind.QUERIES_FAILED, error=vectors.failures[0]))
    rejected = sorted({subject.name for subject in vectors.problems})
    if rejected:
        causes.append(remark(RemarkKind.QUERIES_REJECTED, quantities=Names(rejected, most=5)))
    if layout.lost:
        causes.append(remark(RemarkKind.REPLICAS_LOST, replicas=_named(layout.lost)))
    missing_targets = [name for name in lost.down if name not in layout.lost]
    if missing_targets:
        causes.append(remark(RemarkKind.TARGETS_DOWN, targets=_named(missing_targets)))
    if core_missing:
        causes.append(remark(RemarkKind.CORE_MISSING, quantities=Names(core_missing)))
    return causes


def _named(names: Sequence[str]) -> Names:
    return Names(names, most=3, counted=True)
