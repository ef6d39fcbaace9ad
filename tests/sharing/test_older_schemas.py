"""A library that was written under each older schema is read and written on, whatever was in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from sharing.author import owner
from sharing.bonds import Bonds
from sharing.bonds.records import Place
from sharing.library import Library, migrate
from sharing.library.database import Database
from sharing.library.logins import end_login, ended_logins
from sharing.library.schema import REVISION
from sharing.library.store import utc_now
from sharing.links import Holder, Links
from sharing.links.records import Terms
from tests.sharing.test_library import draft
from tests.sharing.test_links import PASSWORD, report

OLDER = [step.revision for step in ScriptDirectory(str(migrate.STEPS)).walk_revisions() if step.revision != REVISION]


def brought_to(place: str, revision: str) -> Library:
    """An empty library with the tables of an older version."""
    database = Database(place)
    config = Config()
    config.set_main_option("script_location", str(migrate.STEPS).replace("%", "%%"))
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return Library(database, utc_now)


@pytest.mark.parametrize("revision", OLDER)
def test_a_library_of_an_older_schema_is_read_and_written(
    place: str, opened: Callable[[str], Library], revision: str
) -> None:
    old = brought_to(place, revision)
    first = old.add(draft("kept"), by=owner("ann"))
    token = (
        Links(old).make(1, 1, report(), Terms(password=PASSWORD), by=owner("ann")).token if revision > "0001" else ""
    )
    if revision > "0002":
        Bonds(old).bind(1, Place(source="prod"), by=owner("ann"))
    old.close()
    library = opened(place)
    assert library.history(1) == (first,)
    assert library.save(1, 1, draft("kept on"), by=owner("bob")).number == 2
    if token:
        holder = Holder(library, token)
        assert holder.show(holder.unlock(PASSWORD)).report == report()
    if revision > "0002":
        assert Bonds(library).of_scenario(1).place.source == "prod"
    end_login(library, "a" * 64, utc_now() + timedelta(hours=1))
    assert ended_logins(library) == {"a" * 64}


def test_there_are_older_schemas() -> None:
    assert OLDER == ["0004", "0003", "0002", "0001"]
