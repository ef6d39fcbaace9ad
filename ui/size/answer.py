"""The answer sentence, what is wrong with the inputs, and what a careful architect would point out."""

from collections.abc import Callable, Sequence

import streamlit as st

from sizing.base.choices import Severity
from sizing.base.result import AnswerPart, Excluded, Fix, Plan
from sizing.scenario.schema import Scenario
from ui import shell, state
from ui.format import as_markdown, bullets, unbroken
from ui.state import FormAnswer, PageOutcome

_LOOKS: dict[Severity, tuple[Callable[[str], object], str]] = {
    "error": (st.error, ":material/error:"),
    "warning": (st.warning, ":material/warning:"),
    "info": (st.markdown, ":material/info:"),
}
"""How a severity is drawn: only what asks for a decision gets a coloured box."""
_LOOK_S = 1.0
"""Seconds between two looks whether the simulator is compiled."""
_AT_ONCE: tuple[AnswerPart, ...] = ("serves", "inputs", "infeasible", "mixed", "pipeline")
"""Sentences beside the first that are read at once; the others are figures and proposals on the page already."""
_RELAXATIONS = 4
"""Relaxations shown where nothing fits; the table of excluded GPUs has them all."""


def draw_outcome(outcome: PageOutcome) -> FormAnswer | None:
    """Problem or answer; returns the answer whose figures are to be shown below, which may be an earlier one."""
    now = outcome.answer
    if now and now.provisional:
        _first_estimate()
    if now and now.plan.feasible:
        _sentence(now.plan)
        draw_warnings(now, "error")
        return now
    if now:
        _infeasible(now)
    else:
        _problem(outcome)
    if outcome.last is None:
        return None
    st.caption(
        f":material/history: Below is the last answer that held, for the previous inputs "
        f"({as_markdown(_inputs(outcome.last.scenario))})."
    )
    _sentence(outcome.last.plan, previous=True)
    return outcome.last


def _first_estimate() -> None:
    """What the answer is until the simulator is compiled; the page is then drawn again by itself."""
    st.info(
        "A first estimate by the analytic load model. The simulator is being compiled, which is done once after an "
        "installation and takes some seconds; the simulated answer then comes by itself.",
        icon=":material/hourglass_top:",
    )
    shell.refreshed(_draw_again_when_compiled, _LOOK_S)()


def _draw_again_when_compiled() -> None:
    if state.ready():
        st.rerun()


def _problem(outcome: PageOutcome) -> None:
    """What is wrong with the inputs; what was only not filled in yet is no error."""
    if outcome.unfinished:
        st.info(as_markdown(outcome.problem), icon=":material/edit:")
    else:
        st.error(as_markdown(outcome.problem), icon=":material/error:")


def _sentence(plan: Plan, *, previous: bool = False) -> None:
    with st.container(border=True, gap="small"):
        if previous:
            st.badge("Previous inputs", icon=":material/history:", color="orange")
        headline, *others = plan.sentences
        shown = [one.text for one in others if one.about in _AT_ONCE]
        st.markdown(f"## {as_markdown(headline.text)}\n\n{as_markdown(' '.join(shown))}")
        _how_sure(plan, [one.text for one in others if one.about not in (*_AT_ONCE, "sure")])


def _how_sure(plan: Plan, further: Sequence[str]) -> None:
    """How sure, in a sentence; what else the answer says, and the statistics behind it, on request."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        sure = " ".join(one.text for one in plan.sentences if one.about == "sure") or plan.how_sure
        st.markdown(f":material/query_stats: How sure: {as_markdown(sure)}", width="content")
        with st.popover(
            "Details", type="tertiary", key="how_sure", help="The rest of the answer, and what it rests on"
        ):
            st.markdown(bullets(filter(None, (*further, plan.how_sure))))


def _infeasible(answer: FormAnswer) -> None:
    with st.container(border=True):
        st.error(as_markdown(answer.plan.answer), icon=":material/block:")
        nearest = nearest_to_fit(answer.plan)[:_RELAXATIONS]
        if nearest:
            st.markdown("**Smallest changes that would make it fit**")
        for number, excluded in enumerate(nearest):
            _relaxation(excluded, answer, key=f"relax_{number}")
    draw_warnings(answer, "error")


def nearest_to_fit(plan: Plan) -> list[Excluded]:
    """What one change would let in, the smallest change first."""
    return [one for one in plan.excluded if one.fix]


def _relaxation(excluded: Excluded, answer: FormAnswer, *, key: str) -> None:
    words, remedy = st.columns([5, 2], vertical_alignment="center")
    words.markdown(as_markdown(f"{answer.question.gpu_name(excluded.gpu)}: {excluded.relaxation}"))
    with remedy:
        fix_button(excluded.fix, answer.scenario, key=key)


def draw_warnings(answer: FormAnswer, *severities: Severity) -> None:
    """The warnings of these severities, in that order, each with its one-click fix."""
    for severity in severities:
        for warning in (w for w in answer.plan.warnings if w.severity == severity):
            message, remedy = st.columns([5, 2], vertical_alignment="center") if warning.fix else (st.container(), None)
            show, icon = _LOOKS[severity]
            with message:
                show(f"{icon} {as_markdown(warning.message)}")
            if remedy:
                with remedy:
                    fix_button(warning.fix, answer.scenario, key=f"fix_{warning.code}")


def fix_button(fix: Fix | None, scenario: Scenario, *, key: str) -> None:
    """The one-click remedy, when there is one."""
    if fix:
        st.button(
            unbroken(fix.label),
            key=key,
            on_click=state.apply_fix,
            args=(fix, scenario),
            icon=":material/build:",
            help=f"Changes {fix.key} in the form.",
            width="stretch",
            wrap=True,
        )


def _inputs(scenario: Scenario) -> str:
    """A few words that tell one scenario from another."""
    model = scenario.model if isinstance(scenario.model, str) else scenario.model.name
    return f"{scenario.name}, {model}"
