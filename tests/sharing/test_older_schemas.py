"""A library that was written under each older schema is read and written on, whatever was in it."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import bindparam, inspect, text

from sharing.author import owner
from sharing.bonds import Bonds, Calibrations
from sharing.bonds.records import SourcePlace
from sharing.cli import main
from sharing.errors import NewerLibrary
from sharing.library import Library
from sharing.library.database import STEPS, Database
from sharing.library.logins import end_login, ended_logins
from sharing.library.schema import REVISION, UtcTime
from sharing.library.store import utc_now
from sharing.links import Holder, Links
from sharing.links.records import Terms
from tests.sharing.test_backup import backed_up, restored
from tests.sharing.test_bonds import AT, calibration
from tests.sharing.test_library import draft
from tests.sharing.test_links import PASSWORD, report

OLDER = [step.revision for step in ScriptDirectory(str(STEPS)).walk_revisions() if step.revision != REVISION]


def brought_to(place: str, revision: str) -> Library:
    """An empty library with the tables of an older version."""
    database = Database(place)
    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
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
        Bonds(old).bind(1, SourcePlace(source="prod"), by=owner("ann"))
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


def test_step_times_of_a_schema_without_time_per_sequence_have_none(
    place: str, opened: Callable[[str], Library]
) -> None:
    """As version 0005 wrote them, which knows no other columns."""
    old = brought_to(place, "0005")
    old.add(draft("kept"), by=owner("ann"))
    factors = {"decode": 1.35, "prefill": 1.1, "front": 0.9, "covariance": calibration().covariance}
    with old.database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO calibrations (scenario_id, source, basis, since, until, window_s, windows, factors, "
                "benchmark, accepted_by, accepted_at) VALUES (1, 'live', 'a model on a GPU', :at, :at, 1800, 3, "
                ":factors, '{}', 'ann', :at)"
            ).bindparams(bindparam("at", AT, UtcTime)),
            {"factors": json.dumps(factors)},
        )
    old.close()
    kept = Calibrations(opened(place))
    assert kept.of_scenario(1).calibration == calibration()
    assert kept.accept(1, calibration(1, sequence_ms=0.4), by=owner("bob")).calibration.sequence_ms == 0.4
    assert kept.undo(1, by=owner("bob")).calibration.sequence_ms == 0.4
    assert kept.of_scenario(1).calibration.sequence_ms == 0.0


def test_there_are_older_schemas() -> None:
    assert OLDER == ["0005", "0004", "0003", "0002", "0001"]


def only_steps_to(revision: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """From now on this is the version whose last schema was that."""
    shutil.copytree(STEPS, folder)
    for step in (folder / "versions").glob("v0*.py"):
        if step.name[1:5] > revision:
            step.unlink()
    patch.setattr("sharing.library.database.STEPS", folder)
    patch.setattr("sharing.library.database.REVISION", revision)


@pytest.mark.parametrize("revision", OLDER[:2])
def test_back_to_the_version_before(
    place: str,
    opened: Callable[[str], Library],
    revision: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """As docs/OPERATIONS.md tells it: the backup from before the upgrade is put back, and what was saved in between is
    taken along as files."""
    old, copy, file = brought_to(place, revision), tmp_path / "copy", tmp_path / "between.yaml"
    first = old.add(draft("kept"), by=owner("ann"))
    old.close()
    backed_up(place, copy)
    newer = opened(place)
    newer.add(draft("in between", rate=7.0), by=owner("bob"))
    newer.close()
    assert main(["--library", place, "export", "2", "--to", str(file)]) == 0
    only_steps_to(revision, tmp_path / "steps", monkeypatch)
    with pytest.raises(NewerLibrary):
        opened(place)
    postgres = place.startswith("postgresql")
    back = restored(place, copy, request.getfixturevalue("postgres").new_database() if postgres else "")
    assert main(["--library", back, "import", str(file), "--no-plan"]) == 0
    again = opened(back)
    assert again.history(1) == (first,)
    assert again.version(2).scenario() == draft("in between", rate=7.0).scenario


def columns_of(database: Database) -> dict[tuple[str, str], bool]:
    """Every column by its table, and whether a row may be written without it."""
    with database.reading() as connection:
        looked = inspect(connection)
        return {
            (table, one["name"]): one["nullable"] or one["default"] is not None
            for table in looked.get_table_names()
            for one in looked.get_columns(table)
        }


@pytest.mark.parametrize("revision", OLDER)
def test_a_replica_of_an_older_version_goes_on_beside_a_newer_one(
    place: str, opened: Callable[[str], Library], revision: str
) -> None:
    """A rolling upgrade: what the older one writes and reads is still there, and nothing more has to be written."""
    old = brought_to(place, revision)
    before = columns_of(old.database)
    after = columns_of(opened(place).database)
    assert before.keys() <= after.keys()
    tables = {table for table, _ in before}
    assert all(optional for (table, name), optional in after.items() if table in tables and (table, name) not in before)
    assert old.add(draft("written on"), by=owner("ann")).scenario_id == 1
    old.close()
