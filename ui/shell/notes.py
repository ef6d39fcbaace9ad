"""What a link asks for that cannot be: said above the page, or where the widget that it means is drawn."""

from collections.abc import Callable, Iterable

import streamlit as st

from sizing.base.errors import alternatives, nearest_names
from ui import state
from ui.format import as_markdown

_SHOWN = 40
"""Characters of a link's value that a sentence repeats."""
_MOST_MEANT = 3
"""Options that a sentence offers for a wrong value, as for any unknown name."""


def draw_link_notes() -> None:
    """What the link that was opened means but could not say."""
    for note in state.link_notes():
        st.warning(as_markdown(note), icon=":material/link:")


def draw_wrong_in_link(key: str, what: str, near: Callable[[str], list[str]] | None = None) -> None:
    """A sentence for what the address says of the widget with this key and the widget cannot have, with what it may
    mean: by ``near``, or the options that are spelt alike."""
    if texts := state.wrong_in_link(key):
        listed = ", ".join(f"“{as_markdown(text[:_SHOWN])}”" for text in texts)
        st.warning(
            f"The link asks for {listed}, which is no {as_markdown(what)} here.{meant_in_link(key, texts, near)}",
            icon=":material/link:",
        )


def meant_in_link(key: str, texts: Iterable[str], near: Callable[[str], list[str]] | None = None) -> str:
    """What wrong values may mean, as a sentence behind another; empty where nothing is like them."""
    options = state.texts_in_link(key)
    names = (name for text in texts for name in (near(text) if near else nearest_names(text, options)))
    meant = list(dict.fromkeys(names))[:_MOST_MEANT]
    return as_markdown(f" Did you mean {alternatives(meant)}?") if meant else ""
