"""GPUs of a deployment: joined by an explicit selector, by pod or by host; never a whole cluster by accident.

Utilisation is told apart: ``busy`` (a kernel ran, near 100 % on any LLM server) is not SM, tensor or memory activity.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.backends.backend import Vectors
from collectors.prometheus.answers import Sample
from collectors.prometheus.promql import LabelValue
from collectors.reading.layout import HOST_LABELS, Layout
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import Candidate, GpuVocabulary

GIGABYTE = 1e9
MOST_SAMPLES = 100_000
"""Samples of one GPU field that a reading averages; 10,000 GPUs over 15 minutes would be 600,000 a field."""
FLEET_SCRAPES = 4
FLEET_GPUS = 2_000
MANY_PLACES = 20
FIELDS = {
    "gpu_busy": "busy",
    "gpu_sm_active": "sm_active",
    "gpu_tensor_active": "tensor_active",
    "gpu_dram_active": "dram_active",
    "power_w": "power",
    "power_cap_w": "power_cap",
    "gpus_with_xid": "xid",
    "gpus_throttled": "throttle_reasons",
    "ecc_uncorrected": "ecc_uncorrected",
}
"""The field behind a number."""
NEEDED = frozenset(
    {
        "busy",
        "engine_active",
        "sm_active",
        "tensor_active",
        "dram_active",
        "memory_used",
        "memory_free",
        "memory_reserved",
        "memory_total",
        "power",
        "power_cap",
        "temperature",
        "sm_clock",
        "xid",
        "throttle_reasons",
        "thermal_throttled",
        "ecc_uncorrected",
        "row_remap_failure",
    }
)
"""The concepts that an observation shows."""
THROTTLED_SHARE = 0.01
"""A GPU counts as throttled from 1 % of the time on: short clips of the power limit are normal."""

# NVML's clocksEventReasons: only those that slow a GPU down under load.
THROTTLE_BITS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
HARMFUL = 0x8 | 0x20 | 0x40 | 0x80
"""Running at the power cap is how a busy GPU should run, so it is told but not counted as throttling."""


@dataclass(frozen=True, kw_only=True)
class GpuJoin:
    """The GPUs of a deployment as matchers, how they were found, or why not."""

    vocabulary: GpuVocabulary | None = None
    labels: Mapping[str, LabelValue] = field(default_factory=dict)
    always: str = ""
    sign: str = ""
    how: str = ""
    devices: float = 0.0
    single: bool = False
    """Whether every GPU is known to have one series of a field: no partitions, no second exporter."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class GpuNumbers:
    """Numbers of an observation that come from GPUs, with what they say beside them."""

    numbers: Mapping[str, float | None]
    notes: tuple[str, ...] = ()


def place_expressions(
    vocabularies: Sequence[GpuVocabulary], names: Collection[str], *, fleet: bool = False
) -> dict[str, str]:
    """Expressions that tell where the GPUs of each exporter are; of a fleet also how many there are."""
    found = {}
    for v in vocabularies:
        by = ", ".join(dict.fromkeys((*v.pod_labels, *v.host_labels, "instance")))
        found[f"gpu_places.{v.id}"] = f"count by ({by}) ({_sign(v, names)})"
        if fleet:
            found[f"gpu_devices.{v.id}"] = f"count(count by ({', '.join(v.device_labels)}) ({_sign(v, names)}))"
    return found


def _sign(vocabulary: GpuVocabulary, names: Collection[str]) -> str:
    """The metric that stands for a GPU: the first of those an exporter is known by that has data."""
    return next((name for name in vocabulary.detect if name in names), vocabulary.detect[0])


def join_gpus(
    vocabularies: Sequence[GpuVocabulary],
    places: Vectors,
    layout: Layout,
    selector: Mapping[str, LabelValue] | None,
    names: Collection[str],
) -> GpuJoin:
    """The GPUs that belong to a deployment: mapping before pod before host."""
    if not vocabularies:
        return GpuJoin(reason="no GPU exporter is seen (dcgm-exporter or AMD's device-metrics-exporter)")
    if selector is not None:
        first = vocabularies[0]
        known = _known(first, places, names)
        return GpuJoin(labels=selector, how="gpu_selector", **known)  # type: ignore[arg-type]
    for vocabulary in vocabularies:
        found = [sample.labels for sample in places.of(f"gpu_places.{vocabulary.id}")]
        known = _known(vocabulary, places, names)
        by_pod = _common(found, vocabulary.pod_labels, _pods(layout))
        if by_pod:
            return GpuJoin(how="pod", **by_pod, **known)  # type: ignore[arg-type]
        by_host = _common(found, vocabulary.host_labels, _hosts(layout)) or _by_address(found, _hosts(layout))
        if by_host:
            return GpuJoin(how="host", **by_host, **known)  # type: ignore[arg-type]
    label = vocabularies[0].label
    return GpuJoin(reason=f"{label} is seen, but no pod or host ties its GPUs to this deployment: give gpu_selector")


