"""Entry of the dashboard: page settings, navigation, and the way in for every link."""

from pathlib import Path
from typing import Literal

import streamlit as st

from ui import shell, state

HERE = Path(__file__).parent

# Chosen: the longest title of a page on one line; what is left belongs to the answer.
SIDEBAR_PX = 208

st.set_page_config(
    page_title="Inference sizing",
    page_icon=str(HERE / "ui" / "icon.png"),
    layout="wide",
    initial_sidebar_state=SIDEBAR_PX,
)

SECTIONS = {
    "Plan": [
        st.Page(
            "pages/home.py",
            title="Home",
            icon=":material/home:",
            help="What a plan answers, and starting points for common workloads.",
        ),
        st.Page(
            "pages/size.py",
            title="Size",
            icon=":material/straighten:",
            help="Six questions to an answer: GPUs, systems, latency, cost, and why.",
        ),
        st.Page(
            "pages/explore.py",
            title="Explore",
            icon=":material/explore:",
            help="Latency against throughput, load, lengths, and what given hardware serves.",
        ),
        st.Page(
            "pages/compare.py",
            title="Compare",
            icon=":material/compare_arrows:",
            help="The scenario beside other hardware, formats, loads and places, and what drives the difference.",
        ),
        st.Page(
            "pages/cost.py",
            title="Cost",
            icon=":material/payments:",
            help="Own systems, rented, hybrid or an API: cost over time and load, and what moves it.",
        ),
    ],
    "Observe": [
        st.Page(
            "pages/live.py",
            title="Live",
            icon=":material/monitor_heart:",
            help="What a running deployment does, beside the plan: Prometheus, metrics pages, or the demo.",
        ),
        st.Page(
            "pages/reality.py",
            title="Plan vs reality",
            icon=":material/balance:",
            help="What runs against what was planned: traffic, latency, throughput, memory, GPUs.",
        ),
        st.Page(
            "pages/benchmarks.py",
            title="Benchmarks",
            icon=":material/speed:",
            help="Your own benchmark against the prediction, and the library of published measurements.",
        ),
    ],
    "Library": [
        st.Page(
            "pages/scenarios.py",
            title="Scenarios",
            icon=":material/inventory_2:",
            help="Every scenario that was saved: customers, projects, history, files.",
        ),
        st.Page(
            "pages/methodology.py",
            title="Methodology",
            icon=":material/menu_book:",
            help="Every formula, assumption and source behind the answers.",
        ),
    ],
}
PAGES = {page.url_path: page for pages in SECTIONS.values() for page in pages}


def enter() -> None:
    """The bare address leads to Home; a default page would answer there only, and /home would not exist."""
    st.switch_page(PAGES["home"], query_params=shell.parameters())


entrance = st.Page(enter, title="Inference sizing", default=True, visibility="hidden")
# Our links carry the inputs, so that going to a page is one entry of the browser's history. On a phone they are
# Streamlit's own: those close the sidebar, which covers the page there.
position: Literal["sidebar", "hidden"] = "sidebar" if shell.on_a_phone() else "hidden"
page = st.navigation(SECTIONS | {"Plan": [entrance, *SECTIONS["Plan"]]}, position=position)
state.warm_up()

if shell.GOTO in st.query_params:
    wanted = PAGES.get(st.query_params[shell.GOTO], PAGES["home"])
    st.switch_page(wanted, query_params={k: v for k, v in shell.parameters().items() if k != shell.GOTO})

st.session_state[shell.ENTERED] = True
if page is not entrance:
    state.enter(page.url_path)
if position == "hidden":
    shell.draw_navigation(SECTIONS)
page.run()
