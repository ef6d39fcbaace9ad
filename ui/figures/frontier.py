"""Latency against throughput: the frontier of each GPU, its 80 % range, the allowed region, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import UNKNOWN, count, ms, rounded, significant, tokens_per_s, usd
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.explore.frontier import Curve, OperatingPoints
from sizing.explore.measured_points import MeasuredPoint
from sizing.explore.operating_point import OperatingPoint, Performance
from ui.figures.template import DASHES, INK, NEUTRAL, Look, alpha, axis, hardware_look, layout, message

_NOTHING = "Nothing fits, or no price or power is known: there is no point to show."
_BEYOND = 0.35
"""Opacity of what lies beyond a limit."""
_MARGIN = 2.0
"""What is beyond a limit is drawn up to this many times beyond it, or beyond the points within."""


_SERVING = {"aggregated": "Prefill and decode together", "disaggregated": "Prefill and decode in pools"}


class _Axis(NamedTuple):
    """Title with ``{p}`` for the percentile, the words for a sentence, whether it is logarithmic."""

    title: str
    words: str
    log: bool


AXES = {
    "tokens_per_s_per_user": _Axis("Speed for a user at {p} ITL (output tokens/s)", "output tokens/s per user", False),
    "ttft_ms": _Axis("{p} TTFT (ms)", "{p} TTFT", True),
    "e2e_ms": _Axis("{p} E2E (ms)", "{p} E2E", True),
    "output_tokens_per_s_per_gpu": _Axis("Output tokens/s per GPU (tokens/s)", "output tokens/s per GPU", False),
    "usd_per_million_output_tokens": _Axis(
        "Cost (USD per million output tokens)", "USD per million output tokens", True
    ),
    "output_tokens_per_s_per_kw": _Axis("Output tokens/s per kW (tokens/s per kW)", "output tokens/s per kW", False),
}


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
        data.append(_measured([m for m in published if m.gpu == gpu], shown, dark=dark))
    if own:
        data.append(_own(own, shown, dark=dark))
    data += _best(shown, dark=dark)
    if shown.planned:
        data.append(_planned(shown.planned, shown, dark=dark))
    data += _keys(shown, bool(published), any(_ranged(c, shown, ranges) for c in shown.curves), dark=dark)
    across, up, p = AXES[shown.x], AXES[shown.y], _percentile(shown)
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=520,
            shapes=_allowed(shown, dark=dark),
            annotations=_allowed_words(shown, dark=dark),
            xaxis=axis(across.title.format(p=p), **_scale(across, shown, shown.x)),
            yaxis=axis(up.title, **_scale(up, shown, shown.y)),
        ),
    )


def frontier_table(shown: OperatingPoints) -> pd.DataFrame:
    """Every point of every curve, by GPU and growing x; the range is that of the quantity that is drawn upwards."""
    p, up = _percentile(shown), AXES[shown.y].title
    rows = [
        {
            "GPU": hardware_look(curve.gpu).name,
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
            AXES["usd_per_million_output_tokens"].title: _known(point.expected.usd_per_million_output_tokens),
            AXES["output_tokens_per_s_per_kw"].title: _known(point.expected.output_tokens_per_s_per_kw),
            f"{up}, 80 % from": _end(point, shown.y, min),
            f"{up}, 80 % to": _end(point, shown.y, max),
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
                "Mean TTFT (ms)": _known(m.ttft_ms),
                "Output tokens/s per GPU": rounded(m.output_tokens_per_s_per_gpu),
                "Distance": rounded(m.distance, 2),
                "Source": _source(m),
                "Link": source_url(m.source_link),
                "Date": source_day(m.source_date),
                "Engine of (year)": round(m.software_year, 1),
            }
            for m in measured
        ]
    )


def _source(m: MeasuredPoint) -> str:
    """Who measured it, in words."""
    return SOURCES[m.source].label if m.source in SOURCES else m.source


def frontier_alt_text(shown: OperatingPoints) -> str:
    """The chart in one sentence, for those who do not see it."""
    best = [p for c in shown.curves for p in c.points if p.best]
    words = f"{AXES[shown.y].words} against {AXES[shown.x].words.format(p=_percentile(shown))}"
    if not best:
        return f"{words[0].upper()}{words[1:]}: no point is within the limits."
    best.sort(key=lambda p: _value(p.expected, shown.x))
    ends = [
        f"{hardware_look(p.gpu).name} with {significant(_value(p.expected, shown.y))} at "
        f"{significant(_value(p.expected, shown.x))}"
        for p in (best[0], best[-1])
    ]
    return (
        f"{words[0].upper()}{words[1:]} of {len({c.gpu for c in shown.curves})} GPUs: the best of all go from "
        f"{ends[0]} to {ends[1]}."
    )


def _percentile(shown: OperatingPoints) -> str:
    return f"p{shown.percentile:g}"


def _value(performance: Performance, axis_name: str) -> float:
    value = getattr(performance, axis_name)
    return math.nan if value is None else float(value)


def _known(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _end(point: OperatingPoint, axis_name: str, pick: Any) -> float | None:
    ends = [_value(p, axis_name) for p in (point.fast, point.slow) if p]
    return rounded(pick(ends)) if ends and all(map(math.isfinite, ends)) else None


def variant_name(curve: Curve) -> str:
    """Label of the engine that a curve is held to, its kind of serving, or the width of its weights."""
    known = engines().get(curve.variant)
    return known.label if known else _SERVING.get(curve.variant, f"{curve.variant} weights")


def _look(curve: Curve, shown: OperatingPoints, *, dark: bool) -> Look:
    """The look of the GPU; where curves are split, the dash is that of the width or engine."""
    look = hardware_look(curve.gpu, dark=dark)
    variants = list(dict.fromkeys(c.variant for c in shown.curves))
    if not curve.variant:
        return look
    dash = DASHES[variants.index(curve.variant) % len(DASHES)]
    return Look(name=look.name, colour=look.colour, dash=dash, symbol=look.symbol)


def _curve(curve: Curve, number: int, shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
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
            **_xy(points, shown),
            "text": [_hover(p, shown) for p in points],
            "customdata": [[number, kind, k] for k in range(len(points))],
        }
        for kind, points, style in drawn
        if points
    ]


def _xy(points: Sequence[OperatingPoint], shown: OperatingPoints) -> dict[str, list[float]]:
    return {"x": [_value(p.expected, shown.x) for p in points], "y": [_value(p.expected, shown.y) for p in points]}


def _hover(point: OperatingPoint, shown: OperatingPoints) -> str:
    now, p = point.expected, _percentile(shown)
    low, high = (_end(point, shown.y, pick) for pick in (min, max))
    spread = f", 80 % {significant(low, 2)} to {significant(high, 2)}" if low is not None else ""
    others = {
        "output_tokens_per_s_per_gpu": f"{tokens_per_s(now.output_tokens_per_s_per_gpu)} per GPU (output)",
        "usd_per_million_output_tokens": f"{usd(now.usd_per_million_output_tokens)} per million output tokens",
    }
    return "<br>".join(
        (
            point.configuration,
            f"{significant(_value(now, shown.y))} {AXES[shown.y].words}{spread}",
            f"{significant(now.tokens_per_s_per_user)} output tokens/s per user ({p} ITL {ms(now.itl_ms)})",
            f"{p} TTFT {ms(now.ttft_ms)}, E2E {ms(now.e2e_ms)}",
            ", ".join(words for name, words in others.items() if name != shown.y),
            f"{significant(point.concurrency)} requests in flight per {'decode ' if point.prefill else ''}instance"
            + ("" if point.feasible else "<br>Beyond a limit"),
        )
    )


def _ranged(curve: Curve, shown: OperatingPoints, ranges: Collection[str]) -> bool:
    """Whether the range is tinted: of several curves of a single GPU only that of the plan."""
    if curve.gpu not in ranges or not curve.points:
        return False
    plan = shown.planned
    if not curve.variant or len(ranges) > 1 or plan is None:
        return True
    serving = "disaggregated" if plan.prefill else "aggregated"
    return curve.variant in (plan.engine, precisions()[plan.weight_precision].width, serving)


def _range(curve: Curve, shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """A tint between the fast and the slow end of every point."""
    ends = [(p.fast, p.slow) for p in curve.points if p.fast and p.slow]
    way = [fast for fast, _ in ends] + [slow for _, slow in reversed(ends)]
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "fillcolor": alpha(hardware_look(curve.gpu, dark=dark).colour, 0.16),
        "showlegend": False,
        "legendgroup": curve.gpu,
        "name": f"80 % range of {curve.gpu}",
        "x": [_value(p, shown.x) for p in way],
        "y": [_value(p, shown.y) for p in way],
    }


def _best(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """The frontier over all GPUs, where there are several."""
    best = sorted((p for c in shown.curves for p in c.points if p.best), key=lambda p: _value(p.expected, shown.x))
    if len(shown.curves) < 2 or not best:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "Best of all",
            **_xy(best, shown),
            "hoverinfo": "skip",
            "line": {"color": NEUTRAL[dark], "width": 7},
            "opacity": 0.35,
        }
    ]


def _planned(point: OperatingPoint, shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "The plan",
        **_xy([point], shown),
        "text": [f"The plan<br>{_hover(point, shown)}"],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
        "marker": {"color": INK[dark], "symbol": "circle-open", "size": 20, "line": {"width": 3}},
    }


def _measured(points: Sequence[MeasuredPoint], shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    look = hardware_look(points[0].gpu, dark=dark)
    drawn = [m for m in points if getattr(m, shown.x) is not None and getattr(m, shown.y) is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "legendgroup": points[0].gpu,
        "showlegend": False,
        "name": look.name,
        "x": [getattr(m, shown.x) for m in drawn],
        "y": [getattr(m, shown.y) for m in drawn],
        "marker": {"color": look.colour, "symbol": f"{look.symbol}-open-dot", "size": 11, "line": {"width": 2}},
        "text": [_measured_hover(m) for m in drawn],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _own(points: Sequence[MeasuredPoint], shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """The points of the user's own benchmark, marked as on the Benchmarks page."""
    return _measured(points, shown, dark=dark) | {
        "name": "Your benchmark (means)",
        "legendgroup": "own",
        "showlegend": True,
        "marker": {"color": INK[dark], "symbol": "diamond", "size": 11, "line": {"width": 1, "color": NEUTRAL[dark]}},
    }


