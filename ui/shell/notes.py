"""What a link asks for that cannot be: said above the page, or where the widget that it means is drawn."""

import streamlit as st

from ui import state
from ui.format import as_markdown

_SHOWN = 40
"""Characters of a link's value that a sentence repeats."""


def draw_link_notes() -> None:
    """What the link that was opened means but could not say."""
    for note in state.link_notes():
        st.warning(as_markdown(note), icon=":material/link:")


def draw_wrong_in_link(key: str, what: str) -> None:
    """A sentence for what the address says of the widget with this key and the widget cannot have."""
    if texts := state.wrong_in_link(key):
        listed = ", ".join(f"“{as_markdown(text[:_SHOWN])}”" for text in texts)
        st.warning(f"The link asks for {listed}, which is no {as_markdown(what)} here.", icon=":material/link:")
