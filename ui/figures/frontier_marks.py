"""The marks of latency against throughput: operating points, the plan, and what was measured, with their texts."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.format import UNKNOWN, count, counted, ms, rounded, significant, tokens_per_s, usd, with_noun
from sizing.evidence.sources import SOURCES, source_day
from sizing.explore.frontier import OperatingPoints
from sizing.explore.measured_points import MeasuredPoint
from sizing.explore.operating_point import OperatingPoint
from ui.figures.frontier_axes import AXES, percentile_of, value_of
from ui.figures.template import INK, NEUTRAL, hardware_look


def coordinates(points: Sequence[OperatingPoint], shown: OperatingPoints) -> dict[str, list[float]]:
    """Where the points lie on the axes of the figure."""
    return {"x": [value_of(p.expected, shown.x) for p in points], "y": [value_of(p.expected, shown.y) for p in points]}


def range_end(point: OperatingPoint, axis_name: str, pick: Any) -> float | None:
    """The lower (``min``) or upper (``max``) end of the 80 % range of a point; None where one is unknown."""
    ends = [value_of(p, axis_name) for p in (point.fast, point.slow) if p]
    return rounded(pick(ends)) if ends and all(map(math.isfinite, ends)) else None


def range_outline(points: Sequence[OperatingPoint], shown: OperatingPoints) -> dict[str, list[float]]:
    """The outline of what the 80 % ranges of a curve sweep: along its upper edge, and back along the lower one.

    A range moves a point on both axes, and one point further than its neighbour, so that a line through all fast ends
    folds back. The outline has one upper and one lower end at every place across instead: the highest and lowest of the
    lines from one point to the next, fast, expected and slow, and from the fast over the expected to the slow end of
    each. Lines are those that are straight on the axes as they are drawn, logarithmic or not.
    """
    ends = np.array(
        [
            [[_on_axis(value_of(at, name), name) for name in (shown.x, shown.y)] for at in (p.fast, p.expected, p.slow)]
            for p in points
            if p.fast and p.slow
        ]
    ).reshape(-1, 3, 2)
    ends = ends[np.isfinite(ends).all(axis=(1, 2))]
    starts = np.concatenate([ends[:-1].reshape(-1, 2), ends[:, :-1].reshape(-1, 2)])
    stops = np.concatenate([ends[1:].reshape(-1, 2), ends[:, 1:].reshape(-1, 2)])
    across = np.unique(ends[..., 0])
    # Lines by row, places across by column: how far along its line each place is, and which lines reach it.
    width = stops[:, :1] - starts[:, :1]
    along = (across - starts[:, :1]) / np.where(width == 0.0, 1.0, width)
    heights = starts[:, 1:] + along * (stops[:, 1:] - starts[:, 1:])
    reached = (across >= np.minimum(starts, stops)[:, :1]) & (across <= np.maximum(starts, stops)[:, :1])
    upper = np.where(reached, heights, -np.inf).max(axis=0, initial=-np.inf)
    lower = np.where(reached, heights, np.inf).min(axis=0, initial=np.inf)
    return {
        "x": _off_axis(np.concatenate([across, across[::-1]]), shown.x),
        "y": _off_axis(np.concatenate([upper, lower[::-1]]), shown.y),
    }


def _on_axis(value: float, axis_name: str) -> float:
    """Where a value lies along its axis; not finite where a logarithmic one has no place for it."""
    if not AXES[axis_name].log:
        return value
    return math.log10(value) if value > 0.0 else math.nan


def _off_axis(places: Floats, axis_name: str) -> list[float]:
    """The values at these places along an axis."""
    return [float(v) for v in (np.power(10.0, places) if AXES[axis_name].log else places)]


def point_text(point: OperatingPoint, shown: OperatingPoints) -> str:
    """What is said of a point under the cursor."""
    now, p = point.expected, percentile_of(shown)
    low, high = (range_end(point, shown.y, pick) for pick in (min, max))
    spread = f", 80 % {significant(low, 2)} to {significant(high, 2)}" if low is not None else ""
    others = {
        "output_tokens_per_s_per_gpu": f"{tokens_per_s(now.output_tokens_per_s_per_gpu)} per GPU (output)",
        "usd_per_million_output_tokens": f"{usd(now.usd_per_million_output_tokens)} per million output tokens at my "
        "load",
    }
    each = "instance" if point.serving == "aggregated" else "decode instance"
    return "<br>".join(
        (
            point.configuration,
            f"{significant(value_of(now, shown.y))} {AXES[shown.y].words}{spread}",
            f"{significant(now.tokens_per_s_per_user)} output tokens/s per user ({p} ITL {ms(now.itl_ms)})",
            f"{p} TTFT {ms(now.ttft_ms)}, E2E {ms(now.e2e_ms)}",
            ", ".join(words for name, words in others.items() if name != shown.y),
            f"{with_noun(significant(point.concurrency), 'request')} in flight per {each}"
            + ("" if point.feasible else "<br>Beyond a limit"),
        )
    )


def planned_point(point: OperatingPoint, shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """A ring at the plan's own deployment and load."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "The plan",
        **coordinates([point], shown),
        "text": [f"The plan<br>{point_text(point, shown)}"],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
        "marker": {"color": INK[dark], "symbol": "circle-open", "size": 20, "line": {"width": 3}},
    }


def measured_points(points: Sequence[MeasuredPoint], shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """Measurements on one GPU."""
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


def own_points(points: Sequence[MeasuredPoint], shown: OperatingPoints, *, dark: bool) -> dict[str, Any]:
    """The points of the user's own benchmark, marked as on the Benchmarks page."""
    return measured_points(points, shown, dark=dark) | {
        "name": "Your benchmark (means)",
        "legendgroup": "own",
        "showlegend": True,
        "marker": {"color": INK[dark], "symbol": "diamond", "size": 11, "line": {"width": 1, "color": NEUTRAL[dark]}},
    }


def _measured_hover(m: MeasuredPoint) -> str:
    running = f", {counted(m.concurrency, 'request')} in flight" if m.concurrency is not None else ""
    return "<br>".join(
        (
            f"Measured: {m.configuration}",
            f"{m.model}, {count(m.input_tokens)} in, {count(m.output_tokens)} out{running}",
            f"{significant(m.tokens_per_s_per_user)} output tokens/s per user (mean), "
            f"mean TTFT {ms(m.ttft_ms) if m.ttft_ms is not None else UNKNOWN}",
            f"{tokens_per_s(m.output_tokens_per_s_per_gpu)} per GPU (output)",
            f"Source: {', '.join(filter(None, [source_of(m), source_day(m.source_date)]))}"[:110],
        )
    )


def source_of(m: MeasuredPoint) -> str:
    """Who measured it, in words."""
    return SOURCES[m.source].label if m.source in SOURCES else m.source
