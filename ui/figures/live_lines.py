"""What a deployment did over time: lines with gaps where there is no data, the plan dashed across them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import rounded, significant
from sizing.base.units import S_PER_MINUTE
from ui.figures.template import (
    DASHES,
    NEUTRAL,
    TEXT_SIZE,
    alpha,
    axis,
    layout,
    log_ticks,
    message,
    palette,
    quick_figure,
)

_FEW = 60
"""Up to this many values of a line, each is marked: a single one between two gaps would not be seen."""

_SELDOM_S = 600.0
"""Seconds between the points of a line from which much may happen between two of them."""

_LOG_FROM = 30.0
"""Ratio of the largest value to the smallest from which an axis is logarithmic; below, one from zero reads better."""

_OPEN_END = 1.25
"""How far a band without an upper end rises over what is drawn."""


_HEIGHT_PX, _PLOT_PX, _ENTRY_PX = 300, 220, 21
"""Height of a chart, of what stands below its legend, and of an entry of it: on a phone each has a row of its own, and
a legend higher than half of the chart would cover it."""


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """One line; NaN is a gap. ``colour`` and ``dash`` count within the palette and the dashes."""

    name: str
    values: Sequence[float]
    colour: int = 0
    dash: int = 0
    width: float = 2.0
    marks: bool = False


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of the plan: a dashed line across."""

    name: str
    value: float
    limit: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    """Where a value surely lies; an infinite upper end is an open bucket.

    Not an :class:`sizing.base.quantity.Estimate`: a chart is drawn from columns, and the value is a line of its own.
    """

    name: str
    low: Sequence[float]
    high: Sequence[float]
    colour: int = 0


@dataclass(frozen=True, kw_only=True)
class LiveChart:
    """One quantity over time: seconds since 1970, lines on them. Several quantities are named by their unit alone."""

    unit: str
    times_s: Sequence[float]
    lines: tuple[ChartLine, ...]
    span_s: tuple[float, float]
    levels: tuple[Level, ...] = ()
    band: Band | None = None
    scale: float = 1.0
    """What turns the values of lines, levels and band into the unit."""

    quantity: str = ""
    nothing: str = "No data in this range."

    @property
    def title(self) -> str:
        """The title of the axis, with its unit."""
        return f"{self.quantity} ({self.unit})" if self.quantity else self.unit

    @property
    def percent(self) -> bool:
        """Whether the axis ends at 100 %."""
        return self.unit == "%"


def build_lines(chart: LiveChart, *, zone: tzinfo = UTC, dark: bool = False) -> go.Figure:
    """The chart. A range without a single value says so instead of drawing an empty frame."""
    seen = [v for line in chart.lines for v in line.values if math.isfinite(v)]
    if not seen:
        return message(chart.nothing + _seldom(chart.times_s), dark=dark)
    times = [moment(t, zone) for t in chart.times_s]
    scale = chart.scale
    shown = [v * scale for v in (*seen, *(level.value for level in chart.levels)) if math.isfinite(v)]
    data = [*_band(chart, times, max(shown), scale, dark=dark), *_lines(chart, times, scale, dark=dark)]
    ends = [moment(t, zone) for t in chart.span_s]
    data += _levels(chart, ends, scale, dark=dark)
    return quick_figure(
        data,
        layout(
            dark=dark,
            height=max(_HEIGHT_PX, _PLOT_PX + _ENTRY_PX * len(data)),
            hovermode="x unified",
            xaxis={
                "type": "date",
                "range": ends,
                "showgrid": False,
                "tickfont": {"size": TEXT_SIZE},
                "tickangle": 0,
                "nticks": 6,
                "tickformat": "%H:%M\n%d %b",
            },
            yaxis=axis(chart.title, **({"range": [0, 104]} if chart.percent else _scale(shown))),
        ),
    )


def _scale(shown: Sequence[float]) -> dict[str, Any]:
    """From zero; logarithmic, with ticks at 1, 2 and 5, where the largest value is many times the smallest."""
    low, high = min(shown), max(shown)
    if low <= 0 or high / low < _LOG_FROM:
        return {"type": "linear", "rangemode": "tozero"}
    ticks = log_ticks(low, high)
    return {"type": "log", "tickvals": ticks, "ticktext": [significant(tick) for tick in ticks]}


