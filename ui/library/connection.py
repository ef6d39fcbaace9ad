"""What the library keeps beside scenarios, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sharing.errors import SharingError
from ui.database import library
from ui.shell import draw_problems

if TYPE_CHECKING:
    from sharing.bonds import Bonds
    from sharing.links import Links


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
