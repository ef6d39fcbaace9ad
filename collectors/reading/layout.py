"""Which replicas, jobs and scrapes stand behind a selection, and how they are timed."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from collectors.backends.backend import Vectors
from collectors.prometheus.answers import Sample
from collectors.prometheus.promql import NICE_STEPS_S, duration
from collectors.queries.query import GROUPED, LIVE, Group, Query, Subject, of_source
from collectors.queries.ttl import THIRD
from collectors.units import S_PER_HOUR
from collectors.vocabulary.expressions import Scope

REPLICA_LABELS = ("instance", "pod", "exported_pod", "namespace")
HOST_LABELS = ("node", "hostname", "Hostname", "kubernetes_node")
RELAY_LABELS = ("server", "worker_addr", "worker_url", "source", "WorkerId")
"""Labels by which what passes gauges on names the engine: production-stack, SMG and sglang-router, Ray's agent."""
COPY_LABELS = ("prometheus_replica", "__replica__", "replica", "receive_replica", "thanos_replica")
"""Labels by which the samples of two Prometheus servers that scrape the same targets are told apart where nothing
removes the copies: of the Prometheus operator (its default), of Mimir's and Cortex's HA tracker, and what the
documentation of Thanos calls them (thanos.io/tip/components/query.md, grafana.com/docs/mimir, read 2026-11-30)."""
LAYOUT_LABELS = ("job", *REPLICA_LABELS, *HOST_LABELS, *RELAY_LABELS, *COPY_LABELS)
LOOK_BACK_S = S_PER_HOUR
"""How long ago something may have fallen silent and still count as stale. Chosen: an hour."""
FEW_SCRAPES = 8
"""Scrapes of a span below which their interval is taken from the last hour. Chosen: the ends blur it by an eighth."""
PAST_STEP_S = 60.0
"""Between two looks at the replicas of the last hour. Chosen: a replica that lived for less is no loss."""
TIMING_STEPS = 60
"""Steps of the subquery for the age of the oldest sample. Chosen: 5 s of five minutes."""
FLEET_TIMING_STEPS = 6
"""The same of a fleet. Chosen: 50 s of five minutes, as each step reads every replica."""
LEAST_SPAN_S = 300.0
"""Timing is judged over at least this long: a window of two scrapes says nothing about the interval."""

YOUNGER = 1.1
"""Times as far apart as in the last minutes scrapes seem where no replica was there for all of a window."""
NEW_SHARE = 0.9
"""Share of the samples of a window below which a replica was not there at its begin. Chosen: scrapes fail, too."""
STALE_AFTER_SCRAPES = 4
"""At least so many scrapes old before data counts as stale. Chosen: one late scrape is no outage."""
STALE_AFTER_S = 30.0
"""And at least so many seconds. Chosen: four scrapes of a source that is read every second are no outage, either."""


