"""Many processes that edit a library and are killed at random, and the check that it kept all that it confirmed.

``python -m bench.library_writers PLACE CONFIRMED EDITS SEED`` is one of the processes: it reads a scenario, saves a
change of it, and after the library's answer writes a line to its file.
"""

import random
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sharing.author import owner
from sharing.library import open_library
from sharing.library.records import Conflict, ScenarioDraft, Version
from sizing import Scenario

SCENARIOS = 10
"""Scenarios that everybody edits. Chosen: fewer than writers, so that they meet."""
FIRST_KILL_S, PAUSE_S = 3.0, 1.0
"""Chosen: the first after processes have started, the next when others have."""

Edit = tuple[int, int, str]
"""Scenario, version, key of the act of saving."""


@dataclass(frozen=True, kw_only=True)
class WritersOutcome:
    """What the writers did, and what the library has of it. The last three have to be empty."""

    confirmed: int
    kept: int
    kills: int
    conflicts: int
    seconds: float
    lost: tuple[Edit, ...]
    gaps: tuple[int, ...]
    broken: tuple[tuple[int, int], ...]


def scenario(number: int, rate: float) -> Scenario:
    """A scenario that can be recognised."""
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": rate}
    return Scenario.model_validate({"name": f"case {number}", "model": "openai/gpt-oss-120b", "workload": workload})


def prepare(place: str, scenarios: int = SCENARIOS) -> None:
    """The scenarios that are edited."""
    with closing(open_library(place)) as library:
        for number in range(1, scenarios + 1):
            library.add(ScenarioDraft(scenario=scenario(number, 1.0)), by=owner("prepare"))


def write(place: str, confirmed: Path, edits: int, seed: int) -> None:
    """One process: go on until so many edits are confirmed, those of earlier processes with this file included."""
    rng = random.Random(time.time_ns() + seed)
    with closing(open_library(place)) as library, confirmed.open("a+b", buffering=0) as file:
        file.seek(0)
        done = sum(line.startswith(b"saved ") and line.endswith(b"\n") for line in file)
        total = library.search().total
        while done < edits:
            base = library.version(rng.randint(1, total))
            rate = float(rng.randint(1, 10_000))
            draft = ScenarioDraft(scenario=scenario(base.scenario_id, rate), key=f"{rng.getrandbits(96):x}-{rate:.0f}")
            answer = library.save(base.scenario_id, base.number, draft, by=owner(f"writer {seed}"))
            if isinstance(answer, Conflict):
                file.write(b"conflict\n")
                continue
            file.write(f"saved {answer.scenario_id} {answer.number} {answer.key}\n".encode())
            done += 1


def torment(place: str, folder: Path, *, writers: int, edits: int, kills: int) -> WritersOutcome:
    """Run the writers, kill one of them at random now and then and start another in its place; then check."""
    rng = random.Random(1)
    files = [folder / f"writer-{n}.log" for n in range(writers)]
    share = [edits // writers + (n < edits % writers) for n in range(writers)]
    start = time.monotonic()
    running = [_start(place, files[n], share[n], n) for n in range(writers)]
    killed, next_kill = 0, start + FIRST_KILL_S
    while any(process.poll() is None for process in running):
        time.sleep(0.02)
        alive = [n for n, process in enumerate(running) if process.poll() is None]
        if killed < kills and alive and (time.monotonic() > next_kill):
            n = rng.choice(alive)
            running[n].kill()
            running[n].wait()
            killed, next_kill = killed + 1, time.monotonic() + PAUSE_S * rng.random()
            running[n] = _start(place, files[n], share[n], n)
    seconds = time.monotonic() - start
    assert [process.returncode for process in running] == [0] * writers, "a writer failed"
    return replace(checked(place, files), kills=killed, seconds=seconds)


def _start(place: str, file: Path, edits: int, n: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "bench.library_writers", place, str(file), str(edits), str(n)])


def checked(place: str, files: list[Path]) -> WritersOutcome:
    """What the library has of what the writers were told."""
    lines = [line.split() for file in files for line in file.read_text().splitlines(keepends=True) if "\n" in line]
    edits = [(int(line[1]), int(line[2]), line[3]) for line in lines if line[0] == "saved"]
    with closing(open_library(place)) as library:
        histories = {n: library.history(n) for n in range(1, library.search().total + 1)}
        latest = {n: library.entry(n).version for n in histories}
    kept = {(v.scenario_id, v.number): v for versions in histories.values() for v in versions}
    return WritersOutcome(
        confirmed=len(edits),
        kept=len(kept) - len(histories),
        kills=0,
        conflicts=sum(line[0] == "conflict" for line in lines),
        seconds=0.0,
        lost=tuple(e for e in edits if e[:2] not in kept or kept[e[:2]].key != e[2]),
        gaps=tuple(n for n, versions in histories.items() if not _unbroken(versions, latest[n])),
        broken=tuple(place for place, v in kept.items() if v.number > 1 and not _whole(v)),
    )


def _unbroken(versions: tuple[Version, ...], latest: int) -> bool:
    return [v.number for v in versions] == list(range(latest, 0, -1))


def _whole(version: Version) -> bool:
    """Whether the version holds what was saved with its key, which says the rate."""
    return version.scenario() == scenario(version.scenario_id, float(version.key.rpartition("-")[2]))


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
