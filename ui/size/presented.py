"""Size for a projector: the answer, its key figures and charts."""

from __future__ import annotations

import streamlit as st

from ui import shell
from ui.figures.memory import build_memory_bar, memory_alt_text
from ui.figures.trade_off import build_trade_off, trade_off_alt_text
from ui.size.above import draw_presented_above
from ui.size.key_figures import draw_key_figures
from ui.state import Answer


def draw_presented() -> None:
    """Everything that a customer is shown of a size, and nothing to fill in."""
    answer = draw_presented_above("Size")
    if answer is None or answer.plan.deployment is None:
        return
    draw_key_figures(answer, explained=False)
    _charts(answer, dark=st.context.theme.type == "dark")


def _charts(answer: Answer, *, dark: bool) -> None:
    plan = answer.plan
    left, right = st.columns(2, gap="medium") if len(plan.trade_off) > 1 else (st.container(), None)
    with left:
        shell.draw_chart(build_memory_bar(plan, dark=dark), key="presented_memory", alt=memory_alt_text(plan))
    if right is not None:
        with right:
            limits = answer.scenario.limits
            figure = build_trade_off(plan, selected=0, limits=limits, dark=dark)
            shell.draw_chart(figure, key="presented_trade_off", alt=trade_off_alt_text(plan, selected=0, limits=limits))
