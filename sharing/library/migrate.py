"""Bringing the tables of a database to today's version, once, whichever process comes first."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from sharing.errors import NewerLibrary
from sharing.library.database import Database
from sharing.library.schema import REVISION

STEPS = Path(__file__).parent / "migrations"
LOCK = 7_265_311_408
"""Chosen: a number that no other program on the server locks by."""


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
