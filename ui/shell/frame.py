"""What every page has around it: the way in, the pages in the sidebar, the header with the scenario, the footer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from sizing.base.markdown import not_linked
from ui import access, gate, state
from ui.format import as_markdown
from ui.shell.money import WITHHELD
from ui.shell.notes import draw_link_notes

_MARKUP = re.compile(r"[\[\]<>`*$:\\]")
"""Characters that a badge would read as markup."""

GOTO = "goto"
"""Parameter that names the page a link asks for at the bare address."""


def require(slug: str) -> None:
    """First line of a page: nobody gets past it who may not see the page. That is asked in every run: a login ends,
    and rules change.
    """
    if gate.is_passed_by():
        st.error("Nobody gets in: this server was not started by python -m ui.", icon=":material/lock:")
        st.stop()
    if not access.may_open(slug):
        gate.dismiss()
        access.draw_door()
        st.stop()
    if slug in access.OPEN_TO_ALL:  # its address is not that of inputs
        return
    gate.admit()
    if not state.is_at(slug):  # a page that was run without app.py, as AppTest does
        state.enter(slug)


def is_asked_for(slug: str) -> bool:
    """Whether the browser asks for this page, by its path or on its way through app.py."""
    path = urlsplit(st.context.url or "").path
    return path.rstrip("/").rpartition("/")[2] == slug or st.query_params.get(GOTO) == slug


def page_address(slug: str) -> str:
    """Where the browser reaches a page of this server."""
    parts = urlsplit(st.context.url or "")
    return parts._replace(path=f"{parts.path.rpartition('/')[0]}/{slug}", query="", fragment="").geturl()


def header(title: str) -> DeltaGenerator:
    """Title of the page; returns its row, so that a page can add to it. Every page starts with all downloads."""
    st.session_state.pop(WITHHELD, None)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    row.title(title, width="content", anchor=False)
    if not state.holds_form():  # where the form is, they stand above the answer
        draw_link_notes()
    return row


def chip(scenario: str) -> None:
    """The name of the scenario that the page is about."""
    name = _MARKUP.sub(" ", scenario).strip() or "Untitled"
    st.badge(not_linked(name), icon=":material/topic:", help="The scenario on this page.")


def draw_problems(sentences: Iterable[str]) -> None:
    """What is wrong, one box for each sentence."""
    for sentence in sentences:
        st.error(as_markdown(sentence), icon=":material/error:")


def footer() -> None:
    """End of a page: versions of engine and data (two equal footers, two equal answers), and its address."""
    from sizing.base.version import ENGINE_VERSION
    from sizing.catalog import data_date, data_version

    st.caption(f"Engine {ENGINE_VERSION}, data {data_version()} of {data_date()}. Estimates, not guarantees.")
    state.write_address()


def draw_navigation(sections: Mapping[str, Sequence[StreamlitPage]]) -> None:
    """The pages by section, as links that can be copied and opened elsewhere; no section without a page."""
    with st.sidebar:
        for title, pages in sections.items():
            if not pages:
                continue
            with st.container(gap="xxsmall"):
                st.caption(title)
                for page in pages:
                    st.page_link(page, query_params=state.address_of(page.url_path))
