"""A scenario by what somebody calls it: its id, or its name."""

from collections.abc import Sequence

from sharing.errors import NotInLibrary
from sharing.library.records import ScenarioQuery, Version
from sharing.library.store import Library

MOST_LISTED = 1_000_000


def chosen(library: Library, wanted: str, number: int | None = None) -> Version:
    """The scenario with this id, else the one with this name. Raises NotInLibrary."""
    if wanted.isdecimal() and len(wanted) <= len(str(MOST_LISTED)) + 2:
        return library.version(int(wanted), number)
    entries = library.search(ScenarioQuery(text=wanted, limit=MOST_LISTED)).entries
    ids = [entry.id for entry in entries if entry.name.casefold() == wanted.casefold()]
    if len(ids) > 1:
        raise NotInLibrary(f"Several scenarios are called {wanted[:60]}: give one of the ids {_some(ids)}.")
    if not ids:
        raise NotInLibrary(f"No scenario is called {wanted[:60]}: python -m sharing list shows them all.")
    return library.version(ids[0], number)


def _some(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:10])) + (", ..." if len(ids) > 10 else "")
