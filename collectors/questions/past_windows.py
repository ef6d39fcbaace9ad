"""The windows before now, each as long: load, lengths and mean latencies, and whether replicas came or went in it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collectors.prometheus.promql import duration, step_for
from collectors.queries.query import of_source
from collectors.questions.asking import Asking, by_moment
from collectors.questions.history import history
from collectors.reading.topology import presence
from collectors.source import Source
from collectors.units import S_PER_DAY

PAST_WINDOWS = 8
"""Windows before now whose load and latencies are read. Chosen: more say hardly more about two factors."""
PARTS_OF_A_WINDOW, COVERED = 30, 0.95
"""Moments of a past window at which replicas are counted, and the share of them that must have data."""
CONCEPTS = (
    *("arrivals", "first_tokens", "prompt_tokens", "generation_tokens", "prefix_hit", "waiting"),
    *("ttft", "tpot", "itl", "e2e"),
)


@dataclass(frozen=True, kw_only=True)
class PastWindow:
    """One window of the past: means of latencies in ms, requests and tokens a second; None where not recorded.
    ``single_gaps``: whether the gap is the mean of all single ones, where the engine has none of each request."""

    start_s: float
    end_s: float
    rps: float | None = None
    prompt_tokens_per_s: float | None = None
    generation_tokens_per_s: float | None = None
    prefix_hit_ratio: float | None = None
    ttft_ms: float | None = None
    gap_ms: float | None = None
    single_gaps: bool = False
    e2e_ms: float | None = None
    waiting: float | None = None
    replicas: float | None = None
    steady: bool = True


def past_windows(asking: Asking, source: Source, *, clock: Callable[[], float]) -> tuple[PastWindow, ...]:
    """The window now and those before it, each as long, oldest first; none of windows of more than a day."""
    window = asking.scope.window_s
    if window > S_PER_DAY:
        return ()
    step = step_for(PAST_WINDOWS * window, interval_s=window, points=PAST_WINDOWS + 1)
    start_s = asking.at_s - step * (PAST_WINDOWS - 1)
    lines = history(
        asking.backend,
        source,
        start_s=start_s,
        end_s=asking.at_s,
        concepts=CONCEPTS,
        points=PAST_WINDOWS + 1,
        clock=clock,
    )
    live = _live_before(asking, start_s, lines.step_s) if lines.times_s else {}
    return tuple(_past_window(i, end, lines.step_s, lines.lines, live) for i, end in enumerate(lines.times_s))


def _live_before(asking: Asking, start_s: float, step_s: float) -> Mapping[float, tuple[float, float]]:
    """Fewest and most replicas with data in the step that ends at each moment; a step without data in some of it
    has none at the fewest."""
    series = presence(asking.topology.choices, asking.scope)
    if series is None or not asking.by:
        return {}
    counted = f"count(count by ({', '.join(asking.by)}) ({series}))"
    inner = max(asking.interval_s, step_s / PARTS_OF_A_WINDOW)
    queries = [
        of_source(f"d_{part}", f"{part}_over_time({counted}[{duration(step_s)}:{duration(inner)}])")
        for part in ("min", "max", "count")
    ]
    answer = asking.ranges(queries, start_s, step_s)
    least, most, number = (by_moment(answer, query) for query in queries)
    whole = COVERED * step_s / inner
    return {t: (least[t] if number.get(t, 0.0) >= whole else 0.0, most[t]) for t in least.keys() & most.keys()}


def _past_window(
    i: int,
    end_s: float,
    step_s: float,
    lines: Mapping[str, tuple[float, ...]],
    live: Mapping[float, tuple[float, float]],
) -> PastWindow:
    def at(*names: str) -> float | None:
        for name in names:
            if name in lines and math.isfinite(lines[name][i]):
                return lines[name][i]
        return None

    least, most = live.get(round(end_s, 3), (math.nan, math.nan))
    return PastWindow(
        start_s=end_s - step_s,
        end_s=end_s,
        rps=at("arrivals_rps"),
        prompt_tokens_per_s=at("prompt_tokens_per_s"),
        generation_tokens_per_s=at("generation_tokens_per_s"),
        prefix_hit_ratio=at("prefix_hit_ratio"),
        ttft_ms=at("ttft_ms.mean"),
        gap_ms=at("tpot_ms.mean", "itl_ms.mean"),
        single_gaps=at("tpot_ms.mean") is None,
        e2e_ms=at("e2e_ms.mean"),
        waiting=at("waiting"),
        replicas=most if math.isfinite(most) else None,
        steady=least == most,
    )
