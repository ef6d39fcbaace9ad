"""Prices of the user's own beside list prices: downloads leave them out unless they are asked for."""

import streamlit as st

WITHHELD = "downloads_withheld"
"""Session key: whether tables of this page may not be downloaded: prices of the user's own stand behind them."""

_ASKED = "downloads_with_own_prices"


NO_FILES = """<style>
[data-testid="stElementToolbarButton"]:has(button[aria-label^="Download as CSV"]) { display: none; }
.modebar .modebar-btn[data-title^="Download plot"] { display: none !important; }
</style>"""
"""Hides the buttons for files that Streamlit gives every table and Plotly every chart. By style, because Streamlit's
own setting for that is one for all sessions."""


def withhold(*, present: bool) -> None:
    """Keep own prices out of every file of this page, those of tables and charts too, until they are let in."""
    held = present and not st.session_state.get(_ASKED, False)
    st.session_state[WITHHELD] = held
    if held:
        st.html(NO_FILES)


def draw_own_prices(*, present: bool) -> bool:
    """Whether downloads may hold the user's own prices: off until it is asked for. Nothing is drawn without any."""
    let_in = present and st.toggle(
        "Downloads with my own prices",
        key=_ASKED,
        persist_state="session",
        help="Prices and constants that you typed are never in a link. They are in a file only while this is on.",
    )
    withhold(present=present)
    return bool(let_in)
