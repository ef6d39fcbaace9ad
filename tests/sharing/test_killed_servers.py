"""Dashboards that are killed while people save, and libraries that break under them: nothing that a page said was saved
is lost, nothing is half there, and what is refused says so and is saved later."""

import asyncio
import itertools
import os
import random
import re
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from bench.dashboard import Dashboard
from bench.postgres import Postgres
from bench.socket_user import HungUp, SocketUser
from sharing.errors import DatabaseFault
from sharing.library import open_library
from sharing.library.postgres import STALL_S
from sharing.library.records import ScenarioQuery
from tests.loops import awaited
from tests.patience import PATIENCE_S

USERS = 3
SAVED = re.compile(r"Saved as version (\d+) of scenario (\d+)\.")
SETTINGS = {"SIZING_WORKERS": "0"}
"""Each server starts once more after every kill: workers would be started with it, and plans here are few."""


@dataclass(kw_only=True)
class Told:
    """What pages said was saved: the load of each version, which no other has."""

    saved: dict[tuple[int, int], float] = field(default_factory=dict)
    came_back: int = 0
    done: bool = False


async def save(user: SocketUser, rate: int, told: Told) -> None:
    """Another load into the form, then Save, in turn as a new scenario and on top of it."""
    await user.set("rps", str(rate))
    await user.click("save_version" if rate % 3 and user.shows("save_version") else "save_new")
    if found := [match for text in user.texts if (match := SAVED.search(text))]:
        told.saved[int(found[0][2]), int(found[0][1])] = float(rate)
    else:
        raise AssertionError(f"neither saved nor hung up: {user.texts[:20]}")


async def save_on(origin: str, number: int, told: Told) -> None:
    """One person: saves, and connects again whenever the server is gone."""
    rates = (1 + number + USERS * step for step in itertools.count())
    async with SocketUser(origin) as user:
        await user.open("size")
        while not told.done:
            try:
                await save(user, next(rates), told)
            except HungUp:
                await come_back(user)
                told.came_back += 1


async def come_back(user: SocketUser) -> None:
    """As a page does, once the server answers again."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            await user.connect_again()
            return
        except HungUp:
            await asyncio.sleep(0.2)
    raise AssertionError("the server did not come back")


async def killing(dashboard: Dashboard, kills: int, told: Told) -> None:
    """Kill the server some time after somebody has saved since its start, and start it again."""
    rng = random.Random(kills)
    for _ in range(kills):
        before, end = len(told.saved), time.monotonic() + PATIENCE_S
        while len(told.saved) == before and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await asyncio.sleep(rng.random())
        dashboard.kill()
        await asyncio.to_thread(dashboard.start)
    told.done = True


async def people(dashboard: Dashboard, kills: int) -> Told:
    told = Told()
    async with asyncio.TaskGroup() as group:
        group.create_task(killing(dashboard, kills, told))
        for number in range(USERS):
            group.create_task(save_on(dashboard.origin, number, told))
    return told


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_what_was_said_to_be_saved_is_there(place: str, tmp_path: Path, kills: int) -> None:
    dashboard = Dashboard(tmp_path, {"SHARING_DATABASE": place, **SETTINGS})
    try:
        dashboard.start()
        told = awaited(lambda: people(dashboard, kills))
    finally:
        dashboard.stop()
    assert len(told.saved) > kills
    assert told.came_back >= kills
    with closing(open_library(place)) as library:
        listed = library.search(ScenarioQuery(limit=len(told.saved) * 2)).entries
        histories = {entry.id: library.history(entry.id) for entry in listed}
        kept = {(v.scenario_id, v.number): v.scenario().workload.peak_rps for h in histories.values() for v in h}
    assert {at: kept.get(at) for at in told.saved} == told.saved
    assert all([v.number for v in h] == list(range(len(h), 0, -1)) for h in histories.values())
    rates = list(kept.values())
    assert len(set(rates)) == len(rates), "one act of saving, one version"
    assert "Traceback" not in dashboard.log.read_text(errors="replace")



Break = Callable[[], None]
Broken = tuple[Break, Break, DatabaseFault]
"""What breaks the library under a running dashboard, what mends it, and what pages say in between."""


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


async def refused_and_saved(dashboard: Dashboard, broken: Broken) -> Told:
    """One person saves, is refused, and saves again; another goes on meanwhile."""
    (destroy, mend, fault), told = broken, Told()
    async with SocketUser(dashboard.origin) as user, SocketUser(dashboard.origin) as other:
        await user.open("size")
        await other.open("size")
        await save(user, 1, told)
        destroy()
        try:
            await user.set("rps", "2")
            saving = asyncio.create_task(user.click("save_new"))
            assert await other.set("osl", "777") < STALL_S / 2, "whoever saves nothing does not wait"
            await saving
            refusals = [text for text in user.texts if fault.value in text]
            assert refusals, user.texts
            assert "your inputs stay in this session" in refusals[0]
        finally:
            mend()
        await save(user, 2, told)
    return told


def is_refused_and_then_saved(place: str, home: Path, breaking: Callable[[Dashboard], Broken]) -> None:
    dashboard = Dashboard(home, {"SHARING_DATABASE": place, **SETTINGS})
    try:
        dashboard.start()
        told = awaited(lambda: refused_and_saved(dashboard, breaking(dashboard)))
    finally:
        dashboard.stop()
    with closing(open_library(place)) as library:
        listed = library.search().entries
        kept = {(entry.id, 1): library.version(entry.id).scenario().workload.peak_rps for entry in listed}
    assert kept == told.saved
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
