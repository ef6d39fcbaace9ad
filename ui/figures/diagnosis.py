"""A diagnosis as a waterfall from plan to measurement, with its tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from reality.diagnosis.causes import Cause
from reality.diagnosis.result import Diagnosis, Split
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
    colours = palette(dark=dark)
    names, base, length, colour, text = ["Planned"], [0.0], [split.planned_ms], [NEUTRAL[dark]], [ms(split.planned_ms)]
    more, less = [0.0], [0.0]
    at = split.planned_ms
    for row in split.causes:
        names.append(_label(row.cause))
        base.append(at)
        length.append(row.share_ms)
        colour.append(colours[_ADDS if row.share_ms > 0 else _HELPS])
        text.append(f"{'+' if row.share_ms > 0 else ''}{significant(row.share_ms)} ms")
        more.append(row.high - row.share_ms)
        less.append(row.share_ms - row.low)
        at += row.share_ms
    names.append("Measured")
    base.append(0.0)
    length.append(split.measured_ms)
    colour.append(NEUTRAL[dark])
    text.append(ms(split.measured_ms))
    more.append(0.0)
    less.append(0.0)
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "base": base,
        "x": length,
        "marker": {"color": colour},
        "text": text,
        "textposition": "auto",
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": more,
            "arrayminus": less,
            "color": INK[dark],
            "thickness": 1.5,
        },
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }
    title = f"p{split.percentile:g} {SHORT[split.quantity]} (ms)"
    return go.Figure(
        data=[bars],
        layout=layout(
            dark=dark,
            height=_FRAME_PX + _ROW_PX * len(names),
            showlegend=False,
            bargap=0.3,
            xaxis=axis(title, rangemode="tozero"),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _label(cause: Cause) -> str:
    text = "not explained" if cause == "unexplained" else NAMES[cause]
    return f"{text[0].upper()}{text[1:]}"


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
                "Cause": _label(row.cause),
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
                "Enough": "" if one.enough is None else ("yes" if one.enough else "no"),
                "Why": one.why,
            }
            for one in diagnosis.actions
        ]
    )
