"""The one library of this server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from sharing.errors import SharingError
from sharing.library import Library, open_library
from sharing.library.database import configured
from ui.shell import draw_problems


@st.cache_resource(show_spinner=False, on_release=lambda library: library.close())
def _library_at(address: str) -> Library:
    return open_library(address)


def library() -> Library:
    """The library, opened once for all sessions. Raises LibraryUnavailable, NewerLibrary."""
    return _library_at(configured())


@contextmanager
def refused() -> Iterator[None]:
    """What the library refuses or cannot do now, as sentences on the page."""
    try:
        yield
    except SharingError as error:
        draw_problems(str(error).splitlines())
