"""What each running sequence adds to a step: learned from windows with different numbers of them, from others not."""

import hashlib
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from reality.compare import compare
from reality.diagnosis.diagnose import Reading, diagnose, read_for_diagnosis
from reality.diagnosis.drift import change_of
from reality.diagnosis.result import Diagnosis
from reality.learned.acceptance import calibration_of
from reality.learned.words import added_in_words
from reality.step_times import (
    StepLoad,
    basis_of,
    factors_in_words,
    interval_of,
    milliseconds,
    relative_covariance,
    with_learned,
)
from sharing.bonds.records import LearnedCalibration
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario.schema import Benchmark
from tests.tools.chain.learning import held
from tests.tools.deployment_truth import StepTimes
from tests.tools.deployment_truth import run as simulated
from tests.tools.diagnosis_cases import LEAD_S, NOW, WINDOW_S, backend_of, ground
from tests.tools.learning_cases import needed

PLAN = "llama-8b-l40s"
Profile = tuple[float, ...]


def steps_of(decode: float, sequence_ms: float) -> StepTimes:
    """The plan's steps, ``decode`` times as long, and so much more for each sequence."""
    steps = ground(PLAN).world.steps
    return replace(steps.times(decode), sequence=steps.sequence * decode + sequence_ms / 1e3, prompt=steps.prompt)


@cache
def reading_of(
    sequence_ms: float,
    profile: Profile,
    *,
    decode: float = 1.0,
    seed: int = 1,
    since: float = math.inf,
    times: float = 1.0,
) -> Reading:
    """Windows at the loads of a profile; from window ``since`` on all steps take so many ``times`` as long."""
    given = ground(PLAN)
    world = given.world.changed(
        steps=steps_of(decode, sequence_ms),
        profile=profile,
        seconds=len(profile) * WINDOW_S,
        seed=seed,
        later=(since * WINDOW_S, times),
    )
    backend, source = backend_of(simulated(world), given)
    limits = given.planned.answer.question.limits
    return read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW)


def said_of(reading: Reading, accepted: LearnedCalibration | None = None) -> Diagnosis:
    return diagnose(replace(ground(PLAN).planned, learned=accepted), reading)


def accepted(said: Diagnosis, *, hours_ago: float = 9.0) -> LearnedCalibration:
    """What is accepted of a diagnosis, as if it had been so many hours earlier."""
    one, earlier = calibration_of(said), timedelta(hours=hours_ago)
    return replace(one, since=one.since - earlier, until=one.until - earlier)


@cache
def learned_at_two_loads() -> Diagnosis:
    return said_of(reading_of(0.4, (0.35, 0.35, 0.6, 0.6)))


@pytest.mark.parametrize(
    ("sequence_ms", "decode", "profile"),
    [(0.2, 1.0, (0.3, 0.6, 0.45)), (0.4, 1.2, (0.35, 0.35, 0.55, 0.55)), (0.8, 1.0, (0.2, 0.4, 0.3))],
)
def test_it_is_found_within_its_interval_and_predicts_other_windows(
    sequence_ms: float, decode: float, profile: Profile
) -> None:
    said = said_of(reading_of(sequence_ms, profile, decode=decode))
    found = said.recalibration
    assert found.sequence_identifiable
    assert found.sequence_low_ms < sequence_ms < found.sequence_high_ms
    assert found.sequence_ms == pytest.approx(sequence_ms, rel=0.1)
    assert found.factor_decode == pytest.approx(decode, rel=0.05)
    assert found.error_after < 0.04 < 0.2 < found.error_before
    assert "Each running sequence adds" in found.why
    assert found.drift is None
    one, given, share = calibration_of(said), ground(PLAN), max(profile) * 1.1
    there = given.world.changed(
        steps=steps_of(decode, sequence_ms), rps=given.world.rps * share, seconds=WINDOW_S + LEAD_S, seed=5
    )
    backend, source = backend_of(simulated(there), given)
    rows = held(given.planned, one, source, backend=backend, rps=share, window_s=WINDOW_S, at_s=NOW, clock=lambda: NOW)
    for row in rows:  # at a load above all that were seen
        assert abs(row.error) < 0.15
        assert abs(row.error) < abs(row.planned / row.measured - 1.0) / 2.0


@pytest.mark.parametrize("profile", [(0.5, 0.5, 0.5), (0.2, 0.25, 0.22, 0.26), (0.3, 0.35, 0.3, 0.36)])
def test_windows_with_alike_numbers_of_sequences_do_not_tell_it(profile: Profile) -> None:
    found = said_of(reading_of(0.3, profile)).recalibration
    assert not found.sequence_identifiable
    assert found.sequence_ms == 0.0
    assert "are too alike to tell what each adds to a step beyond the plan: that stays at 0 ms." in found.why
    assert "not told by these windows" in added_in_words(found)