@dataclass(frozen=True, kw_only=True)
class ReplicaLayout:
    """Replicas now and within the window, when the newest sample came and how often samples come.

    ``past`` are replicas of the last hour with the moment of their last sample, ``most`` how many there were at once.
    ``relayed`` are labels of a router that passes on the gauges of the replicas. ``samples`` are those of the window by
    replica, of ``span`` in the one that is there for all of it; ``copies`` is the label, with the value that is kept,
    by which two Prometheus servers report the same replicas.
    """

    live: tuple[Mapping[str, str], ...]
    seen: tuple[Mapping[str, str], ...]
    newest_s: float | None
    oldest_s: float | None
    interval_s: float | None
    past: tuple[tuple[Mapping[str, str], float], ...] = ()
    most: float | None = None
    duplicates: tuple[str, ...] = ()
    job: str | None = None
    relayed: tuple[str, ...] = ()
    samples: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    span: float | None = None
    copies: tuple[str, str] | None = None

    @cached_property
    def replicas(self) -> int:
        """Replicas with data now."""
        return len({replica_key(labels) for labels in self.live})

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """Replicas that had data within the window and have none now, and none that came in their place."""
        return tuple(sorted(self._stopped[self._new :]))

    @cached_property
    def replaced(self) -> tuple[str, ...]:
        """Replicas that stopped within the window while others came in their place, as with every update."""
        return tuple(sorted(self._stopped[: self._new]))

    @cached_property
    def _stopped(self) -> tuple[str, ...]:
        """Replicas that had data within the window and have none now, the first to go first."""
        live = {replica_key(labels) for labels in self.live}
        last = {replica_name(labels): last_s for labels, last_s in self.past}
        names = {replica_name(labels) for labels in self.seen if replica_key(labels) not in live}
        return tuple(sorted(names, key=lambda name: (last.get(name, 0.0), name)))

    @cached_property
    def _new(self) -> int:
        """Replicas with data now that had none at the begin of the window."""
        if self.span is None:
            return 0
        live = {replica_key(labels) for labels in self.live}
        return sum(self.samples.get(key, self.span) < NEW_SHARE * self.span for key in live)

    @cached_property
    def lost_labels(self) -> tuple[Mapping[str, str], ...]:
        """The labels of replicas of the last hour that have no data now."""
        live = {replica_key(labels) for labels in self.live}
        return tuple(
            labels for labels in (*self.seen, *(one for one, _ in self.past)) if replica_key(labels) not in live
        )

    @cached_property
    def gone(self) -> dict[str, float]:
        """Replicas of the last hour that had no data within the window, with the moment of their last sample."""
        here = {replica_key(labels) for labels in (*self.live, *self.seen)}
        return {replica_name(labels): last_s for labels, last_s in self.past if replica_key(labels) not in here}

    @property
    def known(self) -> tuple[Mapping[str, str], ...]:
        """The labels of the replicas seen within the window."""
        return (*self.live, *self.seen)

    def values(self, labels: Sequence[str]) -> dict[str, set[str]]:
        """The values of each label, of replicas seen within the window."""
        values: dict[str, set[str]] = defaultdict(set)
        for replica in self.known:
            for label in labels:
                if replica.get(label):
                    values[label].add(replica[label])
        return values


def replica_key(labels: Mapping[str, str]) -> tuple[str, ...]:
    """What tells one replica from another; the job does not, because two jobs may scrape one server."""
    return tuple(labels.get(label, "") for label in (*REPLICA_LABELS, *RELAY_LABELS))


def replica_name(labels: Mapping[str, str]) -> str:
    """The name of a replica for a person: its pod, else its address."""
    relayed = next((labels[label] for label in RELAY_LABELS if labels.get(label)), "")
    return relayed or labels.get("exported_pod") or labels.get("pod") or labels.get("instance") or "replica"


def layout_queries(
    series: str, scope: Scope, *, window_s: float | None = None, past: bool = False, fleet: bool = False
) -> list[Query]:
    """Queries that find replicas and timing of ``series`` (a selector with its braces).

    ``past`` also asks when there was data last, for series that have none now. Of a ``fleet`` the age of the oldest
    sample is asked coarsely: a subquery visits every replica at every step.
    """
    span = duration(window_s or scope.window_s)
    whole = window_s or scope.window_s
    between = max(1.0, whole / (FLEET_TIMING_STEPS if fleet else TIMING_STEPS))
    step = duration(between)
    reach = duration(whole + between) if fleet else span  # the first of few steps must not lie within the window
    by = ", ".join(LAYOUT_LABELS)
    queries = []
    if past:  # finely over the last minutes, where a short life would fall between two steps of the whole span
        for key, range_ in (("newest", f"{span}:{step}"), ("newest_lately", f"{duration(LEAST_SPAN_S)}:2s")):
            queries.append(of_source(key, f"max(max_over_time(timestamp({series})[{range_}]))"))
    # Timing belongs together: of a fleet, all of it has its turn, and ``newest_now`` beside it is asked every time.
    if fleet:
        queries.append(of_source("newest_then", f"max(timestamp({series}))", ttl=THIRD))
    else:
        hour = duration(LOOK_BACK_S)
        last = f"max_over_time(timestamp({series})[{hour}:{duration(PAST_STEP_S)}])"
        at_once = f"count(count by ({', '.join((*REPLICA_LABELS, *RELAY_LABELS))}) ({series}))"
        queries += [
            of_source("oldest_lately", f"min(min_over_time(timestamp({series})[30s:500ms]))"),
            of_source("past", f"max by ({by}) ({last})", weight=GROUPED),
            of_source("most", f"max_over_time({at_once}[{hour}:{duration(PAST_STEP_S)}])"),
            of_source("oldest_hour", f"min(min_over_time(timestamp({series})[{hour}:{duration(PAST_STEP_S)}]))"),
            of_source("scrapes_hour", f"max(count_over_time({series}[{hour}]))"),
            of_source("scrapes_lately", f"max(count_over_time({series}[{duration(LEAST_SPAN_S)}]))"),
        ]
    return [
        *queries,
        of_source(LIVE.quantity, f"count by ({by}) ({series})", weight=GROUPED),
        of_source("seen", f"max by ({by}) (count_over_time({series}[{span}]))", weight=GROUPED),
        of_source("newest_now", f"max(timestamp({series}))"),
        of_source("oldest", f"min(min_over_time(timestamp({series})[{reach}:{step}]))", ttl=THIRD),
        of_source("scrapes", f"max(count_over_time({series}[{span}]))", ttl=THIRD),
    ]


