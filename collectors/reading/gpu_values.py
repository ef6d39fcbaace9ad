"""The numbers of a deployment's GPUs: what is asked, and what the answers say.

Utilisation is told apart: ``busy`` (a kernel ran, near 100 % on any LLM server) is not SM, tensor or memory activity.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Vectors
from collectors.prometheus.answers import Sample
from collectors.prometheus.histograms import finite
from collectors.queries.query import OVER_GPUS, SPREAD, Group, Query, Subject
from collectors.queries.ttl import EVERY_MOMENT, FOURTH, SECOND, THIRD, Ttl, slow
from collectors.reading.remarks import Names, Remark, RemarkKind, remark
from collectors.units import GB
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import GPU_CONCEPTS, GpuVocabulary, MetricCandidate

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
SHOWN: Mapping[str, Ttl] = {
    "busy": THIRD,
    "engine_active": slow(14),
    "sm_active": THIRD,
    "tensor_active": THIRD,
    "dram_active": THIRD,
    "memory_used": SECOND,
    "memory_free": slow(6),
    "memory_reserved": slow(7),
    "memory_total": slow(8),
    "power": THIRD,
    "power_cap": slow(9),
    "temperature": THIRD,
    "sm_clock": SECOND,
    "xid": FOURTH,
    "xid_count": FOURTH,
    "throttle_reasons": FOURTH,
    "thermal_throttled": EVERY_MOMENT,
    "ecc_uncorrected": slow(11),
    "row_remap_failure": slow(13),
}
"""The concepts that an observation shows, and how long their sums over a fleet serve."""
FORMER_XIDS = Subject("former_xid", group=Group.GPU)
"""GPUs with an XID error that a replica had which reports no more."""
MOST_NAMED = 3
"""GPUs that a sentence names. Chosen: more are a table."""
THROTTLED_SHARE = 0.01
"""A GPU counts as throttled from 1 % of the time on: short clips of the power limit are normal."""

ADDED = ("memory_used", "memory_free", "memory_reserved", "memory_total")
"""Concepts of which the parts of a device have a share each."""
FLAGGED = {
    "xid": "> 0",
    "xid_count": "> 0",
    "throttle_reasons": ">= 8",
    "power_throttled": f"> {THROTTLED_SHARE:g}",
    "thermal_throttled": f"> {THROTTLED_SHARE:g}",
}
"""Concepts of which the devices in trouble are asked for, and when they are; bits below 8 do no harm."""

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
class GpuNumbers:
    """Numbers of an observation that come from GPUs, with what they say beside them."""

    numbers: Mapping[str, float | None]
    remarks: tuple[Remark, ...] = ()


def gpu_subject(quantity: str, candidate: int = 0) -> Subject:
    """A quantity over all GPUs."""
    return Subject(quantity, group=Group.GPU, candidate=candidate)


def gpu_queries(vocabulary: GpuVocabulary, scope: Scope, *, sign: str = "", partitioned: bool = False) -> list[Query]:
    """Aggregates over all devices; every device counts once, however many partitions or jobs report it."""
    by = ", ".join(vocabulary.device_labels)
    metric = sign or vocabulary.detect[0]
    queries = [gpu_query("devices", f"count(count by ({by}) ({metric}{{{scope.selection()}}}))", unit="GPUs")]
    if partitioned and vocabulary.profile_label:
        queries += _of_parts(vocabulary, metric, scope)
    for key, concept in vocabulary.concepts.items():
        for i, candidate in enumerate(concept.use if key in SHOWN else ()):
            queries.append(_over_devices(key, i, candidate, vocabulary, scope))
    return queries


def _of_parts(vocabulary: GpuVocabulary, metric: str, scope: Scope) -> list[Query]:
    """How many partitions of each profile there are, and how active they are."""
    by, parts = vocabulary.profile_label, _in_parts(vocabulary, scope, "!=")
    queries = [gpu_query("partitions", f"count by ({by}) ({metric}{{{parts.selection()}}})", unit="GPUs")]
    for candidate in vocabulary.concepts["engine_active"].use[:1]:
        queries.append(gpu_query("part_active", f"avg by ({by}) ({per_device(candidate, parts)})", unit="ratio"))
    return queries


def _in_parts(vocabulary: GpuVocabulary, scope: Scope, sign: str) -> Scope:
    """The scope of the parts of devices (``!=``), or of devices as a whole (``=``)."""
    matchers = [f'{label}{sign}""' for label in vocabulary.partition_labels]
    return replace(scope, always=",".join(part for part in (scope.always, *matchers) if part))


def gpu_query(key: str, expression: str, *, unit: str) -> Query:
    """A query that counts GPUs."""
    return Query(expression=expression, subject=gpu_subject(key), unit=unit, weight=OVER_GPUS, ttl=FOURTH)


def _over_devices(key: str, place: int, candidate: MetricCandidate, vocabulary: GpuVocabulary, scope: Scope) -> Query:
    """One concept over all devices: added up, or which devices have it."""
    how = candidate.across if candidate.gauge or candidate.expr else "sum"
    expression, weight = f"{how}({by_device(key, candidate, vocabulary, scope)})", SPREAD
    if key in FLAGGED:
        expression = flagged(key, candidate, vocabulary, scope)
        weight = OVER_GPUS
    ttl = SHOWN.get(key, EVERY_MOMENT)
    return Query(expression=expression, subject=gpu_subject(key, place), unit=GPU_CONCEPTS[key], weight=weight, ttl=ttl)


def by_device(key: str, candidate: MetricCandidate, vocabulary: GpuVocabulary, scope: Scope) -> str:
    """The value of every device: what its parts have is added up, means are means of its parts, else the highest."""
    by = ", ".join(vocabulary.device_labels)
    if key in ADDED and vocabulary.partition_labels:
        parts = per_device(candidate, _in_parts(vocabulary, scope, "!="))
        whole = per_device(candidate, _in_parts(vocabulary, scope, "="))
        each = f"max by ({by}, {', '.join(vocabulary.partition_labels)}) ({parts})"
        return f"(sum by ({by}) ({each}) or max by ({by}) ({whole}))"
    how = "avg" if candidate.across == "avg" else "max"
    return f"{how} by ({by}) ({per_device(candidate, scope)})"


def flagged(key: str, candidate: MetricCandidate, vocabulary: GpuVocabulary, scope: Scope) -> str:
    """The devices that show trouble, each with its labels; where none does, a 0 without labels tells that."""
    value = now(candidate, scope) if key == "throttle_reasons" else per_device(candidate, scope)
    by = (*places_of(vocabulary), *(["xid"] if "xid" in vocabulary.labels else []))
    device = f"max by ({', '.join(by)}) ({value})"
    return f"({device} {FLAGGED[key]}) or sum({device}) * 0"


def places_of(vocabulary: GpuVocabulary) -> tuple[str, ...]:
    """The labels that tell which device it is, and where."""
    return tuple(dict.fromkeys((*vocabulary.device_labels, *vocabulary.host_labels, "instance")))


def now(candidate: MetricCandidate, scope: Scope) -> str:
    """A code or a mask of bits as it is now, blank sentinels left out."""
    kept = f" < {candidate.below:g}" if candidate.below is not None else ""
    return f"{selected(candidate, candidate.gauge or '', scope)}{kept}"


def per_device(candidate: MetricCandidate, scope: Scope) -> str:
    """One device's value over the window in its wanted unit, blank sentinels left out."""
    scale = "" if candidate.scale == 1.0 else f" * {candidate.scale!r}"
    if candidate.counter:
        return f"rate({selected(candidate, candidate.counter, scope)}[{scope.window}]){scale}"
    if candidate.expr:
        return f"({scope.fill(candidate.expr)}){scale}"
    over = {"max": "max", "min": "min"}.get(candidate.across, "avg")
    kept = f" < {candidate.below:g}" if candidate.below is not None else ""
    series = selected(candidate, candidate.gauge or "", scope)
    if not scope.instant:
        series = f"{over}_over_time({series}[{scope.window}])"
    return f"({series}{kept}){scale}"


