"""How a chart of the report is laid out, whatever draws it."""

from collections.abc import Sequence
from typing import assert_never

from sharing.formats.axes import scale
from sharing.report.content import Chart, Mark

CAP = 3.0
"""How far beyond a limit a line is drawn: what is far beyond it is of no interest."""

HALF = 0.02
"""Half the length of a mark that holds at one place, of the whole axis."""

LONG_LABEL = 14
"""Mean characters of a place from which on its bars lie."""


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