def _known(vocabulary: GpuVocabulary, places: Vectors, names: Collection[str]) -> dict[str, object]:
    series = sum(sample.value for sample in places.of(f"gpu_places.{vocabulary.id}"))
    single = _value(places.of(f"gpu_devices.{vocabulary.id}")) == series
    return {"vocabulary": vocabulary, "devices": series, "single": single, "sign": _sign(vocabulary, names)}


def _pods(layout: Layout) -> set[str]:
    return set().union(*layout.values(("pod", "exported_pod")).values())


def _hosts(layout: Layout) -> set[str]:
    named = layout.values(HOST_LABELS)
    addresses = {_host(address) for address in layout.values(("instance",)).get("instance", set())}
    return set().union(*named.values(), addresses)


def _host(address: str) -> str:
    """The host of an instance label: without port, IPv6 brackets kept apart from it."""
    if address.startswith("["):
        return address[1:].split("]")[0]
    return address.rsplit(":", 1)[0] if address.count(":") == 1 else address


def _common(found: Sequence[Mapping[str, str]], labels: Sequence[str], wanted: set[str]) -> dict[str, object] | None:
    """Matchers for the places that are wanted; when those are all there are, any value of the label will do."""
    for label in labels:
        values = {place[label] for place in found if place.get(label)}
        shared = sorted(values & wanted)
        if shared and len(shared) == len(values) > MANY_PLACES:
            return {"always": f'{label}!=""'}
        if shared:
            return {"labels": {label: shared}}
    return None


def _by_address(found: Sequence[Mapping[str, str]], hosts: set[str]) -> dict[str, object] | None:
    shared = sorted({place["instance"] for place in found if _host(place.get("instance", "")) in hosts})
    return {"labels": {"instance": shared}} if shared else None


def gpu_scope(join: GpuJoin, scope: Scope) -> Scope:
    """The scope of the GPUs of a deployment; for a large fleet, only its last scrapes, not the whole window.

    Thousands of GPUs are an average already: their gauges are taken as they are now.
    """
    samples = join.devices * scope.window_s / max(scope.step_s, 0.1)
    window = scope.window_s if samples <= MOST_SAMPLES else min(scope.window_s, FLEET_SCRAPES * scope.step_s)
    instant = join.devices > FLEET_GPUS
    return Scope(labels=join.labels, always=join.always, window_s=window, step_s=scope.step_s, instant=instant)


def gpu_expressions(
    vocabulary: GpuVocabulary, scope: Scope, *, sign: str = "", concepts: Collection[str] = NEEDED
) -> dict[str, str]:
    """Aggregates over all devices; every device counts once, however many partitions or jobs report it."""
    by = ", ".join(vocabulary.device_labels)
    found = {}
    metric = sign or vocabulary.detect[0]
    found["devices.0"] = f"count(count by ({by}) ({metric}{{{scope.selection()}}}))"
    for label in vocabulary.partition_labels:
        series = scope.selection(extra=f'{label}!=""')
        found["partitions.0"] = f"count({metric}{{{series}}})"
    for key, concept in vocabulary.concepts.items():
        for i, candidate in enumerate(concept.use if key in concepts else ()):
            found.update(_device_expressions(f"{key}.{i}", key, candidate, by, scope))
    return found


def _device_expressions(name: str, key: str, candidate: Candidate, by: str, scope: Scope) -> dict[str, str]:
    if key == "throttle_reasons":
        return {name: f'count_values("mask", {selected(candidate, candidate.gauge or "", scope)})'}
    device = f"max by ({by}) ({per_device(candidate, scope)})"
    if key == "xid":
        return {name: f"sum({device} > bool 0)"}
    if key in ("power_throttled", "thermal_throttled"):
        return {name: f"sum({device} > bool {THROTTLED_SHARE:g})"}
    how = candidate.across if candidate.gauge else "sum"
    return {name: f"{how}({device})"}


