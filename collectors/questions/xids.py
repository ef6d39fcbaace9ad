"""XID errors of a deployment's GPUs over time: which GPU, from when, and what the code means."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from collectors.backends.backend import Backend
from collectors.prometheus.answers import Labels, TimeSeries
from collectors.prometheus.promql import duration, matchers, step_for
from collectors.queries.query import GROUPED, SPREAD, Group, Query, Subject, of_source
from collectors.queries.ttl import THIRD
from collectors.questions.asking import Asking
from collectors.questions.devices import number_of
from collectors.reading.discovery import discover
from collectors.reading.gpu_join import former_of, gpu_scope, places_of_replica
from collectors.reading.gpu_values import FORMER_XIDS, per_device
from collectors.reading.layout import replica_name
from collectors.reading.lost_replicas import former_xids
from collectors.reading.topology import find_topology, presence
from collectors.source import Source
from collectors.units import S_PER_DAY
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import GPU_CONCEPTS, GpuVocabulary

POINTS = 240
"""Points over the time asked about. Chosen: six minutes of a day."""
MOST_EVENTS = 1_000
"""Events listed. Chosen: far more than anybody reads."""

# NVIDIA, "Analyzing Xid Errors with the Xid Catalog", docs.nvidia.com/deploy/xid-errors, read 2026-11-21.
MEANINGS = {
    13: "graphics engine exception: often the application",
    31: "GPU memory page fault: often the application",
    43: "GPU stopped processing: the application is ended",
    45: "work of the application was cleared, mostly after another error",
    48: "double-bit ECC error: reset the GPU",
    63: "a memory row is remapped: takes effect at the next reset",
    64: "remapping a memory row failed: reset, then replace",
    74: "NVLink error: check links and switches",
    79: "the GPU has fallen off the bus: restart the host, check power and seating",
    92: "many single-bit ECC errors",
    94: "contained memory error: only the application that hit it is affected",
    95: "uncontained memory error: reset the GPU",
    119: "timeout of the GPU's system processor: reset the GPU",
    120: "error of the GPU's system processor: reset the GPU",
    140: "unrecovered ECC error: reset the GPU",
}

LOOK_BACK_S, STEP_S = S_PER_DAY, 300.0
"""How far back replicas that are gone are looked for, and how exactly it is known when they went."""


@dataclass(frozen=True, kw_only=True)
class XidEvent:
    """A code that appeared on a GPU. ``since_start``: it stood there before the time looked at."""

    at_s: float
    host: str
    gpu: str
    code: int
    since_start: bool = False

    @property
    def meaning(self) -> str:
        """What NVIDIA says about the code; "" for one that is not listed here."""
        return MEANINGS.get(self.code, "")


def xid_log(
    backend: Backend, source: Source, *, start_s: float, end_s: float, clock: Callable[[], float] = time.time
) -> tuple[XidEvent, ...]:
    """Codes that appeared between two moments, newest first. Raises SourceError; empty without an exporter of XIDs.

    The gauge holds the last code until the driver is loaded anew: the same error twice looks like one.
    """
    discovery = discover(backend, source, end_s, clock)
    engine = discovery.engine
    if engine is None:
        return ()
    topology = find_topology(backend, source, discovery, engine, source.window_s)
    vocabulary = topology.gpus.vocabulary
    concept = vocabulary.concepts.get("xid") if vocabulary else None
    if vocabulary is None or concept is None:
        return ()
    scope = gpu_scope(topology.gpus, topology.scope)
    by = ", ".join(dict.fromkeys((*vocabulary.device_labels, *vocabulary.host_labels)))
    queries = [
        Query(
            expression=f"max by ({by}) ({selected(use, use.gauge, scope)}) > 0",
            subject=Subject("xid", group=Group.DEVICE, candidate=i),
            unit=GPU_CONCEPTS["xid"],
            weight=SPREAD,
            ttl=THIRD,
        )
        for i, use in enumerate(concept.use)
        if use.gauge
    ]
    former = former_xids(topology.gpus, window_s=topology.scope.window_s)
    if former is not None:
        queries.append(
            Query(expression=former, subject=FORMER_XIDS, unit=GPU_CONCEPTS["xid"], weight=SPREAD, ttl=THIRD)
        )
    step = step_for(end_s - start_s, interval_s=topology.layout.interval_s or 15.0, points=POINTS)
    answer = backend.ranges(queries, start_s=start_s, end_s=end_s, step_s=step)
    events: dict[tuple[str, str, int], list[XidEvent]] = {}
    for subject in (*(query.subject for query in queries if query.subject != FORMER_XIDS), FORMER_XIDS):
        for event in (e for series in answer.of(subject) for e in _events(series, vocabulary, answer.start_s)):
            same = events.setdefault((event.host, event.gpu, event.code), [])
            if subject != FORMER_XIDS or not same:
                same.append(event)
    every = [event for several in events.values() for event in several]
    return tuple(sorted(every, key=lambda event: (-event.at_s, event.host, event.gpu))[:MOST_EVENTS])


def _events(series: TimeSeries, vocabulary: GpuVocabulary, start_s: float) -> list[XidEvent]:
    """One event where a code first stands, and one where it changes."""
    host = next((series.labels[name] for name in (*vocabulary.host_labels, "instance") if series.labels.get(name)), "")
    gpu = number_of(series.labels)
    points = [(t, int(v)) for t, v in zip(series.times_s, series.values, strict=True) if v == v and 0 < v < 10_000]
    first = points[:1]
    changed = [now for before, now in pairwise(points) if now[1] != before[1]]
    return [
        XidEvent(at_s=at_s, host=host, gpu=gpu, code=code, since_start=at_s <= start_s)
        for at_s, code in [*first, *changed]
    ]


@dataclass(frozen=True, kw_only=True)
class LostReplica:
    """A replica that is gone: the moment of its last sample, and codes of XID errors on its GPUs (``on_node``: on any
    GPU of its node, as nothing says which was its own)."""

    name: str
    since_s: float
    xids: tuple[int, ...] = ()
    on_node: bool = False


def lost_replicas(asking: Asking) -> tuple[LostReplica, ...]:
    """Replicas that had data within a day and have none now, the last to go first."""
    series = presence(asking.topology.choices, asking.scope)
    if series is None or not asking.by:
        return ()
    seen = f"max_over_time(timestamp({series})[{duration(LOOK_BACK_S)}:{duration(STEP_S)}])"
    query = of_source("d_seen", f"max by ({', '.join(asking.by)}) ({seen})", weight=GROUPED)
    live = {replica_name(labels) for labels in asking.topology.layout.live}
    gone = [(labels, at_s) for labels, at_s in asking.vectors([query])["d_seen"] if replica_name(labels) not in live]
    if not gone:
        return ()
    codes, on_node = _xids(asking, [labels for labels, _ in gone])
    return tuple(
        LostReplica(
            name=replica_name(labels),
            since_s=at_s,
            xids=tuple(sorted({code for place in places_of_replica(labels) for code in codes.get(place, ())})),
            on_node=on_node,
        )
        for labels, at_s in sorted(gone, key=lambda one: -one[1])
    )


def _xids(asking: Asking, gone: Sequence[Labels]) -> tuple[Mapping[str, set[int]], bool]:
    """The codes by pod or host of the GPUs that replicas had, and whether it is by host."""
    gpus = asking.topology.gpus
    vocabulary = gpus.vocabulary
    concept = vocabulary.concepts.get("xid") if vocabulary else None
    former = None if vocabulary is None else former_of(gpus, vocabulary, gone)
    if vocabulary is None or concept is None or former is None:
        return {}, False
    label, own = next(iter(former)), ", ".join(vocabulary.device_labels)
    everywhere = Scope(window_s=asking.scope.window_s, spelling=gpus.spelling)
    had = f"max by ({own}, {label}) (last_over_time({gpus.sign}{{{matchers(former)}}}[{duration(LOOK_BACK_S)}]))"
    shown = f"max by ({own}) ({per_device(concept.use[0], everywhere)}) > 0"
    queries = [of_source("d_had", had, weight=GROUPED), of_source("d_xid", shown, weight=GROUPED)]
    answers = asking.vectors(queries)

    def device(labels: Labels) -> tuple[str, ...]:
        return tuple(labels.get(name, "") for name in vocabulary.device_labels)

    shown_by = {device(labels): int(code) for labels, code in answers["d_xid"]}
    codes: dict[str, set[int]] = {}
    for labels, _ in answers["d_had"]:
        if (code := shown_by.get(device(labels))) is not None:
            codes.setdefault(labels.get(label, ""), set()).add(code)
    return codes, label in vocabulary.host_labels
