"""What charts of every kind have: a legend, names that fit, and a sentence for those who do not see them."""

import math
from collections.abc import Iterable, Iterator, Sequence

from reportlab.pdfbase.pdfmetrics import stringWidth

from sharing.formats.chart_shape import Scale, tick_text
from sharing.formats.picture import SERIES, TEXT_SIZE, Label, Rectangle, Shape, Stroke
from sharing.report.content import Chart, ChartSeries
from sizing.base.format import significant

MARGIN = 14.0
"""Space to the right of a plot, in pixels."""

LINE_HEIGHT, KEY, GAP = 19.0, 22.0, 16.0
"""Pixels of the legend: height of a line, width of a sample, distance of two entries."""

FONT = "Helvetica"
ROOM = 1.18
"""How much wider than that font a reader's may be: DejaVu Sans, which stands for Helvetica on many a Linux, is."""
CUT = "..."


def width_of(text: str) -> float:
    """Pixels that a text takes."""
    return float(stringWidth(text, FONT, TEXT_SIZE)) * ROOM


def widest(texts: Iterable[str]) -> float:
    """Pixels that the longest of them takes."""
    return max(map(width_of, texts), default=0.0)


def named_ticks(along: Scale) -> tuple[float, ...]:
    """Ticks of a horizontal scale whose names have room beside each other: all, or every second, third, ..."""
    apart = abs(along.at(along.ticks[1]) - along.at(along.ticks[0])) if len(along.ticks) > 1 else 1.0
    needed = widest(map(tick_text, along.ticks)) + 8.0
    return along.ticks[:: max(1, math.ceil(needed / max(apart, 1.0)))]


def cut(text: str, most: float) -> str:
    """The text, its end left out where it does not fit."""
    if width_of(text) <= most:
        return text
    while text and width_of(text + CUT) > most:
        text = text[:-1]
    return text.rstrip() + CUT


def wrapped(text: str, most: float) -> list[str]:
    """The text on two lines at most, each cut where it is too long."""
    first, *rest = text.split() or [""]
    while rest and width_of(f"{first} {rest[0]}") <= most:
        first = f"{first} {rest.pop(0)}"
    return [cut(line, most) for line in (first, " ".join(rest)) if line]


def above(series: Sequence[ChartSeries], width: float) -> float:
    """Pixels that the legend and the name of the axis take above the plot."""
    rows = len(_rows(series, width)) if len(series) > 1 else 0
    return LINE_HEIGHT * (rows + 1) + 4.0


def legend(
    series: Sequence[ChartSeries], label: str, width: float, dashes: Sequence[tuple[float, ...]] | None = None
) -> Iterator[Shape]:
    """Samples with names where there are several series, and the name of the axis below; ``dashes`` for lines."""
    y = TEXT_SIZE
    for row in _rows(series, width) if len(series) > 1 else ():
        x = 0.0
        for number in row:
            role = SERIES[number % len(SERIES)]
            if dashes is None:
                yield Rectangle(x=x, y=y - 9.0, width=11.0, height=11.0, role=role)
            else:
                dash = dashes[number % len(dashes)]
                yield Stroke(points=((x, y - 4.0), (x + KEY - 4.0, y - 4.0)), role=role, width=2.2, dash=dash)
            key = 16.0 if dashes is None else KEY
            yield Label(x=x + key, y=y, text=series[number].name)
            x += KEY + width_of(series[number].name) + GAP
        y += LINE_HEIGHT
    yield Label(x=0.0, y=y, text=label, role="quiet")


def _rows(series: Sequence[ChartSeries], width: float) -> list[list[int]]:
    """Places of the series on the lines of the legend."""
    rows: list[list[int]] = [[]]
    x = 0.0
    for number, one in enumerate(series):
        each = KEY + width_of(one.name) + GAP
        if rows[-1] and x + each > width:
            rows.append([])
            x = 0.0
        rows[-1].append(number)
        x += each
    return rows


def named(chart: Chart) -> str:
    """The chart in a sentence: its title, and each series with its ends."""
    parts = []
    for one in chart.series:
        values = [value for value in one.values if value is not None]
        if values:
            parts.append(f"{one.name} {significant(min(values))} to {significant(max(values))}")
    return f"{chart.title} ({chart.y_label}): {'; '.join(parts)}."