@pytest.mark.parametrize(("decode", "profile"), [(1.0, (0.3, 0.6, 0.45)), (1.35, (0.3, 0.6, 0.45)), (0.7, (0.7, 0.3))])
def test_none_is_found_where_there_is_none_and_no_answer_changes(decode: float, profile: Profile) -> None:
    reading = reading_of(0.0, (*profile, *profile), decode=decode)
    said = said_of(reading)
    assert said.recalibration.sequence_ms == 0.0
    assert said.recalibration.sequence_identifiable
    assert said.recalibration.factor_decode == pytest.approx(decode, rel=0.05)
    one = accepted(said)
    plain = replace(one, sequence_covariance=())
    values = [
        {row.key: row.predicted.value for row in compare(planned, reading.observed, reading.deployed).performance}
        for planned in (replace(ground(PLAN).planned, learned=record) for record in (one, plain))
    ]
    assert values[0] == values[1]
    assert "running sequence" not in factors_in_words(one)


@pytest.mark.parametrize(
    ("sequence_ms", "profile", "since"),
    [
        (0.0, (0.3, 0.55, 0.4, 0.5, 0.3, 0.55, 0.4, 0.5), 5),
        (0.2, (0.3, 0.55, 0.4, 0.5, 0.3, 0.55, 0.4, 0.5), 5),
        (0.4, (0.25, 0.45, 0.3, 0.4, 0.25, 0.45, 0.3, 0.4), 4),
    ],
)
def test_steps_that_take_longer_from_a_window_on_are_a_change(sequence_ms: float, profile: Profile, since: int) -> None:
    found = said_of(reading_of(sequence_ms, profile, since=since, times=1.4)).recalibration
    start = datetime.fromtimestamp(NOW - (len(profile) - since) * WINDOW_S, UTC)
    assert found.drift.startswith(f"Since {start:%Y-%m-%dT%H:%M}Z steps take ")
    assert found.windows == len(profile) - since
    assert found.factor_decode == pytest.approx(1.4, rel=0.05)
    assert found.sequence_ms == pytest.approx(1.4 * sequence_ms, abs=0.03)


def test_a_load_that_rose_once_is_no_change_where_sequences_explain_it() -> None:
    assert learned_at_two_loads().recalibration.drift is None
    assert learned_at_two_loads().recalibration.sequence_ms == pytest.approx(0.4, rel=0.1)


def test_later_windows_make_it_surer() -> None:
    first = learned_at_two_loads().recalibration
    again = said_of(reading_of(0.4, (0.3, 0.6, 0.45, 0.5), seed=3), accepted(learned_at_two_loads())).recalibration
    assert again.offered
    assert again.drift is None
    assert again.windows == 8
    assert again.sequence_ms == pytest.approx(0.4, rel=0.05)
    assert again.sequence_high_ms - again.sequence_low_ms < first.sequence_high_ms - first.sequence_low_ms


def test_what_was_not_told_before_is_told_by_a_higher_load_and_is_no_change() -> None:
    before = said_of(reading_of(0.3, (0.2, 0.25, 0.22, 0.26)))
    assert before.recalibration.sequence_ms == 0.0
    found = said_of(reading_of(0.3, (0.5, 0.6, 0.45, 0.5), seed=3), accepted(before)).recalibration
    assert found.drift is None
    assert found.sequence_ms == pytest.approx(0.3, rel=0.1)
    assert found.factor_decode == pytest.approx(1.0, rel=0.05)


def test_a_deployment_that_lost_it_is_a_change() -> None:
    found = said_of(reading_of(0.0, (0.3, 0.6, 0.45, 0.5), seed=3), accepted(learned_at_two_loads())).recalibration
    assert "times as long as those learned before" in found.drift
    assert found.sequence_ms == pytest.approx(0.0, abs=0.05)
    assert found.factor_decode == pytest.approx(1.0, rel=0.05)


def test_a_record_of_an_earlier_version_reads_as_none_and_is_refined() -> None:
    first = accepted(said_of(reading_of(0.0, (0.3, 0.6, 0.45), decode=1.35)))
    old = replace(first, sequence_ms=0.0, sequence_covariance=())
    assert relative_covariance(old, 0.5)[3].tolist() == [0.0, 0.0, 0.0, 0.25]
    again = said_of(reading_of(0.0, (0.3, 0.6, 0.45), decode=1.35, seed=3), old).recalibration
    assert (again.sequence_ms, again.drift, again.offered) == (0.0, None, True)
    assert again.factor_decode == pytest.approx(1.35, rel=0.05)
    nothing_new = said_of(reading_of(0.0, (0.3, 0.6, 0.45), decode=1.35), replace(old, until=calibration_of_now()))
    assert nothing_new.recalibration.sequence_high_ms is None


def calibration_of_now() -> datetime:
    return datetime.fromtimestamp(NOW, UTC)


