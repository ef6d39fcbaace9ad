"""The Explore page below its guard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from ui import inputs, shell, state
from ui.explore.curves import draw_lengths, draw_load
from ui.explore.frontier import draw_frontier
from ui.explore.serves import draw_serves
from ui.explore.shared_pool import draw_pool
from ui.shell import draw_tabs
from ui.size.answer import draw_link_notes, draw_outcome
from ui.state import Answer


def draw() -> None:
    """The scenario with its form behind a click, the answer, and the views of it."""
    top = shell.header("Explore")
    with top:
        chip = st.container(width="content")
        with st.popover("Change inputs", icon=":material/tune:", help="The same form as on Size."):
            places = inputs.draw()
        inputs.draw_presets()
    with chip:
        shell.chip(state.value("name"))
    draw_link_notes()
    outcome = state.outcome()
    inputs.draw_faults(places, outcome.faults)
    # Inputs that nothing can serve are explored all the same: the charts show what is missing.
    answer = draw_outcome(replace(outcome, last=None) if outcome.answer else outcome) or outcome.answer
    if answer is not None:
        _views(answer, dark=st.context.theme.type == "dark")


def _views(answer: Answer, *, dark: bool) -> None:
    draw_tabs(
        {
            "Latency against throughput": partial(draw_frontier, answer, dark=dark),
            "Load curve": partial(draw_load, answer, dark=dark),
            "Lengths": partial(draw_lengths, answer, dark=dark),
            "What can this serve?": partial(draw_serves, answer),
            "Shared pool": partial(draw_pool, answer),
        },
        key="show",
    )
