"""The charts of a report, whatever they show: lines, bars, bars on each other, and a tornado."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import log10
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sharing.formats.chart_shape import about
from sharing.report.content import Chart, ChartSeries, Draws, Mark
from ui.figures.template import DASHES, INK, NEUTRAL, alpha, axis, layout, palette, spread_out

_PATTERNS = ("", "/", "\\", "x", "-", "|")
_BARS: Mapping[Draws, str] = {"line": "group", "bar": "group", "stacked": "stack", "tornado": "overlay"}
"""How the bars of one place stand."""
BAND = 0.18
"""Opacity of an interval. Chosen: two of them on each other still read apart."""
ROW_PX, AROUND_PX, HEIGHT_PX, LABEL_PX, POINT_PX = 34, 130, 380, 28, 4


def build_report_chart(chart: Chart, *, dark: bool = False) -> go.Figure:
    """The figure of a chart. Names are text: Plotly would read markup in them."""
    draw = _DRAWN[chart.draws]
    data = [trace for n, series in enumerate(chart.series) for trace in draw(chart, series, n, dark)]
    lying = chart.draws == "tornado"
    labels = [_text(chart.x_label), _text(chart.y_label)]
    across, up = (axis(label) for label in (reversed(labels) if lying else labels))
    of_places, of_values = (up, across) if lying else (across, up)
    if chart.x and isinstance(chart.x[0], str):
        of_places |= {"type": "category", "automargin": True}
    if chart.draws == "line" and (values := _values(chart)):
        of_values |= spread_out(values)
    if lying:
        up |= {"autorange": "reversed", "ticksuffix": " "}
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=AROUND_PX + ROW_PX * len(chart.x) if lying else HEIGHT_PX,
            barmode=_BARS[chart.draws],
            xaxis=across,
            yaxis=up,
            margin={"t": LABEL_PX if any(mark.axis == "x" for mark in chart.marks) else 8},
            shapes=[_line(chart, mark, dark) for mark in chart.marks],
            annotations=[_label(chart, mark, dark, logarithmic=up.get("type") == "log") for mark in chart.marks],
        ),
    )


def report_chart_table(chart: Chart) -> pd.DataFrame:
    """The numbers of a chart: a row for each place."""
    columns: dict[str, Sequence[object]] = {chart.x_label: list(chart.x)}
    for series in chart.series:
        columns |= {series.name: series.values}
        if series.low and series.high:
            columns |= {f"{series.name}, low": series.low, f"{series.name}, high": series.high}
    return pd.DataFrame(columns)


def report_chart_alt_text(chart: Chart) -> str:
    """The chart in one sentence."""
    names = ", ".join(series.name for series in chart.series)
    return f"{chart.title}: {names}; {chart.y_label} over {chart.x_label}."


def _lines(chart: Chart, series: ChartSeries, n: int, dark: bool) -> list[dict[str, Any]]:
    colour, places = _colour(n, dark), _places(chart)
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": _text(series.name),
        "x": places,
        "y": series.values,
        "line": {"color": colour, "dash": DASHES[n % len(DASHES)]},
    }
    if not (series.low and series.high):
        return [line]
    edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    low = {**edge, "x": places, "y": series.low}
    high = {**edge, "x": places, "y": series.high, "fill": "tonexty", "fillcolor": alpha(colour, BAND)}
    return [low, high, line]


def _bars(chart: Chart, series: ChartSeries, n: int, dark: bool) -> list[dict[str, Any]]:
    bar = {"type": "bar", "name": _text(series.name), "x": _places(chart), "y": series.values, "marker": _fill(n, dark)}
    if series.low and series.high:
        ends = zip(series.values, series.low, series.high, strict=True)
        beyond = [(_beyond(high, value), _beyond(value, low)) for value, low, high in ends]
        above, below = ([one[side] for one in beyond] for side in (0, 1))
        bar["error_y"] = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return [bar]


def _tornado(chart: Chart, series: ChartSeries, n: int, dark: bool) -> list[dict[str, Any]]:
    base = chart.base or 0.0
    reach = [None if value is None else value - base for value in series.values]
    bar = {"type": "bar", "orientation": "h", "name": _text(series.name), "base": base, "x": reach, "y": _places(chart)}
    return [{**bar, "marker": _fill(n, dark), "customdata": series.values, "hovertemplate": "%{y}: %{customdata}"}]


_DRAWN: Mapping[Draws, Callable[[Chart, ChartSeries, int, bool], list[dict[str, Any]]]] = {
    "line": _lines,
    "bar": _bars,
    "stacked": _bars,
    "tornado": _tornado,
}


def _places(chart: Chart) -> list[float | str]:
    return [_text(place) if isinstance(place, str) else place for place in chart.x]


def _colour(n: int, dark: bool) -> str:
    colours = palette(dark=dark)
    return colours[n % len(colours)]


def _fill(n: int, dark: bool) -> dict[str, Any]:
    return {"color": _colour(n, dark), "pattern": {"shape": _PATTERNS[n % len(_PATTERNS)]}}


def _beyond(far: float | None, near: float | None) -> float:
    return 0.0 if far is None or near is None else max(far - near, 0.0)


def _line(chart: Chart, mark: Mark, dark: bool) -> dict[str, Any]:
    if mark.near is not None:
        ends = about(mark.near, *_span(chart))
        return {"type": "line", **dict(zip(("x0", "x1"), ends, strict=True)), "y0": mark.at, "y1": mark.at} | {
            "line": {"color": INK[dark], "width": POINT_PX}
        }
    other = "y" if mark.axis == "x" else "x"
    along = {f"{mark.axis}0": mark.at, f"{mark.axis}1": mark.at, f"{other}0": 0, f"{other}1": 1}
    style = {"line": {"color": NEUTRAL[dark], "dash": "dash"}}
    return {"type": "line", f"{other}ref": "paper", **along, **style}


def _on_its_axis(mark: Mark, logarithmic: bool) -> float:
    """Plotly wants the exponent for a text on a logarithmic axis, and the value itself for a line."""
    return log10(mark.at) if logarithmic and mark.axis == "y" and mark.at > 0 else mark.at


def _values(chart: Chart) -> list[float]:
    return [v for one in chart.series for part in (one.values, one.low, one.high) for v in part if v is not None]


def _label(chart: Chart, mark: Mark, dark: bool, *, logarithmic: bool) -> dict[str, Any]:
    other = "y" if mark.axis == "x" else "x"
    name: dict[str, Any] = {"text": _text(mark.label), "showarrow": False, "font": {"color": INK[dark]}}
    if mark.near is not None:
        left, right = _span(chart)
        side = "right" if mark.near > (left + right) / 2.0 else "left"
        end = about(mark.near, left, right)[side == "left"]
        # Latency rises with the load: right of the mark it runs above the words, left of it below them.
        above = {"left": "top", "right": "bottom"}[side]
        return {**name, "x": end, "y": _on_its_axis(mark, logarithmic), "xanchor": side, "yanchor": above}
    at = {
        mark.axis: _on_its_axis(mark, logarithmic),
        other: 1,
        f"{other}ref": "paper",
        "xanchor": "right",
        "yanchor": "bottom",
    }
    return {**at, **name}


def _span(chart: Chart) -> tuple[float, float]:
    """The ends of the axis of places that are numbers, about."""
    numbers = [float(place) for place in chart.x]
    return min(0.0, *numbers), max(numbers)


def _text(text: str) -> str:
    return escape(text, quote=False)
