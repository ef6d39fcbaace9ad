"""Scales of charts: from values to pixels, and where ticks stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sizing.base.format import large, significant

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Distances of ticks, times a power of ten."""

ABOUT_TICKS = 5


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A linear scale: values from ``low`` to ``high`` at pixels from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Pixels of a value; one beyond an end stands there."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether a value is between the ends."""
        return self.low <= value <= self.high


def scale(values: Sequence[float], start: float, end: float, *, from_zero: bool, round_ends: bool = True) -> Scale:
    """A scale that holds the values; with ``round_ends`` a tick stands at either end."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-12):
        low, high = low - abs(low or 1.0) * 0.1, high + abs(high or 1.0) * 0.1
    step = _step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(place * step for place in range(first, last + 1))
    if round_ends:
        return Scale(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks)
    inside = tuple(tick for tick in ticks if low - 1e-9 * step <= tick <= high + 1e-9 * step)
    return Scale(low=low, high=high, start=start, end=end, ticks=inside)


def _step(span: float) -> float:
    rough = span / ABOUT_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next((step * power for step in STEPS if step * power >= rough * 0.999), 10.0 * power)


def tick_text(value: float) -> str:
    """ "2,500", "12.5k"."""
    return large(value) if abs(value) >= 10_000 else significant(value)
