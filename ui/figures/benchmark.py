"""A measured curve over the prediction: points, line with its 80 % interval, and the calibrated line."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, assert_never

import plotly.graph_objects as go

from sizing.base.choices import BenchmarkMode, is_open_loop
from sizing.calibration.check import CheckedQuantity, Quantity
from sizing.scenario.schema import BenchmarkPoint
from ui.figures.template import INK, NEUTRAL, alpha, axis, layout, message, palette, spread_out

_NOTHING = "Nothing of this kind was measured."
LOAD_TITLES: Mapping[BenchmarkMode, str] = {
    "fixed_concurrency": "Requests in flight (concurrency)",
    "fixed_rate": "Load asked for (requests/s)",
    "offline": "Requests in flight (predicted)",
}
"""The load axis of each mode."""


class Words(NamedTuple):
    """How a quantity is named: in a sentence, on the axis."""

    name: str
    title: str


def words(quantity: Quantity, mode: BenchmarkMode) -> Words:
    """The name of a quantity with its statistic: TTFT of an open loop is a percentile of its run, all else a mean."""
    match quantity:
        case "itl_ms":
            return Words("mean ITL", "Mean ITL (ms)")
        case "ttft_ms":
            return Words("p50 TTFT", "p50 TTFT (ms)") if is_open_loop(mode) else Words("mean TTFT", "Mean TTFT (ms)")
        case "ttft_p99_ms":
            return Words("p99 TTFT", "p99 TTFT (ms)")
        case "output_tokens_per_s":
            return Words("output tokens/s", "Output tokens/s of all GPUs (tokens/s)")
        case unknown:
            assert_never(unknown)


def load_of(point: BenchmarkPoint, row: CheckedQuantity) -> float:
    """The load that was asked; offline, the requests in flight that fit."""
    match point.mode:
        case "fixed_concurrency":
            return point.concurrency or row.load
        case "fixed_rate":
            return point.request_rate_rps or row.load
        case "offline":
            return row.load
        case unknown:
            assert_never(unknown)


def build_benchmark(
    points: Sequence[BenchmarkPoint], rows: Sequence[CheckedQuantity], quantity: Quantity, *, dark: bool = False
) -> go.Figure:
    """One quantity against the load: measured points, predicted line with interval, calibrated line."""
    shown = sorted((load_of(points[r.point], r), r.point, r) for r in rows if r.quantity == quantity)
    if not shown:
        return message(_NOTHING, dark=dark)
    loads, compared = [s[0] for s in shown], [s[2] for s in shown]
    mode = points[compared[0].point].mode
    name, title = words(quantity, mode)
    first, second = palette(dark=dark)[:2]
    data = [
        *_band(loads, compared, first),
        _line("Predicted", loads, [r.predicted for r in compared], first, "solid"),
        _line("After calibration", loads, [r.calibrated for r in compared], second, "dash"),
        _measured(name, loads, [r.measured for r in compared], dark=dark),
    ]
    scale = spread_out(loads)
    if scale["type"] == "log":
        scale |= {"tickvals": loads, "ticktext": [f"{x:g}" for x in loads]}
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=360,
            xaxis=axis(LOAD_TITLES[mode], **scale),
            yaxis=axis(title, **spread_out([v for r in compared for v in (r.measured, r.predicted)])),
        ),
    )


def benchmark_alt_text(points: Sequence[BenchmarkPoint], rows: Sequence[CheckedQuantity], quantity: Quantity) -> str:
    """The chart in one sentence, for those who do not see it."""
    compared = [r for r in rows if r.quantity == quantity]
    if not compared:
        return _NOTHING
    name = words(quantity, points[compared[0].point].mode).name
    inside = sum(r.within for r in compared)
    return f"Measured and predicted {name} at {len(compared)} loads; {inside} of them within the 80 % interval."


def _line(name: str, x: list[float], y: list[float], colour: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(x) < 2 else "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 3, "dash": dash},
        "marker": {"color": colour, "size": 9},
        "hovertemplate": f"%{{x:,.4~g}}: {name.lower()} %{{y:,.3~r}}<extra></extra>",
    }


def _measured(name: str, x: list[float], y: list[float], *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Measured",
        "x": x,
        "y": y,
        "marker": {"color": INK[dark], "symbol": "diamond", "size": 11, "line": {"width": 1, "color": NEUTRAL[dark]}},
        "hovertemplate": f"%{{x:,.4~g}}: measured {name} %{{y:,.3~r}}<extra></extra>",
    }


def _band(x: list[float], rows: Sequence[CheckedQuantity], colour: str) -> list[dict[str, Any]]:
    """The interval as an area; as an error bar where there is one load only."""
    if len(x) < 2:
        one = rows[0]
        return [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "80 % interval",
                "x": x,
                "y": [one.predicted],
                "marker": {"color": colour, "size": 1},
                "hoverinfo": "skip",
                "error_y": {
                    "type": "data",
                    "array": [one.high - one.predicted],
                    "arrayminus": [one.predicted - one.low],
                    "color": colour,
                },
            }
        ]
    edges = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        {**edges, "x": x, "y": [r.low for r in rows], "showlegend": False},
        {
            **edges,
            "x": x,
            "y": [r.high for r in rows],
            "fill": "tonexty",
            "fillcolor": alpha(colour, 0.18),
            "name": "80 % interval of the prediction",
        },
    ]
