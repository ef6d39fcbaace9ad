"""What a diagnosis needs beside an observation: replicas by themselves, limits over windows, arrivals and past loads."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from collectors.backends.backend import Backend, Ranges
from collectors.errors import SourceError
from collectors.prometheus.answers import Labels, Series
from collectors.prometheus.histograms import Distribution
from collectors.prometheus.promql import duration, quoted, regex_quoted, step_for
from collectors.queries.query import GROUPED, Query, of_source
from collectors.questions.devices import Device, read_devices
from collectors.questions.history import history
from collectors.reading.discovery import discover
from collectors.reading.layout import replica_name
from collectors.reading.observation import Observation
from collectors.reading.topology import MIN_SCRAPES, Topology, find_topology, presence
from collectors.source import Source
from collectors.units import S_PER_DAY, S_PER_HOUR
from collectors.vocabulary.burn_rates import WINDOWS
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import Candidate

MOST_REPLICAS = 64
"""Replicas that are looked at one by one. Chosen: of more, one that is slow moves no percentile."""
POINTS = 240
"""Points over the window, of every replica. Chosen: a scrape each in an hour."""
LOOK_BACK_S = S_PER_DAY
"""How far back the beginning of a broken limit, and replicas that are gone, are looked for."""
STEPS_BACK = 288
"""Points over that time: five minutes of a day."""
PAST_WINDOWS = 8
"""Windows before now whose load and latencies are read. Chosen: more say hardly more about two factors."""
CONCEPTS = {"ttft_ms": ("ttft",), "tpot_ms": ("tpot", "itl"), "e2e_ms": ("e2e",)}
"""What measures a latency, best first: the mean gap of a request is TPOT where an engine has it."""
PARTS_OF_A_WINDOW, COVERED = 30, 0.95
"""Moments of a past window at which replicas are counted, and the share of them that must have data."""
LEAST_CHANGE = 1e-12
"""Requests/s below which nothing arrives, so that nothing is divided by 0."""


@dataclass(frozen=True, kw_only=True)
class ReplicaDetails:
    """One replica over the window: requests/s that got a first token, and that arrived (these and the growth of its
    queue), mean gap in s, requests running and waiting.

    ``running_max`` is the highest of all scrapes; ``queued`` scrapes saw requests waiting, of which ``flat`` saw that
    many running, as under a limit on the batch.
    """

    name: str
    labels: Labels
    first_tokens_rps: float | None = None
    arrivals_rps: float | None = None
    gap_s: float | None = None
    gaps: float | None = None
    running: float | None = None
    waiting: float | None = None
    running_max: float | None = None
    queued: int = 0
    flat: int = 0


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


@dataclass(frozen=True, kw_only=True)
class PastWindow:
    """One window of the past: means of latencies in ms, requests and tokens a second; None where not recorded."""

    start_s: float
    end_s: float
    rps: float | None = None
    prompt_tokens_per_s: float | None = None
    generation_tokens_per_s: float | None = None
    prefix_hit_ratio: float | None = None
    ttft_ms: float | None = None
    gap_ms: float | None = None
    e2e_ms: float | None = None
    waiting: float | None = None
    replicas: float | None = None
    steady: bool = True


@dataclass(frozen=True, kw_only=True)
class Details:
    """``counts``: arrivals/s in consecutive steps of ``count_step_s``; ``live``: replicas with data at each moment.

    ``lost``: names of replicas that had data within a day and have none now. ``problems``: what could not be read.
    """

    replicas: tuple[ReplicaDetails, ...] = ()
    lost: tuple[str, ...] = ()
    over: Mapping[str, OverLimit] = field(default_factory=dict)
    counts: tuple[float, ...] = ()
    count_step_s: float = 0.0
    live: tuple[tuple[float, int], ...] = ()
    devices: tuple[Device, ...] = ()
    past: tuple[PastWindow, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def changed_s(self) -> float | None:
        """When the number of replicas changed last within the window; None where it did not."""
        changes = [later[0] for earlier, later in pairwise(self.live) if earlier[1] != later[1]]
        return changes[-1] if changes else None


def read_details(
    backend: Backend,
    source: Source,
    observed: Observation,
    limits_ms: Mapping[str, float],
    *,
    clock: Callable[[], float] = time.time,
) -> Details:
    """Everything beside an observation, at its moment and over its window. What fails is in ``problems``."""
    try:
        return _read(backend, source, observed, limits_ms, clock)
    except SourceError as error:
        return Details(problems=(str(error),))


def _read(
    backend: Backend, source: Source, observed: Observation, limits_ms: Mapping[str, float], clock: Callable[[], float]
) -> Details:
    at_s, window = observed.at_s, observed.window_s
    discovery = discover(backend, source, at_s, clock)
    engine = detect_engine(discovery.names, wanted=source.engine)
    if engine is None:
        return Details()
    topology = find_topology(backend, source, discovery, engine, window)
    reading = _Reading(backend, replace(topology, scope=replace(topology.scope, window_s=window)), at_s)
    edges = {key: edge for key, limit in limits_ms.items() if (edge := bucket_of(observed.distribution(key), limit))}
    replicas, live = reading.replicas() if 0 < topology.layout.replicas <= MOST_REPLICAS else ((), ())
    counts, count_step = reading.counts()
    return Details(
        replicas=replicas,
        lost=reading.lost(),
        over=reading.over(edges),
        counts=counts,
        count_step_s=count_step,
        live=live,
        devices=read_devices(
            backend, source, at_s=at_s, columns=("sm_clock", "throttle_reasons", "xid", "busy"), clock=clock
        ),
        past=_past(backend, source, reading, window, clock),
        problems=tuple(dict.fromkeys(reading.problems)),
    )


def bucket_of(distribution: Distribution, limit_ms: float) -> tuple[float, float] | None:
    """The bucket that ends at a limit, or in which it lies, in ms; None without one that reaches it."""
    near = [b for b in distribution.buckets if b.high >= limit_ms * (1.0 - LEAST_CHANGE) and math.isfinite(b.high)]
    first = min(near, key=lambda b: b.high, default=None)
    return None if first is None else (first.low, first.high)


class _Reading:
    """Questions about one deployment at one moment, over the window of its scope."""

    def __init__(self, backend: Backend, topology: Topology, at_s: float) -> None:
        self._backend, self._topology, self.at_s = backend, topology, at_s
        self._scope = topology.scope
        self._interval = topology.layout.interval_s or self._scope.step_s
        self.problems: list[str] = []

    def _candidate(self, *concepts: str) -> Candidate | None:
        """The candidate in use of the first concept that has one."""
        for concept in concepts:
            choice = self._topology.choices.get(concept)
            if choice is not None and choice.candidate is not None:
                return choice.candidate
        return None

    def _counter(self, *concepts: str) -> str | None:
        """The series of a counter: of a histogram, its count."""
        for concept in concepts:
            candidate = self._candidate(concept)
            name = candidate and (candidate.counter or (candidate.histogram and f"{candidate.histogram}_count"))
            if candidate is not None and name:
                return selected(candidate, name, self._scope)
        return None

    def _gauge(self, concept: str) -> str | None:
        candidate = self._candidate(concept)
        return selected(candidate, candidate.gauge, self._scope) if candidate and candidate.gauge else None

    def vectors(self, queries: Sequence[Query]) -> Mapping[str, Sequence[tuple[Labels, float]]]:
        """Samples of each query by what it asks about; not a number is none."""
        if not queries:
            return {}
        answer = self._backend.vectors(queries, at_s=self.at_s)
        self.problems += list(answer.problems.values())
        return {
            query.subject.quantity: [
                (sample.labels, sample.value) for sample in answer.of(query.subject) if math.isfinite(sample.value)
            ]
            for query in queries
        }

    def ranges(self, queries: Sequence[Query], start_s: float, step_s: float) -> Ranges:
        """Series of each query from ``start_s`` to now."""
        answer = self._backend.ranges(queries, start_s=start_s, end_s=self.at_s, step_s=step_s)
        self.problems += list(answer.problems.values())
        return answer

    @property
    def _by(self) -> tuple[str, ...]:
        layout = self._topology.layout
        return tuple(label for label in ("instance", "pod", "exported_pod") if layout.values((label,)))

    def replicas(self) -> tuple[tuple[ReplicaDetails, ...], tuple[tuple[float, int], ...]]:
        """Every replica with data now, and how many had data when."""
        by, window = ", ".join(self._by), self._scope.window
        gaps = self._candidate("itl", "tpot")
        queries = []
        if first := self._counter("first_tokens", "ttft", "finished"):
            queries.append(of_source("d_first", f"sum by ({by}) (rate({first}[{window}]))", weight=GROUPED))
        if gaps and gaps.histogram:
            for part in ("sum", "count"):
                series = selected(gaps, f"{gaps.histogram}_{part}", self._scope)
                queries.append(of_source(f"d_gap_{part}", f"sum by ({by}) (rate({series}[{window}]))", weight=GROUPED))
        answers = self.vectors(queries)
        found = {key: {self._name(labels): value for labels, value in pairs} for key, pairs in answers.items()}
        over_time = self._over_time(by)
        live = {self._name(labels): labels for labels in self._topology.layout.live}
        made = tuple(
            _replica(name, labels, found, over_time, self._scope.window_s, gaps.scale if gaps else 1.0)
            for name, labels in sorted(live.items())
        )
        running = over_time.get("running", {})
        moments = sorted({t for series in running.values() for t in series})
        return made, tuple((t, sum(t in series for series in running.values())) for t in moments)

    def _over_time(self, by: str) -> Mapping[str, Mapping[str, Mapping[float, float]]]:
        """Requests running and waiting of each replica at the scrapes of the window."""
        step = step_for(self._scope.window_s, interval_s=max(self._interval, 1.0), points=POINTS)
        queries = [
            of_source(f"d_{key}", f"sum by ({by}) ({gauge})", weight=GROUPED)
            for key in ("running", "waiting")
            if (gauge := self._gauge(key))
        ]
        if not queries:
            return {}
        answer = self.ranges(queries, self.at_s - self._scope.window_s + step, step)
        return {
            query.subject.quantity.removeprefix("d_"): {
                self._name(one.labels): {
                    round(t, 3): v for t, v in zip(one.times_s, one.values, strict=True) if math.isfinite(v)
                }
                for one in answer.of(query.subject)
            }
            for query in queries
        }

    def _name(self, labels: Labels) -> str:
        return replica_name(labels)

    def lost(self) -> tuple[str, ...]:
        """Replicas that had data within a day and have none now."""
        series = presence(self._topology.choices, self._scope)
        if series is None or not self._by:
            return ()
        seen = f"count by ({', '.join(self._by)}) (last_over_time({series}[{duration(LOOK_BACK_S)}]))"
        names = {
            self._name(labels) for labels, _ in self.vectors([of_source("d_seen", seen, weight=GROUPED)])["d_seen"]
        }
        return tuple(sorted(names - {self._name(labels) for labels in self._topology.layout.live}))

    def counts(self) -> tuple[tuple[float, ...], float]:
        """Requests/s in steps of a scrape: true arrivals, or first tokens and the growth of the queue."""
        arrivals, first, waiting = self._counter("arrivals"), self._counter("first_tokens", "ttft"), None
        series = arrivals or first
        if series is None:
            return (), 0.0
        step = float(max(math.ceil(self._interval), math.ceil(self._scope.window_s / POINTS), 1))
        queries = [of_source("d_rate", f"sum(rate({series}[{duration(2 * step)}]))")]
        if arrivals is None and (waiting := self._gauge("waiting")):
            queries.append(of_source("d_queue", f"sum({waiting})"))
        answer = self.ranges(queries, self.at_s - self._scope.window_s + 2 * step, step)
        rates = _line(answer, queries[0])
        queue = _line(answer, queries[1]) if waiting else []
        growth = [0.0, *((b - a) / step for a, b in pairwise(queue))] if queue else [0.0] * len(rates)
        return tuple(max(r + g, 0.0) for r, g in zip(rates, growth, strict=False) if math.isfinite(r + g)), step

    def over(self, buckets_ms: Mapping[str, tuple[float, float]]) -> Mapping[str, OverLimit]:
        """Each limit over the windows of the alerts, and in steps over the last day."""
        step = step_for(LOOK_BACK_S, interval_s=MIN_SCRAPES * self._interval, points=STEPS_BACK + 1)
        questions: list[Query] = []
        lines: dict[str, list[Query]] = {}
        for key, (low, high) in buckets_ms.items():
            histogram = self._candidate(*CONCEPTS[key])
            if histogram is None or not histogram.histogram:
                continue
            below, within = (self._up_to(histogram, edge) for edge in (low, high))
            all_of = selected(histogram, f"{histogram.histogram}_count", self._scope)
            for window in WINDOWS:
                for part, series in (("in", within), ("all", all_of)):
                    questions.append(of_source(f"d_{key}_{window}_{part}", f"sum(increase({series}[{window}]))"))
            lines[key] = [
                of_source(f"d_{key}_{part}", f"sum(increase({series}[{duration(step)}]))")
                for part, series in (("below", below), ("in", within), ("all", all_of))
            ]
        if not questions:
            return {}
        now = {name: pairs[0][1] for name, pairs in self.vectors(questions).items() if pairs}
        then = self.ranges([line for each in lines.values() for line in each], self.at_s - LOOK_BACK_S, step)
        return {
            key: _over(buckets_ms[key], key, now, [_grid(then, line) for line in each], step)
            for key, each in lines.items()
        }

    def _up_to(self, histogram: Candidate, edge_ms: float) -> str:
        """Series of the bucket that ends at the edge, as exporters may write its number."""
        edge = edge_ms / 1e3 / histogram.scale
        texts = dict.fromkeys(regex_quoted(text) for text in (repr(edge), f"{edge:g}", f"{edge:.10g}"))
        extra = f"le=~{quoted('|'.join(texts))}"
        where = self._scope.fill(histogram.where)
        name = self._scope.respell(f"{histogram.histogram}_bucket")
        inside = self._scope.selection(model=histogram.beside is None, extra=f"{extra},{where}" if where else extra)
        return f"{name}{{{inside}}}"

    def live_before(self, start_s: float, step_s: float) -> Mapping[float, tuple[float, float]]:
        """Fewest and most replicas with data in the step that ends at each moment; a step without data in some of it
        has none at the fewest."""
        series = presence(self._topology.choices, self._scope)
        if series is None or not self._by:
            return {}
        counted = f"count(count by ({', '.join(self._by)}) ({series}))"
        inner = max(self._interval, step_s / PARTS_OF_A_WINDOW)
        queries = [
            of_source(f"d_{part}", f"{part}_over_time({counted}[{duration(step_s)}:{duration(inner)}])")
            for part in ("min", "max", "count")
        ]
        answer = self.ranges(queries, start_s, step_s)
        least, most, number = (_grid(answer, query) for query in queries)
        whole = COVERED * step_s / inner
        return {t: (least[t] if number.get(t, 0.0) >= whole else 0.0, most[t]) for t in least.keys() & most.keys()}


def _line(answer: Ranges, query: Query) -> list[float]:
    series = answer.of(query.subject)
    return list(series[0].on_grid(answer.start_s, answer.end_s, answer.step_s)[1]) if series else []


def _grid(answer: Ranges, query: Query) -> dict[float, float]:
    """Values by moment, where there is one."""
    series: Iterable[Series] = answer.of(query.subject)[:1]
    return {round(t, 3): v for one in series for t, v in zip(one.times_s, one.values, strict=True) if math.isfinite(v)}


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


def _replica(
    name: str,
    labels: Labels,
    found: Mapping[str, Mapping[str, float]],
    over_time: Mapping[str, Mapping[str, Mapping[float, float]]],
    window_s: float,
    scale: float,
) -> ReplicaDetails:
    running, waiting = (over_time.get(key, {}).get(name, {}) for key in ("running", "waiting"))
    total, count = (found.get(f"d_gap_{part}", {}).get(name) for part in ("sum", "count"))
    most, first = max(running.values(), default=None), found.get("d_first", {}).get(name)
    queued = [running[t] for t, number in waiting.items() if number >= 1.0 and t in running]
    return ReplicaDetails(
        name=name,
        labels=labels,
        first_tokens_rps=first,
        arrivals_rps=None if first is None else max(first + _growth(waiting), 0.0),
        gap_s=total / count * scale if total is not None and count else None,
        gaps=count * window_s if count else None,
        running=sum(running.values()) / len(running) if running else None,
        waiting=sum(waiting.values()) / len(waiting) if waiting else None,
        running_max=most,
        queued=len(queued),
        flat=sum(most is not None and number >= most - 1.0 for number in queued),
    )


def _growth(values: Mapping[float, float]) -> float:
    """Change a second between the first and the last quarter of a line; 0 where it is too short."""
    moments = sorted(values)
    part = len(moments) // 4
    if not part:
        return 0.0
    first, last = moments[:part], moments[-part:]
    change = sum(values[t] for t in last) / part - sum(values[t] for t in first) / part
    return change / (sum(last) / part - sum(first) / part)


def _past(
    backend: Backend, source: Source, reading: _Reading, window_s: float, clock: Callable[[], float]
) -> tuple[PastWindow, ...]:
    """The window now and those before it, each as long, oldest first."""
    span = PAST_WINDOWS * window_s
    if window_s > S_PER_DAY:
        return ()
    step = step_for(span, interval_s=window_s, points=PAST_WINDOWS + 1)
    end_s = reading.at_s
    start_s = end_s - step * (PAST_WINDOWS - 1)
    concepts = ("arrivals", "first_tokens", "prompt_tokens", "generation_tokens", "prefix_hit", "waiting")
    lines = history(
        backend,
        source,
        start_s=start_s,
        end_s=end_s,
        concepts=(*concepts, "ttft", "tpot", "itl", "e2e"),
        points=PAST_WINDOWS + 1,
        clock=clock,
    )
    live = reading.live_before(start_s, lines.step_s) if lines.times_s else {}
    return tuple(_past_window(i, end, lines.step_s, lines.lines, live) for i, end in enumerate(lines.times_s))


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
        e2e_ms=at("e2e_ms.mean"),
        waiting=at("waiting"),
        replicas=most if math.isfinite(most) else None,
        steady=least == most,
    )
