"""What more hardware buys: latency against GPUs, over the deployments between throughput and latency."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from sharing.form.choices import label
from sizing.base.format import a_month, counted, ms, significant, tokens_per_s
from sizing.base.result import Candidate, Plan
from sizing.base.units import MS_PER_S
from sizing.scenario.schema import Limits
from ui.figures.load_curve import percentile_name
from ui.figures.template import INK, MAX_POINTS, NEUTRAL, Look, axis, hardware_look, layout, message

_NOTHING = "No deployment meets the limits, so there is nothing to trade."
Name = Callable[[str], str]
"""What an accelerator is called, by its id."""

_ONE_POINT = "A measured record is one deployment: there is nothing to trade."


def _of_catalogue(gpu_id: str) -> str:
    return hardware_look(gpu_id).name


def build_trade_off(
    plan: Plan, *, selected: int | None, limits: Limits, name: Name = _of_catalogue, dark: bool = False
) -> go.Figure:
    """``Plan.trade_off`` as points, one colour and marker per GPU, with the frontier and the selected one ringed.

    ``selected`` counts in ``plan.trade_off``; ``name``: what an accelerator is called.
    """
    shown = [c for c in plan.trade_off[:MAX_POINTS] if math.isfinite(c.e2e_ms)]
    if not shown:
        return message(_why_nothing(plan), dark=dark)
    at, scale = percentile_name(limits), _scale(shown)
    data = [_frontier_line(frontier(shown), scale, dark=dark)]
    for gpu in dict.fromkeys(c.deployment.gpu for c in shown):
        look = hardware_look(gpu, name=name(gpu), dark=dark)
        data.append(_hardware([c for c in shown if c.deployment.gpu == gpu], look, at, scale))
    if selected is not None and 0 <= selected < len(plan.trade_off) and plan.trade_off[selected] in shown:
        data.append(_ring(plan.trade_off[selected], scale, dark=dark))
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis("GPUs", rangemode="tozero", tickformat=",.3~r"),
            yaxis=axis(f"{at} E2E ({_unit(scale)})", rangemode="tozero"),
        ),
    )


def frontier(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Deployments that no other beats on both GPUs and E2E, from the fewest GPUs to the fastest."""
    best, kept = math.inf, []
    for candidate in sorted(candidates, key=lambda c: (c.deployment.gpus, c.e2e_ms)):
        if candidate.e2e_ms < best:
            best = candidate.e2e_ms
            kept.append(candidate)
    return kept


def e2e_of(candidate: Candidate, among: Sequence[Candidate]) -> str:
    """The E2E of one of several deployments in the unit of their axis: "0.95 s" where others take seconds."""
    scale = _scale([c for c in among if math.isfinite(c.e2e_ms)])
    if not math.isfinite(candidate.e2e_ms):
        return ms(candidate.e2e_ms)
    return f"{significant(candidate.e2e_ms / scale)} {_unit(scale)}"


def _scale(candidates: Sequence[Candidate]) -> float:
    """Milliseconds of the unit in which all of them are drawn: seconds where one takes a second or more."""
    return MS_PER_S if any(c.e2e_ms >= MS_PER_S for c in candidates) else 1.0


def _unit(scale: float) -> str:
    return "s" if scale == MS_PER_S else "ms"


def short_name(candidate: Candidate, gpu: str) -> str:
    """A deployment on a ``gpu`` of that name in a few words: "4 x TP2 H100 SXM5 80GB, vLLM, FP8"."""
    one = candidate.deployment
    parallelism = " ".join(f"{n}{v}" for n, v in (("TP", one.tp), ("PP", one.pp), ("DP", one.dp)) if v > 1 or n == "TP")
    return (
        f"{one.instances} x {parallelism} {gpu}, {label('engine', one.engine)}, {label('prec', one.weight_precision)}"
    )


def trade_off_alt_text(plan: Plan, *, selected: int | None, limits: Limits, name: Name = _of_catalogue) -> str:
    """The trade-off in one sentence, for those who do not see it."""
    if not plan.trade_off:
        return _why_nothing(plan)
    at, first, last = percentile_name(limits), plan.trade_off[0], plan.trade_off[-1]
    chosen = ""
    if selected is not None and 0 <= selected < len(plan.trade_off):
        one = plan.trade_off[selected]
        chosen = f"; selected is {short_name(one, name(one.deployment.gpu))}"
    return (
        f"{at[0].upper()}{at[1:]} E2E falls from {ms(first.e2e_ms)} with "
        f"{counted(first.deployment.gpus, 'GPU')} to {ms(last.e2e_ms)} with {counted(last.deployment.gpus, 'GPU')} "
        f"over {counted(len(plan.trade_off), 'deployment')}{chosen}."
    )


def _why_nothing(plan: Plan) -> str:
    return _NOTHING if plan.deployment is None else _ONE_POINT


def _frontier_line(points: Sequence[Candidate], scale: float, *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Best for its size",
        "x": [c.deployment.gpus for c in points],
        "y": [c.e2e_ms / scale for c in points],
        "line": {"color": NEUTRAL[dark], "width": 2, "dash": "dot", "shape": "hv"},
        "hoverinfo": "skip",
    }


def _hardware(points: Sequence[Candidate], look: Look, at: str, scale: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": look.name,
        "x": [c.deployment.gpus for c in points],
        "y": [c.e2e_ms / scale for c in points],
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 11},
        "text": [_hover(c, look.name, at) for c in points],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover(candidate: Candidate, gpu: str, at: str) -> str:
    return "<br>".join(
        (
            short_name(candidate, gpu),
            f"{counted(candidate.deployment.gpus, 'GPU')}, {a_month(candidate.hardware_usd_per_month)}",
            f"{at} TTFT {ms(candidate.ttft_ms)}, ITL {ms(candidate.itl_ms)}, E2E {ms(candidate.e2e_ms)}",
            f"{tokens_per_s(candidate.output_tokens_per_s_per_gpu)} per GPU (output)",
        )
    )


def _ring(candidate: Candidate, scale: float, *, dark: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Selected",
        "x": [candidate.deployment.gpus],
        "y": [candidate.e2e_ms / scale],
        "marker": {"color": INK[dark], "symbol": "circle-open", "size": 22, "line": {"width": 3}},
        "hoverinfo": "skip",
    }
