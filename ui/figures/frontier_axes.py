"""The axes of latency against throughput: titles, ends and ticks, and the region that a limit allows."""

import math
from typing import Any, NamedTuple

from sizing.base.format import ms, significant
from sizing.base.units import MS_PER_S
from sizing.explore.frontier import OperatingPoints
from sizing.explore.operating_point import Performance
from ui.figures.template import INK, NEUTRAL, alpha

_MARGIN = 2.0
"""What is beyond a limit is drawn up to this many times beyond it, or beyond the points within."""


class Axis(NamedTuple):
    """Title with ``{p}`` for the percentile, the words for a sentence, whether it is logarithmic."""

    title: str
    words: str
    log: bool


AXES = {
    "tokens_per_s_per_user": Axis("Speed for a user at {p} ITL (output tokens/s)", "output tokens/s per user", False),
    "ttft_ms": Axis("{p} TTFT (ms)", "{p} TTFT", True),
    "e2e_ms": Axis("{p} E2E (ms)", "{p} E2E", True),
    "output_tokens_per_s_per_gpu": Axis("Output tokens/s per GPU (tokens/s)", "output tokens/s per GPU", False),
    "usd_per_million_output_tokens": Axis(
        "Cost at my load (USD per million output tokens)", "USD per million output tokens at my load", True
    ),
    "usd_per_million_output_tokens_at_full_load": Axis(
        "Cost at full load (USD per million output tokens)", "USD per million output tokens at full load", True
    ),
    "output_tokens_per_s_per_kw": Axis("Output tokens/s per kW (tokens/s per kW)", "output tokens/s per kW", False),
}


def value_of(performance: Performance, axis_name: str) -> float:
    """The value on an axis; NaN where it is unknown."""
    value = getattr(performance, axis_name)
    return math.nan if value is None else float(value)


def percentile_of(shown: OperatingPoints) -> str:
    """The percentile of the latencies that are shown: "p95"."""
    return f"p{shown.percentile:g}"


def scale(one: Axis, shown: OperatingPoints, axis_name: str) -> dict[str, Any]:
    """Linear axes start at 0; logarithmic ones show their numbers in full, three to a decade."""
    low, high = _reach(shown, axis_name)
    if axis_name == shown.x and shown.x_limit is not None:
        low, high = min(low, shown.x_limit), max(high, shown.x_limit)
    if not one.log:
        return {"range": [0, high * 1.06], "tickformat": ",.3~r"}
    ends = [math.log10(low) - 0.06, math.log10(high) + 0.06]
    ticks = [d * 10.0**k for k in range(math.floor(ends[0]), math.ceil(ends[1])) for d in (1, 2, 5)]
    return {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [significant(t) for t in ticks]}


def _reach(shown: OperatingPoints, axis_name: str) -> tuple[float, float]:
    """Lowest and highest value to be seen: of what is within the limits, and of what is not far beyond them."""
    within = [p.expected for c in shown.curves for p in c.points] + ([shown.planned.expected] if shown.planned else [])
    beyond = [p.expected for c in shown.curves for p in c.beyond]
    if within:
        across = [value_of(p, shown.x) for p in within]
        low, high = min(across) / _MARGIN, max([*across, shown.x_limit or 0.0]) * _MARGIN
        beyond = [p for p in beyond if AXES[shown.x].log is False or low <= value_of(p, shown.x) <= high]
    values = [v for p in (*within, *beyond) if math.isfinite(v := value_of(p, axis_name)) and v > 0]
    return min(values), max(values)


def allowed_region(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
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


def allowed_label(shown: OperatingPoints, *, dark: bool) -> list[dict[str, Any]]:
    """What the tint means, written into its upper corner beside the limit."""
    if shown.x_limit is None:
        return []
    faster = shown.x == "tokens_per_s_per_user"
    limit = ms(MS_PER_S / shown.x_limit if faster else shown.x_limit)
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
            "text": f"within {percentile_of(shown)} {name} {limit}",
            "font": {"color": INK[dark], "size": 13},
        }
    ]
