"""Parts of a page that go on while it stands: a bar while something is computed, and a part that draws itself again."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeVar

import streamlit as st

from ui import access, state

Value = TypeVar("Value")

Taken = ParamSpec("Taken")


class Held(Generic[Value]):
    """A place for what is computed under a progress bar.

    Streamlit keeps with a cached value what its function draws, and fails to draw that again where the bar is gone: so
    the place is cached, and filled outside of the cached function.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value: Value | None = None

    def computed(self, compute: Callable[[], Value]) -> Value:
        """The value, computed by the first who asks."""
        with self._lock:
            if self._value is None:
                self._value = compute()
            return self._value


@contextmanager
def progress_bar(what: str = "") -> Iterator[Callable[[int, int], None]]:
    """Gives what is to be told how many of all plans are computed; the bar is gone at the end, whatever happened.

    It is there from the start where it says what is done, else from the first plan on.
    """
    place = st.empty()
    if what:
        place.progress(0.0, text=what)

    def told(done: int, of: int) -> None:
        place.progress(done / of, text=f"{what}{': ' if what else ''}{done} of {of} planned")

    try:
        yield told
    finally:
        place.empty()


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
