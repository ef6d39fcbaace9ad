"""How far intervals can be trusted, and whether more measured models would help: two charts of the accuracy figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ui.figures.template import NEUTRAL, axis, layout, palette

METRICS = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E", "throughput": "Output tokens/s"}
CURVES = {
    "fixed_concurrency": "Closed-loop ITL",
    "offline_max_throughput": "Offline output tokens/s",
    "static_batch": "Static-batch E2E",
}

Records = Sequence[Mapping[str, Any]]


def build_reliability(records: Records, *, dark: bool = False) -> go.Figure:
    """Share of measurements inside intervals of a nominal coverage, by metric; on the diagonal both are the same."""
    nominal = [r["nominal_pct"] for r in records]
    colours = palette(dark=dark)
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "As promised",
            "x": [0, 100],
            "y": [0, 100],
            "line": {"color": NEUTRAL[dark], "dash": "dot"},
            "hoverinfo": "skip",
        }
    ]
    for place, (key, name) in enumerate(METRICS.items()):
        data.append(_line(name, nominal, [r[f"{key}_pct"] for r in records], colours[place], "% promised", "% inside"))
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis("Nominal coverage (%)", range=[0, 100]),
            yaxis=axis("Measurements inside (%)", range=[0, 100]),
        ),
    )


def build_learning_curve(records: Records, *, dark: bool = False) -> go.Figure:
    """Median error on models outside the fit against the number of models in it, by protocol."""
    data = []
    for place, (mode, name) in enumerate(CURVES.items()):
        rows = [r for r in records if r["mode"] == mode]
        x, y = [r["models"] for r in rows], [r["median_pct"] for r in rows]
        data.append(_line(name, x, y, palette(dark=dark)[place], "models", "% median error"))
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis("Models in the fit", rangemode="tozero"),
            yaxis=axis("Median error on other models (%)", rangemode="tozero"),
        ),
    )


def _line(name: str, x: list[float], y: list[float], colour: str, x_unit: str, y_unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": colour},
        "hovertemplate": f"{name}: %{{x}} {x_unit}, %{{y}} {y_unit}<extra></extra>",
    }


def reliability_alt_text(records: Records) -> str:
    """The reliability diagram in one sentence."""
    at = next(r for r in records if r["nominal_pct"] == 80)
    shares = ", ".join(f"{name} {at[f'{key}_pct']:.0f} %" for key, name in METRICS.items())
    return f"Actual against nominal coverage of the intervals; of 80 % intervals, these hold: {shares}."


def learning_alt_text(records: Records) -> str:
    """The learning curve in one sentence."""
    rows = [r for r in records if r["mode"] == "fixed_concurrency"]
    first, last = rows[0], rows[-1]
    return (
        f"Median closed-loop ITL error on unseen models: {first['median_pct']:g} % with {first['models']} models in "
        f"the fit, {last['median_pct']:g} % with {last['models']}."
    )
