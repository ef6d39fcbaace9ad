"""Typed answers of the Prometheus HTTP API, and reading them from JSON.

Numbers arrive as strings; NaN and infinities are kept as floats. A native histogram arrives under another key than a
number. Warnings and infos travel with the answer; a partial answer (Thanos, VictoriaMetrics cluster) is marked as one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from collectors.errors import UnusableAnswer
from collectors.units import ROUNDING, S_PER_DAY, S_PER_HOUR

Labels = Mapping[str, str]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Observations in (low, high]; ``count`` may be a rate and so a fraction."""

    low: float
    high: float
    count: float


@dataclass(frozen=True, kw_only=True)
class NativeHistogram:
    """A histogram in one sample: total count, sum and the buckets that are not empty."""

    count: float
    sum: float
    buckets: tuple[Bucket, ...] = ()


@dataclass(slots=True, kw_only=True)
class Sample:
    """One series at one moment: a number, or a native histogram (``value`` is then NaN). Not frozen: there are many."""

    labels: Labels
    time_s: float
    value: float
    histogram: NativeHistogram | None = None


@dataclass(frozen=True, kw_only=True)
class TimeSeries:
    """One series over time, in time order; steps without a sample are simply absent."""

    labels: Labels
    times_s: tuple[float, ...]
    values: tuple[float, ...]

    def on_grid(self, start_s: float, end_s: float, step_s: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Times and values at every step from start to end; a step without a sample is NaN, so gaps stay gaps."""
        held = {round((t - start_s) / step_s): v for t, v in zip(self.times_s, self.values, strict=True)}
        steps = range(math.floor((end_s - start_s) / step_s + ROUNDING) + 1)
        return tuple(start_s + i * step_s for i in steps), tuple(held.get(i, math.nan) for i in steps)


@dataclass(frozen=True, kw_only=True)
class Notes:
    """What the server said beside the data."""

    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, kw_only=True)
class Vector:
    """Answer of an instant query. A scalar is a vector of one sample without labels."""

    samples: tuple[Sample, ...] = ()
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Answer of a range query with the grid it was asked on."""

    series: tuple[TimeSeries, ...] = ()
    start_s: float
    end_s: float
    step_s: float
    notes: Notes = field(default_factory=Notes)


def read_json(body: bytes, where: str) -> dict[str, Any]:
    """The JSON object in ``body``. Raises UnusableAnswer for HTML, truncated JSON and anything else."""
    try:
        document = orjson.loads(body)
    except (ValueError, RecursionError):
        head = body[:200].lstrip().lower()
        page = head.startswith((b"<!doctype", b"<html", b"<?xml"))
        what = "a web page, not JSON: is this the address of the API?" if page else "something that is not whole JSON."
        raise UnusableAnswer(f"{where} answered with {what}") from None
    if not isinstance(document, dict) or document.get("status") not in ("success", "error"):
        raise UnusableAnswer(f"{where} answered with JSON that is not of the Prometheus API.")
    return document


def read_notes(document: Mapping[str, Any]) -> Notes:
    """Warnings and infos. Warnings about the expression (PromQL ...) do not make an answer partial, others do."""
    warnings = _texts(document.get("warnings"))
    foreign = any(not w.startswith("PromQL") for w in warnings)
    return Notes(
        warnings=warnings, infos=_texts(document.get("infos")), partial=foreign or document.get("isPartial") is True
    )


def read_vector(document: Mapping[str, Any], where: str) -> Vector:
    """The samples of an instant query's answer."""
    kind, result = _result(document, where)
    if kind == "scalar":
        samples: tuple[Sample, ...] = (_sample({"metric": {}, "value": result}, where),)
    elif kind == "vector":
        samples = tuple(_sample(entry, where) for entry in _list(result, where))
    elif kind == "string":
        samples = ()
    else:
        raise UnusableAnswer(f"{where} answered an instant query with a {kind or 'nameless result'}.")
    return Vector(samples=samples, notes=read_notes(document))


def read_series(document: Mapping[str, Any], where: str) -> tuple[TimeSeries, ...]:
    """The series of a range query's answer; native histograms are left out (ask for a number of them instead)."""
    kind, result = _result(document, where)
    if kind != "matrix":
        raise UnusableAnswer(f"{where} answered a range query with a {kind or 'nameless result'}.")
    several = []
    for entry in _list(result, where):
        points = [_point(p, where) for p in _list(_mapping(entry, where).get("values", []), where)]
        times, values = zip(*points, strict=True) if points else ((), ())
        several.append(TimeSeries(labels=_labels(entry, where), times_s=times, values=values))
    return tuple(several)


def seconds_of(text: str) -> float | None:
    """Seconds of a Prometheus duration such as 15s, 1m30s or 500ms; None when it is not one."""
    units = {
        "ms": 0.001,
        "s": 1.0,
        "m": 60.0,
        "h": S_PER_HOUR,
        "d": S_PER_DAY,
        "w": 7 * S_PER_DAY,
        "y": 365 * S_PER_DAY,
    }
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|[smhdwy])", text)
    if not parts or "".join(f"{n}{u}" for n, u in parts) != text:
        return None
    return sum(float(n) * units[u] for n, u in parts)


