"""Every GPU of a deployment by itself, for a table or a heat map."""

from __future__ import annotations

import math
import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from collectors.backends.backend import Backend
from collectors.prometheus.answers import Sample
from collectors.prometheus.histograms import finite
from collectors.queries.query import GROUPED, SPREAD, Group, Query, Subject
from collectors.queries.ttl import EVERY_MOMENT, FOURTH, SECOND, THIRD, Ttl, slow
from collectors.reading.discovery import discover
from collectors.reading.gpu_join import gpu_scope
from collectors.reading.gpu_values import HARMFUL, THROTTLE_BITS, per_device
from collectors.reading.topology import find_topology
from collectors.source import Source
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import GPU_CONCEPTS, GpuVocabulary, MetricCandidate

TTL_OF_COLUMNS: Mapping[str, Ttl] = {
    "busy": FOURTH,
    "engine_active": FOURTH,
    "sm_active": FOURTH,
    "tensor_active": FOURTH,
    "dram_active": FOURTH,
    "memory_used": FOURTH,
    "power": FOURTH,
    "power_cap": slow(16),
    "temperature": FOURTH,
    "memory_temperature": FOURTH,
    "sm_clock": FOURTH,
    "xid": THIRD,
    "throttle_reasons": SECOND,
    "ecc_corrected": slow(18),
    "ecc_uncorrected": slow(20),
}
"""What is known of every GPU, and for how long it serves of a fleet: single GPUs are many samples."""

COLUMNS = tuple(TTL_OF_COLUMNS)
LABELS = Subject("device_labels", group=Group.DEVICE)

