"""Where a library is kept and how it is reached (SQLite, PostgreSQL); its tables are brought to today's version."""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError, SQLAlchemyError

from sharing.errors import DatabaseFault, LibraryUnavailable, NewerLibrary
from sharing.library.postgres import timely_connection
from sharing.library.schema import REVISION

VARIABLE = "SHARING_DATABASE"
"""Environment variable: path of an SQLite file, or postgresql://user:password@host/database."""
BUSY_S = 30.0
"""How long a writer waits for the others. Chosen: far longer than fifty of them take."""
CONNECT_S = 5
"""How long an unreachable PostgreSQL keeps a page waiting. Chosen: what a user waits for."""
RETRY_S = 0.01
"""Chosen: as long as switching a file takes."""

PRIMARY_CODE = 0xFF
"""The lowest byte of an extended result code of SQLite is the plain one."""
SQLITE_FAULTS = {
    sqlite3.SQLITE_BUSY: DatabaseFault.BUSY,
    sqlite3.SQLITE_LOCKED: DatabaseFault.BUSY,
    sqlite3.SQLITE_READONLY: DatabaseFault.READ_ONLY,
    sqlite3.SQLITE_PERM: DatabaseFault.READ_ONLY,
    sqlite3.SQLITE_FULL: DatabaseFault.FULL,
    sqlite3.SQLITE_IOERR: DatabaseFault.FULL,
    sqlite3.SQLITE_CANTOPEN: DatabaseFault.UNREACHABLE,
    sqlite3.SQLITE_CORRUPT: DatabaseFault.DAMAGED,
    sqlite3.SQLITE_NOTADB: DatabaseFault.DAMAGED,
}
POSTGRES_FAULTS = {
    "25006": DatabaseFault.READ_ONLY,
    "42501": DatabaseFault.READ_ONLY,
    "53100": DatabaseFault.FULL,
    "28000": DatabaseFault.REFUSED,
    "28P01": DatabaseFault.REFUSED,
    "55P03": DatabaseFault.BUSY,
    "57014": DatabaseFault.BUSY,
    "57P01": DatabaseFault.UNREACHABLE,
    "57P02": DatabaseFault.UNREACHABLE,
    "57P03": DatabaseFault.UNREACHABLE,
}
"""Faults by their SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html"""

STEPS = Path(__file__).parent / "migrations"
LOCK = 7_265_311_408
"""Chosen: a number that no other program on the server locks by."""


def default_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The library of one user: in the folder where the system keeps data of programs."""
    home = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    base = environ.get("XDG_DATA_HOME") or home
    return Path(base).expanduser() / "inference-sizing" / "library.sqlite"


def configured(environ: Mapping[str, str] = os.environ) -> str:
    """What the environment says, else the user's own file."""
    return environ.get(VARIABLE, "").strip() or str(default_file(environ))


class Database:
    """An open database. ``place`` names it without a password."""

    def __init__(self, address: str) -> None:
        url = _url(address)
        self.is_file = url.get_backend_name() == "sqlite"
        self.place = (
            str(url.database) if self.is_file else f"{url.database or 'no database'} on {url.host or 'this machine'}"
        )
        with translated(self.place):
            self.engine = _sqlite(url, self.place) if self.is_file else _postgres(url, self.place)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state. Raises LibraryUnavailable."""
        with translated(self.place), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, kept whole at its end or not at all. Raises LibraryUnavailable: nothing was kept then."""
        with translated(self.place), self.engine.connect() as plain:
            connection = plain.execution_options(writing=True)
            with connection.begin():
                yield connection
                if self.is_file and not _is_in_place(connection.connection.dbapi_connection, self.place):
                    raise LibraryUnavailable(DatabaseFault.MOVED, self.place)

    def forget_log(self) -> None:
        """Empty the log of an SQLite file, which holds what was removed until then. Somebody who reads keeps it."""
        if self.is_file:
            with suppress(sqlite3.Error), closing(self.engine.raw_connection()) as plain:
                plain.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """End every connection."""
        self.engine.dispose()


def _url(address: str) -> URL:
    if "://" not in address:
        return URL.create("sqlite", database=str(Path(address).expanduser()))
    try:
        url = make_url(address)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise LibraryUnavailable(DatabaseFault.ADDRESS, VARIABLE) from None
    if backend in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite" or not url.database or url.database == ":memory:":
        raise LibraryUnavailable(DatabaseFault.ADDRESS, VARIABLE)
    return url


