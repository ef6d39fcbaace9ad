import streamlit as st

from ui import shell, state
from ui.live.overview import draw_overview
from ui.presets import presets
from ui.sources import Origin, listing

shell.require("home")
shell.header("How many systems does this need?")

st.markdown(
    "Answer six questions (model, prompt length, output length, peak load, latency limit, GPUs considered) and read "
    "how many GPUs and systems serve it, at which latency and cost, what limits it, how sure that is and why. Every "
    "number can be followed to its formula and source, and no scenario is sent anywhere."
)

SECTIONS = {"use case": "Start from a use case", "worked example": "Or from a worked example with a benchmark"}
for kind, title in SECTIONS.items():
    st.subheader(title, anchor=False)
    with st.grid(4, min_column_width=220):
        for preset in (p for p in presets().values() if p.kind == kind):
            with st.container(border=True, height="stretch", gap="small"):
                st.markdown(f"#### :material/{preset.icon}: {preset.title}")
                st.markdown(preset.summary)
                st.caption(state.question(preset.scenario))
                st.space("stretch")
                if st.button(
                    "Size this",
                    key=f"open_{preset.id}",
                    on_click=state.load_preset,
                    args=(preset.id,),
                    help=preset.evidence,
                    width="stretch",
                ):
                    st.switch_page("pages/size.py", query_params=state.parameters())

st.subheader("What a plan answers", anchor=False)
st.markdown(
    "- **How many**: GPUs, instances and whole systems, with the range that 80 % of such estimates fall in.\n"
    "- **How fast**: TTFT, ITL and E2E at the percentile and load that were asked for.\n"
    "- **At what cost**: hardware cost a month and per million output tokens, and power.\n"
    "- **Why**: what limits it, which rules it touches, the formula and source behind every figure.\n"
    "- **What else**: ranked alternatives, and what was excluded with the smallest change that would let it in."
)

live = listing()
if any(known.origin is not Origin.DEMO for known in live.sources) or live.broken:
    st.subheader("Live sources", anchor=False)
    draw_overview(key="home_sources")
shell.footer()