def read_layout(vectors: Vectors, *, at_s: float, window_s: float) -> ReplicaLayout:
    """The layout from the answers to :func:`layout_queries`."""

    def of(quantity: str) -> tuple[Sample, ...]:
        return vectors.of(Subject(quantity, group=Group.SOURCE))

    newest = _highest(of("newest"), of("newest_lately"), of("newest_now"))
    past = tuple((sample.labels, sample.value) for sample in of("past"))
    newest = max((last_s for _, last_s in past), default=None) if newest is None else newest
    begun = [_highest(of("oldest")), _highest(of("oldest_lately"))]
    oldest = min((moment for moment in begun if moment is not None), default=None)
    interval = _interval(of("newest_then"), of("scrapes"), newest, oldest, at_s=at_s, window_s=window_s)
    here, in_hour = _highest(of("scrapes")) or 0, _highest(of("scrapes_hour")) or 0
    if not of("newest_then") and here < min(FEW_SCRAPES, in_hour):  # so rare that the hour tells more
        hour = _highest(of("oldest_hour"))
        rare = _interval((), of("scrapes_hour"), newest, hour, at_s=at_s, window_s=LOOK_BACK_S)
        if rare is not None:
            interval, oldest = rare, hour
    lately = _highest(of("scrapes_lately")) or 0
    if interval is not None and lately > FEW_SCRAPES and interval > YOUNGER * LEAST_SPAN_S / (lately - 1):
        interval = LEAST_SPAN_S / lately
    live = tuple(sample.labels for sample in of(LIVE.quantity))
    if not live and interval is not None:
        live = tuple(labels for labels, last_s in past if at_s - last_s <= STALE_AFTER_SCRAPES * interval)
    duplicates, job = _duplicates(live)
    begin = at_s - window_s if oldest is None else max(oldest, at_s - window_s)
    return ReplicaLayout(
        live=live,
        seen=tuple(sample.labels for sample in of("seen")),
        samples={replica_key(sample.labels): sample.value for sample in of("seen")},
        span=None if interval is None else (at_s - begin) / interval,
        copies=_copies([(sample.labels, sample.value) for sample in of("seen")]),
        newest_s=newest,
        oldest_s=oldest,
        interval_s=interval,
        past=past,
        most=_highest(of("most")),
        duplicates=duplicates,
        job=job,
        relayed=_relayed(live),
    )


def _interval(
    then: Sequence[Sample],
    counted: Sequence[Sample],
    newest: float | None,
    oldest: float | None,
    *,
    at_s: float,
    window_s: float,
) -> float | None:
    """Seconds between two scrapes: what the window holds of them, as counted at one moment (``then`` of a fleet)."""
    newest, at_s = (_highest(then), then[0].time_s) if then else (newest, at_s)
    scrapes = _highest(counted)
    if newest is None or oldest is None or scrapes is None or scrapes < 2:
        return None
    begin = max(oldest, at_s - window_s)
    longest = max(0.1, (newest - begin) / (scrapes - 1))
    if not then or begin == oldest:
        return longest
    # The first scrape came somewhere in the first interval of the window: of a fleet, a round interval is chosen.
    shortest = (newest - begin) / scrapes
    return next((float(step) for step in reversed(NICE_STEPS_S) if shortest < step <= longest), longest)


