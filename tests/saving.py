"""People who save over the web socket, come back when their server is gone, and what their pages told them."""

import asyncio
import itertools
import re
import time
from contextlib import closing
from dataclasses import dataclass, field

from bench.socket_user import HungUp, SocketUser
from sharing.library import open_library
from sharing.library.records import ScenarioQuery
from tests.patience import PATIENCE_S

SAVED = re.compile(r"Saved as version (\d+) of scenario (\d+)\.")
Version = tuple[int, int]
"""Scenario and version."""


@dataclass(kw_only=True)
class Told:
    """What the pages of several people said: the load of each version that was saved, which no other has, who saved how
    often, and how often each lost the server."""

    saved: dict[Version, float] = field(default_factory=dict)
    saves: dict[int, int] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)
    done: bool = False


async def save(user: SocketUser, rate: int) -> Version:
    """Another load into the form, then Save: on top of what was saved before, every third time as a new scenario."""
    await user.set("rps", str(rate))
    await user.click("save_version" if rate % 3 and user.shows("save_version") else "save_new")
    found = [match for text in user.texts if (match := SAVED.search(text))]
    assert found, f"not saved, and the server is there: {user.texts}"
    return int(found[0][2]), int(found[0][1])


async def save_on(user: SocketUser, number: int, told: Told, *, people: int) -> None:
    """One of so many people: saves, and connects again whenever the server is gone."""
    await user.open("size")
    for rate in itertools.count(1 + number, people):
        if told.done:
            return
        try:
            told.saved[await save(user, rate)] = float(rate)
            told.saves[number] = told.saves.get(number, 0) + 1
        except HungUp:
            told.lost[number] = told.lost.get(number, 0) + 1
            await come_back(user)


async def come_back(user: SocketUser) -> None:
    """As a page does by itself, once the server answers again."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            await user.connect_again()
            return
        except HungUp:
            await asyncio.sleep(0.2)
    raise AssertionError("the server did not come back")


async def until_each_saved(told: Told, people: int, *, more: int = 1) -> None:
    """Until everybody has saved so many times more."""
    wanted = {number: told.saves.get(number, 0) + more for number in range(people)}
    async with asyncio.timeout(PATIENCE_S):
        while any(told.saves.get(number, 0) < count for number, count in wanted.items()):
            await asyncio.sleep(0.02)


def holds_what_was_told(place: str, told: Told) -> None:
    """The library has every version that a page said was saved, each once, and all histories whole."""
    with closing(open_library(place)) as library:
        listed = library.search(ScenarioQuery(limit=1 + 2 * len(told.saved))).entries
        histories = {entry.id: library.history(entry.id) for entry in listed}
    kept = {(one.scenario_id, one.number): one.scenario().workload.peak_rps for of in histories.values() for one in of}
    assert {at: kept.get(at) for at in told.saved} == told.saved
    assert all([one.number for one in of] == list(range(len(of), 0, -1)) for of in histories.values())
    rates = list(kept.values())
    assert len(set(rates)) == len(rates), "one act of saving, one version"