def lines_table(chart: LiveChart, *, zone: tzinfo = UTC) -> pd.DataFrame:
    """One row per moment; an empty cell is a gap."""
    scale = chart.scale
    columns = {f"{line.name} ({chart.unit})": _points(line.values, scale) for line in chart.lines}
    if chart.band:
        for end, values in (("from", chart.band.low), ("to", chart.band.high)):
            columns[f"{chart.band.name}, {end}"] = _points(values, scale)
    return pd.DataFrame({f"Time ({zone})": [moment(t, zone) for t in chart.times_s], **columns})


def lines_alt_text(chart: LiveChart) -> str:
    """The chart in one sentence: the last value of each line, and the plan."""
    parts = []
    for line in chart.lines:
        known = [v * chart.scale for v in line.values if math.isfinite(v)]
        parts.append(f"{line.name} {significant(known[-1])}" if known else f"{line.name} without data")
    parts += [f"{level.name} {significant(level.value * chart.scale)}" for level in chart.levels]
    return f"{chart.title} over time, newest values: {', '.join(parts)}."


def moment(at_s: float, zone: tzinfo) -> str:
    """A moment as the wall clock of the viewer shows it."""
    return datetime.fromtimestamp(at_s, zone).strftime("%Y-%m-%d %H:%M:%S")


def _seldom(times_s: Sequence[float]) -> str:
    """What an empty range of few points does not exclude: data that began, or was there, between two of them."""
    step = times_s[1] - times_s[0] if len(times_s) > 1 else 0.0
    if step < _SELDOM_S:
        return ""
    return f" It has a point every {step / S_PER_MINUTE:g} min: a shorter range may show more."


def _few(values: Sequence[float]) -> bool:
    """Whether a line has so few values that some may stand alone, where a line alone would draw nothing."""
    return sum(map(math.isfinite, values)) <= _FEW


def _points(values: Sequence[float], scale: float) -> list[float | None]:
    return [rounded(v * scale, 4) if math.isfinite(v) else None for v in values]


def _lines(chart: LiveChart, times: Sequence[str], scale: float, *, dark: bool) -> list[dict[str, Any]]:
    colours = palette(dark=dark)
    unit = " %" if chart.percent else ""
    return [
        {
            "type": "scatter",
            "x": times,
            "y": _points(line.values, scale),
            "name": line.name,
            "connectgaps": False,
            "mode": "markers" if line.marks else "lines+markers" if _few(line.values) else "lines",
            "line": {"color": colours[line.colour], "dash": DASHES[line.dash], "width": line.width},
            "marker": {
                "color": colours[line.colour],
                "size": 9 if line.marks else 4,
                "symbol": "x" if line.marks else "circle",
            },
            "hovertemplate": f"%{{y:.4~g}}{unit}",
        }
        for line in chart.lines
    ]


def _levels(chart: LiveChart, ends: Sequence[str], scale: float, *, dark: bool) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter",
            "x": ends,
            "y": [level.value * scale] * 2,
            "mode": "lines",
            "name": level.name,
            "line": {"color": NEUTRAL[dark], "dash": "dot" if level.limit else "dash", "width": 2},
            "hovertemplate": "%{y:.4~g}",
        }
        for level in chart.levels
    ]


def _band(chart: LiveChart, times: Sequence[str], top: float, scale: float, *, dark: bool) -> list[dict[str, Any]]:
    """The area between two edges: gaps end it, so each stretch is an area of its own."""
    if chart.band is None:
        return []
    colour = alpha(palette(dark=dark)[chart.band.colour], 0.16)
    x: list[str | None] = []
    y: list[float | None] = []
    for start, end in _stretches(chart.band.low):
        low = [v * scale for v in chart.band.low[start:end]]
        high = [v * scale if math.isfinite(v) else top * _OPEN_END for v in chart.band.high[start:end]]
        x += [*times[start:end], *reversed(times[start:end]), None]
        y += [*(rounded(v, 4) for v in low), *(rounded(v, 4) for v in reversed(high)), None]
    return (
        [
            {
                "type": "scatter",
                "x": x,
                "y": y,
                "mode": "lines",
                "fill": "toself",
                "fillcolor": colour,
                "line": {"width": 0},
                "name": chart.band.name,
                "hoverinfo": "skip",
            }
        ]
        if x
        else []
    )


def _stretches(values: Sequence[float]) -> list[tuple[int, int]]:
    """Start and end of every run of finite values of at least two."""
    stretches, start = [], None
    for i, value in enumerate([*values, math.nan]):
        if math.isfinite(value) and start is None:
            start = i
        elif not math.isfinite(value) and start is not None:
            if i - start > 1:
                stretches.append((start, i))
            start = None
    return stretches