def _measured_hover(m: MeasuredPoint) -> str:
    running = f", {count(m.concurrency)} requests in flight" if m.concurrency is not None else ""
    return "<br>".join(
        (
            f"Measured: {m.configuration}",
            f"{m.model}, {count(m.input_tokens)} in, {count(m.output_tokens)} out{running}",
            f"{significant(m.tokens_per_s_per_user)} output tokens/s per user (mean), "
            f"mean TTFT {ms(m.ttft_ms) if m.ttft_ms is not None else UNKNOWN}",
            f"{tokens_per_s(m.output_tokens_per_s_per_gpu)} per GPU (output)",
            f"Source: {', '.join(filter(None, [_source(m), source_day(m.source_date)]))}"[:110],
        )
    )


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


def _allowed(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """A tint over the side of the x axis that its limit allows, and the limit itself."""
    if shown.x_limit is None:
        return []
    low, high = _reach(shown, shown.x)
    faster = shown.x == "tokens_per_s_per_user"
    far = max(high, shown.x_limit) * 1.5 if faster else min(low, shown.x_limit) / 10
    common = {"y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    tint = {
        **common,
        "type": "rect",
        "x0": shown.x_limit,
        "x1": far,
        "fillcolor": alpha(NEUTRAL[dark], 0.08),
        "line": {"width": 0},
    }
    edge = {
        **common,
        "type": "line",
        "x0": shown.x_limit,
        "x1": shown.x_limit,
        "line": {"color": NEUTRAL[dark], "width": 2, "dash": "dash"},
    }
    return [tint, edge]


def _allowed_words(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """What the tint means, written into its upper corner beside the limit."""
    if shown.x_limit is None:
        return []
    faster = shown.x == "tokens_per_s_per_user"
    limit = ms(1000 / shown.x_limit if faster else shown.x_limit)
    name = {"tokens_per_s_per_user": "ITL", "ttft_ms": "TTFT", "e2e_ms": "E2E"}[shown.x]
    return [
        {
            "x": shown.x_limit if faster else math.log10(shown.x_limit),
            "xanchor": "left" if faster else "right",
            "y": 1,
            "yref": "paper",
            "yanchor": "top",
            "showarrow": False,
            "xshift": 6 if faster else -6,
            "text": f"within {_percentile(shown)} {name} {limit}",
            "font": {"color": INK[dark], "size": 13},
        }
    ]


def _reach(shown: OperatingPoints, axis_name: str) -> tuple[float, float]:
    """Lowest and highest value to be seen: of what is within the limits, and of what is not far beyond them."""
    within = [p.expected for c in shown.curves for p in c.points] + ([shown.planned.expected] if shown.planned else [])
    beyond = [p.expected for c in shown.curves for p in c.beyond]
    if within:
        across = [_value(p, shown.x) for p in within]
        low, high = min(across) / _MARGIN, max([*across, shown.x_limit or 0.0]) * _MARGIN
        beyond = [p for p in beyond if AXES[shown.x].log is False or low <= _value(p, shown.x) <= high]
    values = [v for p in (*within, *beyond) if math.isfinite(v := _value(p, axis_name)) and v > 0]
    return min(values), max(values)


def _scale(one: _Axis, shown: OperatingPoints, axis_name: str) -> dict[str, Any]:
    """Linear axes start at 0; logarithmic ones show their numbers in full, three to a decade."""
    low, high = _reach(shown, axis_name)
    if axis_name == shown.x and shown.x_limit is not None:
        low, high = min(low, shown.x_limit), max(high, shown.x_limit)
    if not one.log:
        return {"range": [0, high * 1.06], "tickformat": ",.3~r"}
    ends = [math.log10(low) - 0.06, math.log10(high) + 0.06]
    ticks = [d * 10.0**k for k in range(math.floor(ends[0]), math.ceil(ends[1])) for d in (1, 2, 5)]
    return {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [significant(t) for t in ticks]}
