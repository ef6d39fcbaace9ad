"""The one library of this server, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from sharing.author import user_of_machine
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


def author() -> str:
    """Who saves: whoever is logged in, else the user of this machine."""
    user = st.user.to_dict()
    return str(user.get("email") or user.get("name") or user_of_machine())


@contextmanager
def refused() -> Iterator[None]:
    """What the library refuses or cannot do now, as sentences on the page."""
    try:
        yield
    except SharingError as error:
        draw_problems(str(error).splitlines())