def gpu_numbers(vocabulary: GpuVocabulary, vectors: Vectors, generation_tokens_per_s: float | None) -> GpuNumbers:
    """The GPU numbers of an observation."""
    read = {key: _first(vectors, key, len(concept.use)) for key, concept in vocabulary.concepts.items()}
    partitioned = bool(vectors.of(gpu_subject("partitions")))
    busy = read.get("busy")
    if partitioned or busy is None:
        active = _weighted(vectors, vocabulary) if partitioned else None
        busy = read.get("engine_active") if active is None else active
    power = read.get("power")
    total = read.get("memory_total")
    if total is None:
        parts = [read.get(key) for key in ("memory_used", "memory_free", "memory_reserved")]
        total = sum(p for p in parts if p is not None) if parts[0] is not None and parts[1] is not None else None
    throttled, remarks = _throttled(vectors, vocabulary)
    xids = _xids(vectors, vocabulary)
    numbers = {
        "gpus": _first(vectors, "devices", 1),
        "gpu_busy": busy,
        "gpu_sm_active": read.get("sm_active"),
        "gpu_tensor_active": read.get("tensor_active"),
        "gpu_dram_active": read.get("dram_active"),
        "gpu_memory_used_gb": _per(read.get("memory_used"), GB),
        "gpu_memory_total_gb": _per(total, GB),
        "power_w": power,
        "power_cap_w": read.get("power_cap"),
        "gpu_temperature_max_c": read.get("temperature"),
        "gpu_clock_min_mhz": read.get("sm_clock"),
        "gpus_with_xid": None if xids is None else float(len({gpu_name(one.labels, vocabulary) for one in xids})),
        "gpus_throttled": throttled,
        "ecc_uncorrected": read.get("ecc_uncorrected"),
        "tokens_per_joule": generation_tokens_per_s / power if generation_tokens_per_s is not None and power else None,
    }
    if xids:
        remarks.insert(
            0, _named(RemarkKind.XID_ON, RemarkKind.XIDS_ON, xids, vocabulary, codes=_codes(xids, vocabulary))
        )
    if partitioned:
        remarks.append(remark(RemarkKind.GPUS_PARTITIONED))
    if read.get("row_remap_failure"):
        remarks.append(remark(RemarkKind.ROW_NOT_REMAPPED))
    return GpuNumbers(numbers=numbers, remarks=tuple(remarks))


