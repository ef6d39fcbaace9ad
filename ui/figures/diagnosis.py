"""A diagnosis as a waterfall from plan to measurement, with its tables."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from reality.diagnosis.causes import Cause
from reality.diagnosis.result import CauseRow, Diagnosis, Split
from reality.diagnosis.sentences import NAMES, SHORT, described
from sizing.base.format import ms, percent, significant
from ui.figures.template import INK, NEUTRAL, axis, layout, message, palette
from ui.format import known

_NOTHING = "Nothing differs from the plan by more than noise."
_ROW_PX, _FRAME_PX = 30, 90
"""Height of a row, and of what stands around the rows."""
_ADDS, _HELPS = 1, 2
"""Colours of the palette: what adds to a latency, and what takes from it."""


def build_waterfall(split: Split, *, dark: bool = False) -> go.Figure:
    """Planned percentile, what each cause adds or takes with its interval, measured percentile."""
    if split.planned_ms is None or split.measured_ms is None or not split.causes:
        return message(_NOTHING, dark=dark)
    bars = _bars(split, dark=dark)
    title = f"p{split.percentile:g} {SHORT[split.quantity]} (ms)"
    return go.Figure(
        data=[bars],
        layout=layout(
            dark=dark,
            height=_FRAME_PX + _ROW_PX * len(bars["y"]),
            showlegend=False,
            bargap=0.3,
            xaxis=axis(title, rangemode="tozero"),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _bars(split: Split, *, dark: bool) -> dict[str, Any]:
    """The bars, each from where the one before it ends; the first and the last from 0."""
    assert split.planned_ms is not None
    assert split.measured_ms is not None
    colours, at = palette(dark=dark), split.planned_ms
    rows: list[tuple[str, float, float, str, str, float, float]] = [
        ("Planned", 0.0, split.planned_ms, NEUTRAL[dark], ms(split.planned_ms), *_of_plan(split))
    ]
    for row in split.causes:
        colour, sign = (colours[_ADDS], "+") if row.share_ms > 0 else (colours[_HELPS], "")
        text = f"{sign}{significant(row.share_ms)} ms"
        share = row.share_ms
        rows.append((_named(row), at, share, colour, text, row.high - share, share - row.low))
        at += share
    rows.append(("Measured", 0.0, split.measured_ms, NEUTRAL[dark], ms(split.measured_ms), 0.0, 0.0))
    names, base, length, colour_of, text_of, more, less = (list(column) for column in zip(*rows, strict=True))
    error = {
        "type": "data",
        "symmetric": False,
        "array": more,
        "arrayminus": less,
        "color": INK[dark],
        "thickness": 1.5,
    }
    return {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "base": base,
        "x": length,
        "marker": {"color": colour_of},
        "text": text_of,
        "textposition": "auto",
        "error_x": error,
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }


def _of_plan(split: Split) -> tuple[float, float]:
    """How much more and how much less the planned percentile may be."""
    value = split.planned_ms or 0.0
    ends = (split.planned_high_ms, split.planned_low_ms)
    more, less = (0.0 if end is None or not math.isfinite(end) else abs(end - value) for end in ends)
    return more, less


def _label(cause: Cause) -> str:
    text = "not explained" if cause == "unexplained" else NAMES[cause]
    return f"{text[0].upper()}{text[1:]}"


def _named(row: CauseRow) -> str:
    """A cause with a word where it may be none: what is left over may be chance."""
    return f"{_label(row.cause)}{' (noise)' if row.cause == 'unexplained' and row.why.startswith('cannot') else ''}"


def waterfall_alt_text(split: Split) -> str:
    """The waterfall in one sentence, for those who do not see it."""
    if split.planned_ms is None or split.measured_ms is None or not split.causes:
        return _NOTHING
    parts = ", ".join(f"{_label(row.cause).lower()} {significant(row.share_ms)} ms" for row in split.causes)
    name = f"p{split.percentile:g} {SHORT[split.quantity]}"
    return f"{name}: planned {ms(split.planned_ms)}, measured {ms(split.measured_ms)}; {parts}."


def limits_table(diagnosis: Diagnosis) -> pd.DataFrame:
    """Every limit beside what is measured."""
    return pd.DataFrame(
        [
            {
                "Limit": f"p{row.percentile:g} {SHORT[row.quantity]}",
                "Limit (ms)": row.limit,
                "Measured (ms)": known(row.measured),
                "Interval (ms)": _ends(row.low, row.high),
                "Requests within": "" if row.attainment is None else percent(row.attainment),
                "Verdict": row.verdict,
                "Since": "" if row.broken_since is None else row.broken_since.replace("T", " ").replace("Z", " UTC"),
                "Error budget left": "" if row.budget_left is None else percent(row.budget_left),
                "Burns": ", ".join(f"{b.long}: {significant(b.over_long)} x" for b in row.burn_rates if b.alerts),
                "What to know": row.reason,
            }
            for row in diagnosis.limits
        ]
    )


def _ends(low: float | None, high: float | None) -> str:
    if low is None:
        return ""
    return f"{significant(low)} or more" if high is None else f"{significant(low)} to {significant(high)}"


def causes_table(split: Split) -> pd.DataFrame:
    """What each cause contributes."""
    return pd.DataFrame(
        [
            {
                "Cause": _named(row),
                "Share (ms)": row.share_ms,
                "Low (ms)": row.low,
                "High (ms)": row.high,
                "What is seen": described(row),
                "Where": row.subject or "",
            }
            for row in split.causes
        ]
    )


def actions_table(diagnosis: Diagnosis) -> pd.DataFrame:
    """What would help, and what it would give."""
    return pd.DataFrame(
        [
            {
                "Action": one.kind.replace("_", " "),
                "Replicas": known(one.replicas),
                "GPUs": known(one.gpus),
                "Within the limits (requests/s)": known(one.capacity_within_limits_rps),
                "Cost (USD/month)": known(one.usd_per_month),
                "Enough": "" if one.enough is None else ("yes" if one.enough else "no"),
                "Why": one.why,
            }
            for one in diagnosis.actions
        ]
    )
