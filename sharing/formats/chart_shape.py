"""How a chart of the report is laid out, whatever draws it: its scales, and where ticks stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from sharing.report.content import Chart, Mark
from sizing.base.format import large, significant

CAP = 3.0
"""How far beyond a limit a line is drawn: what is far beyond it is of no interest."""

HALF = 0.02
"""Half the length of a mark that holds at one place, of the whole axis."""

LONG_LABEL = 14
"""Mean characters of a place from which on its bars lie."""

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Distances of ticks, times a power of ten."""

ABOUT_TICKS = 5


def drawn_values(chart: Chart) -> list[float]:
    """What the y axis of lines holds: all of them, unless a limit says what part of them matters."""
    values = [value for one in chart.series for value in one.values if value is not None]
    limits = [mark.at for mark in chart.marks if mark.axis == "y"]
    if limits and values and max(values) > CAP * max(limits):
        return [*(min(value, CAP * max(limits)) for value in values), *limits]
    return [*values, *limits]


def is_numeric(chart: Chart) -> bool:
    """Whether its places are numbers, which stand as far apart as they are."""
    return chart.draws == "line" and all(isinstance(place, int | float) for place in chart.x)


def lies(chart: Chart) -> bool:
    """Whether its bars lie, as a tornado's do and those with long names."""
    match chart.draws:
        case "line":
            return False
        case "tornado":
            return True
        case "bar" | "stacked":
            return sum(len(str(place)) for place in chart.x) > LONG_LABEL * max(len(chart.x), 1)
        case unknown:
            assert_never(unknown)


def value_ends(chart: Chart) -> tuple[float, float] | None:
    """Ends of the axis of the values of lines and of a tornado; None where the program that draws it may choose."""
    match chart.draws:
        case "line":
            return _ends(drawn_values(chart), from_zero=True)
        case "tornado":
            return None if chart.base is None else _ends([*drawn_values(chart), chart.base], from_zero=False)
        case "bar" | "stacked":
            return None
        case unknown:
            assert_never(unknown)


def place_ends(chart: Chart) -> tuple[float, float]:
    """Ends of the axis of places that are numbers."""
    marks = [mark.at for mark in chart.marks if mark.axis == "x"]
    return _ends([*(float(place) for place in chart.x), *marks], from_zero=True)


def ends_of_marks(chart: Chart) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The two ends (x, y) of each mark of a chart with numeric places, over all that is drawn."""
    left, right = place_ends(chart)
    bottom, top = value_ends(chart) or (0.0, 1.0)
    return [_ends_of(mark, (left, right), (bottom, top)) for mark in chart.marks]


def _ends_of(
    mark: Mark, across: tuple[float, float], up: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    if mark.axis == "x":
        return (mark.at, up[0]), (mark.at, up[1])
    left, right = across if mark.near is None else about(mark.near, *across)
    return (left, mark.at), (right, mark.at)


def about(place: float, left: float, right: float) -> tuple[float, float]:
    """Ends of a short line about a place of an axis."""
    half = HALF * (right - left)
    return place - half, place + half


def _ends(values: Sequence[float], *, from_zero: bool) -> tuple[float, float]:
    rounded = scale(values, 0.0, 1.0, from_zero=from_zero)
    return rounded.low, rounded.high


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
