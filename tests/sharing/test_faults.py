"""A database that is away, full, read-only or damaged: one sentence, nothing half written, and saved later."""

import os
import signal
import sqlite3
import time
import traceback

import pytest
from sqlalchemy import event, text

from sharing.author import owner
from sharing.errors import DatabaseFault, LibraryUnavailable
from sharing.library import database, open_library
from sharing.library import postgres as timely
from sharing.library.database import Database, configured
from sharing.library.records import ScenarioDraft, ScenarioQuery
from tests.sharing.test_library import draft, scenario


def fault_of(call):
    with pytest.raises(LibraryUnavailable) as refused:
        call()
    assert len(str(refused.value).splitlines()) == 1
    return refused.value.fault


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "library.sqlite")


def limited(library, pragma):
    """From now on every connection of the library starts with this."""
    event.listen(library.database.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA {pragma}"))
    library.database.engine.dispose()


def test_a_full_disk(file, opened):
    library = opened(file)
    first = library.add(draft(), by=owner("ann"))
    with library.database.reading() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar()
    limited(library, f"max_page_count={pages}")
    big = ScenarioDraft(scenario=scenario(model={"config": {"padding": "x" * 200_000}}))
    assert fault_of(lambda: library.save(first.scenario_id, 1, big, by=owner("ann"))) is DatabaseFault.FULL
    assert library.history(first.scenario_id) == (first,)
    assert opened(file).save(first.scenario_id, 1, big, by=owner("ann")).number == 2


def test_a_library_that_can_only_be_read(file, opened):
    library = opened(file)
    first = library.add(draft(), by=owner("ann"))
    limited(library, "query_only=ON")
    assert fault_of(lambda: library.add(draft(), by=owner("ann"))) is DatabaseFault.READ_ONLY
    assert library.search().entries[0].id == first.scenario_id


def test_a_folder_that_cannot_be_made(opened, tmp_path):
    (tmp_path / "file").write_text("")
    assert fault_of(lambda: opened(str(tmp_path / "file" / "library.sqlite"))) is DatabaseFault.UNREACHABLE
    assert fault_of(lambda: opened(str(tmp_path))) is DatabaseFault.UNREACHABLE


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_library(file, opened, content):
    with open(file, "wb") as damaged:
        damaged.write(content)
    assert fault_of(lambda: opened(file)) is DatabaseFault.DAMAGED


def test_another_writer_that_does_not_end(file, opened, monkeypatch):
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    library = opened(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert library.search(ScenarioQuery()).total == 0
    assert fault_of(lambda: library.add(draft(), by=owner("ann"))) is DatabaseFault.BUSY
    other.close()
    assert library.add(draft(), by=owner("ann")).number == 1


def test_a_server_that_goes_away_and_comes_back(postgres, opened):
    library = opened(postgres.new_database())
    first, second = library.add(draft(), by=owner("ann")), draft(rate=62.0)
    postgres.stop()
    try:
        assert (
            fault_of(lambda: library.save(first.scenario_id, 1, second, by=owner("ann"))) is DatabaseFault.UNREACHABLE
        )
        assert fault_of(library.search) is DatabaseFault.UNREACHABLE
    finally:
        postgres.start()
    assert library.save(first.scenario_id, 1, second, by=owner("ann")).number == 2


def test_a_server_that_goes_away_in_the_middle_of_a_save(postgres, opened):
    library = opened(postgres.new_database())
    first, second = library.add(draft(), by=owner("ann")), draft(rate=62.0)

    def killed(connection, cursor, statement, *_):
        if statement.startswith("INSERT INTO versions"):
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    event.listen(library.database.engine, "before_cursor_execute", killed)
    assert fault_of(lambda: library.save(first.scenario_id, 1, second, by=owner("ann"))) is DatabaseFault.UNREACHABLE
    event.remove(library.database.engine, "before_cursor_execute", killed)
    assert library.history(first.scenario_id) == (first,)
    assert library.save(first.scenario_id, 1, second, by=owner("ann")).number == 2


def test_a_server_that_only_reads(postgres, opened):
    library = opened(postgres.new_database())
    library.add(draft(), by=owner("ann"))
    name = library.database.engine.url.database
    with library.database.writing() as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    library.close()
    assert fault_of(lambda: library.add(draft(), by=owner("ann"))) is DatabaseFault.READ_ONLY
    assert library.search().total == 1


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("postgresql://user:geheim@127.0.0.1:1/library", DatabaseFault.UNREACHABLE),
        ("mysql://user:geheim@host/library", DatabaseFault.ADDRESS),
        ("postgresql://user:geheim@host:port/library", DatabaseFault.ADDRESS),
        ("sqlite://", DatabaseFault.ADDRESS),
    ],
)
def test_an_address_without_a_library(address, fault, opened):
    with pytest.raises(LibraryUnavailable) as refused:
        opened(address)
    assert refused.value.fault is fault
    assert "geheim" not in str(refused.value)
    assert "geheim" not in "".join(traceback.format_exception(refused.value))


