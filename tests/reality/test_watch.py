"""``python -m reality watch``: findings in the library, a webhook that is told, and what fails on the way."""

import json
import sqlite3
from pathlib import Path

import pytest

from bench.server import free_port
from collectors.source import source_from
from reality.watch.watch import Watched, bind, numbered, watch, webhook
from sharing.author import owner
from sharing.bonds import Bonds
from sharing.errors import InvalidEntry
from sharing.library import open_library
from sharing.library.records import ScenarioDraft
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.file import load_scenario
from tests.collectors.servers import Asked, Pages, Told, recording, serving
from tests.commands import run, source_file
from tests.reality.truths import DEMO_SCENARIO

ANN = owner("ann")
NAME = "Demo deployment as planned"


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "library.sqlite")


def watched_once(place: str, source: str, *more: object, scenario: object = DEMO_SCENARIO):
    return run("reality", "watch", scenario, source, "--once", "--analytic", "--library", place, *more)


def test_a_finding_is_kept_and_told(tmp_path: Path, place: str) -> None:
    told: list[dict] = []

    def answer(asked: Asked) -> Told:
        told.append({"asked": asked})
        return Told(status=204)

    pages = Pages({"/metrics": recording("vllm_rate4")})
    with serving(pages) as server, serving(answer) as hook:
        where = {"targets": [f"{server.url}/metrics"], "interval_s": 0.5, "store": "ring.sqlite"}
        file = source_file(tmp_path, scrape=where)
        done = watched_once(place, file, "--webhook", f"{hook.url}/chat", "--window", "5s")
        again = watched_once(place, file, "--window", "5s", scenario=1)
    assert (done.returncode, done.stderr, again.returncode, again.stderr) == (0, "", 0, "")
    assert [one["asked"].method for one in told] == ["POST"]
    assert told[0]["asked"].path == "/chat"
    assert told[0]["asked"].headers["Content-Type"] == "application/json"
    library = open_library(place)
    bonds = Bonds(library)
    kept = bonds.comparisons(1)
    assert library.entry(1).name == NAME
    assert bonds.of_scenario(1).place.source == "test"
    assert len(kept) == 2
    assert kept[0].finding.answer in again.stdout
    assert json.loads(kept[0].finding.comparison)["source"] == "test"
    library.close()


def test_a_source_that_fails_is_a_sentence_with_the_last_good_one(tmp_path: Path, place: str) -> None:
    from tests.sharing.test_bonds import finding

    library = open_library(place)
    number = numbered(library, load_scenario(DEMO_SCENARIO), ANN)
    Bonds(library).keep(number, finding(answer="All 19 quantities lie within."), by=ANN)
    file = source_file(tmp_path, prometheus={"url": f"http://127.0.0.1:{free_port()}"})
    done = watched_once(place, file)
    assert done.returncode == 0
    assert "unreachable: No verdict: test cannot be reached." in done.stdout
    assert "Last good, 2026-11-26 09:00 UTC: All 19 quantities lie within." in done.stdout
    assert [one.finding.state for one in Bonds(library).comparisons(number)] == ["unreachable", "ok"]
    library.close()


class Hours:
    """A clock that waiting moves on, and a library that goes away in the second hour."""

    def __init__(self, place: str) -> None:
        self.now, self.waited, self.place, self.held = 0.0, [], place, None

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.waited.append(seconds)
        if len(self.waited) == 1:
            self.held = sqlite3.connect(self.place)
            self.held.execute("ALTER TABLE comparisons RENAME TO hidden")
            self.held.commit()
        else:
            self.held.execute("ALTER TABLE hidden RENAME TO comparisons")
            self.held.commit()
            self.held.close()


def test_it_goes_on_when_library_or_webhook_fail(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    library, scenario = open_library(place), load_scenario(DEMO_SCENARIO)
    raw = {"schema_version": 1, "name": "live", "prometheus": {"url": f"http://127.0.0.1:{free_port()}"}}
    with serving(lambda asked: Told(status=500)) as hook:
        watched = Watched(
            answer=Answer.of(scenario, analytic_plan),
            scenario_id=numbered(library, scenario, ANN),
            source=source_from(raw),
            window_s=None,
            bonds=Bonds(library),
            by=ANN,
            webhook=webhook(hook.url),
        )
        bind(watched)
        rounds, hours = [], Hours(place)
        watch(watched, rounds.append, every_s=3600.0, times=3, wait=hours.wait, monotonic=lambda: hours.now)
    assert hours.waited == [3600.0, 3600.0]
    assert [one.comparison.state for one in rounds] == ["unreachable"] * 3
    failed = capsys.readouterr().err
    assert failed.count("The webhook was not told: 127.0.0.1") == 3
    assert failed.count("Not kept: The library") == 1
    assert len(Bonds(library).comparisons(1)) == 2
    library.close()


def test_scenarios_of_one_name_have_to_be_told_apart(place: str) -> None:
    library, scenario = open_library(place), load_scenario(DEMO_SCENARIO)
    assert numbered(library, scenario, ANN) == numbered(library, scenario, ANN) == 1
    library.add(ScenarioDraft(scenario=scenario), by=ANN)
    with pytest.raises(InvalidEntry, match=r"\(2, 1\): give the number of one"):
        numbered(library, scenario, ANN)
    library.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://169.254.169.254/latest", "cloud metadata address"),
        ("ftp://chat.example", "is not an HTTP address"),
        ("http://user:secret@chat.example/x", "holds credentials"),
    ],
)
def test_a_webhook_has_the_address_rules_of_sources(tmp_path: Path, place: str, url: str, said: str) -> None:
    done = watched_once(place, source_file(tmp_path, prometheus={"url": "http://127.0.0.1:1"}), "--webhook", url)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert not Path(place).exists()


def test_wrong_arguments_are_one_line(tmp_path: Path, place: str) -> None:
    file = source_file(tmp_path, prometheus={"url": "http://127.0.0.1:1"})
    for given, said in (((7,), "no scenario 7"), ((tmp_path / "none.yaml",), "There is no file")):
        done = watched_once(place, file, scenario=given[0])
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert said in done.stderr
    assert watched_once(place, file, "--every", "1s").returncode == 2
