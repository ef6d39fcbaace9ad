"""Which figures of a page are simulated and which are estimates: said wherever both stand together."""

import streamlit as st

from sizing.base.choices import DecidedBy
from sizing.base.format import ms
from sizing.base.result import Candidate, Plan
from sizing.queueing.knee import on_curve
from sizing.scenario.schema import Limits
from ui.format import as_markdown

ORIGIN: dict[DecidedBy, str] = {"simulation": "Simulated", "analytic": "Estimate", "measured": "Measured"}
"""Where instances and latency of a deployment come from, in a word."""

ESTIMATES = "Instances and latency here are quick estimates (analytic load model); the plan itself is simulated."
"""The note beside answers to thousands of questions, which are not simulated."""


def origin_of(candidate: Candidate) -> str:
    """Where the figures of a ranked deployment come from."""
    return ORIGIN[candidate.decided_by]


def draw_curve_origin(plan: Plan, limits: Limits) -> None:
    """How the load curve and the planned load, which is simulated, belong together."""
    here = on_curve(plan.load_curve, plan.per_instance.rps) if plan.per_instance else None
    if plan.decided_by != "simulation" or here is None or plan.latency is None:
        return
    at, now = f"p{limits.percentile:g}", plan.latency
    simulated = "the dot and the load up to which every limit holds are" if plan.headroom_is_simulated else "the dot is"
    st.caption(
        as_markdown(
            f"The curve is the analytic estimate, {simulated} simulated: at the planned load {at} TTFT "
            f"{ms(now.ttft_ms.at_percentile)} simulated, {ms(here.ttft_ms)} estimated; {at} ITL "
            f"{ms(now.itl_ms.at_percentile)} and {ms(here.itl_ms)}; {at} E2E {ms(now.e2e_ms.at_percentile)} and "
            f"{ms(here.e2e_ms)}."
        )
    )


def draw_estimates(plan: Plan) -> None:
    """That what stands here is estimated, where the plan is simulated."""
    if plan.decided_by == "simulation":
        st.caption(f":material/calculate: {ESTIMATES}")
