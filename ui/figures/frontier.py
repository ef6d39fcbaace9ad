"""Latency against throughput: the frontier of each GPU, its 80 % range, the allowed region, and what was measured."""

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import counted, rounded, significant
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.evidence.sources import source_day, source_url
from sizing.explore.frontier import FrontierCurve, OperatingPoints
from sizing.explore.measured_points import MeasuredPoint
from ui.figures.frontier_axes import AXES, allowed_label, allowed_region, percentile_of, scale, value_of
from ui.figures.frontier_marks import (
    coordinates,
    measured_points,
    own_points,
    planned_point,
    point_text,
    range_end,
    range_outline,
    source_of,
)
from ui.figures.template import DASHES, NEUTRAL, Look, alpha, axis, hardware_look, layout, message
from ui.format import known

_NOTHING = "Nothing fits, or no price or power is known: there is no point to show."
_BEYOND = 0.35
"""Opacity of what lies beyond a limit."""

_SERVING = {"aggregated": "Prefill and decode together", "disaggregated": "Prefill and decode in pools"}


def build_frontier(
    shown: OperatingPoints, *, ranges: Collection[str] = (), measured: Sequence[MeasuredPoint] = (), dark: bool = False
) -> go.Figure:
    """One line per curve in the colour of its GPU; ``ranges`` are the GPUs whose 80 % range is tinted.

    Points that can be chosen carry ``customdata`` [curve, 0 within the limits or 1 beyond, point].
    """
    if not any(c.points or c.beyond for c in shown.curves):
        return message(_NOTHING, dark=dark)
    data: list[dict[str, Any]] = [_range(c, shown, dark=dark) for c in shown.curves if _ranged(c, shown, ranges)]
    for number, curve in enumerate(shown.curves):
        data += _curve(curve, number, shown, dark=dark)
    published, own = ([m for m in measured if m.own is mine] for mine in (False, True))
    for gpu in dict.fromkeys(m.gpu for m in published):
        data.append(measured_points([m for m in published if m.gpu == gpu], shown, dark=dark))
    if own:
        data.append(own_points(own, shown, dark=dark))
    data += _best(shown, dark=dark)
    if shown.planned:
        data.append(planned_point(shown.planned, shown, dark=dark))
    data += _keys(shown, bool(published), any(_ranged(c, shown, ranges) for c in shown.curves), dark=dark)
    across, up, p = AXES[shown.x], AXES[shown.y], percentile_of(shown)
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=520,
            shapes=allowed_region(shown, dark=dark),
            annotations=allowed_label(shown, dark=dark),
            xaxis=axis(across.title.format(p=p), **scale(across, shown, shown.x)),
            yaxis=axis(up.title, **scale(up, shown, shown.y)),
        ),
    )


def frontier_alt_text(shown: OperatingPoints) -> str:
    """The chart in one sentence, for those who do not see it."""
    best = [p for c in shown.curves for p in c.points if p.best]
    words = f"{AXES[shown.y].words} against {AXES[shown.x].words.format(p=percentile_of(shown))}"
    if not best:
        return f"{words[0].upper()}{words[1:]}: no point is within the limits."
    best.sort(key=lambda p: value_of(p.expected, shown.x))
    names = {curve.gpu: curve.gpu_name for curve in shown.curves}
    ends = [
        f"{names[p.gpu]} with {significant(value_of(p.expected, shown.y))} at "
        f"{significant(value_of(p.expected, shown.x))}"
        for p in (best[0], best[-1])
    ]
    return (
        f"{words[0].upper()}{words[1:]} of {counted(len({c.gpu for c in shown.curves}), 'GPU')}: the best of all go "
        f"from {ends[0]} to {ends[1]}."
    )


def variant_name(curve: FrontierCurve) -> str:
    """Label of the engine that a curve is held to, its kind of serving, or the width of its weights."""
    known = engines().get(curve.variant)
    return known.label if known else _SERVING.get(curve.variant, f"{curve.variant} weights")


def _look(curve: FrontierCurve, shown: OperatingPoints, *, dark: bool) -> Look:
    """The look of the GPU; where curves are split, the dash is that of the width or engine."""
    look = hardware_look(curve.gpu, name=curve.gpu_name, dark=dark)
    variants = list(dict.fromkeys(c.variant for c in shown.curves))
    if not curve.variant:
        return look
    dash = DASHES[variants.index(curve.variant) % len(DASHES)]
    return Look(name=look.name, colour=look.colour, dash=dash, symbol=look.symbol)


