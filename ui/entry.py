"""What every run of the script does before a page is drawn: page settings, navigation, the way in for every link."""

from typing import Literal, NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ui import access, shell, state
from ui.observed.figures import watched
from ui.place import ICON

# Chosen: the longest title of a page on one line; what is left belongs to the answer.
SIDEBAR_PX = 208


class PageEntry(NamedTuple):
    """A page in the navigation: its section, its file in ``pages/`` and in its address, and what it is called."""

    section: str
    slug: str
    title: str
    icon: str
    help: str


PAGES = (
    PageEntry("Plan", "home", "Home", "home", "What a plan answers, and starting points for common workloads."),
    PageEntry(
        "Plan", "size", "Size", "straighten", "Six questions to an answer: GPUs, systems, latency, cost, and why."
    ),
    PageEntry(
        "Plan",
        "explore",
        "Explore",
        "explore",
        "Latency against throughput, load, lengths, and what given hardware serves.",
    ),
    PageEntry(
        "Plan",
        "compare",
        "Compare",
        "compare_arrows",
        "The scenario beside other hardware, formats, loads and places, and what drives the difference.",
    ),
    PageEntry(
        "Plan",
        "cost",
        "Cost",
        "payments",
        "Own systems, rented, hybrid or an API: cost over time and load, and what moves it.",
    ),
    PageEntry(
        "Observe",
        "live",
        "Live",
        "monitor_heart",
        "What a running deployment does, beside the plan: Prometheus, metrics pages, or the demo.",
    ),
    PageEntry(
        "Observe",
        "reality",
        "Plan vs reality",
        "balance",
        "What runs against what was planned: traffic, latency, throughput, memory, GPUs.",
    ),
    PageEntry(
        "Observe",
        "benchmarks",
        "Benchmarks",
        "speed",
        "Your own benchmark against the prediction, and the library of published measurements.",
    ),
    PageEntry(
        "Library",
        "scenarios",
        "Scenarios",
        "inventory_2",
        "Every scenario that was saved: customers, projects, history, files.",
    ),
    PageEntry(
        "Library", "methodology", "Methodology", "menu_book", "Every formula, assumption and source behind the answers."
    ),
)
"""Every page but that of a frozen link, in the order shown."""


def run() -> None:
    """One run: the page at which the browser is, with what is around it."""
    st.set_page_config(
        page_title="Inference sizing", page_icon=str(ICON), layout="wide", initial_sidebar_state=SIDEBAR_PX
    )
    access.note_who()
    pages = {listed.slug: _offered(listed) for listed in PAGES}
    sections: dict[str, list[StreamlitPage]] = {}
    for listed in PAGES:
        sections.setdefault(listed.section, []).append(pages[listed.slug])

    def enter() -> None:
        """The bare address leads to Home; a default page would answer there only, and /home would not exist."""
        st.switch_page(pages[_first_page()], query_params=state.address_parameters())

    entrance = st.Page(enter, title="Inference sizing", default=True, visibility="hidden")
    shared = st.Page("pages/shared.py", title="Shared", icon=":material/link:", visibility="hidden")
    shown = {title: [page for page in of if access.may_open(page.url_path)] for title, of in sections.items()}
    position = _position(any(shown.values()) and not shell.is_asked_for(shared.url_path))
    page = st.navigation(sections | {"Plan": [entrance, shared, *sections["Plan"]]}, position=position)
    if shell.GOTO in st.query_params:
        wanted = (pages | {shared.url_path: shared}).get(st.query_params[shell.GOTO], pages["home"])
        st.switch_page(wanted, query_params={k: v for k, v in state.address_parameters().items() if k != shell.GOTO})
    if page is shared:  # nothing around it: whoever holds a link sees what is behind it, and that there is nothing else
        with watched(shared.url_path):
            page.run()
        st.stop()
    state.warm_up()
    if page is not entrance and access.may_open(page.url_path):  # who may not see the page has no work done for it
        state.enter(page.url_path)
    if not shell.is_presenting():
        if position == "hidden":
            shell.draw_navigation(shown)
        access.draw_account()
    with watched(page.url_path or "entrance"):
        page.run()


def _offered(listed: PageEntry) -> StreamlitPage:
    """A page, in the navigation of those who may see it."""
    visibility: Literal["visible", "hidden"] = "visible" if access.may_open(listed.slug) else "hidden"
    return st.Page(
        f"pages/{listed.slug}.py",
        title=listed.title,
        icon=f":material/{listed.icon}:",
        help=listed.help,
        visibility=visibility,
    )


def _first_page() -> str:
    """Home, or the first page of a role that does not have it. Who may see none is told so there."""
    return next((listed.slug for listed in PAGES if access.may_open(listed.slug)), "home")


def _position(listed: bool) -> Literal["sidebar", "hidden"]:
    """Our links carry the inputs, so that going to a page is one entry of the browser's history. On a phone they are
    Streamlit's own: those close the sidebar, which covers the page there."""
    return "sidebar" if shell.on_a_phone() and listed else "hidden"
