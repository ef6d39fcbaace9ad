"""The Size page below its guard: the form, the answer, its figures, and tabs with what stands behind them.

For a projector, the page is the answer, its key figures and charts alone.
"""

from functools import partial

import streamlit as st

from sharing.document import file_stem, to_yaml
from sharing.report.prices import at_list_prices, has_own_prices
from sizing.base.format import count
from sizing.planning.start_up_lines import start_up_lines
from ui import inputs, shell, state
from ui.figures.memory import build_memory_bar, memory_alt_text
from ui.figures.trade_off import build_trade_off, trade_off_alt_text
from ui.library import draw_bar, draw_not_held
from ui.library.export import draw_manifests
from ui.library.exported import exported
from ui.shell import draw_download, draw_own_prices
from ui.size.above import draw_presented_above
from ui.size.answer import draw_outcome, draw_warnings
from ui.size.day import draw_day
from ui.size.evidence import draw_business, draw_evidence
from ui.size.key_figures import draw_key_figures
from ui.size.mixed import draw_mixed
from ui.size.pipeline import draw_pipeline
from ui.size.proposals import draw_proposals
from ui.size.reuse import draw_reuse
from ui.size.simulate import draw_simulate
from ui.size.tables import USE, alternatives_table, draw_alternatives, draw_excluded
from ui.size.trade_off import draw_trade_off
from ui.size.what_if import draw_what_if
from ui.state import FormAnswer, answer_of

_FORM_AND_ANSWER = (2, 5)
"""Widths of the columns. Chosen: at 1440 pixels two fields of the form fit side by side, the rest is the answer's."""


def draw() -> None:
    """Questions on the left, the answer and its figures on the right; in a narrow window the answer comes first."""
    if shell.is_presenting():
        draw_presented()
        return
    top = shell.header("Size")
    if shell.is_narrow():
        sentence, form, results = st.container(), st.container(), st.container()
    else:
        form, right = st.columns(_FORM_AND_ANSWER, gap="medium")
        sentence, results = right.container(), right.container()
    with form:
        places = inputs.draw()
    with top:
        draw_bar()
        inputs.draw_presets()
    with sentence:
        shell.draw_link_notes()
        draw_not_held()
        outcome = state.outcome()
        answer = draw_outcome(outcome)
        if answer is not None:
            draw_proposals(answer)
    inputs.draw_faults(places, outcome.faults)
    with results:
        if answer is not None:
            shell.withhold(present=has_own_prices(answer.scenario))
            draw_key_figures(answer)
            draw_reuse(answer.plan.reuse)
            draw_mixed(answer)
            draw_pipeline(answer)
            draw_warnings(answer, "warning", "info")
            draw_business(answer.plan.business, answer.scenario.workload.batch)
            _tabs(answer, dark=st.context.theme.type == "dark")
    shell.watch_window()


def _tabs(answer: FormAnswer, *, dark: bool) -> None:
    shell.draw_tabs(
        {
            "Alternatives": partial(_alternatives, answer),
            "What if": partial(draw_what_if, answer),
            "Why": partial(draw_evidence, answer),
            "Throughput or latency": partial(draw_trade_off, answer, dark=dark),
            "Simulate": partial(draw_simulate, answer, dark=dark),
            "Over the day": partial(draw_day, answer, dark=dark),
            "Memory": partial(_memory, answer, dark=dark),
            "Export": partial(draw_downloads, answer),
        },
        key="view",
    )


def _memory(answer: FormAnswer, *, dark: bool) -> None:
    plan = answer.plan
    shell.draw_chart(build_memory_bar(plan, dark=dark), key="memory", alt=memory_alt_text(plan))
    lines = start_up_lines(plan)
    if lines and plan.per_instance:
        st.markdown(
            f"**The first start checks this.** With a context of {count(plan.per_instance.context)} tokens and all "
            "else as planned, an instance is expected to print (GiB of one GPU):"
        )
        st.code("\n".join(lines), language=None, wrap_lines=True)
        st.caption("How near such lines were to printed ones so far: Methodology, Accuracy, Memory at start-up.")


def _alternatives(answer: FormAnswer) -> None:
    draw_alternatives(answer)
    st.page_link(
        "pages/compare.py",
        label="Compare hardware, formats, loads, places",
        icon=":material/compare_arrows:",
        query_params=state.address_of("compare"),
    )
    st.page_link(
        "pages/cost.py",
        label="All costs, and other ways to pay",
        icon=":material/payments:",
        query_params=state.address_of("cost"),
    )
    draw_excluded(answer)


def draw_presented() -> None:
    """Everything that a customer is shown of a size, and nothing to fill in."""
    answer = draw_presented_above("Size")
    if answer is None or answer.plan.deployment is None:
        return
    draw_proposals(answer, to_choose=False)
    draw_key_figures(answer, explained=False)
    draw_mixed(answer)
    draw_pipeline(answer)
    _charts(answer, dark=st.context.theme.type == "dark")


def _charts(answer: FormAnswer, *, dark: bool) -> None:
    plan = answer.plan
    left, right = st.columns(2, gap="medium") if len(plan.trade_off) > 1 else (st.container(), None)
    with left:
        shell.draw_chart(build_memory_bar(plan, dark=dark), key="presented_memory", alt=memory_alt_text(plan))
    if right is not None:
        with right:
            limits = answer.scenario.limits
            figure = build_trade_off(plan, selected=0, limits=limits, name=answer.question.gpu_name, dark=dark)
            shell.draw_chart(
                figure,
                key="presented_trade_off",
                alt=trade_off_alt_text(plan, selected=0, limits=limits, name=answer.question.gpu_name),
            )


def alternatives_csv(answer: FormAnswer) -> str:
    """The ranking, one row per deployment."""
    return alternatives_table(answer).drop(columns=USE, errors="ignore").to_csv(index=False)


def draw_downloads(answer: FormAnswer) -> None:
    """Files of this answer, made when they are asked for; at list prices unless the user's own are asked for."""
    if has_own_prices(answer.scenario) and not draw_own_prices(present=True):
        listed = at_list_prices(answer.scenario)
        answer = answer_of(listed.model_dump_json())
        st.caption("The files are at list prices.")
    stem = file_stem(answer.scenario.name)
    plan = answer.plan
    files = (
        (
            "yaml",
            "Scenario (YAML)",
            "application/yaml",
            lambda: to_yaml(answer.scenario),
            "description",
            "Reads back with: python -m sizing plan FILE",
        ),
        (
            "json",
            "Plan (JSON)",
            "application/json",
            lambda: plan.model_dump_json(indent=2),
            "data_object",
            "Every number of the answer, with the versions it was computed with.",
        ),
        ("csv", "Alternatives (CSV)", "text/csv", lambda: alternatives_csv(answer), "table", "The ranked deployments."),
    )
    with st.container(horizontal=True):
        for kind, title, mime, content, icon, help_text in files:
            draw_download(
                title, exported(title, content), f"{stem}.{kind}", mime, key=f"get_{kind}", icon=icon, help=help_text
            )
        draw_manifests(answer)
    st.markdown("**Link to these inputs**")
    st.code(state.link(), language=None, wrap_lines=True)
    st.caption(
        "An uploaded config.json and an imported benchmark are not part of the link, but of the YAML file. Prices "
        "typed into the form are never in the link, and in files only where they are asked for."
    )