def _curve(curve: FrontierCurve, number: int, shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """The line within the limits, and small pale markers beyond them."""
    look = _look(curve, shown, dark=dark)
    first = next(c for c in shown.curves if c.gpu == curve.gpu) is curve
    common = {"type": "scatter", "legendgroup": curve.gpu, "hovertemplate": "%{text}<extra></extra>"}
    marker = {"color": look.colour, "symbol": look.symbol}
    pale = {**marker, "size": 6, "opacity": _BEYOND}
    drawn = [
        (
            0,
            curve.points,
            {
                "mode": "lines+markers",
                "line": {"color": look.colour, "dash": look.dash, "width": 2.5},
                "marker": {**marker, "size": 8},
                "name": look.name,
                "showlegend": first,
            },
        ),
        (
            1,
            curve.beyond,
            {"mode": "markers", "marker": pale, "name": look.name, "showlegend": first and not curve.points},
        ),
    ]
    return [
        {
            **common,
            **style,
            **coordinates(points, shown),
            "text": [point_text(p, shown) for p in points],
            "customdata": [[number, kind, k] for k in range(len(points))],
        }
        for kind, points, style in drawn
        if points
    ]


def _ranged(curve: FrontierCurve, shown: OperatingPoints, ranges: Collection[str]) -> bool:
    """Whether the range is tinted: of several curves of a single GPU only that of the plan."""
    if curve.gpu not in ranges or not curve.points:
        return False
    plan = shown.planned
    if not curve.variant or len(ranges) > 1 or plan is None:
        return True
    return curve.variant in (plan.engine, precisions()[plan.weight_precision].width, plan.serving)


def _range(curve: FrontierCurve, shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """A tint over what lies between the fast and the slow end of every point."""
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "fillcolor": alpha(hardware_look(curve.gpu, dark=dark).colour, 0.16),
        "showlegend": False,
        "legendgroup": curve.gpu,
        "name": f"80 % range of {curve.gpu_name}",
        **range_outline(curve.points, shown),
    }


def _best(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """A halo round the points that no other beats, where there are several curves: a line between two of them would lie
    below the curve of a third."""
    best = sorted((p for c in shown.curves for p in c.points if p.best), key=lambda p: value_of(p.expected, shown.x))
    if len(shown.curves) < 2 or not best:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Best of all",
            **coordinates(best, shown),
            "hoverinfo": "skip",
            "marker": {"color": NEUTRAL[dark], "size": 17, "opacity": _BEYOND},
        }
    ]


def _keys(shown: OperatingPoints, measured: bool, ranged: bool, *, dark: bool) -> list[dict[str, Any]]:
    """Legend entries that explain marks rather than GPUs."""
    none = {"type": "scatter", "x": [None], "y": [None], "showlegend": True, "hoverinfo": "skip", "mode": "markers"}
    grey = NEUTRAL[dark]
    keys: list[dict[str, Any]] = []
    for curve in {c.variant: c for c in shown.curves if c.variant}.values():
        dash = _look(curve, shown, dark=dark).dash
        keys.append(
            {**none, "mode": "lines", "line": {"color": grey, "width": 2.5, "dash": dash}, "name": variant_name(curve)}
        )
    if ranged:
        keys.append(
            {**none, "marker": {"color": alpha(grey, 0.25), "symbol": "square", "size": 13}, "name": "80 % range"}
        )
    if any(c.beyond for c in shown.curves):
        keys.append({**none, "marker": {"color": grey, "size": 6, "opacity": _BEYOND}, "name": "Beyond a limit"})
    if measured:
        keys.append(
            {
                **none,
                "marker": {"color": grey, "symbol": "circle-open-dot", "size": 11, "line": {"width": 2}},
                "name": "Measured (means)",
            }
        )
    return keys


def frontier_table(shown: OperatingPoints) -> pd.DataFrame:
    """Every point of every curve, by GPU and growing x; the range is that of the quantity that is drawn upwards."""
    p, up = percentile_of(shown), AXES[shown.y].title
    rows = [
        {
            "GPU": curve.gpu_name,
            "Deployment": point.configuration,
            "Within the limits": point.feasible,
            "Best of all": point.best,
            "Requests in flight": rounded(point.concurrency),
            "Requests/s of one (decode) instance": rounded(point.rps),
            "Output tokens/s per user": rounded(point.expected.tokens_per_s_per_user),
            f"{p} TTFT (ms)": rounded(point.expected.ttft_ms),
            f"{p} ITL (ms)": rounded(point.expected.itl_ms),
            f"{p} E2E (ms)": rounded(point.expected.e2e_ms),
            AXES["output_tokens_per_s_per_gpu"].title: rounded(point.expected.output_tokens_per_s_per_gpu),
            AXES["usd_per_million_output_tokens"].title: known(point.expected.usd_per_million_output_tokens),
            AXES["usd_per_million_output_tokens_at_full_load"].title: known(
                point.expected.usd_per_million_output_tokens_at_full_load
            ),
            AXES["output_tokens_per_s_per_kw"].title: known(point.expected.output_tokens_per_s_per_kw),
            f"{up}, 80 % from": range_end(point, shown.y, min),
            f"{up}, 80 % to": range_end(point, shown.y, max),
        }
        for curve in shown.curves
        for point in (*curve.points, *curve.beyond)
    ]
    return pd.DataFrame(rows)


def measured_table(measured: Sequence[MeasuredPoint]) -> pd.DataFrame:
    """The measurements with their sources."""
    return pd.DataFrame(
        [
            {
                "Measured": m.configuration,
                "Model": m.model,
                "Prompt (tokens)": round(m.input_tokens),
                "Output (tokens)": round(m.output_tokens),
                "Requests in flight": m.concurrency,
                "Output tokens/s per user": rounded(m.tokens_per_s_per_user),
                "Mean TTFT (ms)": known(m.ttft_ms),
                "Output tokens/s per GPU": rounded(m.output_tokens_per_s_per_gpu),
                "Distance": rounded(m.distance, 2),
                "Source": source_of(m),
                "Link": source_url(m.source_link),
                "Date": source_day(m.source_date),
                "Engine of (year)": round(m.software_year, 1),
            }
            for m in measured
        ]
    )
