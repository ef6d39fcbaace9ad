"""Dashboards that are killed while people save, and libraries that break under them: nothing that a page said was saved
is lost, nothing is half there, and what is refused says so and is saved later."""

import asyncio
import os
import random
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

import psutil
import pytest

from bench.dashboard import Dashboard
from bench.postgres import Postgres
from bench.socket_user import SocketUser
from sharing.errors import DatabaseFault
from sharing.form.link_versions import LINK_VERSION
from sharing.library import open_library
from sharing.library.postgres import STALL_S
from tests.loops import awaited
from tests.saving import Told, holds_what_was_told, save, save_on, until_each_saved

PEOPLE = 3
GONE = "The server that this page was connected to is gone"
SETTINGS = {"SIZING_WORKERS": "0"}
"""Each server starts once more after every kill: workers would be started with it, and plans here are few."""
Break = Callable[[], None]
Broken = tuple[Break, Break, DatabaseFault]
"""What breaks the library under a running dashboard, what mends it, and what pages say in between."""


async def killing(dashboard: Dashboard, kills: int, told: Told) -> None:
    """Kill the server within a second after everybody has saved since its start, and start it again."""
    rng = random.Random(kills)
    for _ in range(kills):
        await until_each_saved(told, PEOPLE)
        await asyncio.sleep(rng.random())
        dashboard.kill()
        await asyncio.to_thread(dashboard.start)
    await until_each_saved(told, PEOPLE)
    told.done = True


async def people(dashboard: Dashboard, kills: int) -> Told:
    told = Told()

    async def person(number: int) -> None:
        async with SocketUser(dashboard.origin) as user:
            await save_on(user, number, told, people=PEOPLE)

    async with asyncio.TaskGroup() as group:
        group.create_task(killing(dashboard, kills, told))
        for number in range(PEOPLE):
            group.create_task(person(number))
    return told


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_what_was_said_to_be_saved_is_there(place: str, tmp_path: Path, kills: int) -> None:
    dashboard = Dashboard(tmp_path, {"SHARING_DATABASE": place, **SETTINGS})
    try:
        dashboard.start()
        told = awaited(lambda: people(dashboard, kills))
    finally:
        dashboard.stop()
    assert len(told.saved) >= PEOPLE * (kills + 1)
    assert sum(told.lost.values()) >= kills
    holds_what_was_told(place, told)
    assert "Traceback" not in dashboard.log.read_text(errors="replace")


def test_a_page_whose_server_started_anew_says_so_and_goes_on(tmp_path: Path) -> None:
    """An idle page says nothing of its own accord: the first change tells it, and counts."""

    async def goes_on() -> tuple[str, list[str]]:
        async with SocketUser(dashboard.origin) as user:
            await user.open("size", "isl=4321&rps=7")
            await user.set("osl", "333")
            dashboard.kill()
            await asyncio.to_thread(dashboard.start)
            await user.connect()
            await user.set("osl", "777")
            address = user.address
            notes = [text for text in user.texts if GONE in text]
            await user.set("osl", "778")
            assert not any(GONE in text for text in user.texts)
            return address, notes

    dashboard = Dashboard(tmp_path, {"SHARING_DATABASE": str(tmp_path / "library.sqlite"), **SETTINGS})
    try:
        dashboard.start()
        address, said = awaited(goes_on)
    finally:
        dashboard.stop()
    assert parse_qs(address.partition("?")[2]) == {"v": [LINK_VERSION], "isl": ["4321"], "rps": ["7"], "osl": ["777"]}
    assert len(said) == 1


def full_disk(dashboard: Dashboard, file: str) -> Broken:
    """No file of the server's process gets any longer."""
    process = dashboard.family()[0]
    before = process.rlimit(psutil.RLIMIT_FSIZE)

    def fill() -> None:
        process.rlimit(psutil.RLIMIT_FSIZE, (os.stat(f"{file}-wal").st_size, before[1]))

    return fill, lambda: process.rlimit(psutil.RLIMIT_FSIZE, before), DatabaseFault.FULL


def moved_file(_dashboard: Dashboard, file: str) -> Broken:
    away = f"{file}.away"
    return lambda: os.rename(file, away), lambda: os.rename(away, file), DatabaseFault.UNREACHABLE


async def refused_and_saved(dashboard: Dashboard, broken: Broken) -> dict[tuple[int, int], float]:
    """One person saves, is refused, and saves again; another goes on meanwhile."""
    destroy, mend, fault = broken
    async with SocketUser(dashboard.origin) as user, SocketUser(dashboard.origin) as other:
        await user.open("size")
        await other.open("size")
        first = await save(user, 1)
        destroy()
        try:
            await user.set("rps", "3")
            saving = asyncio.create_task(user.click("save_new"))
            assert await other.set("osl", "777") < STALL_S / 2, "whoever saves nothing does not wait"
            await saving
            refusals = [text for text in user.texts if fault.value in text]
            assert refusals, user.texts
            assert "your inputs stay in this session" in refusals[0]
        finally:
            mend()
        return {first: 1.0, await save(user, 3): 3.0}


def is_refused_and_then_saved(place: str, home: Path, breaking: Callable[[Dashboard], Broken]) -> None:
    dashboard = Dashboard(home, {"SHARING_DATABASE": place, **SETTINGS})
    try:
        dashboard.start()
        saved = awaited(lambda: refused_and_saved(dashboard, breaking(dashboard)))
    finally:
        dashboard.stop()
    with closing(open_library(place)) as library:
        listed = library.search().entries
        kept = {(entry.id, 1): library.version(entry.id).scenario().workload.peak_rps for entry in listed}
    assert kept == saved
    assert len(kept) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
@pytest.mark.parametrize("fault", [full_disk, moved_file])
def test_what_a_file_does_not_take_is_said_and_saved_later(
    fault: Callable[[Dashboard, str], Broken], tmp_path: Path
) -> None:
    file = str(tmp_path / "library.sqlite")
    is_refused_and_then_saved(file, tmp_path, lambda dashboard: fault(dashboard, file))


@pytest.mark.slow  # given up after 40 s
def test_what_a_stalled_server_does_not_take_is_said_and_saved_later(postgres: Postgres, tmp_path: Path) -> None:
    broken = (postgres.stall, postgres.resume, DatabaseFault.UNREACHABLE)
    is_refused_and_then_saved(postgres.new_database(), tmp_path, lambda _: broken)