def number(text: object) -> float:
    """A Prometheus number: a JSON string such as "1.5", "NaN", "+Inf"; a bare JSON number is taken too."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError("not a number")
    return float(text)


def _sample(entry: object, where: str) -> Sample:
    fields = _mapping(entry, where)
    labels = _labels(fields, where)
    if "histogram" in fields:
        time_s, shape = _pair(fields["histogram"], where)
        return Sample(labels=labels, time_s=_number(time_s, where), value=math.nan, histogram=_histogram(shape, where))
    time_s, value = _point(fields.get("value"), where)
    return Sample(labels=labels, time_s=time_s, value=value)


def _histogram(shape: object, where: str) -> NativeHistogram:
    fields = _mapping(shape, where)
    buckets = []
    for entry in _list(fields.get("buckets", []), where):
        if not isinstance(entry, Sequence) or len(entry) != 4:
            raise UnusableAnswer(f"{where} sent a histogram bucket that is not one.")
        low, high, count = (_number(x, where) for x in entry[1:])
        buckets.append(Bucket(low=low, high=high, count=count))
    return NativeHistogram(
        count=_number(fields.get("count"), where), sum=_number(fields.get("sum"), where), buckets=tuple(buckets)
    )


def _result(document: Mapping[str, Any], where: str) -> tuple[str, object]:
    data = _mapping(document.get("data"), where)
    return str(data.get("resultType", "")), data.get("result")


def _point(entry: object, where: str) -> tuple[float, float]:
    time_s, value = _pair(entry, where)
    return _number(time_s, where), _number(value, where)


def _pair(entry: object, where: str) -> tuple[object, object]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise UnusableAnswer(f"{where} sent a sample that is not a time and a value.")
    return entry[0], entry[1]


def _number(text: object, where: str) -> float:
    try:
        return number(text)
    except (ValueError, OverflowError):
        raise UnusableAnswer(f"{where} sent a value that is not a number.") from None


def _labels(entry: object, where: str) -> dict[str, str]:
    return _strings(_mapping(entry, where).get("metric", {}), where)


def _strings(entry: object, where: str) -> dict[str, str]:
    return {str(key): str(value) for key, value in _mapping(entry, where).items()}


def _mapping(entry: object, where: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise UnusableAnswer(f"{where} sent an answer of another shape than the Prometheus API.")
    return entry


def _list(entry: object, where: str) -> list[Any]:
    if not isinstance(entry, list):
        raise UnusableAnswer(f"{where} sent an answer of another shape than the Prometheus API.")
    return entry


def _texts(entry: object) -> tuple[str, ...]:
    return tuple(str(text)[:500] for text in entry) if isinstance(entry, list) else ()
