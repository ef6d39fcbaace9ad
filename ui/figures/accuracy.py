"""Charts of the accuracy figures: capacity at the limits, how far intervals can be trusted, what more models give."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ui.figures.template import NEUTRAL, axis, hardware_look, layout, palette

METRICS = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E", "throughput": "Output tokens/s"}
CURVES = {
    "fixed_concurrency": "Closed-loop ITL",
    "offline_max_throughput": "Offline output tokens/s",
    "static_batch": "Static-batch E2E",
}

MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
"""Symbols of benchmarks, so that colour does not stand alone."""

MARGIN = 1.2
"""Factor between the outermost point and the end of a logarithmic axis."""

Records = Sequence[Mapping[str, Any]]


def build_capacity(runs: Records, *, dark: bool = False) -> go.Figure:
    """Planned against measured rate per GPU of every run at its limits; on the diagonal both are the same."""
    served = [run for run in runs if run["planned_rps"] > 0]
    rates = [run[key] / run["gpus"] for run in served for key in ("measured_rps", "planned_rps")]
    ends = [min(rates) / MARGIN, max(rates) * MARGIN]
    looks = zip(palette(dark=dark), MARKERS, strict=False)
    data: list[dict[str, Any]] = [_diagonal("As measured", ends, dark=dark)]
    for (name, group), (colour, symbol) in zip(_by_benchmark(served).items(), looks, strict=False):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [run["measured_rps"] / run["gpus"] for run in group],
                "y": [run["planned_rps"] / run["gpus"] for run in group],
                "text": [f"{run['gpus']} x {hardware_look(run['gpu']).name}, {run['layout']}" for run in group],
                "marker": {"color": colour, "symbol": symbol, "opacity": 0.7},
                "hovertemplate": "%{text}<br>measured %{x:.3g}, planned %{y:.3g} requests/s per GPU",
            }
        )
    ranges = {"type": "log", "dtick": "D2", "range": [math.log10(end) for end in ends]}
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=420,
            xaxis=axis("Measured (requests/s per GPU)", **ranges),
            yaxis=axis("Planned (requests/s per GPU)", **ranges),
        ),
    )


def _by_benchmark(runs: Records) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(run["benchmark"], []).append(run)
    return groups


def _diagonal(name: str, ends: list[float], *, dark: bool) -> dict[str, Any]:
    """The line on which both axes have the same value."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": ends,
        "y": ends,
        "line": {"color": NEUTRAL[dark], "dash": "dot"},
        "hoverinfo": "skip",
    }


def build_reliability(records: Records, *, dark: bool = False) -> go.Figure:
    """Share of measurements inside intervals of a nominal coverage, by metric; on the diagonal both are the same."""
    nominal = [r["nominal_pct"] for r in records]
    colours = palette(dark=dark)
    data = [_diagonal("As promised", [0.0, 100.0], dark=dark)]
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
