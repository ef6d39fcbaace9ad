"""A chart of a report as a picture: lines over numbers, bars beside names."""

from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

from sharing.formats.bars import bars
from sharing.formats.chart_shape import Scale, about, drawn_values, scale, tick_text
from sharing.formats.frame import MARGIN, above, legend, named, named_ticks, widest, width_of
from sharing.formats.picture import SERIES, TEXT_SIZE, Label, Picture, Shape, Stroke
from sharing.report.content import Chart, Mark

HEIGHT = 230.0
"""Height of the plot of a line chart, in pixels."""

ABOVE = 1.15
"""How far beyond a limit the axis goes at least: its name stands there."""

BELOW = 18.0
"""Pixels from a value to the line of its name below it."""

DASHES: tuple[tuple[float, ...], ...] = ((), (7.0, 4.0), (2.0, 3.0), (9.0, 3.0, 2.0, 3.0), (12.0, 4.0))
"""Dashes of the lines in their order, so that colour does not stand alone."""


def picture(chart: Chart, width: float) -> Picture:
    """The chart as wide as asked, with its title left to whoever shows it."""
    match chart.draws:
        case "line":
            return _lines(chart, width)
        case "bar" | "stacked" | "tornado":
            return bars(chart, width)
        case unknown:
            assert_never(unknown)


def _lines(chart: Chart, width: float) -> Picture:
    top = 8.0 + above(chart.series, width)
    values = [*drawn_values(chart), *(mark.at * ABOVE for mark in chart.marks if mark.axis == "y")]
    y = scale(values, top + HEIGHT, top, from_zero=True)
    left = widest(map(tick_text, y.ticks)) + 10.0
    places = [float(place) for place in chart.x]
    marks = [mark.at for mark in chart.marks if mark.axis == "x"]
    x = scale([*places, *marks], left, width - MARGIN, from_zero=True, round_ends=False)
    shapes = (
        *legend(chart.series, chart.y_label, width, dashes=DASHES),
        *_grid(chart, x, y),
        *_curves(chart, places, x, y),
        *_marks(chart.marks, x, y),
    )
    return Picture(width=width, height=top + HEIGHT + 42.0, shapes=tuple(shapes), says=named(chart))


def _grid(chart: Chart, x: Scale, y: Scale) -> Iterator[Shape]:
    for tick in y.ticks:
        yield Stroke(points=((x.start, y.at(tick)), (x.end, y.at(tick))), role="grid")
        yield Label(x=x.start - 6.0, y=y.at(tick) + 4.0, text=tick_text(tick), role="quiet", anchor="end")
    for tick in named_ticks(x):
        yield Label(x=x.at(tick), y=y.start + 17.0, text=tick_text(tick), role="quiet", anchor="middle")
    yield Label(x=(x.start + x.end) / 2.0, y=y.start + 36.0, text=chart.x_label, role="quiet", anchor="middle")


def _curves(chart: Chart, places: Sequence[float], x: Scale, y: Scale) -> Iterator[Shape]:
    for number, one in enumerate(chart.series):
        points: list[tuple[float, float]] = []
        for place, value in zip(places, one.values, strict=True):
            if value is None:
                continue
            points.append((x.at(place), y.at(value)))
            if value > y.high:
                break
        if points:
            dash = DASHES[number % len(DASHES)]
            yield Stroke(points=tuple(points), role=SERIES[number % len(SERIES)], width=2.2, dash=dash)


def _marks(marks: Sequence[Mark], x: Scale, y: Scale) -> Iterator[Shape]:
    for mark in marks:
        if mark.near is not None:
            yield from _point(mark, mark.near, x, y)
        elif mark.axis == "y" and y.holds(mark.at):
            at = y.at(mark.at)
            yield Stroke(points=((x.start, at), (x.end, at)), role="mark", width=1.2, dash=(2.0, 3.0))
            yield Label(x=x.start + 6.0, y=at - 5.0, text=mark.label, bold=True)
        elif mark.axis == "x" and x.holds(mark.at):
            at = x.at(mark.at)
            yield Stroke(points=((at, y.start), (at, y.end)), role="mark", width=1.2, dash=(2.0, 3.0))
            right = at > (x.start + x.end) / 2.0
            anchor: tuple[float, str] = (at - 5.0, "end") if right else (at + 5.0, "start")
            yield Label(x=anchor[0], y=y.end + 11.0, text=mark.label, anchor="end" if right else "start", bold=True)


def _point(mark: Mark, near: float, x: Scale, y: Scale) -> Iterator[Shape]:
    """A value that holds at one place. Its name stands below to the right, where a rising line leaves room, or above to
    the left."""
    if not (x.holds(near) and y.holds(mark.at)):
        return
    at = y.at(mark.at)
    left, right = about(x.at(near), x.start, x.end)
    yield Stroke(points=((left, at), (right, at)), role="mark", width=3.0)
    starts = x.end - right > width_of(mark.label)
    low = starts and y.start - at > BELOW + TEXT_SIZE
    anchor: Literal["start", "end"] = "start" if starts and (low or near < (x.low + x.high) / 2.0) else "end"
    aside = 5.0 if anchor == "start" else -5.0
    yield Label(x=x.at(near) + aside, y=at + (BELOW if low else -6.0), text=mark.label, anchor=anchor, bold=True)
