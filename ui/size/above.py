"""What stands above the views of a scenario on every page but Size: its form behind a click, and the answer to it."""

from dataclasses import replace

import streamlit as st

from ui import inputs, shell, state
from ui.library import draw_bar, draw_not_held
from ui.size.answer import draw_outcome
from ui.state import FormAnswer


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