def test_the_resize_of_an_accepted_deployment_has_it() -> None:
    one, loads = accepted(learned_at_two_loads()), (0.63, 0.63)
    without = replace(one, sequence_ms=0.0, sequence_covariance=())
    said = [said_of(reading_of(0.4, loads), learned) for learned in (one, without)]
    assert said[0].replicas_needed == 3  # as the independent simulation needs
    assert said[0].recalibration.sequence_ms == one.sequence_ms
    assert "engine" not in {row.cause for row in said[0].causes}
    assert "engine" in {row.cause for row in said[1].causes}


@pytest.mark.parametrize(
    ("sequence_ms", "profile"), [(0.3, (0.3, 0.6, 0.45)), (0.4, (0.6, 0.6, 0.35, 0.35)), (0.8, (0.2, 0.4, 0.3))]
)
def test_what_the_limits_hold_is_the_same_before_and_after_it_is_accepted(sequence_ms: float, profile: Profile) -> None:
    """The last window is at a lower load than the limits hold: one factor that explains it says too little of that."""
    reading = reading_of(sequence_ms, profile)
    offered = said_of(reading)
    after = said_of(reading, accepted(offered))
    assert offered.capacity_within_limits_rps == pytest.approx(after.capacity_within_limits_rps, rel=0.03)
    assert offered.replicas_needed == after.replicas_needed


@pytest.mark.parametrize(("load", "instances"), [(16, 3), (32, 5)])
def test_the_scenario_as_measured_is_sized_with_it(load: float, instances: int) -> None:
    """Sized for more than was seen; instances are those that the independent simulation needs."""
    said = said_of(reading_of(0.2, (0.35, 0.35, 0.6, 0.6)))
    assert said.as_measured.benchmark.sequence_ms == said.recalibration.sequence_ms > 0.15
    workload = said.as_measured.workload.model_copy(update={"peak_rps": load})
    plan = Answer.of(said.as_measured.model_copy(update={"workload": workload}), analytic_plan).plan
    assert plan.deployment.instances == instances
    truth = ground(PLAN).world.changed(steps=steps_of(1.0, 0.2), rps=load, seconds=LEAD_S + WINDOW_S)
    assert needed(ground(PLAN), truth) == instances


def test_a_benchmark_that_states_none_keeps_the_basis_that_step_times_were_accepted_for() -> None:
    def basis(given: dict[str, object]) -> tuple[str, Benchmark]:
        scenario = ground(PLAN).planned.answer.question.scenario
        own = said_of(reading_of(0.4, (0.35, 0.35, 0.6, 0.6))).as_measured.benchmark.model_copy(update=given)
        question = understand(scenario.model_copy(update={"benchmark": own}))
        return basis_of(question, ground(PLAN).planned.row), own

    (none, own), (some, _) = basis({"sequence_ms": 0.0}), basis({"sequence_ms": 0.4})
    as_before = own.model_dump_json(exclude={"sequence_ms"})
    assert none.endswith(f"benchmark {hashlib.sha256(as_before.encode()).hexdigest()[:8]}")
    assert some != none


def test_a_step_is_longer_by_it_for_every_sequence_that_decodes() -> None:
    one = calibration_of(learned_at_two_loads())
    replica = ground(PLAN).worlds.planned(ground(PLAN).planned.row)
    learned = with_learned(replica, one).grid
    number = np.arange(len(learned.decode_s))[:, None]
    assert learned.decode_s == pytest.approx(replica.grid.decode_s * one.decode + number * one.sequence_ms / 1e3)
    assert learned.row_s == pytest.approx(replica.grid.row_s * one.prefill)
    assert f"{milliseconds(one.sequence_ms)} ms more for each running sequence" in factors_in_words(one)


def test_steps_are_best_known_at_the_loads_of_the_windows() -> None:
    """The factor on decode and the time per sequence make up for one another there, and not elsewhere."""
    said = said_of(reading_of(0.3, (0.2, 0.25, 0.22, 0.26)))
    one = calibration_of(said)
    grid = with_learned(ground(PLAN).worlds.planned(ground(PLAN).planned.row), one).grid
    widths = {
        n: interval_of(one, "decode", StepLoad(sequences=n, step_s=float(grid.decode_s[n, 5]))) for n in (7, 20, 60)
    }
    factors = [one.high_factor / one.low_factor for one in widths.values()]
    assert factors == sorted(factors)
    assert factors[0] < 1.12 < 1.2 < factors[-1]


def test_doubt_about_the_accepted_steps_is_no_change() -> None:
    rising = [0.2, 0.21, 0.19]
    assert change_of(rising, 0.03, before=4).at == 0
    assert change_of(rising, 0.03, before=4, doubt=[0.15, 0.15, 0.15]) is None
    assert change_of(rising, 0.03, before=4, doubt=[0.0, 0.0, 0.0]).at == 0
