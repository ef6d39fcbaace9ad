"""Entry of the dashboard: page settings, navigation, and the way in for every link."""

from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ui import access, shell, state
from ui.place import ICON

# Chosen: the longest title of a page on one line; what is left belongs to the answer.
SIDEBAR_PX = 208

st.set_page_config(page_title="Inference sizing", page_icon=str(ICON), layout="wide", initial_sidebar_state=SIDEBAR_PX)


def offered(file: str, *, title: str, icon: str, help: str) -> StreamlitPage:
    """A page, in the navigation of those who may see it."""
    visibility: Literal["visible", "hidden"] = "visible" if access.may_open(Path(file).stem) else "hidden"
    return st.Page(file, title=title, icon=icon, help=help, visibility=visibility)


SECTIONS = {
    "Plan": [
        offered(
            "pages/home.py",
            title="Home",
            icon=":material/home:",
            help="What a plan answers, and starting points for common workloads.",
        ),
        offered(
            "pages/size.py",
            title="Size",
            icon=":material/straighten:",
            help="Six questions to an answer: GPUs, systems, latency, cost, and why.",
        ),
        offered(
            "pages/explore.py",
            title="Explore",
            icon=":material/explore:",
            help="Latency against throughput, load, lengths, and what given hardware serves.",
        ),
        offered(
            "pages/compare.py",
            title="Compare",
            icon=":material/compare_arrows:",
            help="The scenario beside other hardware, formats, loads and places, and what drives the difference.",
        ),
        offered(
            "pages/cost.py",
            title="Cost",
            icon=":material/payments:",
            help="Own systems, rented, hybrid or an API: cost over time and load, and what moves it.",
        ),
    ],
    "Observe": [
        offered(
            "pages/live.py",
            title="Live",
            icon=":material/monitor_heart:",
            help="What a running deployment does, beside the plan: Prometheus, metrics pages, or the demo.",
        ),
        offered(
            "pages/reality.py",
            title="Plan vs reality",
            icon=":material/balance:",
            help="What runs against what was planned: traffic, latency, throughput, memory, GPUs.",
        ),
        offered(
            "pages/benchmarks.py",
            title="Benchmarks",
            icon=":material/speed:",
            help="Your own benchmark against the prediction, and the library of published measurements.",
        ),
    ],
    "Library": [
        offered(
            "pages/scenarios.py",
            title="Scenarios",
            icon=":material/inventory_2:",
            help="Every scenario that was saved: customers, projects, history, files.",
        ),
        offered(
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
    st.switch_page(PAGES[first_page()], query_params=shell.parameters())


def first_page() -> str:
    """Home, or the first page of a role that does not have it. Who may see none is told so there."""
    return next((slug for slug in PAGES if access.may_open(slug)), "home")


entrance = st.Page(enter, title="Inference sizing", default=True, visibility="hidden")
shown = {title: [page for page in pages if access.may_open(page.url_path)] for title, pages in SECTIONS.items()}
shared = st.Page("pages/shared.py", title="Shared", icon=":material/link:", visibility="hidden")
alone = shell.is_asked_for(shared.url_path)
# Our links carry the inputs, so that going to a page is one entry of the browser's history. On a phone they are
# Streamlit's own: those close the sidebar, which covers the page there.
position: Literal["sidebar", "hidden"] = (
    "sidebar" if shell.on_a_phone() and any(shown.values()) and not alone else "hidden"
)
page = st.navigation(SECTIONS | {"Plan": [entrance, shared, *SECTIONS["Plan"]]}, position=position)

if shell.GOTO in st.query_params:
    wanted = (PAGES | {shared.url_path: shared}).get(st.query_params[shell.GOTO], PAGES["home"])
    st.switch_page(wanted, query_params={k: v for k, v in shell.parameters().items() if k != shell.GOTO})

st.session_state[shell.ENTERED] = True
if page is shared:  # nothing around it: whoever holds a link sees what is behind it, and that there is nothing else
    page.run()
    st.stop()
state.warm_up()
if page is not entrance and access.may_open(page.url_path):  # who may not see the page has no work done for it
    state.enter(page.url_path)
if not shell.is_presenting():
    if position == "hidden":
        shell.draw_navigation(shown)
    access.draw_account()
page.run()
