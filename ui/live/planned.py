"""What the plan of this session says about the quantities of the Live page; nothing where there is no plan."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from sizing.base.format import ms, significant
from sizing.base.result import Plan
from sizing.scenario.schema import Limits
from ui import state
from ui.figures.live_lines import Level
from ui.format import as_markdown

_SHOW = "live_plan"


@dataclass(frozen=True, kw_only=True)
class Planned:
    """The plan, and what it puts beside each quantity."""

    name: str
    plan: Plan
    limits: Limits

    @property
    def percentile(self) -> str:
        """The percentile of its latencies: "p95"."""
        return f"p{self.limits.percentile:g}"

    def levels(self, quantity: str) -> tuple[Level, ...]:
        """The dashed lines of a chart."""
        if quantity in ("ttft_ms", "itl_ms", "e2e_ms"):
            return self._latency(quantity)
        value = self._numbers().get(quantity)
        return () if value is None else (Level(name=f"Plan {significant(value)}", value=value),)

    def beside(self, quantity: str) -> str:
        """The plan in a few words, to stand beside a measured figure; "" for a quantity no plan is about."""
        if quantity in ("ttft_ms", "itl_ms", "e2e_ms"):
            planned = self._planned_ms(quantity)
            return f"plan {self.percentile} {ms(planned)}" if planned is not None else ""
        value = self._numbers().get(quantity)
        return f"plan {significant(value)}" if value is not None else ""

    def _planned_ms(self, quantity: str) -> float | None:
        latency = self.plan.latency
        return getattr(latency, quantity).at_percentile if latency else None

    def _latency(self, quantity: str) -> tuple[Level, ...]:
        planned, limit = self._planned_ms(quantity), getattr(self.limits, quantity)
        levels = []
        if planned is not None:
            levels.append(Level(name=f"Plan {self.percentile} {ms(planned)}", value=planned))
        if limit is not None:
            levels.append(Level(name=f"Limit {self.percentile} {ms(limit)}", value=limit, limit=True))
        return tuple(levels)

    def _numbers(self) -> dict[str, float]:
        one, deployed = self.plan.per_instance, self.plan.deployment
        if one is None or deployed is None:
            return {"arrivals_rps": self.plan.peak_rps}
        return {
            "arrivals_rps": self.plan.peak_rps,
            "generation_tokens_per_s_per_gpu": one.output_tokens_per_s_per_gpu,
            "replicas": deployed.instances,
            "gpus": deployed.gpus,
        }


def draw_plan_switch() -> Planned | None:
    """A switch for the plan lines, where this session has a plan; off by default for none."""
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
    return Planned(name=name, plan=answer.plan, limits=answer.scenario.limits) if shown else None