def per_device(candidate: Candidate, scope: Scope) -> str:
    """One device's value over the window in its wanted unit, blank sentinels left out."""
    scale = "" if candidate.scale == 1.0 else f" * {candidate.scale!r}"
    if candidate.counter:
        return f"rate({selected(candidate, candidate.counter, scope)}[{scope.window}]){scale}"
    over = {"max": "max", "min": "min"}.get(candidate.across, "avg")
    kept = f" < {candidate.below:g}" if candidate.below is not None else ""
    series = selected(candidate, candidate.gauge or "", scope)
    if not scope.instant:
        series = f"{over}_over_time({series}[{scope.window}])"
    return f"({series}{kept}){scale}"


def gpu_numbers(vocabulary: GpuVocabulary, vectors: Vectors, generation_tokens_per_s: float | None) -> GpuNumbers:
    """The GPU numbers of an observation."""
    read = {key: _first(vectors, key, len(concept.use)) for key, concept in vocabulary.concepts.items()}
    partitioned = bool(_first(vectors, "partitions", 1))
    busy = read.get("engine_active") if partitioned or read.get("busy") is None else read.get("busy")
    power = read.get("power")
    total = read.get("memory_total")
    if total is None:
        parts = [read.get(key) for key in ("memory_used", "memory_free", "memory_reserved")]
        total = sum(p for p in parts if p is not None) if parts[0] is not None and parts[1] is not None else None
    throttled, notes = _throttled(vectors, vocabulary, read)
    numbers = {
        "gpus": _first(vectors, "devices", 1),
        "gpu_busy": busy,
        "gpu_sm_active": read.get("sm_active"),
        "gpu_tensor_active": read.get("tensor_active"),
        "gpu_dram_active": read.get("dram_active"),
        "gpu_memory_used_gb": _per(read.get("memory_used"), GIGABYTE),
        "gpu_memory_total_gb": _per(total, GIGABYTE),
        "power_w": power,
        "power_cap_w": read.get("power_cap"),
        "gpu_temperature_max_c": read.get("temperature"),
        "gpu_clock_min_mhz": read.get("sm_clock"),
        "gpus_with_xid": read.get("xid"),
        "gpus_throttled": throttled,
        "ecc_uncorrected": read.get("ecc_uncorrected"),
        "tokens_per_joule": generation_tokens_per_s / power if generation_tokens_per_s is not None and power else None,
    }
    if partitioned:
        notes.append("GPUs are partitioned (MIG): busy is the activity of the graphics engine.")
    if read.get("row_remap_failure"):
        notes.append("A GPU failed to remap a memory row: it needs replacing.")
    return GpuNumbers(numbers=numbers, notes=tuple(notes))


def missing_fields(vocabulary: GpuVocabulary, numbers: Mapping[str, float | None]) -> dict[str, str]:
    """Why a GPU number has no data, by number: the field that the exporter would have to be told to export."""
    found = {}
    for number, key in FIELDS.items():
        concept = vocabulary.concepts.get(key)
        if numbers.get(number) is not None:
            continue
        if concept is None or not concept.use:
            found[number] = f"{vocabulary.label} has no field for it"
        else:
            name = concept.use[0].gauge or concept.use[0].counter
            found[number] = f"{name} has no data" + (f"; enable {concept.enable}" if concept.enable else "")
    return found


def _throttled(
    vectors: Vectors, vocabulary: GpuVocabulary, read: Mapping[str, float | None]
) -> tuple[float | None, list[str]]:
    """GPUs slowed down, and by what."""
    concept = vocabulary.concepts.get("throttle_reasons")
    masks = next(
        (s for i in range(len(concept.use) if concept else 0) if (s := vectors.of(f"throttle_reasons.{i}"))), ()
    )
    if masks:
        slow = [(int(float(s.labels.get("mask", "0"))), s.value) for s in masks]
        names = sorted({text for mask, n in slow for bit, text in THROTTLE_BITS.items() if mask & bit & HARMFUL and n})
        count = sum(n for mask, n in slow if mask & HARMFUL)
        return count, [f"{count:g} GPUs are slowed down: {', '.join(names)}."] if count else []
    thermal = read.get("thermal_throttled")
    if thermal:
        return thermal, [f"{thermal:g} GPUs are slowed down by heat."]
    return thermal, []


def _first(vectors: Vectors, key: str, candidates: int) -> float | None:
    return next((v for i in range(candidates) if (v := _value(vectors.of(f"{key}.{i}"))) is not None), None)


def _value(samples: Sequence[Sample]) -> float | None:
    return samples[0].value if samples and math.isfinite(samples[0].value) else None


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
