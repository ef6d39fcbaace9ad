"""A bar while something is computed that takes seconds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import streamlit as st

Value = TypeVar("Value")


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
