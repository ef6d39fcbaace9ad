"""Learned step times that a person accepts: kept for a scenario, used by what follows, refined, doubted, undone."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from scipy.stats import norm

from reality.chosen import chosen_of
from reality.compare import compare, planned_of
from reality.diagnosis.diagnose import Reading, diagnose, read_for_diagnosis
from reality.diagnosis.drift import SURE, change_of
from reality.diagnosis.result import Diagnosis
from reality.learned.acceptance import calibration_of
from sharing.author import owner
from sharing.bonds import Calibrations
from sharing.bonds.records import LearnedCalibration
from sharing.errors import InvalidEntry
from sharing.library import open_library
from sharing.library.records import ScenarioDraft
from tests.commands import run, source_file
from tests.tools.chain.learning import held, learned_of
from tests.tools.deployment_truth import StepTimes
from tests.tools.deployment_truth import run as simulated
from tests.tools.diagnosis_cases import LEAD_S, NOW, WINDOW_S, backend_of, ground

PLAN = "llama-8b-l40s"
ANN = owner("ann")


def slower(decode: float, prefill: float) -> StepTimes:
    steps = ground(PLAN).world.steps
    return StepTimes(
        base=steps.base * decode,
        sequence=steps.sequence * decode,
        context=steps.context * decode,
        prompt=steps.prompt * prefill,
    )


def reading_of(decode: float, prefill: float, profile: tuple[float, ...], seed: int = 1) -> Reading:
    given = ground(PLAN)
    seconds = len(profile) * WINDOW_S
    world = given.world.changed(steps=slower(decode, prefill), profile=profile, seconds=seconds, seed=seed)
    backend, source = backend_of(simulated(world), given)
    limits = given.planned.answer.question.limits
    return read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW)


@pytest.fixture(scope="module")
def reading() -> Reading:
    return reading_of(1.35, 1.1, (0.3, 0.6, 0.45))


@pytest.fixture(scope="module")
def offered(reading: Reading) -> Diagnosis:
    return diagnose(ground(PLAN).planned, reading)


def accepted(offered: Diagnosis, *, hours_ago: float = 0.0) -> LearnedCalibration:
    """What is accepted of a diagnosis, as if it had been so many hours earlier."""
    one, earlier = calibration_of(offered), timedelta(hours=hours_ago)
    return replace(one, since=one.since - earlier, until=one.until - earlier)


def test_what_is_offered_can_be_accepted_and_says_of_what_it_is(offered: Diagnosis) -> None:
    one = calibration_of(offered)
    assert (one.windows, one.window_s, one.source) == (3, WINDOW_S, "truth")
    assert one.decode == pytest.approx(1.35, rel=0.06)
    assert one.until == datetime.fromtimestamp(NOW, UTC)
    assert one.until - one.since == timedelta(seconds=3 * WINDOW_S)
    assert "L40S" in one.basis


def test_later_comparisons_and_diagnoses_use_it(reading: Reading, offered: Diagnosis) -> None:
    planned = ground(PLAN).planned
    before = compare(planned, reading.observed, reading.deployed)
    learned = replace(planned, learned=accepted(offered, hours_ago=5.0))
    after = compare(learned, reading.observed, reading.deployed)
    errors = [{row.key: abs(row.error) for row in one.performance if row.error is not None} for one in (before, after)]
    assert errors[1]["tpot_ms.mean"] < 0.03 < 0.15 < errors[0]["tpot_ms.mean"]
    assert any("Step times accepted for this scenario: decode x 1.3" in text for text in after.assumptions)
    narrow, wide = (next(r.predicted for r in one.performance if r.key == "tpot_ms.mean") for one in (after, before))
    assert narrow.high / narrow.low < wide.high / wide.low
    said = diagnose(learned, reading)
    assert "engine" in {row.cause for row in offered.causes}
    assert "engine" not in {row.cause for row in said.causes}
    assert said.as_measured.benchmark is not None


def test_windows_that_bear_it_out_make_it_surer(reading: Reading, offered: Diagnosis) -> None:
    learned = replace(ground(PLAN).planned, learned=accepted(offered, hours_ago=5.0))
    again = diagnose(learned, reading).recalibration
    assert again.offered
    assert again.windows == 6
    assert again.drift is None
    assert again.factor_decode == pytest.approx(1.35, rel=0.05)
    first = offered.recalibration
    assert again.decode_high / again.decode_low < first.decode_high / first.decode_low
    assert again.prefill_high / again.prefill_low < first.prefill_high / first.prefill_low


def test_the_same_windows_teach_nothing_twice(reading: Reading, offered: Diagnosis) -> None:
    learned = replace(ground(PLAN).planned, learned=accepted(offered))
    again = diagnose(learned, reading)
    assert not again.recalibration.offered
    assert again.recalibration.factor_decode == offered.recalibration.factor_decode
    with pytest.raises(InvalidEntry, match="Nothing can be accepted: The accepted step times count"):
        calibration_of(again)


def test_drift_is_noticed_and_learned_anew(offered: Diagnosis) -> None:
    learned = replace(ground(PLAN).planned, learned=accepted(offered, hours_ago=5.0))
    found = diagnose(learned, reading_of(0.9, 0.9, (0.3, 0.6, 0.45))).recalibration
    assert found.drift.startswith("Since 2027-01-15T")
    assert "times as long as those learned before" in found.drift
    assert found.offered
    assert found.windows == 3
    assert found.factor_decode == pytest.approx(0.9, rel=0.06)


def test_step_times_of_another_plan_are_not_used(offered: Diagnosis) -> None:
    other = planned_of(ground("llama-8b").planned.answer, calibration_of(offered))
    assert other.learned is None
    assert "they are not used, learn again" in other.unused


@pytest.mark.parametrize(
    ("misfits", "before", "at"),
    [
        ([0.0] * 8, 0, None),
        ([0.01, -0.02, 0.02, 0.0, 0.2, 0.18, 0.21], 0, 4),
        ([0.2, 0.19], 3, 0),
        ([0.2], 3, None),
        ([0.0, 0.2], 3, None),
        ([0.02, 0.0, -0.15, -0.14], 4, 2),
    ],
)
def test_a_change_is_found_where_it_is(misfits: list[float], before: int, at: int | None) -> None:
    found = change_of(misfits, 0.03, before=before)
    assert (found and found.at) == at


def test_a_change_without_loads_is_the_difference_of_the_means() -> None:
    found = change_of([0.01, -0.02, 0.02, 0.0, 0.2, 0.18, 0.21], 0.03)
    assert found.log_times == pytest.approx((0.2 + 0.18 + 0.21) / 3 - 0.01 / 4)


def test_steps_that_rise_more_steeply_than_planned_are_no_change() -> None:
    rising = [-0.11, -0.10, 0.11, 0.10]
    assert change_of(rising, 0.03, loads=[1.0, 1.0, 1.0, 1.0]).at == 2
    assert change_of(rising, 0.03, loads=[2.5, 2.5, 4.3, 4.3]) is None


def test_a_change_is_told_from_the_load_where_loads_repeat() -> None:
    found = change_of([0.0, 0.05, 0.01, 0.25, 0.2, 0.24], 0.03, loads=[2.0, 4.0, 2.0, 4.0, 2.0, 4.0])
    assert found.at == 3
    assert found.log_times == pytest.approx(0.2, abs=0.02)


def test_chance_shows_a_change_in_one_history_of_some_hundred() -> None:
    draws = norm.rvs(scale=0.03, size=(2000, 8), random_state=1)
    assert sum(change_of(list(row), 0.03) is not None for row in draws) <= 2000 * 8 * 2 * norm.sf(SURE)


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "library.sqlite")


def test_a_command_reads_scenario_and_step_times_by_number(tmp_path: Path, place: str, offered: Diagnosis) -> None:
    file = Path(source_file(tmp_path, prometheus={"url": "http://127.0.0.1:9"}))
    library = open_library(place)
    library.add(ScenarioDraft(scenario=ground(PLAN).planned.answer.question.scenario), by=ANN)
    chosen, _ = chosen_of("1", file, place)
    assert (chosen.number, chosen.learned) == (1, None)
    one = accepted(offered)
    kept = Calibrations(library).accept(1, one, by=ANN)
    assert chosen_of("1", file, place)[0].learned == kept.calibration == one
    listed = run("reality", "learned", 1, "--library", place)
    assert listed.returncode == 0
    assert "by ann" in listed.stdout
    undone = run("reality", "learned", 1, "--undo", "--library", place)
    assert (undone.returncode, undone.stdout) == (0, "Number 1 of scenario 1 counts no more.\n")
    assert chosen_of("1", file, place)[0].learned is None
    said = json.loads(run("reality", "learned", 1, "--json", "--library", place).stdout)
    assert [(row["id"], row["undone_at"] is None) for row in said] == [(1, False)]
    again = run("reality", "learned", 1, "--undo", "--library", place)
    assert (again.returncode, again.stderr) == (2, "Scenario 1 has no learned step times to undo.\n")


def test_the_command_learns_accepts_and_says_no(
    tmp_path: Path, place: str, offered: Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "scenario.yaml"
    asked = ground(PLAN).planned.answer.question.scenario
    scenario.write_text(yaml.safe_dump(asked.model_dump(mode="json", exclude_defaults=True)))
    file = source_file(tmp_path, prometheus={"url": "http://127.0.0.1:9"})
    monkeypatch.setattr("reality.diagnosis.diagnose.diagnose_source", lambda *given, **more: offered)
    where = ("--analytic", "--library", place)
    shown = run("reality", "learn", scenario, file, *where)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Accept them with --accept." in shown.stdout
    assert json.loads(run("reality", "learn", scenario, file, "--json", *where).stdout)["windows"] == 3
    done = run("reality", "learn", scenario, file, "--accept", "--author", "ann", *where)
    assert done.returncode == 0
    assert "Accepted for scenario 1 as number 1" in done.stdout
    again = run("reality", "learn", 1, file, "--accept", *where)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "are accepted already" in again.stderr


def test_two_rates_predict_two_others() -> None:
    """What ``python -m tests.tools.chain.learning`` does with a real engine, on the simulated one."""
    given, times = ground(PLAN), slower(1.35, 1.1)
    world = given.world.changed(steps=times, profile=(0.3, 0.3, 0.6, 0.6), seconds=4 * WINDOW_S)
    backend, source = backend_of(simulated(world), given)
    read = {"window_s": WINDOW_S, "at_s": NOW, "clock": lambda: NOW}
    learned = learned_of(given.planned, source, backend=backend, **read)
    for share in (0.45, 0.72):
        there = given.world.changed(steps=times, rps=given.world.rps * share, seconds=WINDOW_S + LEAD_S, seed=5)
        backend, source = backend_of(simulated(there), given)
        rows = held(given.planned, learned, source, backend=backend, rps=share, **read)
        assert [row.name for row in rows] == ["TTFT", "ITL", "E2E"]
        for row in rows:
            assert abs(row.error) < 0.1
            assert abs(row.error) < abs(row.planned / row.measured - 1.0)


@pytest.mark.parametrize("number", ["99999999999999999999999", "9" * 5000, "2147483648", "99999999999999999999"])
@pytest.mark.parametrize("command", ["watch", "diagnose", "compare", "learned"])
def test_numbers_that_no_library_has_are_refused(tmp_path: Path, place: str, command: str, number: str) -> None:
    file = source_file(tmp_path, prometheus={"url": "http://127.0.0.1:9"})
    source = [] if command == "learned" else [file]
    done = run("reality", command, number, *source, "--library", place)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1]


def test_a_folder_that_is_not_there_is_no_new_library(tmp_path: Path) -> None:
    file = source_file(tmp_path, prometheus={"url": "http://127.0.0.1:9"})
    done = run("reality", "watch", 1, file, "--once", "--library", tmp_path / "typo" / "library.sqlite")
    assert done.returncode == 2
    assert "there is no such folder for a library" in done.stderr
    assert not (tmp_path / "typo").exists()
