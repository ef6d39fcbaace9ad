"""Numbers over time for charts: the same mapping as an observation, on a grid, gaps kept as NaN."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Ranges
from collectors.prometheus.answers import Sample, TimeSeries
from collectors.prometheus.histograms import QUANTILES, buckets_of, quantile
from collectors.prometheus.promql import step_for
from collectors.queries.live_numbers import DIRECT, OVER_TIME
from collectors.queries.query import Group, QuantityPart, Query, Subject
from collectors.queries.ttl import GRID_S
from collectors.questions.deployments import arrivals_over_time
from collectors.reading.discovery import discover
from collectors.reading.engine_values import SHOWN_AS, arrival_queries, engine_queries
from collectors.reading.gpu_join import gpu_scope
from collectors.reading.gpu_sums import PlainQuery, plain_queries
from collectors.reading.gpu_values import gpu_queries
from collectors.reading.layout import LOOK_BACK_S
from collectors.reading.observation import DISTRIBUTIONS
from collectors.reading.topology import MIN_SCRAPES, Topology, find_topology, steady
from collectors.source import Source
from collectors.units import ROUNDING
from collectors.vocabulary.expressions import Scope
from collectors.vocabulary.schema import DISTRIBUTIONS as UNITS

POINTS = 240
"""Points of a line. Chosen: as many as a chart shows side by side."""
USUAL_INTERVAL_S = 15.0
"""Between scrapes where it is not known: what most Prometheus servers are set to."""
DEFAULT = ("arrivals", "first_tokens", *OVER_TIME, "preemptions", "ttft", "itl", "tpot", "e2e")
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
    discovery = discover(backend, source, end_s, clock)
    engine = discovery.engine
    if engine is None:
        return History(times_s=(), lines={}, step_s=0.0)
    topology = find_topology(backend, source, discovery, engine, min(source.window_s, LOOK_BACK_S))
    interval = steady(topology.layout.interval_s) or USUAL_INTERVAL_S
    step = step_for(end_s - start_s, interval_s=interval, points=points)
    step = math.ceil(step / GRID_S) * GRID_S if discovery.fleet else step
    # A fleet's lines have the window of its observation, so that one answer serves both.
    least = topology.scope.window_s if discovery.fleet else MIN_SCRAPES * interval
    scope = replace(topology.scope, window_s=max(step, least), step_s=interval)
    queries, arriving = _engine_queries(topology, scope, concepts)
    exact, plain = _gpu_queries(topology, scope, points=points, fleet=discovery.fleet)
    queries += [plain[query].query if query in plain else query for query in exact]
    answer = backend.ranges(queries, start_s=start_s, end_s=end_s, step_s=step)
    unproven = [q for q, form in plain.items() if not all(form.proven(s.values) for s in answer.of(q.subject))]
    if unproven:
        again = backend.ranges(unproven, start_s=start_s, end_s=end_s, step_s=step)
        problems = {**answer.problems, **again.problems}
        answer = replace(answer, series={**answer.series, **again.series}, problems=problems)
    steps = math.floor((answer.end_s - answer.start_s) / answer.step_s + ROUNDING) + 1
    return History(
        times_s=tuple(answer.start_s + i * answer.step_s for i in range(steps)),
        lines=_Lines(answer).all(concepts, arriving),
        step_s=answer.step_s,
        since_s=answer.since_s if answer.since_s is not None and answer.since_s > answer.start_s else None,
        engine=engine.vocabulary.id,
        problems=tuple(dict.fromkeys(answer.problems.values())),
    )


def _engine_queries(topology: Topology, scope: Scope, concepts: Collection[str]) -> tuple[list[Query], Sequence[Query]]:
    """The queries for the engine's lines, and those of them that arrivals are made of."""
    chosen = {key: choice for key, choice in topology.choices.items() if key in concepts}
    queries = [
        q
        for q in engine_queries(chosen, scope)
        if q.subject.part not in (QuantityPart.MIN, QuantityPart.GROWTH, QuantityPart.CHANGE)
    ]
    arriving = arrival_queries(topology.choices, scope) if {"arrivals", "first_tokens"} & set(chosen) else []
    known = {query.subject for query in queries}
    return [*queries, *(query for query in arriving if query.subject not in known)], arriving


def _gpu_queries(
    topology: Topology, scope: Scope, *, points: int, fleet: bool
) -> tuple[list[Query], Mapping[Query, PlainQuery]]:
    """The queries for the GPUs' lines, and the plain forms of those that have one."""
    if topology.gpus.vocabulary is None:
        return [], {}
    narrow = gpu_scope(topology.gpus, scope if fleet else replace(scope, window_s=scope.window_s * points))
    narrow = replace(narrow, window_s=min(scope.window_s, narrow.window_s))
    every = gpu_queries(topology.gpus.vocabulary, narrow, sign=topology.gpus.sign)
    exact = [query for query in every if query.subject.quantity in GPU_DEFAULT]
    return exact, plain_queries(exact, topology.gpus, narrow)


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

    whole = read()
    while whole.since_s is not None:
        more = read()
        if more.since_s is not None and more.since_s >= whole.since_s:  # an answer with problems is not kept
            return more
        whole = more
    return whole


class _Lines:
    """Lines from the series of a range answer."""

    def __init__(self, answer: Ranges) -> None:
        self._answer = answer

    def all(self, concepts: Collection[str], arriving: Sequence[Query]) -> dict[str, tuple[float, ...]]:
        """Every line there is data for; ``arriving`` is what arrivals are made of."""
        lines: dict[str, tuple[float, ...]] = {}
        names = {subject: number for number, subject in DIRECT.items()}
        arrivals = arrivals_over_time(self._answer, arriving) if arriving else None
        if arrivals is not None:
            lines["arrivals_rps"] = arrivals
        for subject in self._answer.series:
            if subject in names:
                lines.setdefault(names[subject], self._one(subject))
            elif subject.group is Group.GPU:
                lines.setdefault(f"gpu_{subject.quantity}", self._one(subject))
        for name, key in DISTRIBUTIONS.items():
            if key in concepts:
                lines |= self._spread(name, key)
        return lines

    def _one(self, subject: Subject) -> tuple[float, ...]:
        return self._on_grid(self._answer.series[subject][0])

    def _on_grid(self, series: TimeSeries) -> tuple[float, ...]:
        return series.on_grid(self._answer.start_s, self._answer.end_s, self._answer.step_s)[1]

    def _spread(self, name: str, key: str) -> dict[str, tuple[float, ...]]:
        """Mean and quantiles of a distribution, in the unit that it is shown in."""
        scale = SHOWN_AS[UNITS[key]]
        lines = {}
        sums, counts = Subject(key, QuantityPart.SUM), Subject(key, QuantityPart.COUNT)
        if self._answer.of(sums) and self._answer.of(counts):
            pairs = zip(self._one(sums), self._one(counts), strict=True)
            lines[f"{name}.mean"] = tuple(s / c * scale if c > 0 else math.nan for s, c in pairs)
        series = self._answer.of(Subject(key, QuantityPart.BUCKETS))
        buckets = [(one.labels, self._on_grid(one)) for one in series if one.values]
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
