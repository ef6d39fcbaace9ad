"""Reading one object or table row field by field: a number is a finite number of at least zero, or the row is bad."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.benchmarks.records import LatencyStats
from collectors.errors import BadRow
from collectors.units import MS_PER_S
from commandline.foreign_text import shown
from commandline.percentiles import key_of, stated_by

Floats = NDArray[np.float64]

_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+\.\d+")
"""1,234.56 as NVIDIA's tools write it; 1,234 could as well be a decimal comma and is not a number here."""

_DECIMAL_COMMA = re.compile(r"\d+,\d+")

LARGEST = 1e12
"""No quantity here is larger in its unit; beyond it a file is broken, and arithmetic would overflow."""
MAX_TEXT = 200
"""Characters of a name that are kept. Chosen: longer than any model id."""
ORDER_TOLERANCE = 1e-6
"""Percentiles may decrease by this share: rounding in the file, not disorder."""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """One JSON object, or one row of a table, whose numbers are text (``cells``)."""

    values: Mapping[str, object] = field(default_factory=dict)
    path: str = ""
    cells: bool = False

    def _name(self, key: str) -> str:
        return f"{self.path}{key}"

    def _first(self, keys: tuple[str, ...]) -> tuple[str, object]:
        """The first key that has a value, with it; an empty cell has none."""
        for key in keys:
            value = self.values.get(key)
            if value is not None and not (self.cells and isinstance(value, str) and not value.strip()):
                return key, value
        return keys[0], None

    def has(self, key: str) -> bool:
        """Whether the field is there and not empty."""
        return self._first((key,))[1] is not None

    def number(self, *keys: str, scale: float = 1.0) -> float | None:
        """The first of ``keys`` that is stated, times ``scale``; None when none is. Raises BadRow."""
        key, value = self._first(keys)
        return None if value is None else number(self._name(key), value, scale=scale, cells=self.cells)

    def whole(self, *keys: str) -> int | None:
        """Like ``number``, for counts: 3.0 is 3, 3.5 is an error."""
        value = self.number(*keys)
        if value is None:
            return None
        if value != int(value):
            raise BadRow(f"{self._name(self._first(keys)[0])} must be a whole number, not {value:g}")
        return int(value)

    def count(self, *keys: str) -> int | None:
        """Like ``whole``, for what starts at one: GPUs, TP."""
        value = self.whole(*keys)
        if value == 0:
            raise BadRow(f"{self._name(self._first(keys)[0])} must be at least 1")
        return value

    def text(self, *keys: str) -> str | None:
        """The first of ``keys`` that is stated, as text without surrounding space; None when none is."""
        key, value = self._first(keys)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadRow(f"{self._name(key)} is not text")
        return str(value)[:MAX_TEXT].strip() or None

    def child(self, *keys: str) -> Fields:
        """The object under the first of ``keys`` that is stated; an empty one when none is."""
        key, value = self._first(keys)
        if value is None:
            return Fields(path=f"{self._name(key)}.", cells=self.cells)
        if not isinstance(value, Mapping):
            raise BadRow(f"{self._name(key)} is not an object")
        return Fields(values=value, path=f"{self._name(key)}.", cells=self.cells)

    def items(self, key: str) -> list[object]:
        """The list under ``key``, empty when there is none."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise BadRow(f"{self._name(key)} is not a list")
        return value

    def series(self, key: str) -> Floats | None:
        """The list of numbers under ``key``, or None."""
        return None if self.values.get(key) is None else _series(self._name(key), self.items(key))

    def nested_series(self, key: str) -> list[Floats] | None:
        """The list of lists of numbers under ``key``, or None."""
        if self.values.get(key) is None:
            return None
        return [_series(f"{self._name(key)}[{i}]", item) for i, item in enumerate(self.items(key))]


def number(name: str, value: object, *, scale: float = 1.0, cells: bool = False) -> float:
    """``value`` times ``scale``, finite and at least zero; text is a number only in a table. Raises BadRow."""
    quoted = f"“{shown(value)}”" if isinstance(value, str) else None
    if cells and isinstance(value, str):
        text = value.strip()
        try:
            value = float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
        except ValueError:
            comma = "; write the decimal sign as a point" if _DECIMAL_COMMA.fullmatch(text) else ""
            raise BadRow(f"{name} is not a number: {quoted}{comma}") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRow(f"{name} is not a number: {quoted or _kind(value)}")
    try:
        result = float(value) * scale
    except OverflowError:
        raise BadRow(f"{name} is too large") from None
    if not math.isfinite(result):
        raise BadRow(f"{name} is not a finite number")
    if result < 0:
        raise BadRow(f"{name} is negative: {float(value):g}")
    if result > LARGEST:
        raise BadRow(f"{name} is too large: {float(value):g}")
    return result


def _kind(value: object) -> str:
    """What stands where a number should, in words of a file."""
    return ("false", "true")[value] if isinstance(value, bool) else shown(value)


def quotient(amount: float | None, rate: float | None) -> float | None:
    """``amount`` / ``rate``; None where one is unknown or zero, or where the rate is too small to be one."""
    result = amount / rate if amount and rate else math.nan
    return result if result <= LARGEST else None


def _series(name: str, value: object) -> Floats:
    if not isinstance(value, list):
        raise BadRow(f"{name} is not a list")
    if not value:
        return np.empty(0)
    if not set(map(type, value)) <= {int, float}:
        raise BadRow(f"{name} is not a list of numbers")
    try:
        result = np.array(value, dtype=np.float64)
    except OverflowError:
        raise BadRow(f"{name} holds a number that is too large") from None
    if not np.isfinite(result).all() or result.min() < 0 or result.max() > LARGEST:
        raise BadRow(f"{name} holds a number that is negative, not finite or too large")
    return result


def latency_stats(name: str, *, mean: float | None, at: Callable[[float], float | None]) -> LatencyStats:
    """The statistics, checked: percentiles never decrease. All zero means that the tool did not measure it.

    ``at`` reads one percentile, given in percent.
    """
    read = {key_of(percent): at(percent) for percent in stated_by("benchmark")}
    stated = {label: value for label, value in read.items() if value is not None}
    for (low_label, low), (high_label, high) in pairwise(stated.items()):
        if high < low * (1 - ORDER_TOLERANCE):
            raise BadRow(f"{name}: {high_label} ({high:g} ms) is below {low_label} ({low:g} ms)")
    if not any((mean, *stated.values())):
        return LatencyStats()
    return LatencyStats(mean=mean, percentiles=stated)


def mean_alone(seconds: float | None) -> LatencyStats:
    """A mean in seconds without percentiles; nothing where it is not known."""
    return LatencyStats() if seconds is None else LatencyStats(mean=seconds * MS_PER_S)


def flat_stats(fields: Fields, metric: str, column: str, *, scale: float = 1.0) -> LatencyStats:
    """Statistics that have a key each: ``column`` with the name of the statistic (mean, median, p95) put in."""

    def read(statistic: str) -> float | None:
        return fields.number(column.format(statistic), scale=scale)

    return latency_stats(metric, mean=read("mean"), at=lambda percent: read(median_or_key(percent)))


def median_or_key(percent: float) -> str:
    """The name of a percentile where a tool calls the middle one the median: "median", "p95"."""
    return "median" if percent == 50.0 else key_of(percent)


def sample_stats(values_ms: Floats) -> LatencyStats:
    """The statistics of single measurements, percentiles interpolated linearly (as numpy, and so vLLM, does)."""
    if values_ms.size == 0 or not values_ms.any():
        return LatencyStats()
    percents = stated_by("benchmark")
    values = (float(value) for value in np.percentile(values_ms, percents))
    percentiles = dict(zip(map(key_of, percents), values, strict=True))
    return LatencyStats(mean=float(values_ms.mean()), percentiles=percentiles)
