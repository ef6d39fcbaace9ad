"""Two to four scenarios of the list beside each other on Compare."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from sharing.library.records import Entry
from sizing.decision.comparison import MOST_COMPARED
from ui import state
from ui.compare.kept import choose_kept
from ui.library import library, open_version, refused


def title(entry: Entry) -> str:
    """A scenario in a list of choices."""
    customer = entry.project.customer if entry.project else ""
    return f"{entry.id}: {entry.name}" + (f" ({customer})" if customer else "")


def draw_comparing(entries: Mapping[int, Entry], first: int) -> None:
    """Which scenarios stand beside the one that is chosen, and the way to Compare."""
    others = [number for number in entries if number != first]
    if not others:
        return
    if kept := st.session_state.get("scenarios_beside"):  # the list may have become shorter
        st.session_state["scenarios_beside"] = [number for number in kept if number in others]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        beside = st.multiselect(
            "Compare with",
            others,
            key="scenarios_beside",
            max_selections=MOST_COMPARED - 1,
            format_func=lambda number: title(entries[number]),
            placeholder="Choose up to three scenarios",
            help="They stand beside the scenario above on Compare, which fills the form.",
        )
        if st.button(
            "Compare",
            key="scenarios_compare",
            icon=":material/compare_arrows:",
            disabled=not beside,
            help="What differs, what it costs, and which difference drives that.",
        ):
            with refused():
                _compare(first, beside)


def _compare(first: int, beside: list[int]) -> None:
    open_version(library().version(first))
    choose_kept(beside)
    st.switch_page("pages/compare.py", query_params=state.address_of("compare"))
