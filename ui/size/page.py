"""The Size page below its guard: the form, the answer, its figures, and tabs with what stands behind them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from sharing.report.prices import has_own_prices
from sizing.base.format import count
from sizing.planning.start_up_lines import start_up_lines
from ui import inputs, shell, state
from ui.figures.memory import build_memory_bar, memory_alt_text
from ui.library import draw_bar, draw_not_held
from ui.size.answer import draw_outcome, draw_warnings
from ui.size.day import draw_day
from ui.size.evidence import draw_business, draw_evidence
from ui.size.export import draw_downloads
from ui.size.key_figures import draw_key_figures
from ui.size.presented import draw_presented
from ui.size.simulate import draw_simulate
from ui.size.tables import draw_alternatives, draw_excluded
from ui.size.trade_off import draw_trade_off
from ui.state import Answer

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
    inputs.draw_faults(places, outcome.faults)
    with results:
        if answer is not None:
            shell.withhold(present=has_own_prices(answer.scenario))
            draw_key_figures(answer)
            draw_warnings(answer, "warning", "info")
            draw_business(answer.plan.business)
            _tabs(answer, dark=st.context.theme.type == "dark")
    shell.watch_window()


def _tabs(answer: Answer, *, dark: bool) -> None:
    shell.draw_tabs(
        {
            "Alternatives": partial(_alternatives, answer),
            "Why": partial(draw_evidence, answer),
            "Throughput or latency": partial(draw_trade_off, answer, dark=dark),
            "Simulate": partial(draw_simulate, answer, dark=dark),
            "Over the day": partial(draw_day, answer, dark=dark),
            "Memory": partial(_memory, answer, dark=dark),
            "Export": partial(draw_downloads, answer),
        },
        key="view",
    )


def _memory(answer: Answer, *, dark: bool) -> None:
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


def _alternatives(answer: Answer) -> None:
    draw_alternatives(answer)
    st.page_link(
        "pages/compare.py",
        label="Compare with other hardware, formats, loads or places",
        icon=":material/compare_arrows:",
        query_params=state.address_of("compare"),
    )
    st.page_link(
        "pages/cost.py",
        label="All costs: power, support and staff too, and other ways to pay",
        icon=":material/payments:",
        query_params=state.address_of("cost"),
    )
    draw_excluded(answer)
