"""Replicas side by side with one library: what each further one adds, as long as it has a core of its own.

A replica is pinned to a core, and its users to the same one: they take their share of it whether there is one replica
or several. Users wait for nothing but their answers, so that every core is in full use, and what is counted is what it
can do. Replicas share a PostgreSQL where there is one, and are asked without a proxy, as one that sends a browser to
the same replica every time does. From what a core does follow the people of docs/OPERATIONS.md.

BENCH_REPLICAS (1,2) says how many, BENCH_ROUNDS (2) how often each in turn, BENCH_SECONDS (60) how long.
"""

import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.dashboard import Dashboard
from bench.postgres import programs, running_postgres
from bench.sessions import JOURNEY, PAUSE_S, SECONDS, SessionLoad, journeys
from bench.table import Row

NAME = "Replicas: interactions of one replica on a core against two on two, each core with its users"

REPLICAS = tuple(int(n) for n in os.environ.get("BENCH_REPLICAS", "1,2").split(","))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
SESSIONS = 6
"""Of a replica. Chosen: one for each example; more would wait for each other and add nothing on one core."""
IN_USE = 0.5
"""Share of a core in use at which nobody waits for long. Chosen: at a half a queue doubles the time of an answer."""
LINEAR_LIMIT = 1.15
"""Processor time of an interaction beside other replicas over that of one alone, at most: 1 is linear. Processor time,
since other work on the machine takes from the interactions a second of one round and not of the next."""


@dataclass(frozen=True, kw_only=True)
class ReplicasRun:
    """What so many replicas did side by side."""

    load: SessionLoad
    per_replica: float
    cpu_s: float

    @property
    def p95(self) -> float:
        """Seconds of an interaction."""
        return statistics.quantiles(self.load.all, n=100)[94]


def run() -> list[Row]:
    """The rows of each number of replicas, and of what a further one adds."""
    cores = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
    if len(cores) < max(REPLICAS):
        raise SystemExit(f"Each replica needs a core that it is pinned to: there are {len(cores)} (Linux only).")
    measured: dict[int, list[ReplicasRun]] = {count: [] for count in REPLICAS}
    for _ in range(ROUNDS):
        for count in REPLICAS:
            measured[count].append(side_by_side(cores[:count], seconds=SECONDS))
    return [row for count, sides in measured.items() for row in _rows(count, sides)] + _linear(measured)


def side_by_side(cores: Sequence[int], *, seconds: float, steps: int = 0) -> ReplicasRun:
    """A replica and its users on each of the cores, all with one library."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = programs()
        server = stack.enter_context(running_postgres(folder)) if folder else None
        settings = {"SHARING_DATABASE": server.new_database() if server else str(home / "library.sqlite")}
        replicas = [Dashboard(home, settings, [core]) for core in cores]
        for replica in replicas:
            stack.callback(replica.stop)
            replica.start()
            replica.wait_for_workers()
        spawned = multiprocessing.get_context("spawn")
        pools = [stack.enter_context(ProcessPoolExecutor(1, spawned, _pin, (core,))) for core in cores]
        together = list(zip(pools, replicas, strict=True))
        for walked in [pool.submit(_walk, replica.origin, 1, 0.0, len(JOURNEY)) for pool, replica in together]:
            walked.result()
        used, begun = sum(replica.cpu_s() for replica in replicas), time.perf_counter()
        walks = [pool.submit(_walk, replica.origin, SESSIONS, seconds, steps) for pool, replica in together]
        loads = [walk.result() for walk in walks]
        used, spent = sum(replica.cpu_s() for replica in replicas) - used, time.perf_counter() - begun
    return _summed(loads, used_s=used, spent_s=spent)


def _pin(core: int) -> None:
    """The users of a replica stay on its core."""
    os.sched_setaffinity(0, {core})


def _walk(origin: str, sessions: int, seconds: float, steps: int) -> SessionLoad:
    return asyncio.run(journeys(origin, sessions, seconds=seconds, steps=steps, pause_s=0.0))


def _summed(loads: Sequence[SessionLoad], *, used_s: float, spent_s: float) -> ReplicasRun:
    together = SessionLoad()
    for number, load in enumerate(loads):
        for session, spent in load.by_session.items():
            together.by_session[number * SESSIONS + session] = spent
    times = len(together.all)
    return ReplicasRun(load=together, per_replica=times / spent_s / len(loads), cpu_s=used_s / times)


def _rows(count: int, sides: Sequence[ReplicasRun]) -> list[Row]:
    per_replica = tuple(side.per_replica for side in sides)
    people = tuple(PAUSE_S * IN_USE / side.cpu_s for side in sides)
    rows = [
        Row(what="interactions of a replica", unit="a second", samples=per_replica),
        Row(what="interaction, p95", unit="s", samples=tuple(side.p95 for side in sides)),
        Row(what="CPU each", unit="s", samples=tuple(side.cpu_s for side in sides)),
        Row(what=f"people of a core, a change every {PAUSE_S:.0f} s", unit="people", samples=people),
    ]
    return [Row(what=f"{count} on {count}: {one.what}", unit=one.unit, samples=one.samples) for one in rows]


def _linear(measured: dict[int, list[ReplicasRun]]) -> list[Row]:
    """Each number of replicas against the first, round by round."""
    first, *others = measured
    return [
        Row(
            what=f"CPU each, {count} over {first}",
            unit="x",
            samples=tuple(many.cpu_s / one.cpu_s for one, many in zip(measured[first], measured[count], strict=True)),
            limit=LINEAR_LIMIT,
        )
        for count in others
    ]
