"""What stands above the views of a scenario on every page but Size: its form behind a click, and the answer to it."""

from dataclasses import replace

import streamlit as st

from sizing.base.choices import DecidedBy
from sizing.base.format import ms
from sizing.base.result import Candidate, Plan
from sizing.queueing.knee import on_curve
from sizing.scenario.schema import Limits
from ui import inputs, shell, state
from ui.format import as_markdown
from ui.library import draw_bar, draw_not_held
from ui.size.answer import draw_outcome
from ui.state import FormAnswer

ORIGIN: dict[DecidedBy, str] = {"simulation": "Simulated", "analytic": "Estimate", "measured": "Measured"}
"""Where instances and latency of a deployment come from, in a word."""

ESTIMATES = "Instances and latency here are quick estimates (analytic load model); the plan itself is simulated."
"""The note beside answers to thousands of questions, which are not simulated."""


def draw_above(title: str) -> FormAnswer | None:
    """Title, form and answer; None where the inputs have no answer.

    Inputs that nothing can serve have one all the same: charts show what is missing.
    """
    if shell.is_presenting():
        return draw_presented_above(title)
    top = shell.header(title)
    with top:
        bar = st.container(horizontal=True, vertical_alignment="center", width="content")
        with st.popover("Change inputs", icon=":material/tune:", help="The same form as on Size."):
            places = inputs.draw()
        inputs.draw_presets()
    with bar:
        draw_bar()
    shell.draw_link_notes()
    draw_not_held()
    shell.watch_window()
    outcome = state.outcome()
    inputs.draw_faults(places, outcome.faults)
    return draw_outcome(replace(outcome, last=None) if outcome.answer else outcome) or outcome.answer


def draw_presented_above(title: str) -> FormAnswer | None:
    """The same for a projector: the scenario's name and the answer to it."""
    shell.draw_presented_header(state.value("name").strip() or title)
    outcome = state.outcome()
    return draw_outcome(replace(outcome, last=None) if outcome.answer else outcome) or outcome.answer


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