def missing_fields(vocabulary: GpuVocabulary, numbers: Mapping[str, float | None]) -> dict[str, str]:
    """Why a GPU number has no data, by number: the field that the exporter would have to be told to export."""
    missing = {}
    for number, key in FIELDS.items():
        concept = vocabulary.concepts.get(key)
        if numbers.get(number) is not None:
            continue
        if concept is None or not concept.use:
            missing[number] = f"{vocabulary.label} has no field for it"
        else:
            name = concept.use[0].gauge or concept.use[0].counter or "it"
            missing[number] = f"{name} has no data" + (f"; enable {concept.enable}" if concept.enable else "")
    return missing


def gpu_name(labels: Mapping[str, str], vocabulary: GpuVocabulary) -> str:
    """Host and number of a GPU: "node-1/3"."""
    host = next((labels[name] for name in (*vocabulary.host_labels, "instance") if labels.get(name)), "")
    names = ("gpu", "gpu_id", *vocabulary.device_labels)
    number = next((labels[name] for name in names if labels.get(name)), "?")
    return f"{host}/{number}" if host else number


def troubled(vectors: Vectors, vocabulary: GpuVocabulary, key: str) -> tuple[Sample, ...] | None:
    """The devices that show a kind of trouble; None where the exporter does not tell."""
    concept = vocabulary.concepts.get(key)
    answers = (vectors.of(gpu_subject(key, i)) for i in range(len(concept.use) if concept else 0))
    known = next((samples for samples in answers if samples), None)
    if known is None and key == "xid_count" and concept is not None:
        return ()  # a count is born with the first error
    return None if known is None else tuple(one for one in known if one.labels)


