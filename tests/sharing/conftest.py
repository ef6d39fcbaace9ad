"""The library in both databases: an SQLite file and a real PostgreSQL."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.postgres import Postgres, programs, running_postgres
from sharing.library import Library, open_library


class Clock:
    """Every look at it is a second later."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    with running_postgres(folder, durable=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address with nothing there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "folder" / "library.sqlite")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def opened() -> Iterator[Callable[[str], Library]]:
    """Opens libraries, and closes them at the end."""
    libraries = []

    def opened(place: str) -> Library:
        libraries.append(open_library(place, Clock()))
        return libraries[-1]

    yield opened
    for library in libraries:
        library.close()


@pytest.fixture
def library(place: str, opened: Callable[[str], Library]) -> Library:
    return opened(place)
