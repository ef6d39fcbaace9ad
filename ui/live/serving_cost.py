"""What the deployment costs by OpenCost, beside its plan and an API: the basis of every figure is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from collectors.questions.serving_cost import Basis, CostOn, ServingCost
from reality.money import PlannedCost, planned_cost
from sizing.base.errors import SizingError
from ui import sources, state
from ui.format import as_markdown, known
from ui.live.planned import Planned
from ui.sources.known import Known

BASES: Mapping[Basis, str] = {"allocation": "Allocation", "usage": "Usage"}
MEANS: Mapping[Basis, str] = {
    "allocation": "everything provisioned, idle and shared parts included",
    "usage": "what requests consumed",
}


@st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)
def _planned(scenario_json: str) -> PlannedCost | None:
    """The cost of the plan of a scenario; None where it has none."""
    try:
        return planned_cost(state.answer_of(scenario_json))
    except SizingError:
        return None


def draw_serving_cost(source: Known, end_s: float | None, planned: Planned | None) -> None:
    """A table where OpenCost knows what is served here; nothing without it."""
    answer = sources.serving_costs_of(source, end_s=end_s)
    if not answer.good:
        return
    last = state.last_answer()
    plan = _planned(last.scenario.model_dump_json()) if planned is not None and last is not None else None
    st.markdown("**Cost by OpenCost**")
    st.dataframe(
        cost_table(answer.good, plan), hide_index=True, placeholder="", key="serving_cost_rows", alt="Cost by OpenCost"
    )
    st.caption(as_markdown(notes(answer.good, plan)))


def cost_table(costs: Sequence[ServingCost], plan: PlannedCost | None) -> pd.DataFrame:
    """One row for each model and basis, then the plan and the API."""
    rows = [_row(cost, one) for cost in costs for one in cost.on]
    if plan is not None:
        rows.append(_beside("Plan", "Allocation", plan.usd_per_hour, plan.usd_per_million_tokens))
        if plan.api_usd_per_million_tokens is not None:
            rows.append(_beside(f"API: {plan.api}", "compare with allocation", None, plan.api_usd_per_million_tokens))
    return pd.DataFrame(rows)


def _row(cost: ServingCost, on: CostOn) -> dict[str, object]:
    of = cost.model if not cost.namespace else f"{cost.model}, {cost.namespace}"
    phases = on.usd_per_million
    return {
        "What": " ".join(part for part in (of, cost.version, cost.workload) if part),
        "Basis": BASES[on.basis],
        "USD per hour": _shown(on.usd_per_hour),
        "USD per million tokens": _shown(phases.get("")),
        "of prompts": _shown(phases.get("prompt")),
        "of answers": _shown(phases.get("generation")),
    }


def _beside(what: str, basis: str, per_hour: float | None, per_million: float | None) -> dict[str, object]:
    return {
        "What": what,
        "Basis": basis,
        "USD per hour": _shown(per_hour),
        "USD per million tokens": _shown(per_million),
        "of prompts": None,
        "of answers": None,
    }


def _shown(value: float | None) -> float | None:
    return None if value is None else known(value)


def notes(costs: Sequence[ServingCost], plan: PlannedCost | None) -> str:
    """What the figures mean, and which of them are missing."""
    sentences = [
        *(f"{BASES[basis]}: {meaning}." for basis, meaning in MEANS.items()),
        "OpenCost shares the cost between prompts and answers by computing time, so its answers cost less than where "
        "all of the cost is put on them.",
    ]
    for cost in costs:
        if cost.cache_savings is not None:
            sentences.append(f"{cost.model}: {100 * cost.cache_savings:.0f} % of prompt tokens come from the cache.")
        lacking = [BASES[one.basis].lower() for one in cost.on if one.usd_per_hour is None or not one.usd_per_million]
        if lacking:
            sentences.append(
                f"{cost.model}: OpenCost has no cost on the basis of {' or '.join(lacking)}: nothing is served, or the "
                "label of its pods is not the model's name."
            )
    if plan is not None:
        sentences.append("The plan is over its day, tokens of prompts and answers together.")
    return " ".join(sentences)
