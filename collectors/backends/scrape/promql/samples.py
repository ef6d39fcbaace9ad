"""Samples in memory: the series of one window, and the two ways to look at them."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.backends.scrape.promql.tree import Matcher, Selector

LOOK_BACK_S = 300.0
"""A sample counts for so long without a newer one: Prometheus's default lookback delta, five minutes."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Track:
    """One series: labels (with __name__), times in order, values; ``ends`` are moments it was seen to be gone."""

    labels: Mapping[str, str]
    times: Floats
    values: Floats
    ends: Floats


class Tracks:
    """All series of a window by metric name; ``evaluated`` holds what subqueries found at their steps."""

    def __init__(self, tracks: Iterable[Track]) -> None:
        self._by_name: dict[str, list[Track]] = {}
        self._selected: dict[Selector, list[Track]] = {}
        self.evaluated: dict[object, object] = {}
        for track in tracks:
            self._by_name.setdefault(track.labels.get("__name__", ""), []).append(track)

    def select(self, selector: Selector) -> list[Track]:
        """The series a selector names; a line asks for the same ones at every step."""
        if selector not in self._selected:
            named = self._named(selector)
            self._selected[selector] = [track for track in named if _matches(track.labels, selector.matchers)]
        return self._selected[selector]

    def _named(self, selector: Selector) -> Iterable[Track]:
        name = selector.name or next(
            (m.value for m in selector.matchers if m.label == "__name__" and m.sign == "="), ""
        )
        if name:
            return self._by_name.get(name, ())
        wanted = [m for m in selector.matchers if m.label == "__name__"]
        names = [n for n in self._by_name if all(m.matches(n) for m in wanted)]
        return [track for n in names for track in self._by_name[n]]


def _matches(labels: Mapping[str, str], matchers: Sequence[Matcher]) -> bool:
    return all(m.matches(labels.get(m.label, "")) for m in matchers)


def _until(times: Floats, moment: float) -> int:
    """How many of ``times`` (in order) are at most ``moment``. Expressions ask it of short arrays thousands of times:
    NumPy's own search is slower there, and lets go of the interpreter at every call."""
    return bisect_right(times, moment)


def at(track: Track, moment: float) -> tuple[float, float] | None:
    """Time and value of the newest sample, not older than five minutes, unless the series was seen to be gone since."""
    i = _until(track.times, moment) - 1
    if i < 0 or track.times[i] <= moment - LOOK_BACK_S:
        return None
    gone = _until(track.ends, moment) - 1
    if gone >= 0 and track.ends[gone] > track.times[i]:
        return None
    return float(track.times[i]), float(track.values[i])


def within(track: Track, start: float, end: float) -> tuple[Floats, Floats]:
    """Samples in (start, end]."""
    first, last = _until(track.times, start), _until(track.times, end)
    return track.times[first:last], track.values[first:last]


def increase(times: Floats, values: Floats, start: float, end: float, *, counter: bool) -> float | None:
    """Increase over (start, end] as Prometheus computes it: resets added back, extrapolated to the edges of the range.

    Where the samples do not come near an edge, extrapolation reaches half a sample interval beyond them; a counter is
    never extrapolated below zero. None with fewer than two samples.
    """
    n = len(times)
    if n < 2:
        return None
    rise = float(values[-1] - values[0])
    if counter:
        steps = np.diff(values)
        rise += float(values[:-1][steps < 0].sum())
    sampled = float(times[-1] - times[0])
    if sampled <= 0:
        return None
    gap = sampled / (n - 1)
    before, after = float(times[0]) - start, end - float(times[-1])
    threshold = gap * 1.1
    if before >= threshold:
        before = gap / 2
    if counter and rise > 0 and values[0] >= 0:
        before = min(before, sampled * float(values[0]) / rise)
    if after >= threshold:
        after = gap / 2
    return rise * (sampled + before + after) / sampled


def slope(times: Floats, values: Floats, end: float) -> float:
    """Least-squares slope per second; NaN with fewer than two samples."""
    if len(times) < 2:
        return math.nan
    x = times - end
    x = x - x.mean()
    spread = float((x * x).sum())
    return float((x * (values - values.mean())).sum() / spread) if spread > 0 else math.nan