def _duplicates(live: Sequence[Mapping[str, str]]) -> tuple[tuple[str, ...], str | None]:
    """Jobs that scrape the same replicas, and the one job to keep: the one that sees most replicas.

    A pod under two jobs is one, whatever address each job has for it.
    """
    jobs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    size: dict[str, int] = defaultdict(int)
    spaced = all(labels.get("namespace") for labels in live)
    for labels in live:
        pod = labels.get("exported_pod") or labels.get("pod")
        own = (pod, labels["namespace"] if spaced else "") if pod else replica_key(labels)
        jobs[own].add(labels.get("job", ""))
        size[labels.get("job", "")] += 1
    twice = [key for key, scraping in jobs.items() if len(scraping) > 1]
    if not twice:
        return (), None
    rivals = {job for key in twice for job in jobs[key]}
    keep = min(rivals, key=lambda job: (-size[job], job))
    return tuple(sorted(rivals)), keep


def _copies(seen: Sequence[tuple[Mapping[str, str], float]]) -> tuple[str, str] | None:
    """The label by which several Prometheus servers report the same replica, and the value with most samples.

    A label that numbers replicas has one value at each.
    """
    for label in COPY_LABELS:
        values: dict[tuple[str, ...], set[str]] = defaultdict(set)
        samples: dict[str, float] = defaultdict(float)
        for labels, number in seen:
            if labels.get(label):
                values[(labels.get("job", ""), *replica_key(labels))].add(labels[label])
                samples[labels[label]] += number
        if any(len(some) > 1 for some in values.values()):
            return label, min(samples, key=lambda value: (-samples[value], value))
    return None


def _relayed(live: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The labels of a router that passes on the gauges of replicas which are scraped themselves, too.

    Such a label holds an address, or has several values at one target.
    """
    relayed = []
    for label in RELAY_LABELS:
        values: dict[str, set[str]] = defaultdict(set)
        for labels in live:
            if labels.get(label):
                values[labels.get("instance", "")].add(labels[label])
        direct = any(not labels.get(label) for labels in live)
        several = any(len(some) > 1 or any(":" in value for value in some) for some in values.values())
        if direct and several:
            relayed.append(label)
    return tuple(relayed)


def counted_once(layout: ReplicaLayout, scope: Scope) -> tuple[ReplicaLayout, Scope]:
    """Layout and scope that count every replica once: of one Prometheus and job, and not again at a router."""

    def keeping(layout: ReplicaLayout, own: Callable[[Mapping[str, str]], bool]) -> ReplicaLayout:
        return replace(
            layout,
            live=tuple(labels for labels in layout.live if own(labels)),
            seen=tuple(labels for labels in layout.seen if own(labels)),
            past=tuple((labels, last_s) for labels, last_s in layout.past if own(labels)),
        )

    if layout.copies:
        label, value = layout.copies
        layout = keeping(layout, lambda labels: labels.get(label, "") == value)
        scope = replace(scope, labels={**scope.labels, label: value})
    if layout.relayed:
        layout = keeping(layout, lambda labels: not any(labels.get(label) for label in layout.relayed))
        scope = replace(scope, labels={**scope.labels, **dict.fromkeys(layout.relayed, "")})
    duplicates, job = _duplicates(layout.live)
    layout = replace(layout, duplicates=duplicates, job=job)
    if job is None:
        return layout, scope
    dropped = set(duplicates) - {job}
    kept = sorted({labels.get("job", "") for labels in layout.live} - dropped)
    jobs = kept[0] if len(kept) == 1 else kept
    narrowed = replace(scope, labels={**scope.labels, "job": jobs})
    return keeping(layout, lambda labels: labels.get("job", "") not in dropped), narrowed


def is_stale(layout: ReplicaLayout, at_s: float) -> bool:
    """Whether nothing came for several scrape intervals."""
    if not layout.live:
        return True
    if layout.newest_s is None:
        return False
    return at_s - layout.newest_s > max(STALE_AFTER_S, STALE_AFTER_SCRAPES * (layout.interval_s or 0.0))


def _highest(*samples: Sequence[Sample]) -> float | None:
    return max((s.value for part in samples for s in part if math.isfinite(s.value)), default=None)
