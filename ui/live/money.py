"""What the deployment costs per million tokens now, from a price of its own, beside the plan's."""

from __future__ import annotations

import streamlit as st

from collectors.reading.observation import Observation
from reality.money import usd_per_million_output_tokens
from sharing.form.asked import AskedNumber
from sharing.form.problems import BadInput
from sizing.base.format import usd
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_MONTH
from sizing.scenario.bounds import MAX_USD
from ui.format import as_markdown
from ui.live.planned import Planned

PRICE, _KEPT = "live_gpu_hour_usd", "live_gpu_hour_usd_kept"
_ASKED = AskedNumber(name="Price of a GPU-hour", high=MAX_USD, beyond_low=True, example="2.50")


def planned_usd_per_gpu_hour(plan: Plan) -> float | None:
    """What a bought or rented GPU of a plan costs an hour by its price; None where that is not known."""
    if plan.cost is None or plan.deployment is None or plan.cost.hardware_usd_per_month is None:
        return None
    return plan.cost.hardware_usd_per_month / HOURS_PER_MONTH / plan.deployment.gpus_bought


def draw_price() -> float | None:
    """The price of a GPU-hour of what runs; the last one that was a price where this one is none."""
    last: float | None = st.session_state.get(_KEPT)
    text = st.text_input(
        "Price here (USD per GPU-hour)",
        key=PRICE,
        persist_state="session",
        placeholder="as in the plan",
        width=260,
        help="For the cost per million tokens. Left empty, it is the plan's price of a GPU-hour. It is in no link.",
    )
    if not text.strip():
        st.session_state.pop(_KEPT, None)
        return None
    try:
        price = _ASKED.read(text)
    except BadInput as error:
        stays = "The plan's" if last is None else usd(last)
        st.error(as_markdown(f"{error} {stays} stays."), icon=":material/error:")
        return last
    st.session_state[_KEPT] = price
    return price


def draw_cost(observed: Observation, planned: Planned | None, own_usd_per_gpu_hour: float | None) -> None:
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
    planned = None if plan is None or plan.cost is None else plan.cost.usd_per_million_output_tokens
    return text if planned is None else f"{text} Plan: {usd(planned)} over its day, by its own price."