def test_where_the_library_is(tmp_path):
    assert configured({"SHARING_DATABASE": " there.sqlite "}) == "there.sqlite"
    assert configured({"XDG_DATA_HOME": str(tmp_path)}) == str(tmp_path / "inference-sizing" / "library.sqlite")
    assert configured({}).startswith("/")


def test_a_file_that_was_moved_is_noticed_before_anything_is_said_to_be_kept(file, opened):
    library = opened(file)
    library.add(draft(), by=owner("ann"))
    os.rename(file, f"{file}.away")
    for _ in range(2):
        assert fault_of(lambda: library.add(draft("lost"), by=owner("ann"))) is DatabaseFault.UNREACHABLE
    assert not os.path.exists(file)  # no empty one in its place
    os.rename(f"{file}.away", file)
    assert library.add(draft(), by=owner("ann")).scenario_id == 2


def test_a_file_that_was_replaced_is_the_library_from_then_on(file, opened, tmp_path):
    backup = opened(str(tmp_path / "backup.sqlite"))
    for name in ("one", "two", "three"):
        backup.add(draft(name), by=owner("ann"))
    backup.database.forget_log()
    backup.close()
    library = opened(file)
    library.add(draft(), by=owner("ann"))
    library.database.forget_log()
    os.replace(tmp_path / "backup.sqlite", file)
    assert library.search().total == 3
    assert library.add(draft(), by=owner("ann")).scenario_id == 4
    assert opened(file).search().total == 4


def test_a_file_that_is_moved_in_the_middle_of_a_save(file, opened):
    library = opened(file)
    library.add(draft(), by=owner("ann"))

    def moved(connection, cursor, statement, *_):
        if statement.startswith("INSERT INTO versions"):
            os.rename(file, f"{file}.away")

    event.listen(library.database.engine, "before_cursor_execute", moved)
    assert fault_of(lambda: library.save(1, 1, draft(rate=62.0), by=owner("ann"))) is DatabaseFault.MOVED


def test_the_file_is_nobody_elses_to_read(tmp_path):
    new, old = tmp_path / "new.sqlite", tmp_path / "old.sqlite"
    old.write_bytes(b"")
    old.chmod(0o664)
    for place in (new, old):
        library = open_library(str(place))
        library.add(draft(), by=owner("ann"))
        assert all(path.stat().st_mode & 0o007 == 0 for path in tmp_path.glob(f"{place.name}*"))
        library.close()
    assert new.stat().st_mode & 0o777 == 0o600


def test_a_server_that_stalls(postgres, opened, monkeypatch):
    """It has stopped, and its machine still acknowledges what it is sent: no time-out of either ends the wait."""
    monkeypatch.setattr(timely, "STALL_S", 1.0)
    library = opened(postgres.new_database())
    library.add(draft(), by=owner("ann"))
    with library.database.reading() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar()
    os.kill(process, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        library.search()  # by a connection of its own: the one that stalls was tried, and given up
        assert time.monotonic() - begun >= 0.9
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_server_that_stalls_in_the_middle_of_a_save(postgres, opened, monkeypatch):
    library = opened(postgres.new_database())
    first = library.add(draft(), by=owner("ann"))
    monkeypatch.setattr(timely, "STALL_S", 1.0)
    stopped = []

    def stall(connection, cursor, statement, *_):
        if statement.startswith("INSERT INTO versions"):
            stopped.append(connection.connection.dbapi_connection.info.backend_pid)
            os.kill(stopped[0], signal.SIGSTOP)

    event.listen(library.database.engine, "before_cursor_execute", stall)
    try:
        assert fault_of(lambda: library.save(1, 1, draft(rate=62.0), by=owner("ann"))) is DatabaseFault.UNREACHABLE
    finally:
        event.remove(library.database.engine, "before_cursor_execute", stall)
        os.kill(stopped[0], signal.SIGCONT)
    assert library.history(first.scenario_id) == (first,)


def test_the_folder_is_nobody_elses_to_read(tmp_path):
    Database(str(tmp_path / "new" / "library.sqlite")).close()
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_a_server_whose_disk_is_full(postgres, opened):
    """PostgreSQL's own error of a disk without room, raised where a version is written."""
    library = opened(postgres.new_database())
    first = library.add(draft(), by=owner("ann"))
    with library.database.writing() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$"
        )
        connection.exec_driver_sql("CREATE TRIGGER no_room BEFORE INSERT ON versions EXECUTE FUNCTION full_disk()")
    assert fault_of(lambda: library.save(1, 1, draft(rate=62.0), by=owner("ann"))) is DatabaseFault.FULL
    assert library.history(first.scenario_id) == (first,)
    with library.database.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER no_room ON versions")
    assert library.save(1, 1, draft(rate=62.0), by=owner("ann")).number == 2
