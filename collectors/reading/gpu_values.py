"""The numbers of a deployment's GPUs: what is asked, and what the answers say.

Utilisation is told apart: ``busy`` (a kernel ran, near 100 % on any LLM server) is not SM, tensor or memory activity.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import finite
from collectors.queries.query import OVER_GPUS, SPREAD, Group, Query, Subject
from collectors.queries.ttl import EVERY_MOMENT, FOURTH, SECOND, THIRD, Ttl, slow
from collectors.reading.remarks import Kind, Names, Remark, remark
from collectors.units import GB
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import GPU_CONCEPTS, Candidate, GpuVocabulary

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
    "throttle_reasons": FOURTH,
    "thermal_throttled": EVERY_MOMENT,
    "ecc_uncorrected": slow(11),
    "row_remap_failure": slow(13),
}
"""The concepts that an observation shows, and how long their sums over a fleet serve."""
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
class GpuNumbers:
    """Numbers of an observation that come from GPUs, with what they say beside them."""

    numbers: Mapping[str, float | None]
    remarks: tuple[Remark, ...] = ()


def gpu_subject(quantity: str, candidate: int = 0) -> Subject:
    """A quantity over all GPUs."""
    return Subject(quantity, group=Group.GPU, candidate=candidate)


def gpu_queries(
    vocabulary: GpuVocabulary, scope: Scope, *, sign: str = "", concepts: Collection[str] = SHOWN.keys()
) -> list[Query]:
    """Aggregates over all devices; every device counts once, however many partitions or jobs report it."""
    by = ", ".join(vocabulary.device_labels)
    metric = sign or vocabulary.detect[0]
    queries = [gpu_query("devices", f"count(count by ({by}) ({metric}{{{scope.selection()}}}))", unit="GPUs")]
    for label in vocabulary.partition_labels:
        series = scope.selection(extra=f'{label}!=""')
        queries.append(gpu_query("partitions", f"count({metric}{{{series}}})", unit="GPUs"))
    for key, concept in vocabulary.concepts.items():
        for i, candidate in enumerate(concept.use if key in concepts else ()):
            queries.append(_over_devices(key, i, candidate, by, scope))
    return queries


def gpu_query(key: str, expression: str, *, unit: str) -> Query:
    """A query that counts GPUs."""
    return Query(expression=expression, subject=gpu_subject(key), unit=unit, weight=OVER_GPUS, ttl=FOURTH)


def _over_devices(key: str, place: int, candidate: Candidate, by: str, scope: Scope) -> Query:
    """One concept over all devices: added up, or how many devices have it."""
    device = f"max by ({by}) ({per_device(candidate, scope)})"
    how = candidate.across if candidate.gauge else "sum"
    expression, weight = f"{how}({device})", SPREAD
    if key == "throttle_reasons":
        expression, weight = f'count_values("mask", {selected(candidate, candidate.gauge or "", scope)})', OVER_GPUS
    elif key == "xid":
        expression = f"sum({device} > bool 0)"
    elif key in ("power_throttled", "thermal_throttled"):
        expression = f"sum({device} > bool {THROTTLED_SHARE:g})"
    ttl = SHOWN.get(key, EVERY_MOMENT)
    return Query(expression=expression, subject=gpu_subject(key, place), unit=GPU_CONCEPTS[key], weight=weight, ttl=ttl)


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
    throttled, remarks = _throttled(vectors, vocabulary, read)
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
        "gpus_with_xid": read.get("xid"),
        "gpus_throttled": throttled,
        "ecc_uncorrected": read.get("ecc_uncorrected"),
        "tokens_per_joule": generation_tokens_per_s / power if generation_tokens_per_s is not None and power else None,
    }
    if partitioned:
        remarks.append(remark(Kind.GPUS_PARTITIONED))
    if read.get("row_remap_failure"):
        remarks.append(remark(Kind.ROW_NOT_REMAPPED))
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
            name = concept.use[0].gauge or concept.use[0].counter
            missing[number] = f"{name} has no data" + (f"; enable {concept.enable}" if concept.enable else "")
    return missing


def _throttled(
    vectors: Vectors, vocabulary: GpuVocabulary, read: Mapping[str, float | None]
) -> tuple[float | None, list[Remark]]:
    """GPUs slowed down, and by what."""
    concept = vocabulary.concepts.get("throttle_reasons")
    candidates = range(len(concept.use) if concept else 0)
    masks = next((s for i in candidates if (s := vectors.of(gpu_subject("throttle_reasons", i)))), ())
    if masks:
        slow = [(int(float(s.labels.get("mask", "0"))), s.value) for s in masks]
        names = sorted({text for mask, n in slow for bit, text in THROTTLE_BITS.items() if mask & bit & HARMFUL and n})
        count = sum(n for mask, n in slow if mask & HARMFUL)
        return count, [remark(Kind.GPUS_SLOWED_DOWN, gpus=count, causes=Names(names))] if count else []
    thermal = read.get("thermal_throttled")
    if thermal:
        return thermal, [remark(Kind.GPUS_SLOWED_BY_HEAT, gpus=thermal)]
    return thermal, []


def _first(vectors: Vectors, key: str, candidates: int) -> float | None:
    """The value of the first candidate that has one."""
    answers = (vectors.of(gpu_subject(key, i)) for i in range(candidates))
    return next((value for samples in answers if samples and (value := finite(samples[0].value)) is not None), None)


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
