import streamlit as st

from ui import shell, state
from ui.benchmarks.comparison import draw_comparison
from ui.benchmarks.library import draw_library
from ui.benchmarks.measured import draw_measured
from ui.benchmarks.upload import draw_upload

shell.require("benchmarks")
top = shell.header("Benchmarks")
with top:
    shell.chip(state.value("name"))
dark = st.context.theme.type == "dark"

own, library = st.tabs(["Your benchmark", "Evidence library"], key="bench", on_change="rerun", bind="query-params")
if own.open:
    with own:
        curve = draw_upload()
        model = state.model()
        if model is not None and curve is not None:
            draw_comparison(curve, draw_measured(curve, model.id), model, dark=dark)
        elif curve is not None:
            st.error(
                "The scenario on Size has no model that can be read: correct it there first.", icon=":material/error:"
            )
if library.open:
    with library:
        draw_library(dark=dark)
shell.footer()