def _sqlite(url: URL, place: str) -> Engine:
    try:
        _make_private(place)
    except OSError:
        raise LibraryUnavailable(DatabaseFault.UNREACHABLE, place) from None
    engine = create_engine(url, creator=partial(_open_file, place), hide_parameters=True)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "checkout", partial(_look_at_file, place))
    event.listen(engine, "begin", _begin)
    return engine


def _make_private(place: str) -> None:
    """A file that its owner alone may read and write; of one that is there, whoever else has no right is kept out.

    Raises OSError.
    """
    # It holds what customers were offered: nobody else's to read.
    Path(place).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        mode = os.stat(place).st_mode
        if mode & 0o007:
            with suppress(PermissionError):  # another's file, who says whose it is to read
                os.chmod(place, mode & 0o770)


class _File(sqlite3.Connection):
    """A connection that knows which file it has open."""

    identity: tuple[int, int] | None = None


def _open_file(place: str) -> sqlite3.Connection:
    """A connection to the file, which is there: a new one in place of one that was moved away would be empty."""
    uri = f"{Path(place).absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, timeout=BUSY_S, uri=True, check_same_thread=False, factory=_File)
    connection.identity = _identity(place)
    return connection


def _identity(place: str) -> tuple[int, int] | None:
    try:
        there = os.stat(place)
    except OSError:
        return None
    return there.st_dev, there.st_ino


def _is_in_place(connection: object, place: str) -> bool:
    """Whether the file that a connection has open is the one that has the library's name."""
    return isinstance(connection, _File) and connection.identity is not None and connection.identity == _identity(place)


def _look_at_file(place: str, connection: object, _record: object, _proxy: object) -> None:
    """A connection to a file that is no longer there is not used again: the next one opens what is there."""
    if not _is_in_place(connection, place):
        raise DisconnectionError


def _prepare(connection: Any, _record: object) -> None:
    """Readers beside a writer (WAL); what is committed survives a loss of power; what is removed is overwritten;
    transactions begin where we say."""
    connection.isolation_level = None
    _write_ahead(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: Any) -> None:
    """Switch a new file to its log. Others may be opening it just now, for whom SQLite itself does not wait here."""
    end_s = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > end_s:
                raise
        time.sleep(RETRY_S)


def _begin(connection: Connection) -> None:
    """A writer takes the lock at once: one that had to upgrade a read later could fail."""
    writes = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres(url: URL, place: str) -> Engine:
    settings = {"connect_timeout": CONNECT_S, "options": f"-c lock_timeout={int(BUSY_S)}s -c timezone=UTC"}
    try:
        # A connection that the server has closed meanwhile is noticed before it is used.
        engine = create_engine(url, connect_args=settings, pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise LibraryUnavailable(DatabaseFault.DRIVER, place) from None
    event.listen(engine, "do_connect", _connect_timely)
    return engine


def _connect_timely(_dialect: object, _record: object, given: Any, named: Any) -> object:
    return timely_connection().connect(*given, **named)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """What the database raises as the error of this package."""
    try:
        yield
    except NoSuchModuleError:
        raise LibraryUnavailable(DatabaseFault.ADDRESS, place) from None
    except SQLAlchemyError as error:
        raise LibraryUnavailable(_fault(error), place) from error


def _fault(error: SQLAlchemyError) -> DatabaseFault:
    origin = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(origin, sqlite3.Error):
        return SQLITE_FAULTS.get((getattr(origin, "sqlite_errorcode", None) or 0) & PRIMARY_CODE, DatabaseFault.FAILED)
    state = getattr(origin, "sqlstate", None)
    if state is None:  # no answer of the server at all
        return DatabaseFault.UNREACHABLE if isinstance(error, DBAPIError) else DatabaseFault.BUSY
    return DatabaseFault.UNREACHABLE if state.startswith("08") else POSTGRES_FAULTS.get(state, DatabaseFault.FAILED)


def migrate(database: Database) -> None:
    """Run the steps that the database has not seen. Raises LibraryUnavailable, NewerLibrary."""
    with database.reading() as connection:
        if _revision(connection) == REVISION:
            return
    with database.writing() as connection:
        if not database.is_file:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        _upgrade(connection, database.place)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection, place: str) -> None:
    # Only the first start needs it, and it takes longer to import than the rest.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {step.revision for step in ScriptDirectory.from_config(config).walk_revisions()}
    revision = _revision(connection)
    if revision is not None and revision not in known:
        raise NewerLibrary(f"The library ({place}) was written by a newer version: update this one to open it.")
    command.upgrade(config, "head")
