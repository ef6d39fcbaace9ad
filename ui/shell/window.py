"""How wide the browser's window is: where form and answer do not fit side by side, the answer stands above the form."""

from functools import cache
from typing import Any

import streamlit as st

NARROW_PX = 1100
"""Chosen: below it two fields of the form side by side would have less than 100 pixels each. A zoomed window counts as
narrower: 1440 pixels at 200 % are 720."""

_WATCH, _NARROW, _PHONE = "window_watch", "window_is_narrow", "window_of_a_phone"

_SCRIPT = """
export default function ({ data, setStateValue, parentElement }) {
    const window_is = matchMedia(`(max-width: ${data.narrow_px}px)`);
    const tell = () => {
        if (parentElement.told !== window_is.matches) {
            parentElement.told = window_is.matches;
            setStateValue("narrow", window_is.matches);
        }
    };
    if (parentElement.told === undefined) {
        parentElement.told = data.narrow;
        window_is.addEventListener("change", tell);
        tell();
    }
}
"""


def is_narrow() -> bool:
    """Whether the window is narrow, as it said last; before it said anything, whether it is a phone's."""
    narrow = st.session_state.get(_NARROW)
    return on_a_phone() if narrow is None else bool(narrow)


def watch_window() -> None:
    """Have the browser tell when the window becomes narrow or wide; the page is then drawn again. Shows nothing."""
    _watcher()(key=_WATCH, data={"narrow_px": NARROW_PX, "narrow": is_narrow()}, on_narrow_change=_remember)


def on_a_phone() -> bool:
    """Whether the browser says that it is one of a phone, by the word all of them send; asked once in a session.

    Source: developer.mozilla.org, "Browser detection using the user agent": look for Mobi.
    """
    if _PHONE not in st.session_state:
        st.session_state[_PHONE] = "Mobi" in st.context.headers.get("User-Agent", "")
    return bool(st.session_state[_PHONE])


def _remember() -> None:
    """Keep what the window said (for callbacks): on a page that does not watch, it would be forgotten."""
    st.session_state[_NARROW] = st.session_state[_WATCH]["narrow"]


@cache
def _watcher() -> Any:
    return st.components.v2.component("window_width", js=_SCRIPT)
