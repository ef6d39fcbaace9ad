"""Predicted interval and measured value of every quantity in one chart, all relative to the central prediction."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from reality.answer import percent_of, range_of, short_label, shown
from reality.labels import NAMES_ITS_UNIT, SHARE_OF_PROMPT
from reality.result import VERDICT_WORDS, FigureVerdict, Interval, PerformanceRow, RealityComparison, TrafficRow
from ui.figures.template import INK, NEUTRAL, alpha, axis, layout, message, palette
from ui.format import known

_NOTHING = "There is no quantity with both a prediction and a measured value."
NARROWEST, WIDEST = 0.2, 5.0
"""Ratios beyond which an axis would squeeze everything else; what lies there is drawn at the edge."""

REASON = "Why, or what to know"
"""Name of the column of sentences."""

_ROW_PX, _FRAME_PX = 25, 130
"""Height of a row, and of what stands around the rows. Chosen: a line of text with room to point at it."""
_LOOKS: dict[FigureVerdict, tuple[int | None, str]] = {
    "within": (0, "circle"),
    "higher": (1, "triangle-right"),
    "lower": (3, "triangle-left"),
    "cannot_judge": (None, "circle-open"),
}
"""Colour of the palette (None: neutral) and marker of a verdict."""


def build_verdicts(rows: Sequence[PerformanceRow], *, dark: bool = False) -> go.Figure:
    """A band per row from the low to the high end of the prediction, a point with its bar for what was measured.

    The axis is measured / predicted, 1 being exactly as predicted; a band without upper end reaches the edge.
    """
    kept = drawn(rows)
    if not kept:
        return message(_NOTHING, dark=dark)
    names = [_name(row) for row in kept]
    data: list[dict[str, Any]] = [_bands(kept, names, palette(dark=dark)[0])]
    data += [one for verdict in _LOOKS for one in _points(kept, names, verdict, dark=dark)]
    line = {
        "type": "line",
        "x0": 1,
        "x1": 1,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": NEUTRAL[dark], "width": 1, "dash": "dot"},
    }
    judged = [row for row in kept if row.verdict != "cannot_judge"] or kept
    ends = [r for row in judged for r in (*_ratios(row.predicted, row), *_ratios(row.measured, row))]
    low, high = max(min(ends) / 1.1, NARROWEST), min(max(ends) * 1.1, WIDEST)
    ticks = [t for t in (0.25, 0.5, 1, 2, 4) if low <= t <= high]
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=_FRAME_PX + _ROW_PX * len(kept),
            shapes=[line],
            barmode="overlay",
            xaxis=axis(
                "Measured / predicted (ratio)",
                type="log",
                tickangle=0,
                range=[math.log10(low), math.log10(high)],
                tickvals=ticks,
                ticktext=[f"{t:g}" for t in ticks],
            ),
            yaxis={"autorange": "reversed", "tickfont": {"size": 13}, "automargin": True, "ticksuffix": " "},
        ),
    )


def _name(row: PerformanceRow) -> str:
    """Short label, with the unit where the label does not say it."""
    return short_label(row) if row.key in NAMES_ITS_UNIT else f"{short_label(row)} ({row.unit})"


def drawn(rows: Sequence[PerformanceRow]) -> list[PerformanceRow]:
    """Rows with a prediction and a measured value that can be set in relation to it."""
    return [row for row in rows if row.predicted.value and row.measured.value is not None and row.error is not None]


def _bands(rows: Sequence[PerformanceRow], names: list[str], colour: str) -> dict[str, Any]:
    ratios = [_ratios(row.predicted, row) for row in rows]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Predicted, 80 % interval",
        "y": names,
        "base": [low for low, _ in ratios],
        "x": [high - low for low, high in ratios],
        "width": 0.62,
        "marker": {"color": alpha(colour, 0.28), "line": {"color": colour, "width": 1}},
        "customdata": [[shown(row.predicted.value, row.unit), range_of(row.predicted, row.unit)] for row in rows],
        "hovertemplate": "%{y}<br>predicted %{customdata[0]}, 80 % interval %{customdata[1]}<extra></extra>",
    }


def _points(
    rows: Sequence[PerformanceRow], names: list[str], verdict: FigureVerdict, *, dark: bool
) -> list[dict[str, Any]]:
    kept = [(row, name) for row, name in zip(rows, names, strict=True) if row.verdict == verdict]
    if not kept:
        return []
    place, symbol = _LOOKS[verdict]
    colour = NEUTRAL[dark] if place is None else palette(dark=dark)[place]
    at = [_clipped(_ratio(row.measured.value, row)) for row, _ in kept]
    ends = [_ratios(row.measured, row) for row, _ in kept]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"Measured: {VERDICT_WORDS[verdict]}",
            "x": at,
            "y": [name for _, name in kept],
            "marker": {"color": colour, "symbol": symbol, "size": 11, "line": {"color": INK[dark], "width": 1}},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "color": INK[dark],
                "thickness": 1.5,
                "width": 4,
                "array": [max(high - x, 0.0) for (_, high), x in zip(ends, at, strict=True)],
                "arrayminus": [max(x - low, 0.0) for (low, _), x in zip(ends, at, strict=True)],
            },
            "customdata": [
                [shown(row.measured.value, row.unit), range_of(row.measured, row.unit), row.reason] for row, _ in kept
            ],
            "hovertemplate": "%{y}<br>measured %{customdata[0]}, %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
        }
    ]


def _ratio(value: float | None, row: PerformanceRow) -> float:
    assert row.predicted.value
    return (value or 0.0) / row.predicted.value


def _ratios(interval: Interval, row: PerformanceRow) -> tuple[float, float]:
    """Both ends relative to the prediction, within the axis; a missing end of a measured value is the value."""
    value = interval.value
    open_high = math.inf if interval.low is not None else _ratio(value, row)
    low = _ratio(interval.low if interval.low is not None else value, row)
    high = _ratio(interval.high, row) if interval.high is not None else open_high
    return _clipped(low), _clipped(high)


def _clipped(ratio: float) -> float:
    return min(max(ratio, NARROWEST), WIDEST)


def verdicts_alt_text(comparison: RealityComparison) -> str:
    """The chart in one sentence, for those who do not see it."""
    kept = drawn(comparison.performance)
    if not kept:
        return _NOTHING
    counts = {verdict: sum(row.verdict == verdict for row in kept) for verdict in VERDICT_WORDS}
    counted = ", ".join(f"{n} {VERDICT_WORDS[verdict]}" for verdict, n in counts.items() if n)
    return (
        f"Measured values of {len(kept)} quantities against the interval predicted for the observed traffic: {counted}."
    )


def performance_table(comparison: RealityComparison) -> pd.DataFrame:
    """Every quantity: predicted, measured, error, verdict, reason."""
    return pd.DataFrame(
        [
            {
                "Quantity": row.label,
                "Unit": row.unit,
                "Predicted": known(row.predicted.value),
                "Predicted, 80 %": _range(row.predicted),
                "Measured": known(row.measured.value),
                "Measured, interval": _range(row.measured),
                "Error of the prediction": percent_of(row.error),
                "Verdict": VERDICT_WORDS[row.verdict],
                REASON: row.reason,
                "Requests": None if row.count is None else round(row.count),
                "Read from": row.query,
            }
            for row in comparison.performance
        ]
    )


def traffic_table(rows: Sequence[TrafficRow]) -> pd.DataFrame:
    """Planned and measured traffic."""
    return pd.DataFrame(
        [
            {
                "Quantity": row.label,
                "Unit": row.unit,
                "Planned": known(row.planned),
                "Measured": known(row.measured.value),
                "Measured, interval": _range(row.measured),
                "Difference": _difference(row),
                "Verdict": VERDICT_WORDS[row.verdict],
                REASON: row.reason,
            }
            for row in rows
        ]
    )


def _difference(row: TrafficRow) -> str:
    if row.difference is None:
        return ""
    return f"{row.difference * 100:+.0f} points" if row.unit == SHARE_OF_PROMPT else percent_of(row.difference)


def _range(interval: Interval) -> str:
    """Both ends of a range; empty where neither is known."""
    return "" if interval.low is None and interval.high is None else range_of(interval, "")
