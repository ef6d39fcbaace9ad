"""Bars beside names: each alone, stacked, or to both sides of the answer as it is; hours stand beside each other."""

from collections.abc import Iterator
from typing import assert_never

from sharing.formats.chart_shape import Scale, scale, tick_text
from sharing.formats.frame import MARGIN, above, cut, legend, named, named_ticks, widest, width_of, wrapped
from sharing.formats.picture import SERIES, Label, Picture, Rectangle, Shape, Stroke
from sharing.report.content import Chart

ROW, BAR = 34.0, 20.0
"""Height of a row and of its bar, in pixels."""

HEIGHT = 180.0
"""Height of the plot of upright bars, in pixels."""

SHORT = 3
"""Length of names that stand below upright bars."""


def bars(chart: Chart, width: float) -> Picture:
    """The picture of a bar chart."""
    return _upright(chart, width) if all(len(str(place)) < SHORT for place in chart.x) else _lying(chart, width)


def _lying(chart: Chart, width: float) -> Picture:
    top = 8.0 + above(chart.series, width)
    bottom = top + ROW * len(chart.x)
    names = [str(place) for place in chart.x]
    left = min(widest(names), width * 0.38) + 10.0
    ends = _ends(chart)
    beyond = max((width_of(tick_text(value)) for value in ends), default=0.0) + 8.0
    right = width - (beyond if chart.draws != "tornado" else max(beyond / 2.0, MARGIN))
    x = scale(ends, left, right, from_zero=chart.draws != "tornado")
    shapes: list[Shape] = [*legend(chart.series, chart.y_label, width)]
    for tick in x.ticks:
        shapes.append(Stroke(points=((x.at(tick), top), (x.at(tick), bottom)), role="grid"))
    for tick in named_ticks(x):
        shapes.append(Label(x=x.at(tick), y=bottom + 16.0, text=tick_text(tick), role="quiet", anchor="middle"))
    for place, name in enumerate(names):
        middle = top + ROW * (place + 0.5)
        shapes += _name(name, left, middle)
        shapes += _row(chart, place, x, middle - BAR / 2.0)
    if chart.base is not None:
        at = x.at(chart.base)
        shapes.append(Stroke(points=((at, top), (at, bottom)), role="mark", width=1.4))
    return Picture(width=width, height=bottom + 26.0, shapes=tuple(shapes), says=named(chart))


def _name(name: str, left: float, middle: float) -> Iterator[Label]:
    lines = wrapped(name, left - 10.0)
    for number, line in enumerate(lines):
        y = middle + 4.0 + (number - (len(lines) - 1) / 2.0) * 13.0
        yield Label(x=left - 8.0, y=y, text=line, anchor="end")


def _ends(chart: Chart) -> list[float]:
    """Every value where a bar ends."""
    if chart.draws == "stacked":
        return [sum(one.values[place] or 0.0 for one in chart.series) for place in range(len(chart.x))]
    ends = [value for one in chart.series for value in one.values if value is not None]
    return ends if chart.base is None else [*ends, chart.base]


def _row(chart: Chart, place: int, x: Scale, y: float) -> Iterator[Shape]:
    """The bars of one name, side by side or stacked; ``y`` is where they begin."""
    values = [one.values[place] for one in chart.series]
    match chart.draws:
        case "stacked":
            yield from _stack(values, x, y)
        case "tornado":
            yield from _to_both_sides(values, chart.base or 0.0, x, y)
        case "bar" | "line":
            each = BAR / len(values)
            for number, value in enumerate(values):
                if value is not None:
                    yield _box(x.at(0.0), x.at(value), y + each * number, each, number)
                    middle = y + each * (number + 0.5) + 4.0
                    yield Label(x=x.at(value) + 5.0, y=middle, text=tick_text(value))
        case unknown:
            assert_never(unknown)


def _stack(values: list[float | None], x: Scale, y: float) -> Iterator[Shape]:
    done = 0.0
    for number, value in enumerate(values):
        if value:
            yield _box(x.at(done), x.at(done + value), y, BAR, number)
            done += value
    yield Label(x=x.at(done) + 5.0, y=y + BAR / 2.0 + 4.0, text=tick_text(done))


def _to_both_sides(values: list[float | None], base: float, x: Scale, y: float) -> Iterator[Shape]:
    """The ends of an input, each over half of the height where both are on one side."""
    known = [value for value in values if value is not None]
    shared = len(known) > 1 and (known[0] - base) * (known[1] - base) > 0
    for number, value in enumerate(values):
        if value is None or value == base:
            continue
        at, height = (y + number * BAR / 2.0, BAR / 2.0) if shared else (y, BAR)
        yield _box(x.at(base), x.at(value), at, height, number)


def _box(start: float, end: float, y: float, height: float, number: int) -> Rectangle:
    role = SERIES[number % len(SERIES)]
    return Rectangle(x=min(start, end), y=y, width=max(abs(end - start), 0.5), height=height, role=role)


def _upright(chart: Chart, width: float) -> Picture:
    top = 8.0 + above(chart.series, width)
    y = scale(_ends(chart), top + HEIGHT, top, from_zero=True)
    left = widest(map(tick_text, y.ticks)) + 10.0
    each = (width - left - MARGIN) / len(chart.x)
    shapes: list[Shape] = [*legend(chart.series, chart.y_label, width)]
    for tick in y.ticks:
        shapes.append(Stroke(points=((left, y.at(tick)), (width - MARGIN, y.at(tick))), role="grid"))
        shapes.append(Label(x=left - 6.0, y=y.at(tick) + 4.0, text=tick_text(tick), role="quiet", anchor="end"))
    every = 1 if each > 22.0 else 3
    for place, name in enumerate(map(str, chart.x)):
        value = chart.series[0].values[place]
        start = left + each * (place + 0.15)
        if value:
            height = y.at(0.0) - y.at(value)
            shapes.append(Rectangle(x=start, y=y.at(value), width=each * 0.7, height=height, role="0"))
        if place % every == 0:
            at = left + each * (place + 0.5)
            text = cut(name, each * every)
            shapes.append(Label(x=at, y=y.start + 16.0, text=text, role="quiet", anchor="middle"))
    shapes.append(Label(x=(left + width) / 2.0, y=y.start + 34.0, text=chart.x_label, role="quiet", anchor="middle"))
    return Picture(width=width, height=top + HEIGHT + 42.0, shapes=tuple(shapes), says=named(chart))
