"""Every GPU of a deployment by itself, for a table or a heat map."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.backend import Backend
from collectors.distribution import finite
from collectors.gpus import HARMFUL, THROTTLE_BITS, gpu_scope, per_device
from collectors.prometheus.answers import Sample
from collectors.reading.ground import find_ground
from collectors.reading.look import look_around
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import Candidate, GpuVocabulary

COLUMNS = (
    "busy",
    "engine_active",
    "sm_active",
    "tensor_active",
    "dram_active",
    "memory_used",
    "power",
    "power_cap",
    "temperature",
    "memory_temperature",
    "sm_clock",
    "xid",
    "throttle_reasons",
    "ecc_corrected",
    "ecc_uncorrected",
)

KEPT_COLUMNS = 60
Column = dict[tuple[str | None, ...], float | None]


@dataclass(frozen=True, kw_only=True)
class Device:
    """One GPU: what it is, where it is, and its values by concept (bytes, watts, °C, MHz, ratios of 1)."""

    labels: Mapping[str, str]
    product: str
    host: str
    pod: str
    values: Mapping[str, float | None]
    ages_s: Mapping[str, float] = field(default_factory=dict)
    """How much older than the moment asked about the values of a concept are: the GPUs of a fleet are read in turns."""

    @property
    def name(self) -> str:
        """Host and number."""
        return f"{self.host}/{self.number}"

    @property
    def number(self) -> str:
        """Its number within the host."""
        return self.labels.get("gpu") or self.labels.get("gpu_id") or self.labels.get("UUID", "?")

    @property
    def throttle_causes(self) -> tuple[str, ...]:
        """What slows it down."""
        return self._causes(~0)

    @property
    def harmful_causes(self) -> tuple[str, ...]:
        """What slows it down and should not: all but the power cap, at which a busy GPU should run."""
        return self._causes(HARMFUL)

    def _causes(self, counted: int) -> tuple[str, ...]:
        mask = int(self.values.get("throttle_reasons") or 0) & counted
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

    ``columns`` are the concepts to read, the others stay None: of thousands of GPUs each is a megabyte.
    """
    look = look_around(backend, source, at_s, clock)
    engine = detect_engine(look.names, wanted=source.engine)
    if engine is None:
        return ()
    ground = find_ground(backend, source, look, engine, source.window_s)
    vocabulary = ground.gpus.vocabulary
    if vocabulary is None:
        return ()
    scope = gpu_scope(ground.gpus, ground.scope)
    own = vocabulary.device_labels
    every = tuple(dict.fromkeys((*own, *vocabulary.host_labels, *vocabulary.pod_labels, vocabulary.product_label)))
    asked = {"device_labels": f"count by ({', '.join(every)}) ({ground.gpus.sign}{{{scope.selection()}}})"}
    for key in columns:
        concept = vocabulary.concepts.get(key)
        for i, candidate in enumerate(concept.use if concept else ()):
            asked[f"{key}.{i}"] = f"max by ({', '.join(own)}) ({_now_or_window(key, candidate, scope)})"
    found = backend.vectors(asked, at_s=look.at_s)
    values: dict[str, Column] = {}
    ages: dict[str, float] = {}
    for name, samples in found.samples.items():
        key = name.split(".")[0]
        if name != "device_labels" and samples:
            column = _COLUMNS.of(samples, own)
            values[key] = column | values[key] if key in values else column
            ages[key] = max(ages.get(key, 0.0), look.at_s - samples[0].time_s)
    labels: dict[tuple[str | None, ...], Mapping[str, str]] = {}
    for sample in found.of("device_labels"):  # a GPU shared by several pods is one device: the first names it
        labels.setdefault(_identity(sample.labels, own), sample.labels)
    for identity in set[tuple[str | None, ...]]().union(*values.values()) - labels.keys():
        labels[identity] = _pairs(own, identity)
    columns_of = [(key, values.get(key, {})) for key in COLUMNS]
    devices = [
        _device(told, {key: column.get(identity) for key, column in columns_of}, ages, vocabulary)
        for identity, told in labels.items()
    ]
    return tuple(sorted(devices, key=lambda d: (d.host, d.labels.get("gpu", "").zfill(4), d.name)))


class _Columns:
    """The values of one field by device, kept for answers that are believed: 10,000 take 10 ms a field."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[tuple[Sample, ...], Column]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, samples: tuple[Sample, ...], own: Sequence[str]) -> Column:
        """Read, or as read before of these very samples (which are kept, so that no others take their place)."""
        with self._lock:
            held = self._kept.get(id(samples))
        if held is not None and held[0] is samples:
            return held[1]
        found = {_identity(sample.labels, own): finite(sample.value) for sample in reversed(samples)}
        with self._lock:
            self._kept[id(samples)] = (samples, found)
            while len(self._kept) > KEPT_COLUMNS:
                self._kept.popitem(last=False)
        return found


_COLUMNS = _Columns()


def _identity(labels: Mapping[str, str], names: Sequence[str]) -> tuple[str | None, ...]:
    """What tells one device from another."""
    return tuple([labels.get(name) for name in names])


def _pairs(names: Sequence[str], identity: Sequence[str | None]) -> dict[str, str]:
    return {name: value for name, value in zip(names, identity, strict=True) if value is not None}


def _now_or_window(key: str, candidate: Candidate, scope: Scope) -> str:
    """Codes and bits as they are now; everything else over the window."""
    if key in ("xid", "throttle_reasons") and candidate.gauge:
        return selected(candidate, candidate.gauge, scope)
    return per_device(candidate, scope)


def _device(
    labels: Mapping[str, str],
    values: Mapping[str, float | None],
    ages: Mapping[str, float],
    vocabulary: GpuVocabulary,
) -> Device:
    def first(names: tuple[str, ...]) -> str:
        return next((labels[name] for name in names if labels.get(name)), "")

    return Device(
        labels=labels,
        product=labels.get(vocabulary.product_label, ""),
        host=first((*vocabulary.host_labels, "instance")),
        pod=first(vocabulary.pod_labels),
        values=values,
        ages_s=ages,
    )