NUMBERS = ("gpu", "gpu_id", "index")
"""Labels of the number of a GPU within its host."""
KEPT = 20
"""Readings that are kept, of the deployment read last: columns, places, GPUs. Of 10,000 a column takes 30 ms."""
Identity = tuple[str | None, ...]
Column = Mapping[Identity, float | None]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One GPU: what it is, where it is, and its values by concept (bytes, watts, °C, MHz, ratios of 1)."""

    labels: Mapping[str, str]
    product: str
    host: str
    pod: str
    values: Mapping[str, float | None]
    moments_s: Mapping[str, float] = field(default_factory=dict)
    """The moment that the values of a concept are about, or an earlier one since which they are the same."""

    @property
    def name(self) -> str:
        """The name of a GPU: its host and its number there."""
        return f"{self.host}/{self.number}"

    @property
    def number(self) -> str:
        """Its number within the host."""
        return number_of(self.labels)

    @property
    def harmful_causes(self) -> tuple[str, ...]:
        """What slows it down and should not: all but the power cap, at which a busy GPU should run."""
        mask = int(self.values.get("throttle_reasons") or 0) & HARMFUL
        return tuple(text for bit, text in THROTTLE_BITS.items() if mask & bit) if mask else ()


def read_devices(
    backend: Backend,
    source: Source,
    *,
    at_s: float | None = None,
    columns: Collection[str] = COLUMNS,
    clock: Callable[[], float] = time.time,
) -> tuple[Device, ...]:
    """The GPUs of a deployment, by host and number; none when they cannot be told. Raises SourceError.

    ``columns`` are the concepts to read, the others are left out: of thousands of GPUs each is a megabyte.
    """
    discovery = discover(backend, source, at_s, clock)
    engine = discovery.engine
    if engine is None:
        return ()
    topology = find_topology(backend, source, discovery, engine, source.window_s)
    vocabulary = topology.gpus.vocabulary
    if vocabulary is None:
        return ()
    scope = gpu_scope(topology.gpus, topology.scope)
    own = vocabulary.device_labels
    where = (*vocabulary.host_labels, *vocabulary.pod_labels, *vocabulary.product_labels)
    every = tuple(dict.fromkeys((*own, *where, *NUMBERS, "instance")))
    places = f"count by ({', '.join(every)}) ({topology.gpus.sign}{{{scope.selection()}}})"
    queries = [Query(expression=places, subject=LABELS, weight=GROUPED, ttl=slow(15))]
    for key in columns:
        concept = vocabulary.concepts.get(key)
        for i, candidate in enumerate(concept.use if concept else ()):
            queries.append(
                Query(
                    expression=f"max by ({', '.join(own)}) ({_now_or_window(key, candidate, scope)})",
                    subject=Subject(key, group=Group.DEVICE, candidate=i),
                    unit=GPU_CONCEPTS[key],
                    weight=SPREAD,
                    ttl=TTL_OF_COLUMNS.get(key, EVERY_MOMENT),
                )
            )
    answer = backend.vectors(queries, at_s=discovery.at_s)
    return _devices({subject: samples for subject, samples in answer.samples.items() if samples}, vocabulary)


def _devices(answered: Mapping[Subject, tuple[Sample, ...]], vocabulary: GpuVocabulary) -> tuple[Device, ...]:
    """The GPUs from the answers; what did not change since the last reading is as it was."""
    own = vocabulary.device_labels
    values: dict[str, Column] = {}
    moments: dict[str, float] = {}
    for subject, samples in answered.items():
        if subject != LABELS:
            key = subject.quantity
            column = _KEPT.of(subject.label, (samples,), partial(_column, samples, own))
            values[key] = {**column, **values[key]} if key in values else column
            moments[key] = min(moments.get(key, math.inf), samples[0].time_s)
    named = answered.get(LABELS, ())
    places = _KEPT.of("places", (named,), partial(_places, named, vocabulary))
    nameless = set[Identity]().union(*values.values()) - places.keys()
    if nameless:
        labels = [_pairs(own, identity) for identity in nameless]
        places = _sorted({**places, **{_identity(each, own): _place(each, vocabulary) for each in labels}})
    return _KEPT.of(f"devices {' '.join(values)}", (places, *values.values()), lambda: _built(places, values, moments))


def _built(
    places: Mapping[Identity, _Place], values: Mapping[str, Column], moments: Mapping[str, float]
) -> tuple[Device, ...]:
    return tuple(
        Device(
            labels=place.labels,
            product=place.product,
            host=place.host,
            pod=place.pod,
            values={key: column.get(identity) for key, column in values.items()},
            moments_s=moments,
        )
        for identity, place in places.items()
    )


def _column(samples: Sequence[Sample], own: Sequence[str]) -> Column:
    return {_identity(sample.labels, own): finite(sample.value) for sample in reversed(samples)}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """What a GPU is and where: this hardly changes."""

    labels: Mapping[str, str]
    product: str
    host: str
    pod: str


def _places(samples: Sequence[Sample], vocabulary: GpuVocabulary) -> dict[Identity, _Place]:
    """The place of each GPU by host and number. A GPU shared by several pods is one device: the first names it."""
    own = vocabulary.device_labels
    return _sorted({_identity(s.labels, own): _place(s.labels, vocabulary) for s in reversed(samples)})


def _sorted(places: Mapping[Identity, _Place]) -> dict[Identity, _Place]:
    return dict(
        sorted(
            places.items(),
            key=lambda one: (one[1].host, one[1].labels.get("gpu", "").zfill(4), number_of(one[1].labels)),
        )
    )


def _place(labels: Mapping[str, str], vocabulary: GpuVocabulary) -> _Place:
    def first(names: tuple[str, ...]) -> str:
        return next((labels[name] for name in names if labels.get(name)), "")

    return _Place(
        labels=labels,
        product=first(vocabulary.product_labels),
        host=first((*vocabulary.host_labels, "instance")),
        pod=first(vocabulary.pod_labels),
    )


class _Kept:
    """What was read last, by what it is: it is not read again from the same answer, and stays where it is equal."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[object, ...], object]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, what: str, answers: tuple[object, ...], read: Callable[[], T]) -> T:
        """Read from ``answers``, or as read before from these very ones."""
        with self._lock:
            held = self._kept.get(what)
        if held is not None and len(held[0]) == len(answers) and all(map(operator.is_, held[0], answers)):
            return cast(T, held[1])
        value = read()
        if held is not None and held[1] == value:
            value = held[1]
        with self._lock:
            self._kept[what] = (answers, value)
            self._kept.move_to_end(what)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return value


_KEPT = _Kept()


def _identity(labels: Mapping[str, str], names: Sequence[str]) -> Identity:
    """What tells one device from another."""
    return tuple([labels.get(name) for name in names])


def number_of(labels: Mapping[str, str]) -> str:
    """The number of a GPU within its host, else what tells it from others."""
    return next((labels[name] for name in (*NUMBERS, "UUID", "uuid", "gpu_uuid", "device") if labels.get(name)), "?")


def _pairs(names: Sequence[str], identity: Sequence[str | None]) -> dict[str, str]:
    return {name: value for name, value in zip(names, identity, strict=True) if value is not None}


def _now_or_window(key: str, candidate: MetricCandidate, scope: Scope) -> str:
    """Codes and bits as they are now; everything else over the window."""
    if key in ("xid", "throttle_reasons") and candidate.gauge:
        return selected(candidate, candidate.gauge, scope)
    return per_device(candidate, scope)
