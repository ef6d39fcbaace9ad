"""Numbers over time for charts: the same mapping as an observation, on a grid, gaps kept as NaN."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend
from collectors.backends.ttl import GRID_S
from collectors.prometheus.answers import Sample, Series
from collectors.prometheus.histograms import QUANTILES, buckets_of, quantile
from collectors.prometheus.promql import step_for
from collectors.reading.discovery import look_around
from collectors.reading.engine_values import DIRECT, expressions
from collectors.reading.gpu_sums import Plain, plain_expressions
from collectors.reading.gpus import gpu_expressions, gpu_scope
from collectors.reading.layout import LOOK_BACK_S
from collectors.reading.observation import DISTRIBUTIONS
from collectors.reading.topology import find_topology, steady
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine

POINTS = 240
DEFAULT = (
    "arrivals",
    "first_tokens",
    "finished",
    "prompt_tokens",
    "generation_tokens",
    "running",
    "waiting",
    "kv_usage",
    "preemptions",
    "prefix_hit",
    "ttft",
    "itl",
    "e2e",
)
GPU_DEFAULT = ("busy", "sm_active", "tensor_active", "dram_active", "power", "temperature")


@dataclass(frozen=True, kw_only=True)
class History:
    """Lines by name on one grid. A quantile is three lines: ``ttft_ms.p95`` with ``.p95_low`` and ``.p95_high``.

    ``since_s`` is where lines begin that are not read whole yet: every further question adds an older part.
    """

    times_s: tuple[float, ...]
    lines: Mapping[str, tuple[float, ...]]
    step_s: float
    since_s: float | None = None
    engine: str | None = None
    problems: tuple[str, ...] = ()


def history(
    backend: Backend,
    source: Source,
    *,
    start_s: float,
    end_s: float,
    concepts: Sequence[str] = DEFAULT,
    points: int = POINTS,
    clock: Callable[[], float] = time.time,
) -> History:
    """Lines from start to end with at most ``points`` points each. Raises SourceError."""
    look = look_around(backend, source, end_s, clock)
    engine = detect_engine(look.names, wanted=source.engine)
    if engine is None:
        return History(times_s=(), lines={}, step_s=0.0)
    topology = find_topology(backend, source, look, engine, min(source.window_s, LOOK_BACK_S))
    interval = steady(topology.layout.interval_s) or 15.0
    step = step_for(end_s - start_s, interval_s=interval, points=points)
    step = math.ceil(step / GRID_S) * GRID_S if look.fleet else step
    # A fleet's lines have the window of its observation, so that one answer serves both.
    least = topology.scope.window_s if look.fleet else 4 * interval
    scope = replace(topology.scope, window_s=max(step, least), step_s=interval)
    chosen = {key: choice for key, choice in topology.choices.items() if key in concepts}
    asked = {key: text for key, text in expressions(chosen, scope).items() if not key.endswith(("_min", "_growth"))}
    exact: dict[str, str] = {}
    plain: dict[str, Plain] = {}
    if topology.gpus.vocabulary is not None:
        narrow = gpu_scope(topology.gpus, scope if look.fleet else replace(scope, window_s=scope.window_s * points))
        narrow = replace(narrow, window_s=min(scope.window_s, narrow.window_s))
        of_gpus = gpu_expressions(topology.gpus.vocabulary, narrow, sign=topology.gpus.sign)
        exact = {key: text for key, text in of_gpus.items() if key.split(".")[0] in GPU_DEFAULT}
        plain = plain_expressions(exact, topology.gpus, narrow)
        asked |= {f"gpu/{key}": plain[key].text if key in plain else text for key, text in exact.items()}
    found = backend.ranges(asked, start_s=start_s, end_s=end_s, step_s=step)
    unproven = [k for k, p in plain.items() if not all(p.proven(s.values) for s in found.series.get(f"gpu/{k}", ()))]
    if unproven:
        again = backend.ranges(
            {f"gpu/{key}": exact[key] for key in unproven}, start_s=start_s, end_s=end_s, step_s=step
        )
        found = replace(found, series={**found.series, **again.series}, problems={**found.problems, **again.problems})
    grid = tuple(found.start_s + i * found.step_s for i in range(_steps(found.start_s, found.end_s, found.step_s)))
    reader = _Lines(found.series, found.start_s, found.end_s, found.step_s)
    return History(
        times_s=grid,
        lines=reader.all(chosen.keys()),
        step_s=found.step_s,
        since_s=found.since_s if found.since_s is not None and found.since_s > found.start_s else None,
        engine=engine.vocabulary.id,
        problems=tuple(dict.fromkeys(found.problems.values())),
    )


def whole_history(
    backend: Backend,
    source: Source,
    *,
    start_s: float,
    end_s: float,
    concepts: Sequence[str] = DEFAULT,
    points: int = POINTS,
) -> History:
    """:func:`history` with all its parts: of a fleet, this takes several times as long. Raises SourceError."""

    def read() -> History:
        return history(backend, source, start_s=start_s, end_s=end_s, concepts=concepts, points=points)

    found = read()
    while found.since_s is not None:
        more = read()
        if more.since_s is not None and more.since_s >= found.since_s:  # an answer with problems is not remembered
            return more
        found = more
    return found


def _steps(start_s: float, end_s: float, step_s: float) -> int:
    return math.floor((end_s - start_s) / step_s + 1e-9) + 1


class _Lines:
    """Lines from the series of a range answer."""

    def __init__(self, series: Mapping[str, tuple[Series, ...]], start_s: float, end_s: float, step_s: float) -> None:
        self._series = series
        self._grid = (start_s, end_s, step_s)

    def all(self, concepts: Collection[str]) -> dict[str, tuple[float, ...]]:
        """Every line there is data for."""
        lines: dict[str, tuple[float, ...]] = {}
        names = {concept: number for number, concept in DIRECT.items()} | {"arrivals": "arrivals_rps"}
        names["first_tokens"] = "arrivals_rps"
        for key in self._series:
            if key in names:
                lines.setdefault(names[key], self._one(key))
            elif key.startswith("gpu/"):
                lines.setdefault(f"gpu_{key.removeprefix('gpu/').split('.')[0]}", self._one(key))
        for name, key in DISTRIBUTIONS.items():
            if key in concepts:
                lines |= self._spread(name, key)
        return lines

    def _one(self, key: str) -> tuple[float, ...]:
        return self._series[key][0].on_grid(*self._grid)[1]

    def _spread(self, name: str, key: str) -> dict[str, tuple[float, ...]]:
        scale = 1000.0 if name.endswith("_ms") else 1.0
        lines = {}
        if f"{key}.sum" in self._series and f"{key}.count" in self._series:
            pairs = zip(self._one(f"{key}.sum"), self._one(f"{key}.count"), strict=True)
            lines[f"{name}.mean"] = tuple(s / c * scale if c > 0 else math.nan for s, c in pairs)
        buckets = [(s.labels, s.on_grid(*self._grid)[1]) for s in self._series.get(f"{key}.buckets", ()) if s.values]
        if not buckets:
            return lines
        for q in QUANTILES:
            lines |= {f"{name}.{q}{end}": () for end in ("", "_low", "_high")}
        for i in range(len(buckets[0][1])):
            at = buckets_of([Sample(labels=labels, time_s=0.0, value=values[i]) for labels, values in buckets])
            for q, share in QUANTILES.items():
                parts = quantile(share, at) or (math.nan, math.nan, math.nan)
                for end, value in zip(("", "_low", "_high"), parts, strict=True):
                    lines[f"{name}.{q}{end}"] += (value * scale,)
        return lines
