"""The scenario library: how fast 10,000 scenarios are listed, and what many writers that are killed leave behind.

On SQLite, and on PostgreSQL where its server is installed.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.library_writers import prepare, scenario, torment
from bench.postgres import programs, running_postgres
from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from sharing.library import Library, open_library
from sharing.library.records import Project, ScenarioDraft, ScenarioQuery, StoredFigures
from sharing.library.writing import Signed, create

NAME = "Scenario library: list and search 10,000 scenarios"

SCENARIOS, CUSTOMERS, RUNS = 10_000, 100, 15
WRITERS, EDITS, KILLS = 50, 5_000, 20
LIMIT = in_yardsticks(quiet_ms=100.0)
"""The time that a list or search may take at most."""

QUESTIONS: dict[str, Callable[[Library], object]] = {
    "list": lambda library: library.search(),
    "last page": lambda library: library.search(ScenarioQuery(offset=SCENARIOS - 100)),
    "search text": lambda library: library.search(ScenarioQuery(text="case 77 gpt-oss")),
    "search nothing has": lambda library: library.search(ScenarioQuery(text="xyzzy")),
    "search customer": lambda library: library.search(ScenarioQuery(customer="Customer 7")),
    "search tag": lambda library: library.search(ScenarioQuery(tag="tag 3")),
    "search model": lambda library: library.search(ScenarioQuery(model="oss")),
    "totals of projects": lambda library: library.totals(),
}


def run() -> list[Row]:
    """Each question of the Scenarios page."""
    rows = []
    with places() as by_name:
        for name, place in by_name.items():
            with closing(open_library(place)) as library:
                fill(library)
                for what, question in QUESTIONS.items():
                    question(library)
                    times = Times()
                    for _ in range(RUNS):
                        times.time(lambda question=question, library=library: question(library))  # type: ignore[misc]
                    rows.append(times.row(f"{name}: {what}", LIMIT))
    return rows


@contextmanager
def places() -> Iterator[dict[str, str]]:
    """An empty library of each kind."""
    folder = programs()
    with tempfile.TemporaryDirectory() as home:
        file = {"SQLite": str(Path(home) / "library.sqlite")}
        if folder is None:
            yield file
        else:
            with running_postgres(folder) as server:
                yield file | {"PostgreSQL": server.new_database()}


def fill(library: Library) -> None:
    """The scenarios, in an empty library."""
    with library.database.writing() as connection:
        for number in range(SCENARIOS):
            customer = f"Customer {number % CUSTOMERS}"
            draft = ScenarioDraft(
                scenario=scenario(number, 1.0 + number),
                project=Project(name=f"Project of {customer}", customer=customer),
                tags=[f"tag {number % 10}", f"region {number % 3}"],
                figures=StoredFigures(answer="", engine_version="", gpus=number % 64, usd_per_month=1e3, power_kw=1.0),
            )
            create(connection, draft, Signed(author="bench", at=library.now()))


def writers() -> None:
    """``python -m bench.library``: the writers, on both; prints one line each."""
    with places() as by_name:
        for name, place in by_name.items():
            with tempfile.TemporaryDirectory() as folder:
                prepare(place)
                print(name, torment(place, Path(folder), writers=WRITERS, edits=EDITS, kills=KILLS), flush=True)


if __name__ == "__main__":
    writers()
