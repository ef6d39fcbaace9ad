"""What a diagnosis needs beside an observation: each replica, limits over windows, arrivals, past loads."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from collectors.backends.backend import Backend
from collectors.errors import SourceError
from collectors.prometheus.answers import Labels
from collectors.prometheus.promql import duration, step_for
from collectors.queries.query import GROUPED, of_source
from collectors.questions.asking import Asking, line_of
from collectors.questions.devices import Device, read_devices
from collectors.questions.over_limits import OverLimit, bucket_of, over_limits
from collectors.questions.past_windows import PastWindow, past_windows
from collectors.questions.xids import LostReplica, lost_replicas
from collectors.reading.discovery import discover
from collectors.reading.layout import STALE_AFTER_SCRAPES, replica_name
from collectors.reading.observation import Observation
from collectors.reading.topology import find_topology, presence
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import selected

DEVICE_COLUMNS = ("sm_clock", "throttle_reasons", "xid", "busy")
"""What is read of every GPU: whether it is slowed down, or broken."""
MOST_REPLICAS = 64
"""Replicas that are looked at one by one. Chosen: of more, one that is slow moves no percentile."""
FIRST_TOKENS = ("first_tokens", "ttft", "finished")
"""What counts requests that left the queue, the best first."""
POINTS = 240
"""Points over the window, of every replica. Chosen: a scrape each in an hour."""


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
class GapLine:
    """One replica step by step: the mean gap between tokens in s, and how many gaps a second."""

    times_s: tuple[float, ...]
    gaps_s: tuple[float, ...]
    gaps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Details:
    """``counts``: arrivals/s in consecutive steps of ``count_step_s``, NaN where that is not known; ``live``: replicas
    with data at each moment.

    ``gaps``: of each replica, or front end. ``lost``: replicas that had data within a day and have none now.
    ``problems``: what could not be read.
    """

    replicas: tuple[ReplicaDetails, ...] = ()
    lost: tuple[LostReplica, ...] = ()
    over: Mapping[str, OverLimit] = field(default_factory=dict)
    counts: tuple[float, ...] = ()
    count_step_s: float = 0.0
    gaps: tuple[GapLine, ...] = ()
    live: tuple[tuple[float, int], ...] = ()
    devices: tuple[Device, ...] = ()
    past: tuple[PastWindow, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def changed_s(self) -> float | None:
        """When the number of replicas changed last within the window; None where it did not. One moment with another
        number is a scrape that came late."""
        if not self.live:
            return None
        now = self.live[-1][1]
        others = [i for i, (_, number) in enumerate(self.live) if number != now]
        if len(others) < 2 or others[-1] != others[-2] + 1:
            return None
        return self.live[others[-1] + 1][0]


class Named:
    """The names of the replicas with data now; of a server before several ranks of data parallelism, those of each."""

    def __init__(self, asking: Asking) -> None:
        self._rank = asking.rank_label
        live: Sequence[Labels] = asking.topology.layout.live
        series = presence(asking.topology.choices, asking.scope) if self._rank else None
        if series is not None:
            query = of_source("d_ranks", f"count by ({', '.join(asking.by_rank)}) ({series})", weight=GROUPED)
            live = [labels for labels, _ in asking.vectors([query])["d_ranks"]] or live
        servers = Counter(replica_name(labels) for labels in live)
        self._several = {name for name, number in servers.items() if number > 1}
        self.live = {self(labels): labels for labels in live}

    def __call__(self, labels: Labels) -> str:
        """ "vllm-0", or "vllm-0 rank 3"."""
        name, rank = replica_name(labels), labels.get(self._rank, "")
        return f"{name} rank {rank}" if rank and name in self._several else name


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
    asking = Asking(backend, replace(topology, scope=replace(topology.scope, window_s=window)), at_s)
    buckets = {key: one for key, limit in limits_ms.items() if (one := bucket_of(observed.distribution(key), limit))}
    few, front_end = 0 < topology.layout.replicas <= MOST_REPLICAS, engine.vocabulary.front_end
    named = Named(asking)
    replicas, live, changes = _replicas(asking, named) if few and not front_end else ((), (), ())
    counts, count_step = _counts(asking, changes)
    return Details(
        replicas=replicas,
        lost=lost_replicas(asking),
        over=over_limits(asking, buckets),
        counts=counts,
        count_step_s=count_step,
        gaps=_gap_lines(asking, named) if few else (),
        live=live,
        devices=read_devices(backend, source, at_s=at_s, columns=DEVICE_COLUMNS, clock=clock),
        past=past_windows(asking, source, clock=clock),
        problems=tuple(dict.fromkeys(asking.problems)),
    )


def _replicas(
    asking: Asking, named: Named
) -> tuple[tuple[ReplicaDetails, ...], tuple[tuple[float, int], ...], tuple[float, ...]]:
    """Every replica with data now, how many had data when, and the moments from which others had."""
    by, window = ", ".join(asking.by_rank), asking.scope.window
    gaps = asking.candidate("itl", "tpot")
    queries = []
    if first := asking.counter(*FIRST_TOKENS):
        queries.append(of_source("d_first", f"sum by ({by}) (rate({first}[{window}]))", weight=GROUPED))
    if gaps and gaps.histogram:
        for part in ("sum", "count"):
            series = selected(gaps, f"{gaps.histogram}_{part}", asking.scope)
            queries.append(of_source(f"d_gap_{part}", f"sum by ({by}) (rate({series}[{window}]))", weight=GROUPED))
    answers = asking.vectors(queries)
    rates = {key: {named(labels): value for labels, value in pairs} for key, pairs in answers.items()}
    over_time = _over_time(asking, by, named)
    running = over_time.get("running", {})
    named.live.update(_late(asking, running))
    made = tuple(
        _replica(name, labels, rates, over_time, asking, gaps.scale if gaps else 1.0)
        for name, labels in sorted(named.live.items())
    )
    moments = sorted({t for series in running.values() for t in series})
    had = [{name for name, series in running.items() if t in series} for t in moments]
    changes = tuple(t for t, before, now in zip(moments[1:], had, had[1:], strict=False) if before != now)
    return made, tuple((t, len(names)) for t, names in zip(moments, had, strict=True)), changes


def _late(asking: Asking, running: Mapping[str, Mapping[float, float]]) -> Mapping[str, Labels]:
    """Replicas without data now that had some a few scrapes ago: a scrape that failed is no loss."""
    layout, since = asking.topology.layout, asking.at_s - STALE_AFTER_SCRAPES * asking.interval_s
    last = {name: max(line, default=-math.inf) for name, line in running.items()}
    seen = {replica_name(labels): labels for labels in layout.seen}
    return {name: seen[name] for name in layout.lost if name in seen and last.get(name, -math.inf) >= since}


def _over_time(asking: Asking, by: str, named: Named) -> Mapping[str, Mapping[str, Mapping[float, float]]]:
    """Requests running and waiting of each replica at the scrapes of the window."""
    step = step_for(asking.scope.window_s, interval_s=max(asking.interval_s, 1.0), points=POINTS)
    queries = [
        of_source(f"d_{key}", f"sum by ({by}) ({gauge})", weight=GROUPED)
        for key in ("running", "waiting")
        if (gauge := asking.gauge(key))
    ]
    if not queries:
        return {}
    answer = asking.ranges(queries, asking.at_s - asking.scope.window_s + step, step)
    return {
        query.subject.quantity.removeprefix("d_"): {
            named(one.labels): {
                round(t, 3): v for t, v in zip(one.times_s, one.values, strict=True) if math.isfinite(v)
            }
            for one in answer.of(query.subject)
        }
        for query in queries
    }


def _step_s(asking: Asking) -> float:
    """A scrape, or longer where the window has too many of them."""
    return float(max(math.ceil(asking.interval_s), math.ceil(asking.scope.window_s / POINTS), 1))


def _gap_lines(asking: Asking, named: Named) -> tuple[GapLine, ...]:
    """The mean gap of each replica over the window; none without a histogram of gaps."""
    gaps = asking.candidate("itl", "tpot")
    if gaps is None or not gaps.histogram:
        return ()
    by, step = ", ".join(asking.by_rank), _step_s(asking)
    series = [selected(gaps, f"{gaps.histogram}_{part}", asking.scope) for part in ("sum", "count")]
    queries = [
        of_source(f"d_line_{i}", f"sum by ({by}) (rate({one}[{duration(2 * step)}]))", weight=GROUPED)
        for i, one in enumerate(series)
    ]
    answer = asking.ranges(queries, asking.at_s - asking.scope.window_s + 2 * step, step)
    total, count = (
        {named(line.labels): dict(zip(line.times_s, line.values, strict=True)) for line in answer.of(query.subject)}
        for query in queries
    )
    lines = []
    for name in sorted(total.keys() & count.keys()):
        known = [t for t in sorted(total[name].keys() & count[name].keys()) if count[name][t] > 0.0]
        means = tuple(total[name][t] / count[name][t] * gaps.scale for t in known)
        lines.append(GapLine(times_s=tuple(known), gaps_s=means, gaps=tuple(count[name][t] for t in known)))
    return tuple(lines)


def _counts(asking: Asking, changes: Sequence[float]) -> tuple[tuple[float, ...], float]:
    """Requests/s in steps of a scrape: true arrivals, or first tokens and the growth of what has none yet. NaN around
    the moments at which other replicas had data: what is counted anew is no burst."""
    arrivals, first = asking.counter("arrivals"), asking.counter("first_tokens", "ttft")
    series = arrivals or first
    if series is None:
        return (), 0.0
    step = _step_s(asking)
    queries = [of_source("d_rate", f"sum(rate({series}[{duration(2 * step)}]))")]
    gauges = (
        [] if arrivals else [gauge for key in asking.growing("first_tokens", "ttft") if (gauge := asking.gauge(key))]
    )
    queries += [of_source(f"d_held_{i}", f"sum({gauge})") for i, gauge in enumerate(gauges)]
    begin = asking.at_s - asking.scope.window_s + 2 * step
    answer = asking.ranges(queries, begin, step)
    rates, *lines = (line_of(answer, query) for query in queries)
    held = [sum(each) for each in zip(*(line for line in lines if line), strict=False)]
    growth = [0.0, *((b - a) / step for a, b in pairwise(held))] if held else [0.0] * len(rates)
    known = [max(r + g, 0.0) if math.isfinite(r + g) else math.nan for r, g in zip(rates, growth, strict=False)]
    unsure = {i for t in changes for i in range(math.floor((t - begin) / step) - 1, math.ceil((t - begin) / step) + 4)}
    return tuple(math.nan if i in unsure else value for i, value in enumerate(known)), step


def _replica(
    name: str,
    labels: Labels,
    rates: Mapping[str, Mapping[str, float]],
    over_time: Mapping[str, Mapping[str, Mapping[float, float]]],
    asking: Asking,
    scale: float,
) -> ReplicaDetails:
    running, waiting = (over_time.get(key, {}).get(name, {}) for key in ("running", "waiting"))
    growth = sum(_growth(over_time.get(key, {}).get(name, {})) for key in asking.growing(*FIRST_TOKENS))
    total, count = (rates.get(f"d_gap_{part}", {}).get(name) for part in ("sum", "count"))
    most, first = max(running.values(), default=None), rates.get("d_first", {}).get(name)
    queued = [running[t] for t, number in waiting.items() if number >= 1.0 and t in running]
    return ReplicaDetails(
        name=name,
        labels=labels,
        first_tokens_rps=first,
        arrivals_rps=None if first is None else max(first + growth, 0.0),
        gap_s=total / count * scale if total is not None and count else None,
        gaps=count * asking.scope.window_s if count else None,
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
