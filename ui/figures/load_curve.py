"""Latency of one instance against its load: how far the planned load is from the limits and from the knee."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import ms, requests_per_s, rounded
from sizing.base.result import LoadPoint, Plan
from sizing.explore.load_band import LoadBand
from sizing.queueing.knee import knee
from sizing.scenario.schema import Limits
from ui.figures.template import INK, MAX_POINTS, NEUTRAL, Look, alpha, axis, hardware_look, layout, message

_NOTHING = "No deployment meets the limits, so there is no load curve to show."
_ONE_POINT = "A measured record is one point: there is no load curve to show."
_HEADROOM = 1.6
"""Height of a panel over the larger of limit and planned value: what rises beyond leaves it, as the queue does."""
_LOWEST_MS = 1e-6
"""Height of a panel at least, so that it has one."""
_SECONDS_FROM = 10_000.0
"""Panels that reach this many ms are drawn in seconds."""


class Panel(NamedTuple):
    """One of the three latencies: points (ms), limit and planned value, and the unit it is drawn in."""

    name: str
    values: tuple[float, ...]
    limit: float | None
    planned: float | None
    unit: str
    scale: float
    top: float


def percentile_name(limits: Limits | None) -> str:
    """The percentile of the latencies of a plan, as a prefix: "p95"; in words where nobody says which was asked."""
    return f"p{limits.percentile:g}" if limits else "asked percentile of"


def build_load_curve(plan: Plan, *, limits: Limits, band: LoadBand | None = None, dark: bool = False) -> go.Figure:
    """TTFT, ITL and E2E at the asked percentile against requests/s of one instance, one panel each, limits dashed.

    A dot marks the planned load, a dotted line the knee, a tint the loads at which every limit holds, and ``band`` the
    80 % range of the curve.
    """
    points = _drawn(plan.load_curve)
    if not points or plan.per_instance is None or plan.deployment is None:
        return message(_why_nothing(plan), dark=dark)
    rates = [p.rps for p in points]
    look = hardware_look(plan.deployment.gpu, dark=dark)
    panels = _panels(plan, points, limits)
    last = max(rates[-1], plan.per_instance.rps, *[p.rps for p in _drawn(band.fast if band else ())])
    data: list[dict[str, Any]] = []
    for place, panel in enumerate(panels):
        data += _band(band, panel, place, look) if band else []
        data += _panel(panel, place, rates, plan.per_instance.rps, look, percentile_name(limits), dark=dark)
        data += _limit(panel, place, last, percentile_name(limits), dark=dark)
    bend = knee(plan.load_curve)
    data += _keys(plan, bend, look if band else None, dark=dark)
    return go.Figure(data=data, layout=_layout(plan, panels, bend, last, limits, dark=dark))


def load_curve_table(plan: Plan, *, limits: Limits | None = None) -> pd.DataFrame:
    """The load curve as a table: one row per load, latencies in ms at the asked percentile."""
    at = percentile_name(limits)
    columns = {
        "Requests/s of one instance": [p.rps for p in plan.load_curve],
        "Requests in flight": [p.concurrency for p in plan.load_curve],
        f"{at} TTFT (ms)": [p.ttft_ms for p in plan.load_curve],
        f"{at} ITL (ms)": [p.itl_ms for p in plan.load_curve],
        f"{at} E2E (ms)": [p.e2e_ms for p in plan.load_curve],
        "Output tokens/s per GPU": [p.output_tokens_per_s_per_gpu for p in plan.load_curve],
    }
    return pd.DataFrame({name: [rounded(v) for v in values] for name, values in columns.items()})


def load_curve_alt_text(plan: Plan, *, limits: Limits) -> str:
    """The load curve in one sentence, for those who do not see it."""
    if plan.per_instance is None or plan.latency is None or not plan.load_curve:
        return _why_nothing(plan)
    at, one, now = percentile_name(limits), plan.per_instance, plan.latency
    bend = knee(plan.load_curve)
    tail = f"; latency bends upwards at {requests_per_s(bend.rps)}" if bend else ""
    return (
        f"Latency of one instance against its load: at the planned {requests_per_s(one.rps)} {at} TTFT is "
        f"{ms(now.ttft_ms.at_percentile)}, {at} ITL {ms(now.itl_ms.at_percentile)} and {at} E2E "
        f"{ms(now.e2e_ms.at_percentile)}; "
        f"every limit holds up to {requests_per_s(one.max_rps)}{tail}."
    )


def _why_nothing(plan: Plan) -> str:
    return _NOTHING if plan.deployment is None else _ONE_POINT


def _drawn(curve: Sequence[LoadPoint]) -> list[LoadPoint]:
    """The points that can be drawn, thinned evenly so that three panels of them stay within what a browser is sent."""
    usable = [p for p in curve if math.isfinite(p.ttft_ms + p.itl_ms + p.e2e_ms)]
    return usable[:: max(1, math.ceil(len(usable) / (MAX_POINTS // 4)))]


def _panels(plan: Plan, points: Sequence[LoadPoint], limits: Limits) -> tuple[Panel, ...]:
    now = plan.latency
    return (
        _scaled("TTFT", [p.ttft_ms for p in points], limits.ttft_ms, now.ttft_ms.at_percentile if now else None),
        _scaled("ITL", [p.itl_ms for p in points], limits.itl_ms, now.itl_ms.at_percentile if now else None),
        _scaled("E2E", [p.e2e_ms for p in points], limits.e2e_ms, now.e2e_ms.at_percentile if now else None),
    )


def _scaled(name: str, values: Sequence[float], limit: float | None, planned: float | None) -> Panel:
    """A panel with its height: headroom over limit and planned value, but never more than the curve needs."""
    seen = [v for v in (limit, planned) if v is not None and math.isfinite(v)]
    reach = max(values)
    wanted = _HEADROOM * max(seen) if limit is not None else 3 * max([*seen, min(values)])
    top = max(min(wanted, 1.1 * reach), 1.15 * max(seen, default=reach), _LOWEST_MS)
    unit, scale = ("s", 1e-3) if top >= _SECONDS_FROM else ("ms", 1.0)
    return Panel(name, tuple(values), limit, planned, unit, scale, top)


def _panel(
    panel: Panel, place: int, rates: Sequence[float], load: float, look: Look, at: str, *, dark: bool
) -> list[dict[str, Any]]:
    """The traces of one panel: the curve and the planned load."""
    axis = "y" if place == 0 else f"y{place + 1}"
    common = {"type": "scatter", "xaxis": "x", "yaxis": axis, "showlegend": False}
    hover = f"%{{x:.3~g}} requests/s: {at} {panel.name} %{{y:,.3~r}} {panel.unit}<extra></extra>"
    traces = [
        {
            **common,
            "mode": "lines",
            "x": list(rates),
            "y": [v * panel.scale for v in panel.values],
            "line": {"color": look.colour, "width": 3},
            "hovertemplate": hover,
        }
    ]
    if panel.planned is not None and math.isfinite(panel.planned):
        traces.append(
            {
                **common,
                "mode": "markers",
                "x": [load],
                "y": [panel.planned * panel.scale],
                "cliponaxis": False,
                "marker": {
                    "color": look.colour,
                    "size": 13,
                    "symbol": "circle",
                    "line": {"color": INK[dark], "width": 2},
                },
                "hovertemplate": f"Planned load {requests_per_s(load)}: {at} {panel.name} {ms(panel.planned)}"
                "<extra></extra>",
            }
        )
    return traces


def _limit(panel: Panel, place: int, last: float, at: str, *, dark: bool) -> list[dict[str, Any]]:
    """The limit of a panel, where there is one."""
    if panel.limit is None:
        return []
    return [
        {
            "type": "scatter",
            "xaxis": "x",
            "yaxis": "y" if place == 0 else f"y{place + 1}",
            "showlegend": False,
            "mode": "lines",
            "x": [0, last],
            "y": [panel.limit * panel.scale] * 2,
            "line": {"color": INK[dark], "width": 2, "dash": "dash"},
            "hovertemplate": f"{at} {panel.name} limit: {ms(panel.limit, 4)}<extra></extra>",
        }
    ]


def _band(band: LoadBand, panel: Panel, place: int, look: Look) -> list[dict[str, Any]]:
    """The tint between the curve at the fast and at the slow end; both go on to where the queue grows without end."""
    axis = "y" if place == 0 else f"y{place + 1}"
    name = f"{panel.name.lower()}_ms"
    common = {
        "type": "scatter",
        "xaxis": "x",
        "yaxis": axis,
        "showlegend": False,
        "hoverinfo": "skip",
        "mode": "lines",
        "fill": "toself",
        "line": {"width": 0},
        "fillcolor": alpha(look.colour, 0.18),
    }
    fast, slow = ([(p.rps, getattr(p, name) * panel.scale) for p in _drawn(end)] for end in (band.fast, band.slow))
    corner = (fast[-1][0], max(fast[-1][1], slow[-1][1]))  # from the last stable load straight up
    return [{**common, **dict(zip("xy", map(list, zip(*fast, corner, *reversed(slow), strict=True)), strict=True))}]


def _keys(plan: Plan, bend: LoadPoint | None, ranged: Look | None, *, dark: bool) -> list[dict[str, Any]]:
    """The legend, once for all panels: entries without points of their own."""
    one = plan.per_instance
    load, most = (one.rps, one.max_rps) if one else (0.0, 0.0)
    none = {"type": "scatter", "x": [None], "y": [None], "showlegend": True, "hoverinfo": "skip"}
    ring = {"color": NEUTRAL[dark], "size": 11, "symbol": "circle", "line": {"color": INK[dark], "width": 2}}
    tint = {"color": alpha(NEUTRAL[dark], 0.35), "size": 13, "symbol": "square"}
    keys = [
        {**none, "mode": "lines", "line": {"color": INK[dark], "width": 2, "dash": "dash"}, "name": "Limit"},
        {**none, "mode": "markers", "marker": ring, "name": f"Planned load, {requests_per_s(load)}"},
        {**none, "mode": "markers", "marker": tint, "name": f"Every limit holds, up to {requests_per_s(most)}"},
    ]
    if ranged:
        hue = alpha(ranged.colour, 0.35)
        keys.append({**none, "mode": "markers", "marker": {**tint, "color": hue}, "name": "80 % range of the curve"})
    if bend:
        dotted = {"color": NEUTRAL[dark], "width": 2, "dash": "dot"}
        keys.append(
            {**none, "mode": "lines", "line": dotted, "name": f"Knee, {requests_per_s(bend.rps)}: latency bends"}
        )
    return keys


def _layout(
    plan: Plan, panels: Sequence[Panel], bend: LoadPoint | None, last: float, limits: Limits, *, dark: bool
) -> dict[str, Any]:
    """Three panels above one another on one load axis, so that the eye reads down at one load."""
    one, at = plan.per_instance, percentile_name(limits)
    shapes: list[dict[str, Any]] = []
    if one is not None:
        within = {"type": "rect", "x0": 0, "x1": min(one.max_rps, last), "fillcolor": alpha(NEUTRAL[dark], 0.12)}
        shapes.append({**within, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 0}, "layer": "below"})
    if bend:
        line = {"color": NEUTRAL[dark], "width": 2, "dash": "dot"}
        shapes.append({"type": "line", "x0": bend.rps, "x1": bend.rps, "y0": 0, "y1": 1, "yref": "paper", "line": line})
    axes: dict[str, Any] = {"xaxis": axis("Load of one instance (requests/s)", range=[0, last * 1.02], anchor="y3")}
    for place, panel in enumerate(panels):
        low = 1 - (place + 1) / 3 + (0.05 if place < 2 else 0.0)
        axes["yaxis" if place == 0 else f"yaxis{place + 1}"] = axis(
            f"{at} {panel.name} ({panel.unit})",
            domain=[round(low, 4), round(1 - place / 3, 4)],
            range=[0, panel.top * panel.scale],
            nticks=4,
        )
    return layout(dark=dark, height=560, shapes=shapes, **axes)