def _xids(vectors: Vectors, vocabulary: GpuVocabulary) -> tuple[Sample, ...] | None:
    """The devices with an XID error, those of lost replicas among them."""
    own = troubled(vectors, vocabulary, "xid" if "xid" in vocabulary.concepts else "xid_count")
    former = vectors.of(FORMER_XIDS)
    return own if own is None and not former else ((own or ()) + tuple(one for one in former if one not in (own or ())))


def _named(
    single: RemarkKind, several: RemarkKind, gpus: Sequence[Sample], vocabulary: GpuVocabulary, **facts: object
) -> Remark:
    """A remark that names GPUs, in the singular for one."""
    names = sorted({gpu_name(one.labels, vocabulary) for one in gpus})
    shown = Names(names, most=MOST_NAMED, counted=True)
    return remark(single if len(names) == 1 else several, gpus=len(names), which=shown, **facts)


def _codes(xids: Sequence[Sample], vocabulary: GpuVocabulary) -> str:
    """ " 79" and the like, where the value is a code."""
    if "xid" not in vocabulary.concepts:
        codes = {one.labels["xid"] for one in xids if one.labels.get("xid")}
    else:
        codes = {f"{one.value:g}" for one in xids}
    return f" {', '.join(sorted(codes))}" if codes else ""


def _throttled(vectors: Vectors, vocabulary: GpuVocabulary) -> tuple[float | None, list[Remark]]:
    """GPUs slowed down, and by what."""
    masks = troubled(vectors, vocabulary, "throttle_reasons")
    if masks is not None:
        slow = [one for one in masks if int(one.value) & HARMFUL]
        bits = {bit for one in slow for bit in THROTTLE_BITS if int(one.value) & bit & HARMFUL}
        causes = Names(sorted(THROTTLE_BITS[bit] for bit in bits))
        remarks = (
            [_named(RemarkKind.GPU_SLOWED_DOWN, RemarkKind.GPUS_SLOWED_DOWN, slow, vocabulary, causes=causes)]
            if slow
            else []
        )
        return float(len(slow)), remarks
    hot = troubled(vectors, vocabulary, "thermal_throttled")
    if hot is None:
        return None, []
    remarks = [_named(RemarkKind.GPU_SLOWED_BY_HEAT, RemarkKind.GPUS_SLOWED_BY_HEAT, hot, vocabulary)] if hot else []
    return float(len(hot)), remarks


def _weighted(vectors: Vectors, vocabulary: GpuVocabulary) -> float | None:
    """Activity of the partitions, each weighing as many slices as its profile has ("3g.20gb" has three)."""
    label = vocabulary.profile_label
    counts = {one.labels.get(label, ""): one.value for one in vectors.of(gpu_subject("partitions"))}
    active = {one.labels.get(label, ""): one.value for one in vectors.of(gpu_subject("part_active"))}
    weights = {profile: counts.get(profile, 0.0) * _slices(profile) for profile in active}
    whole = sum(weights.values())
    return sum(active[profile] * weight for profile, weight in weights.items()) / whole if whole > 0 else None


def _slices(profile: str) -> float:
    """Compute slices of a MIG profile; 1 where it is not one."""
    slices = re.search(r"(\d+)g\.", profile)
    return float(slices.group(1)) if slices else 1.0


def _first(vectors: Vectors, key: str, candidates: int) -> float | None:
    """The value of the first candidate that has one."""
    answers = (vectors.of(gpu_subject(key, i)) for i in range(candidates))
    return next((value for samples in answers if samples and (value := finite(samples[0].value)) is not None), None)


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
