"""How many requests were beyond a limit: over the windows of burn-rate alerts, and in steps over the last day."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collectors.prometheus.histograms import HistogramQuantiles
from collectors.prometheus.promql import duration, quoted, regex_quoted, step_for
from collectors.queries.query import Query, of_source
from collectors.questions.asking import Asking, by_moment
from collectors.reading.topology import MIN_SCRAPES
from collectors.units import MS_PER_S, S_PER_DAY
from collectors.vocabulary.burn_rates import WINDOWS
from collectors.vocabulary.expressions import selected
from collectors.vocabulary.schema import MetricCandidate

LOOK_BACK_S = S_PER_DAY
"""How far back the beginning of a broken limit is looked for."""
STEPS_BACK = 288
"""Points over that time: five minutes of a day."""
CONCEPTS = {"ttft_ms": ("ttft",), "tpot_ms": ("tpot",), "e2e_ms": ("e2e",), "queue_ms": ("queue",)}
"""What measures a latency, best first."""
SAME_EDGE = 1e-9
"""Relative difference up to which a limit is at the end of a bucket: rounding."""


@dataclass(frozen=True, kw_only=True)
class OverLimit:
    """Share of requests beyond a limit: by window, judged where its bucket ends, and in steps over the last day.

    ``by_window``: window as PromQL writes it -> (share, requests). ``low_ms`` and ``edge_ms``: the bucket of the limit;
    ``shares`` beyond its end and ``inside`` it, at each of ``times_s``.
    """

    low_ms: float
    edge_ms: float
    by_window: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    times_s: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    inside: tuple[float, ...] = ()
    requests: tuple[float, ...] = ()
    step_s: float = 0.0


def bucket_of(distribution: HistogramQuantiles, limit_ms: float) -> tuple[float, float] | None:
    """The bucket that ends at a limit, or in which it lies, in ms; None without one that reaches it."""
    near = [b for b in distribution.buckets if b.high >= limit_ms * (1.0 - SAME_EDGE) and math.isfinite(b.high)]
    first = min(near, key=lambda b: b.high, default=None)
    return None if first is None else (first.low, first.high)


def over_limits(asking: Asking, buckets_ms: Mapping[str, tuple[float, float]]) -> Mapping[str, OverLimit]:
    """Each limit over the windows of the alerts, and in steps over the last day."""
    step = step_for(LOOK_BACK_S, interval_s=MIN_SCRAPES * asking.interval_s, points=STEPS_BACK + 1)
    questions: list[Query] = []
    lines: dict[str, list[Query]] = {}
    for key, (low, high) in buckets_ms.items():
        histogram = asking.candidate(*CONCEPTS[key])
        if histogram is None or not histogram.histogram:
            continue
        below, within = (_up_to(asking, histogram, edge) for edge in (low, high))
        all_of = selected(histogram, f"{histogram.histogram}_count", asking.scope)
        for window in WINDOWS:
            for part, series in (("in", within), ("all", all_of)):
                questions.append(of_source(f"d_{key}_{window}_{part}", f"sum(increase({series}[{window}]))"))
        lines[key] = [
            of_source(f"d_{key}_{part}", f"sum(increase({series}[{duration(step)}]))")
            for part, series in (("below", below), ("in", within), ("all", all_of))
        ]
    if not questions:
        return {}
    now = {name: pairs[0][1] for name, pairs in asking.vectors(questions).items() if pairs}
    then = asking.ranges([line for each in lines.values() for line in each], asking.at_s - LOOK_BACK_S, step)
    return {
        key: _over(buckets_ms[key], key, now, [by_moment(then, line) for line in each], step)
        for key, each in lines.items()
    }


def _up_to(asking: Asking, histogram: MetricCandidate, edge_ms: float) -> str:
    """Series of the bucket that ends at the edge, as exporters may write its number."""
    edge = edge_ms / MS_PER_S / histogram.scale
    texts = dict.fromkeys(regex_quoted(text) for text in (repr(edge), f"{edge:g}", f"{edge:.10g}"))
    extra = f"le=~{quoted('|'.join(texts))}"
    where = asking.scope.fill(histogram.where)
    name = asking.scope.respell(f"{histogram.histogram}_bucket")
    inside = asking.scope.selection(model=histogram.beside is None, extra=f"{extra},{where}" if where else extra)
    return f"{name}{{{inside}}}"


def _over(
    bucket_ms: tuple[float, float], key: str, now: Mapping[str, float], lines: Sequence[dict[float, float]], step: float
) -> OverLimit:
    below, within, every = lines
    by_window = {
        window: (max(1.0 - now.get(f"d_{key}_{window}_in", 0.0) / total, 0.0), total)
        for window in WINDOWS
        if (total := now.get(f"d_{key}_{window}_all", 0.0)) > 0
    }
    moments = sorted(t for t in every if every[t] > 0)
    return OverLimit(
        low_ms=bucket_ms[0],
        edge_ms=bucket_ms[1],
        by_window=by_window,
        times_s=tuple(moments),
        shares=tuple(max(1.0 - within.get(t, 0.0) / every[t], 0.0) for t in moments),
        inside=tuple(max(within.get(t, 0.0) - below.get(t, 0.0), 0.0) / every[t] for t in moments),
        requests=tuple(every[t] for t in moments),
        step_s=step,
    )
