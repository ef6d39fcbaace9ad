"""The one library of this server, loaded when it is first used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st

from sharing.errors import SharingError
from ui.shell import draw_problems

if TYPE_CHECKING:
    from sharing.bonds import Bonds
    from sharing.library import Library
    from sharing.links import Links


@st.cache_resource(show_spinner=False, on_release=lambda library: library.close())
def _library_at(address: str) -> Library:
    from sharing.library import open_library

    return open_library(address)


def library() -> Library:
    """The library, opened once for all sessions. Raises LibraryUnavailable, NewerLibrary."""
    from sharing.library.database import configured

    return _library_at(configured())


def links() -> Links:
    """The frozen links of the library. Raises as :func:`library`."""
    from sharing.links import Links

    return Links(library())


def bonds() -> Bonds:
    """The sources that the scenarios of the library run at. Raises as :func:`library`."""
    from sharing.bonds import Bonds

    return Bonds(library())


@contextmanager
def refused() -> Iterator[None]:
    """What the library refuses or cannot do now, as sentences on the page."""
    try:
        yield
    except SharingError as error:
        draw_problems(str(error).splitlines())
