"""Many people at once: an architect's journey over the real web socket, a change every few seconds in each session.

Each session opens Size, takes an example, changes lengths, load and limits, looks at why, and goes to Compare, Cost and
Explore and back (:data:`JOURNEY`). Examples and usual lengths are those of others as well (equal questions); all
other values are new. A user who waited longer than the pause goes on at once. The users are this process and
share the cores with the server: they parse what it sends, and draw nothing.

BENCH_SESSIONS (10,50,100) and BENCH_SECONDS (60) set how many and how long. A server of its own for each number.
"""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench.dashboard import Dashboard, running
from bench.socket_user import SocketUser
from bench.table import Row
from bench.yardstick import in_yardsticks, yardstick_ms
from sharing.form.presets import presets

NAME = "Sessions: 10, 50 and 100 architects over the web socket, a change every 5 s, on the cores of this machine"

SESSIONS = tuple(int(n) for n in os.environ.get("BENCH_SESSIONS", "10,50,100").split(","))
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
PAUSE_S = 5.0
"""Between two changes of a session."""
JOURNEY = (
    ("example", ""),
    ("usual", "osl"),
    ("new", "osl"),
    ("new", "isl"),
    ("new", "rps"),
    ("new", "ttft"),
    ("tab", "Why"),
    ("new", "osl"),
    ("page", "compare"),
    ("page", "cost"),
    ("page", "explore"),
    ("page", "size"),
)
"""What a session does, over and over: the kind of a step, and its field, tab or page."""
USUAL_TOKENS = "500"
"""The length that everybody tries with an example."""
EXAMPLES = tuple(one.title for one in itertools.islice(presets().values(), 6))
"""Examples that one of many people takes; each has a load in requests a second."""
P95_LIMIT = in_yardsticks(quiet_ms=3000.0)
"""Longest p95 of an interaction with 50 sessions."""
CPU_LIMIT = in_yardsticks(quiet_ms=120.0)
"""Most processor time of an interaction, server with its workers."""
SLOWEST_LIMIT = 3.0
"""The slowest session's median as a multiple of the middle one's: nobody is starved."""
MEMORY_LIMIT = 2048.0
"""Megabytes of the server with its workers."""


@dataclass(kw_only=True)
class SessionLoad:
    """What the users of one load saw: seconds of interactions by session, and by kind of step."""

    by_session: dict[int, list[float]] = field(default_factory=dict)
    by_step: dict[str, list[float]] = field(default_factory=dict)

    def add(self, session: int, step: str, seconds: float) -> None:
        """Keep one interaction."""
        self.by_session.setdefault(session, []).append(seconds)
        self.by_step.setdefault(step, []).append(seconds)

    @property
    def all(self) -> list[float]:
        """Seconds of every interaction."""
        return [seconds for session in self.by_session.values() for seconds in session]

    @property
    def slowest(self) -> float:
        """The median of the slowest session as a multiple of the middle session's."""
        medians = [statistics.median(session) for session in self.by_session.values()]
        return max(medians) / statistics.median(medians)


def run() -> list[Row]:
    """The rows of each number of sessions."""
    rows = []
    for sessions in SESSIONS:
        with running() as server:
            rows += measured(server, sessions)
    return rows


def measured(server: Dashboard, sessions: int) -> list[Row]:
    """One load on a server that has been through the whole journey once."""
    asyncio.run(journeys(server.origin, 1, seconds=0.0, steps=len(JOURNEY) + 1))
    server.wait_for_workers()
    wall, cpu = [yardstick_ms()], [yardstick_ms(time.process_time)]
    counted, used, begun = server.counted(), server.cpu_s(), time.perf_counter()
    load = asyncio.run(journeys(server.origin, sessions, seconds=SECONDS))
    seconds, used, memory = time.perf_counter() - begun, server.cpu_s() - used, server.memory_mb()
    wall.append(yardstick_ms())
    cpu.append(yardstick_ms(time.process_time))
    times = load.all
    median, p95 = (statistics.quantiles(times, n=100)[at - 1] for at in (50, 95))
    rows = [
        Row(what="interaction, p50", unit="s", samples=(median,), beside_ms=tuple(wall)),
        Row(what="interaction, p95", unit="s", samples=(p95,), beside_ms=tuple(wall), limit=P95_LIMIT),
        Row(what="slowest session", unit="x median", samples=(load.slowest,), limit=SLOWEST_LIMIT),
        Row(what="memory", unit="MB", samples=(memory,), limit=MEMORY_LIMIT),
        Row(what="CPU each", unit="s", samples=(used / len(times),), beside_ms=tuple(cpu), limit=CPU_LIMIT),
        Row(what="interactions", unit="a second", samples=(len(times) / seconds,)),
        *_counted(counted, server.counted()),
        *(Row(what=f"  {step}", unit="s", samples=tuple(of)) for step, of in sorted(load.by_step.items())),
    ]
    return [replace(row, what=f"{sessions} sessions: {row.what}") for row in rows]


def _counted(before: Mapping[str, float], after: Mapping[str, float]) -> list[Row]:
    added = {name: value - before.get(name, 0.0) for name, value in sorted(after.items()) if "_total" in name}
    return [Row(what=name, unit="", samples=(value,)) for name, value in added.items()]


async def journeys(
    origin: str, sessions: int, *, seconds: float, steps: int = 0, pause_s: float = PAUSE_S
) -> SessionLoad:
    """Sessions side by side, each for so long or, if more, so many steps. Raises PageFailed."""
    load = SessionLoad()
    end = time.perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(sessions):
            until = _Until(begin_s=pause_s * number / sessions, end=end, steps=steps, pause_s=pause_s)
            group.create_task(_journey(origin, number, load, until))
    return load


@dataclass(frozen=True, kw_only=True)
class _Until:
    """When a session begins, rests between two changes, and ends: at a time, and after so many steps."""

    begin_s: float
    end: float
    steps: int
    pause_s: float


async def _journey(origin: str, number: int, load: SessionLoad, until: _Until) -> None:
    """One session, begun somewhere in the journey, so that not all do the same at a time."""
    await asyncio.sleep(until.begin_s)
    values = (str(1001 + 2 * (number * 997 + step)) for step in itertools.count())
    async with SocketUser(origin) as user:
        load.add(number, "open", await user.open("size"))
        for step in itertools.count():
            if step >= until.steps and time.perf_counter() > until.end:
                return
            kind, about = JOURNEY[(number + step) % len(JOURNEY)]
            begun = time.perf_counter()
            spent = await _step(user, kind, about, value=next(values), example=EXAMPLES[number % len(EXAMPLES)])
            if spent is not None:
                load.add(number, about if kind == "page" else kind, spent)
            if until.end > begun:
                await asyncio.sleep(max(0.0, begun + until.pause_s - time.perf_counter()))


async def _step(user: SocketUser, kind: str, about: str, *, value: str, example: str) -> float | None:
    """Seconds of one step; None for one that is none where the user is."""
    if kind == "page":
        return None if user.slug == about else await user.go(about)
    if user.slug != "size":
        return await user.go("size")
    if kind == "example":
        return await user.set("preset", example)
    if kind == "tab":
        return await user.set("view", about)
    if kind == "usual":
        return await user.set(about, USUAL_TOKENS)
    return await user.set(about, _new(about, value))


def _new(about: str, value: str) -> str:
    """A value that nobody had: of the load and the limit near those of the examples."""
    return {"rps": f"{3 + int(value) / 1e4:g}", "ttft": str(1000 + int(value))}.get(about, value)
