"""What more hardware buys: latency against GPUs or cost, over the deployments between throughput and latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import count, ms, rounded, tokens_per_s, usd
from sizing.base.result import Candidate, Plan
from sizing.scenario.schema import Limits
from ui.figures.load_curve import percentile_name
from ui.figures.template import INK, MAX_POINTS, NEUTRAL, axis, hardware_look, layout, message

Across = Literal["gpus", "usd_per_month"]
Latency = Literal["ttft_ms", "itl_ms", "e2e_ms"]

_NOTHING = "No deployment meets the limits, so there is nothing to trade."
_ONE_POINT = "A measured record is one deployment: there is nothing to trade."
_SHORT = {"ttft_ms": "TTFT", "itl_ms": "ITL", "e2e_ms": "E2E"}
_AXIS = {"gpus": "GPUs", "usd_per_month": "Hardware cost (USD per month)"}


def build_trade_off(
    plan: Plan,
    *,
    selected: int | None,
    limits: Limits | None = None,
    x: Across = "gpus",
    y: Latency = "e2e_ms",
    dark: bool = False,
) -> go.Figure:
    """``Plan.trade_off`` as points, one colour and marker per GPU, with the frontier and the selected one ringed.

    ``selected`` counts in ``plan.trade_off``. Candidates without a price are left out where x is cost.
    """
    shown = [c for c in plan.trade_off[:MAX_POINTS] if _drawable(c, x, y)]
    if not shown:
        return message("No price is known for these deployments." if plan.trade_off else _why_nothing(plan), dark=dark)
    at = percentile_name(limits)
    data = [_frontier_line(frontier(shown, x=x, y=y), x, y, dark=dark)]
    for gpu in dict.fromkeys(c.deployment.gpu for c in shown):
        data.append(_hardware([c for c in shown if c.deployment.gpu == gpu], gpu, x, y, at, dark=dark))
    if selected is not None and 0 <= selected < len(plan.trade_off) and plan.trade_off[selected] in shown:
        data.append(_ring(plan.trade_off[selected], x, y, dark=dark))
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis(_AXIS[x], rangemode="tozero", tickformat=",.3~r"),
            yaxis=axis(f"{at} {_SHORT[y]} (ms)", rangemode="tozero"),
        ),
    )


def frontier(candidates: Sequence[Candidate], *, x: Across = "gpus", y: Latency = "e2e_ms") -> list[Candidate]:
    """Those that no other beats on both axes, from the cheapest to the fastest."""
    best, kept = math.inf, []
    for candidate in sorted(candidates, key=lambda c: (across(c, x) or 0.0, getattr(c, y))):
        if getattr(candidate, y) < best:
            best = getattr(candidate, y)
            kept.append(candidate)
    return kept


def across(candidate: Candidate, x: Across) -> float | None:
    """What a deployment costs: its GPUs, or USD per month where a price is known."""
    return candidate.deployment.gpus if x == "gpus" else candidate.usd_per_month


def short_name(candidate: Candidate) -> str:
    """A deployment in a few words: "4 x TP2 H100 SXM5 80GB, vllm, fp8"."""
    one = candidate.deployment
    parallelism = " ".join(f"{n}{v}" for n, v in (("TP", one.tp), ("PP", one.pp), ("DP", one.dp)) if v > 1 or n == "TP")
    return f"{one.instances} x {parallelism} {hardware_look(one.gpu).name}, {one.engine}, {one.weight_precision}"


def trade_off_table(plan: Plan, *, limits: Limits | None = None) -> pd.DataFrame:
    """The trade-off as a table, from fewest GPUs to lowest latency; an unknown price stays empty."""
    at = percentile_name(limits)
    rows = [
        {
            "Deployment": short_name(c),
            "GPUs": c.deployment.gpus,
            "Systems": c.deployment.systems,
            f"{at} TTFT (ms)": rounded(c.ttft_ms),
            f"{at} ITL (ms)": rounded(c.itl_ms),
            f"{at} E2E (ms)": rounded(c.e2e_ms),
            "Output tokens/s per GPU": rounded(c.output_tokens_per_s_per_gpu),
            "USD per month": _known(c.usd_per_month),
            "Power (kW)": _known(c.power_kw),
        }
        for c in plan.trade_off
    ]
    return pd.DataFrame(rows)


def trade_off_alt_text(plan: Plan, *, selected: int | None, limits: Limits | None = None, y: Latency = "e2e_ms") -> str:
    """The trade-off in one sentence, for those who do not see it."""
    if not plan.trade_off:
        return _why_nothing(plan)
    at, first, last = percentile_name(limits), plan.trade_off[0], plan.trade_off[-1]
    chosen = ""
    if selected is not None and 0 <= selected < len(plan.trade_off):
        chosen = f"; selected is {short_name(plan.trade_off[selected])}"
    return (
        f"{at[0].upper()}{at[1:]} {_SHORT[y]} falls from {ms(getattr(first, y))} with {count(first.deployment.gpus)} "
        f"GPUs to {ms(getattr(last, y))} with {count(last.deployment.gpus)} GPUs over {len(plan.trade_off)} "
        f"deployments{chosen}."
    )


def _why_nothing(plan: Plan) -> str:
    return _NOTHING if plan.deployment is None else _ONE_POINT


def _known(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _drawable(candidate: Candidate, x: Across, y: Latency) -> bool:
    value = across(candidate, x)
    return value is not None and math.isfinite(value) and math.isfinite(getattr(candidate, y))


def _frontier_line(points: Sequence[Candidate], x: Across, y: Latency, *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Best for its size",
        "x": [across(c, x) for c in points],
        "y": [getattr(c, y) for c in points],
        "line": {"color": NEUTRAL[dark], "width": 2, "dash": "dot", "shape": "hv"},
        "hoverinfo": "skip",
    }


def _hardware(points: Sequence[Candidate], gpu: str, x: Across, y: Latency, at: str, *, dark: bool) -> dict[str, Any]:
    look = hardware_look(gpu, dark=dark)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": look.name,
        "x": [across(c, x) for c in points],
        "y": [getattr(c, y) for c in points],
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 11},
        "text": [_hover(c, at) for c in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(candidate: Candidate, at: str) -> str:
    return "<br>".join(
        (
            short_name(candidate),
            f"{count(candidate.deployment.gpus)} GPUs, {usd(candidate.usd_per_month)} a month",
            f"{at} TTFT {ms(candidate.ttft_ms)}, ITL {ms(candidate.itl_ms)}, E2E {ms(candidate.e2e_ms)}",
            f"{tokens_per_s(candidate.output_tokens_per_s_per_gpu)} per GPU (output)",
        )
    )


def _ring(candidate: Candidate, x: Across, y: Latency, *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Selected",
        "x": [across(candidate, x)],
        "y": [getattr(candidate, y)],
        "marker": {"color": INK[dark], "symbol": "circle-open", "size": 22, "line": {"width": 3}},
        "hoverinfo": "skip",
    }
