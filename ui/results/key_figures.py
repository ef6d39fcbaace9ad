"""The figures of the answer, each with its limit or range and an explanation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import streamlit as st

from sizing.format import count, interval, kilowatts, ms, significant, usd
from sizing.result import Latency, Plan
from sizing.scenario.schema import Limits, Scenario
from ui.explain import explain_popover

_PER_ROW = 4


class Figure(NamedTuple):
    """One figure: ``name`` is its entry in ``Plan.explained``; ``within`` is None where there is no limit."""

    name: str
    label: str
    value: str
    note: str
    help: str
    within: bool | None = None


def draw_key_figures(plan: Plan, scenario: Scenario) -> None:
    """GPUs, systems, latency against its limit, output tokens/s per GPU, cost and power."""
    with st.grid(_PER_ROW, min_column_width=130, gap="small"):
        for figure in _figures(plan, scenario):
            _draw(figure, plan)


def _draw(figure: Figure, plan: Plan) -> None:
    colour = {True: "green", False: "red", None: "off"}[figure.within]
    with st.container(border=True, gap=None, height="stretch"):
        st.metric(figure.label, figure.value, delta=figure.note or None, delta_color=colour, delta_arrow="off",
                  help=figure.help)
        explain_popover(plan, figure.name)


def _figures(plan: Plan, scenario: Scenario) -> Iterator[Figure]:
    deployed, one, latency, cost = plan.deployment, plan.per_instance, plan.latency, plan.cost
    if deployed is None or one is None:
        return
    yield Figure("gpus", "GPUs", count(deployed.gpus), f"{interval(plan.gpus_low, plan.gpus_high)} (80 %)",
                 "GPUs that run the model, spares included, and the range that 80 % of such estimates fall in.")
    yield Figure("systems", "Systems", count(deployed.systems), f"{count(deployed.instances)} x TP{deployed.tp}",
                 "Whole systems to buy or rent, and the instances (copies of the model) they run.")
    if latency:
        at = f"p{scenario.limits.percentile:g}"
        for name, words, value, limit in _latencies(plan, scenario.limits):
            yield Figure(name, f"{at} {words}", ms(value.asked), *_against(value, limit))
    yield Figure("output_tokens_per_s_per_gpu", "Tokens/s per GPU", significant(one.output_tokens_per_s_per_gpu),
                 f"at {significant(one.rps)} requests/s each", "Output tokens per second and GPU at the peak load.")
    if cost:
        yield Figure("usd_per_month", "Cost per month", usd(cost.usd_per_month), _per_million(cost.usd_per_million_output_tokens),
                     f"{cost.basis} {cost.source}")
        yield Figure("power_kw", "Power", kilowatts(cost.power_kw), "", "Systems at maximum power, or GPUs at their TDP.")


def _latencies(plan: Plan, limits: Limits) -> Iterator[tuple[str, str, Latency, float | None]]:
    """TTFT and ITL; E2E too where it is limited."""
    assert plan.latency
    yield "ttft_ms", "TTFT", plan.latency.ttft_ms, limits.ttft_ms
    yield "itl_ms", "ITL", plan.latency.itl_ms, limits.itl_ms
    yield "e2e_ms", "E2E", plan.latency.e2e_ms, limits.e2e_ms


def _against(value: Latency, limit: float | None) -> tuple[str, str, bool | None]:
    spread = f"80 % between {interval(value.low, value.high, 'ms')}."
    if limit is None:
        return "no limit", spread, None
    within = value.asked <= limit
    return f"{'within' if within else 'above'} {ms(limit)}", spread, within


def _per_million(usd_per_million: float | None) -> str:
    return f"{usd(usd_per_million)} per million output tokens" if usd_per_million is not None else ""
