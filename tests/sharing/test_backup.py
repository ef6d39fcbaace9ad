"""Backups as docs/OPERATIONS.md tells them, taken while somebody saves, and put back."""

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.postgres import programs
from sharing.author import owner
from sharing.library import Library
from tests.patience import PATIENCE_S
from tests.sharing.test_library import draft

Opened = Callable[[str], Library]
SAVED = 40


def program(name: str) -> str:
    """A program of PostgreSQL's client, which the server brings."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:{programs()}")
    assert found
    return found


def backed_up(place: str, copy: Path) -> None:
    """The commands of the document."""
    if not place.startswith("postgresql"):
        with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return
    subprocess.run([program("pg_dump"), "--format=custom", f"--file={copy}", place], check=True, timeout=PATIENCE_S)


def restored(place: str, copy: Path, elsewhere: str) -> str:
    """The address at which the copy is a library again."""
    if not place.startswith("postgresql"):
        return str(copy)
    command = [program("pg_restore"), "--no-owner", f"--dbname={elsewhere}", copy]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    return elsewhere


def test_a_backup_beside_somebody_who_saves_is_whole(
    library: Library, place: str, opened: Opened, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What was confirmed before the backup began is in it, and every history in it is complete."""
    ann = owner("ann")
    before = [library.add(draft(f"before {k}", rate=k + 1.0), by=ann) for k in range(5)]
    begun = threading.Event()

    def save_on() -> None:
        for k in range(SAVED):
            library.add(draft(f"beside {k}", rate=k + 1.0), by=ann)
            begun.set()

    writer = threading.Thread(target=save_on)
    writer.start()
    assert begun.wait(PATIENCE_S)
    copy = tmp_path / "copy"
    backed_up(place, copy)
    writer.join(PATIENCE_S)
    postgres = place.startswith("postgresql")
    elsewhere = request.getfixturevalue("postgres").new_database() if postgres else ""
    if postgres:
        assert urlsplit(elsewhere).path != urlsplit(place).path
    again = opened(restored(place, copy, elsewhere))
    listed = {entry.name for entry in again.search().entries}
    assert {f"before {k}" for k in range(5)} <= listed
    assert all(again.version(kept.scenario_id) == kept for kept in before)
    assert all(again.history(entry.id) for entry in again.search().entries)
    library.add(draft("after"), by=ann)
    assert "after" not in {entry.name for entry in again.search().entries}
