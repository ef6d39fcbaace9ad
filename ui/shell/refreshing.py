"""A part of a page that draws itself again every few seconds, while the rest of the page stays."""

from collections.abc import Callable
from typing import ParamSpec

import streamlit as st

from ui import access, state

Taken = ParamSpec("Taken")


def refreshed(body: Callable[Taken, None], every_s: float | None) -> Callable[Taken, None]:
    """``body`` as a fragment that runs every ``every_s`` seconds; once when None.

    It stands in a container of its own that belongs to the page. When a fragment starts again before the page has
    been sent (a slow first view), Streamlit drops what the fragment had drawn: its place would be missing from the
    page, and what follows it ("Bad delta path index") would end the session in the browser.
    Source: streamlit/runtime/forward_msg_queue.py, ``ForwardMsgQueue.clear``, version 1.67.
    """

    def refresh(*args: Taken.args, **kwargs: Taken.kwargs) -> None:
        if not access.standing().gets_in:  # the login has ended since the page was drawn: it says so, all of it
            st.rerun()
        state.write_address()
        body(*args, **kwargs)

    fragment = st.fragment(refresh, run_every=every_s)

    def drawn(*args: Taken.args, **kwargs: Taken.kwargs) -> None:
        with st.container():
            fragment(*args, **kwargs)

    return drawn
