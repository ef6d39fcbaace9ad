"""The door: a library that is opened, asked and written to. Each call is one transaction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection

from sharing.access import Actor, Right, demand
from sharing.audit import Act, record
from sharing.errors import NotInLibrary
from sharing.library import reading, writing
from sharing.library.database import Database, configured, migrate
from sharing.library.records import (
    NAME_LENGTH,
    Conflict,
    LibraryAction,
    LibraryEntry,
    Listed,
    ProjectTotal,
    ScenarioDraft,
    ScenarioQuery,
    Version,
    checked,
)
from sharing.library.writing import Removed, remove

Clock = Callable[[], datetime]

MOST_LISTED = 1_000_000


def utc_now() -> datetime:
    """The time of the machine."""
    return datetime.now(UTC)


class Library:
    """The scenarios of a database. Every method raises LibraryUnavailable, and then has written nothing.

    What writes takes who acts, and raises NotAllowed where their role does not include it, AuditUnavailable where it
    cannot be written down.

    One exception to that: a database that goes away in the very moment of committing. Saving the same draft again is
    right in any case, since a draft carries the key of its act.
    """

    def __init__(self, database: Database, now: Clock = utc_now) -> None:
        self.database, self.now = database, now

    def add(self, draft: ScenarioDraft, *, by: Actor) -> Version:
        """Keep a new scenario as its version 1. Raises InvalidEntry."""
        with self.writing(by, Right.SAVE) as (connection, signed):
            made = writing.create(connection, draft, signed)
            record(Act.SAVED, by, _named(made))
            return made

    def save(self, scenario_id: int, base: int, draft: ScenarioDraft, *, by: Actor) -> Version | Conflict:
        """The next version, made from version ``base``; a Conflict, and nothing written, where that is not the latest.

        Raises NotInLibrary, InvalidEntry.
        """
        with self.writing(by, Right.SAVE) as (connection, signed):
            return _recorded(Act.SAVED, by, writing.save(connection, scenario_id, base, draft, signed))

    def delete(self, scenario_id: int, base: int, *, by: Actor) -> Version | Conflict:
        """Take the scenario out of the list; its history stays, and it can be restored. Raises as :meth:`save`."""
        with self.writing(by, Right.DELETE) as (connection, signed):
            deleted = writing.mark(connection, scenario_id, base, signed, LibraryAction.DELETED)
            return _recorded(Act.DELETED, by, deleted)

    def restore(self, scenario_id: int, base: int, *, by: Actor) -> Version | Conflict:
        """Bring a deleted scenario back. Raises as :meth:`save`."""
        with self.writing(by, Right.RESTORE) as (connection, signed):
            restored = writing.mark(connection, scenario_id, base, signed, LibraryAction.RESTORED)
            return _recorded(Act.RESTORED, by, restored)

    def purge(self, scenario_id: int, *, by: Actor) -> Removed:
        """Remove a deleted scenario for good: its history is gone, its frozen links show nothing any more.

        Raises NotInLibrary, StillInUse.
        """
        with self.writing(by, Right.PURGE) as (connection, signed):
            removed = remove(connection, scenario_id, signed)
            record(Act.PURGED, by, f"scenario {scenario_id}")
        self.database.forget_log()
        return removed

    def duplicate(self, scenario_id: int, *, name: str, by: Actor) -> Version:
        """A new scenario with the content of another's latest version. Raises NotInLibrary, UnreadableVersion."""
        draft = self.version(scenario_id).draft()
        renamed = draft.scenario.model_copy(update={"name": name})
        return self.add(
            ScenarioDraft(scenario=renamed, project=draft.project, tags=draft.tags, figures=draft.figures), by=by
        )

    def version(self, scenario_id: int, number: int | None = None) -> Version:
        """One version; the latest where no number is given. Raises NotInLibrary."""
        with self.database.reading() as connection:
            return reading.version(connection, scenario_id, number)

    def history(self, scenario_id: int) -> tuple[Version, ...]:
        """Every version, the latest first. Raises NotInLibrary."""
        with self.database.reading() as connection:
            return reading.history(connection, scenario_id)

    def entry(self, scenario_id: int) -> LibraryEntry:
        """The line of the list that a scenario has, or had. Raises NotInLibrary."""
        with self.database.reading() as connection:
            return reading.entry(connection, scenario_id)

    def search(self, query: ScenarioQuery | None = None) -> Listed:
        """The scenarios that match, all of them without a query, the latest changed first."""
        with self.database.reading() as connection:
            return reading.search(connection, query or ScenarioQuery())

    def totals(self) -> tuple[ProjectTotal, ...]:
        """GPUs, money and power of every project."""
        with self.database.reading() as connection:
            return reading.totals(connection)

    def close(self) -> None:
        """End every connection."""
        self.database.close()

    @contextmanager
    def writing(self, by: Actor, right: Right) -> Iterator[tuple[Connection, writing.Signed]]:
        """A transaction of somebody who has the right to it: the only way to write. Raises NotAllowed, InvalidEntry."""
        demand(by, right)
        signed = writing.Signed(author=checked(by.name, "The author's name", NAME_LENGTH) or "unknown", at=self.now())
        with self.database.writing() as connection:
            yield connection, signed


def _recorded(act: Act, by: Actor, outcome: Version | Conflict) -> Version | Conflict:
    """What came of a change, written down unless somebody else had saved first."""
    if isinstance(outcome, Version):
        record(act, by, _named(outcome))
    return outcome


def _named(version: Version) -> str:
    return f"scenario {version.scenario_id}, version {version.number}"


def open_library(address: str | None = None, now: Clock = utc_now) -> Library:
    """The library at an address, else that of the environment, with its tables brought to today's version.

    Raises LibraryUnavailable, NewerLibrary.
    """
    database = Database(address or configured())
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return Library(database, now)


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
