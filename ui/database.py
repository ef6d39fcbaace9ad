"""The one library of this server, loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from sharing.library import Library


@st.cache_resource(show_spinner=False, on_release=lambda library: library.close())
def _library_at(address: str) -> Library:
    from sharing.library import open_library

    return open_library(address)


def library() -> Library:
    """The library, opened once for all sessions. Raises LibraryUnavailable, NewerLibrary."""
    from sharing.library.database import configured

    return _library_at(configured())
