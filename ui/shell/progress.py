"""A bar while something is computed that takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st


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
