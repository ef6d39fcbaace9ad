"""What the deployment costs by OpenCost, beside its plan and an API: the basis of every figure is named.

From a price of its own: what it costs per million tokens now, beside the plan's.
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from collectors.questions.serving_cost import CostBasis, CostOn, ServingCost
from collectors.reading.observation import Observation
from reality.money import (
    PlannedCost,
    planned_cost,
    planned_usd_per_million_output_tokens,
    usd_per_million_output_tokens,
)
from sharing.form.asked import AskedNumber
from sharing.form.problems import UnreadableInput
from sizing.base.errors import SizingError
from sizing.base.format import usd
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_MONTH
from sizing.scenario.bounds import MAX_USD
from ui import sources, state
from ui.format import as_markdown, known
from ui.live.planned import PlannedQuantities
from ui.sources.known import KnownSource

BASES: Mapping[CostBasis, str] = {"allocation": "Allocation", "usage": "Usage"}
MEANS: Mapping[CostBasis, str] = {
    "allocation": "everything provisioned, idle and shared parts included",
    "usage": "what requests consumed",
}

PRICE, _KEPT = "live_gpu_hour_usd", "live_gpu_hour_usd_kept"
_ASKED = AskedNumber(name="Price of a GPU-hour", high=MAX_USD, beyond_low=True, example="2.50")


@st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)
def _planned(scenario_json: str) -> PlannedCost | None:
    """The cost of the plan of a scenario; None where it has none."""
    try:
        return planned_cost(state.answer_of(scenario_json))
    except SizingError:
        return None


def draw_serving_cost(source: KnownSource, end_s: float | None, planned: PlannedQuantities | None) -> None:
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


def planned_usd_per_gpu_hour(plan: Plan) -> float | None:
    """What a bought or rented GPU of a plan costs an hour by its price; None where that is not known."""
    if plan.cost is None or plan.deployment is None or plan.cost.hardware_usd_per_month is None:
        return None
    return plan.cost.hardware_usd_per_month / HOURS_PER_MONTH / plan.deployment.gpus_bought


def draw_price() -> float | None:
    """The price of a GPU-hour of what runs; the last one that was a price where this one is none."""
    last: float | None = st.session_state.get(_KEPT)
    with st.popover("Price", icon=":material/payments:", help="What a GPU-hour costs here, for the cost of tokens."):
        text = st.text_input(
            "Price here (USD per GPU-hour)",
            key=PRICE,
            persist_state="session",
            placeholder="as in the plan",
            help="For the cost per million tokens. Left empty, it is the plan's price of a GPU-hour. It is in no link.",
        )
    if not text.strip():
        st.session_state.pop(_KEPT, None)
        return None
    try:
        price = _ASKED.read(text)
    except UnreadableInput as error:
        stays = "The plan's" if last is None else usd(last)
        st.error(as_markdown(f"{error} {stays} stays."), icon=":material/error:")
        return last
    st.session_state[_KEPT] = price
    return price


def draw_cost(observed: Observation, planned: PlannedQuantities | None, own_usd_per_gpu_hour: float | None) -> None:
    """Cost per million output tokens now and as planned, in one line; nothing without any price."""
    if own_usd_per_gpu_hour is None and planned is None:
        return
    text = cost_text(observed, None if planned is None else planned.plan, own_usd_per_gpu_hour)
    if text:
        st.caption(as_markdown(text))


def cost_text(observed: Observation, plan: Plan | None, own_usd_per_gpu_hour: float | None) -> str:
    """The line in words; "" where no price is known."""
    theirs = None if plan is None else planned_usd_per_gpu_hour(plan)
    price = theirs if own_usd_per_gpu_hour is None else own_usd_per_gpu_hour
    if price is None:
        return ""
    basis = "the plan's price" if own_usd_per_gpu_hour is None else "your price"
    now = usd_per_million_output_tokens(observed, price)
    if now is None:
        why = "the number of GPUs is not known" if not observed.number("gpus") else "nothing is generated"
        text = f"Cost per million output tokens now: not known, because {why}."
    else:
        text = f"Cost per million output tokens now: {usd(now)}, at {basis} of {usd(price)} per GPU-hour."
    return f"{text}{_of_plan(observed, plan)}"


def _of_plan(observed: Observation, plan: Plan | None) -> str:
    """What the plan would cost at the load of now, beside its own day: of both, only the first can be compared."""
    if plan is None or plan.cost is None or plan.cost.usd_per_hour is None:
        return ""
    now = planned_usd_per_million_output_tokens(observed, plan.cost.usd_per_hour)
    day = plan.cost.usd_per_million_output_tokens
    over_its_day = "" if day is None else f" {usd(day)} over its day."
    if now is None:
        return f" Plan, by its own price:{over_its_day}" if day is not None else ""
    return f" Plan, by its own price: {usd(now)} at this load.{over_its_day}"
