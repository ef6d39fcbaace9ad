"""What the plan of this session says about the quantities of the Live page; nothing where there is no plan."""

from dataclasses import dataclass

import streamlit as st

from sizing.base.format import ms, significant
from sizing.base.latency_and_cost import Latency
from sizing.base.result import Plan
from sizing.scenario.schema import Limits
from ui import state
from ui.figures.live_lines import Level
from ui.format import as_markdown

_SHOW = "live_plan"
STATED_AS = {"ttft_ms": "ttft_ms", "tpot_ms": "itl_ms", "e2e_ms": "e2e_ms"}
"""Latency of a plan by the live quantity that it stands beside. A plan's ITL is that of whole requests (TPOT): its
percentiles say nothing about gaps between single tokens."""


@dataclass(frozen=True, kw_only=True)
class PlannedQuantities:
    """The plan, and what it puts beside each quantity."""

    name: str
    plan: Plan
    limits: Limits

    @property
    def percentile(self) -> str:
        """The percentile of its latencies: "p95"."""
        return f"p{self.limits.percentile:g}"

    def levels(self, quantity: str, quantile: str = "") -> tuple[Level, ...]:
        """The dashed lines of a chart; of a latency those of one quantile ("p95")."""
        if quantile:
            return self._latency(quantity, quantile)
        value = self._numbers().get(quantity)
        return () if value is None else (Level(name=f"Plan {significant(value)}", value=value),)

    def beside(self, quantity: str, quantile: str = "") -> str:
        """The plan in a few words, to stand beside a measured figure; "" for a quantity no plan is about.

        Of a latency the same quantile as the measured one, so that a p95 never stands beside a p99.
        """
        if quantile:
            planned = self._planned_ms(quantity, quantile)
            return f"plan {quantile} {ms(planned)}" if planned is not None else ""
        value = self._numbers().get(quantity)
        return f"plan {significant(value)}" if value is not None else ""

    def _planned_ms(self, quantity: str, quantile: str) -> float | None:
        if self.plan.latency is None or quantity not in STATED_AS:
            return None
        latency: Latency = getattr(self.plan.latency, STATED_AS[quantity])
        return latency.at_percentile if quantile == self.percentile else latency.by_name().get(quantile)

    def _latency(self, quantity: str, quantile: str) -> tuple[Level, ...]:
        planned, levels = self._planned_ms(quantity, quantile), []
        if planned is not None:
            levels.append(Level(name=f"Plan {quantile} {ms(planned)}", value=planned))
        limit = getattr(self.limits, STATED_AS[quantity]) if quantity in STATED_AS else None
        if limit is not None and quantile == self.percentile:
            levels.append(Level(name=f"Limit {quantile} {ms(limit)}", value=limit, limit=True))
        return tuple(levels)

    def _numbers(self) -> dict[str, float]:
        one, deployed = self.plan.per_instance, self.plan.deployment
        if one is None or deployed is None:
            return {"arrivals_rps": self.plan.sustained_rps}
        return {
            "arrivals_rps": self.plan.sustained_rps,
            "generation_tokens_per_s_per_gpu": one.output_tokens_per_s_per_gpu,
            "replicas": deployed.instances,
            "gpus": deployed.gpus,
        }


def draw_plan_switch() -> PlannedQuantities | None:
    """A switch for the plan lines, where something was asked that has a plan."""
    answer = state.last_answer()
    if answer is None:
        return None
    name = answer.scenario.name or "Untitled"
    shown = st.toggle(
        f"Plan lines of “{as_markdown(name[:60])}”",
        value=True,
        key=_SHOW,
        persist_state="session",
        help="What the scenario on Size plans, dashed in the charts. Its peak load, not the load of now.",
    )
    return PlannedQuantities(name=name, plan=answer.plan, limits=answer.scenario.limits) if shown else None
