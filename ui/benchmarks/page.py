"""The Benchmarks page below its guard: the user's own measurements, and the library of published ones."""

from functools import partial

import streamlit as st

from ui import shell, state
from ui.benchmarks.comparison import draw_comparison
from ui.benchmarks.library import draw_library
from ui.benchmarks.measured import draw_measured
from ui.benchmarks.upload import draw_upload


def draw() -> None:
    """The scenario that a benchmark is held against, and two tabs."""
    with shell.header("Benchmarks"):
        shell.chip(state.value("name"))
    dark = st.context.theme.type == "dark"
    shell.draw_tabs(
        {"Your benchmark": partial(_own, dark=dark), "Evidence library": partial(draw_library, dark=dark)}, key="bench"
    )


def _own(*, dark: bool) -> None:
    curve, model = draw_upload(), state.model()
    if curve is not None and model is not None:
        draw_comparison(curve, draw_measured(curve, model.id), model, dark=dark)
    elif curve is not None:
        st.error("The scenario on Size has no model that can be read: correct it there first.", icon=":material/error:")
