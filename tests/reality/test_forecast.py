"""Forecasts on loads whose truth is known, and what a forecast refuses."""

import math

import numpy as np
import pytest

from bench.forecast import MINUTE, of_kind, of_trace
from bench.load_seasons import DAY, Recipe, arrivals, made
from collectors.questions.load import LoadHistory, step_of
from reality.forecast.backtest import backtest, origins_of
from reality.forecast.capacity import addition, carries, lead_time
from reality.forecast.door import forecast
from reality.forecast.foresee import ForecastRequest, seconds, utc
from reality.forecast.models import fourier_regression, season_of, seasonal_naive
from sizing.planning.analytic import analytic_plan
from sizing.scenario.schema import Scenario
from tests.reality.truths import scenario

NOW = 1_800_000_000.0 // 3600 * 3600
WEEKS = season_of(3600.0, 28)
ASKED = scenario(peak_rps=40.0)
PLAN = analytic_plan(ASKED)


def history(rps, **about) -> LoadHistory:
    start = NOW - (len(rps) - 1) * 3600.0
    return LoadHistory(start_s=start, step_s=3600.0, rps=tuple(map(float, rps)), engine="vllm", **about)


def foreseen(rps, *, replicas=None, **wanted):
    loaded = history(rps, replicas=replicas)
    return forecast(ASKED, PLAN, loaded, source_name="live", at_s=NOW, wanted=ForecastRequest(**wanted))


def test_growth_and_season_are_recovered_and_outages_do_not_matter() -> None:
    load = made(Recipe(growth=0.03, noise=0.05, day_noise=0.01), 56 + 28, seed=3)
    known = load.rps[: 56 * DAY].copy()
    known[100:130], known[500:512] = math.nan, 0.0
    said = fourier_regression(known, 28 * DAY, WEEKS)
    assert math.expm1(said.growth) == pytest.approx(0.03, abs=0.008)
    assert np.median(np.abs(said.rps(said.centre) / load.expected[56 * DAY :] - 1.0)) < 0.06
    assert not said.stepped


def test_a_change_of_level_is_no_growth() -> None:
    load = made(Recipe(step=1.6, noise=0.05, day_noise=0.01), 56, seed=5)
    said = fourier_regression(load.rps, DAY, WEEKS)
    assert said.stepped
    assert abs(said.growth) < 0.01


@pytest.mark.parametrize(("first", "days", "times"), [(40, 2, 0.3), (41, 1, 0.2), (20, 2, 0.3), (40, 2, 2.5)])
def test_a_holiday_is_no_change_of_level(first: int, days: int, times: float) -> None:
    """Nor is a rush: two days at the end are carried on for as long, and say nothing of the weeks after."""
    load = made(Recipe(noise=0.05, day_noise=0.01), 42 + 14, seed=7)
    known = load.rps[: 42 * DAY].copy()
    known[first * DAY : (first + days) * DAY] *= times
    said = fourier_regression(known, 14 * DAY, WEEKS)
    assert not said.stepped
    later = slice(7 * DAY, 14 * DAY)
    expected = load.expected[42 * DAY :][later]
    assert np.median(np.abs(said.rps(said.centre)[later] / expected - 1.0)) < 0.1


def test_seasonal_naive_repeats_the_week_and_fills_gaps_from_the_week_before() -> None:
    week = np.arange(1.0, 169.0)
    known = np.concatenate([week, 2 * week, 3 * week])
    known[-10] = math.nan
    said = seasonal_naive(known, 2 * 168, WEEKS)
    values = said.rps(said.centre)
    assert values[:158] == pytest.approx(3 * week[:158])
    assert values[158] == pytest.approx(2 * week[158])
    assert values[168:] == pytest.approx(values[:168])
    assert said.slow[168] > said.slow[0]


@pytest.mark.parametrize("load", [np.zeros(40), np.r_[np.zeros(400), np.ones(300)], np.full(700, 3.0)])
def test_no_load_is_ever_negative_or_without_a_number(load) -> None:
    for model in (fourier_regression, seasonal_naive):
        said = model(np.resize(load, 28 * DAY), 84 * DAY, WEEKS)
        for logs in (said.centre, said.centre - 5 * said.spread):
            values = said.rps(logs)
            assert np.all(np.isfinite(values))
            assert np.all(values >= 0.0)


def test_intervals_hold_four_fifths_and_naive_is_beaten() -> None:
    kinds = [(Recipe(growth=0.03), 28, 14), (Recipe(growth=0.02, trace="mooncake_conversation"), 42, 28)]
    outcomes = [one for recipe, days, ahead in kinds for one in of_kind(recipe, days, ahead, range(100, 108))]
    assert 0.75 <= np.mean([one.held for one in outcomes]) <= 0.87
    assert sum(one.error for one in outcomes) <= sum(one.error_naive for one in outcomes)
    dated = [one.dated for one in outcomes if one.dated is not None]
    assert len(dated) >= 8
    assert np.mean(dated) >= 0.5


def test_recorded_hours_are_forecast_by_the_minute() -> None:
    outcomes = [one for name in arrivals() for one in of_trace(name)]
    assert 0.7 <= np.mean([one.held for one in outcomes]) <= 0.9
    assert sum(one.error for one in outcomes) <= 1.02 * sum(one.error_naive for one in outcomes)
    assert len(arrivals()) == 3
    assert MINUTE.waves == ()


def test_the_backtest_sees_only_what_was_known() -> None:
    """A load that changes after the history changes no origin's forecast: every one ends before what it is tried on."""
    load = made(Recipe(), 28, seed=1).rps
    places = origins_of(len(load), WEEKS)
    assert all(14 * DAY <= place <= len(load) - 2 * DAY for place in places)
    with pytest.raises(ValueError, match="too short"):
        backtest(load[: 5 * DAY], season_of(3600.0, 5))


def test_when_the_limit_is_reached_and_what_to_order() -> None:
    load = made(Recipe(growth=0.05, noise=0.05, day_noise=0.01), 28 + 84, seed=2)
    known = load.rps[: 28 * DAY]
    carried = carries(PLAN, None, "plan")
    scale = carried.rps * 0.75 / np.nanmax(known[-7 * DAY :])
    answer = foreseen(known * scale, carried_by="plan", lead_weeks=1.0)
    truth = NOW + int(np.argmax(load.expected[28 * DAY :] * scale >= carried.rps)) * 3600.0
    dates, order = answer.reaches_limit_at, answer.order
    assert answer.state == "ok"
    assert dates.high is None or dates.low <= dates.value <= dates.high
    assert dates.low is not None
    assert abs(seconds(dates.value) - truth) < 14 * 86_400
    assert answer.order_by == utc(seconds(dates.low) - 7 * 86_400)[:10]
    assert order.load_rps > carried.rps
    assert order.replicas >= 1
    assert order.gpus == order.replicas * 2
    assert f"by {answer.order_by}" in answer.answer
    assert dates.value[:10] in answer.answer
    assert answer.days[-1].high >= answer.days[-1].value >= answer.days[-1].low >= 0.0


def test_a_load_that_stays_below_says_so() -> None:
    answer = foreseen(made(Recipe(noise=0.05, day_noise=0.01), 28, seed=4).rps * 0.01, carried_by="plan")
    assert (answer.state, answer.reaches_limit_at, answer.order_by, answer.order) == ("ok", None, None, None)
    assert "stays below" in answer.answer
    assert "36" not in answer.answer
    assert "52 weeks" in answer.answer


@pytest.mark.parametrize("rps", [2, 30, 9 * 24])
def test_what_is_said_names_no_argument_of_a_command_line(rps: int) -> None:
    for answer in (foreseen(np.ones(rps)), foreseen(made(Recipe(), 28, seed=4).rps, replicas=1)):
        assert "--" not in " ".join((answer.answer, *answer.reasons, *answer.notes))


def test_an_order_names_an_accelerator_of_ones_own_by_its_name() -> None:
    card = {"id": "my_gpu", "name": "Acme One", "memory_gb": 80, "bandwidth_gbs": 3000, "fp16_tflops": 900}
    own = scenario(peak_rps=40.0).model_dump()
    own["deployment"] = {"gpus": ["my_gpu"], "custom_gpus": [card]}
    asked = Scenario.model_validate(own)
    loaded = history(made(Recipe(), 28, seed=4).rps * 100.0, replicas=1)
    answer = forecast(
        asked,
        analytic_plan(asked),
        loaded,
        source_name="live",
        at_s=NOW,
        wanted=ForecastRequest(carried_by="deployment"),
    )
    assert (answer.order.gpu, answer.order.gpu_name) == ("my_gpu", "Acme One")
    assert " x Acme One in " in answer.answer
    assert "my_gpu" not in answer.answer


def test_a_limit_that_is_reached_already() -> None:
    answer = foreseen(made(Recipe(), 28, seed=4).rps * 100.0, replicas=1)
    assert answer.reaches_limit_at.value == answer.reaches_limit_at.low == utc(NOW)
    assert "already" in answer.answer
    assert "now (it would have been due on" in answer.answer


@pytest.mark.parametrize(
    ("rps", "state", "said"),
    [
        ([], "no_data", "no history of arrivals"),
        ([math.nan] * 700, "no_data", "no history of arrivals"),
        (
            np.ones(9 * 24),
            "too_little_history",
            "holds 9 days; day and week are seen from 14 days on. Ask again in 5 days",
        ),
        (np.ones(2), "too_little_history", "holds 2 hours"),
        (np.ones(30), "too_little_history", "holds 1.2 days"),
        (np.where(np.arange(700) % 3, math.nan, 1.0), "too_little_history", "33 % is known"),
        (np.zeros(700), "too_little_history", "No request arrived"),
    ],
)
def test_what_cannot_be_foreseen_is_said(rps, state: str, said: str) -> None:
    answer = foreseen(rps)
    assert (answer.state, answer.method, answer.reaches_limit_at, answer.order_by) == (state, None, None, None)
    assert said in answer.answer
    assert answer.answer.startswith("No forecast.")


def test_fifteen_days_are_a_history() -> None:
    answer = foreseen(made(Recipe(), 15, seed=6).rps)
    assert answer.state == "ok"
    assert answer.backtest is not None
    assert answer.days_ahead == pytest.approx(45.0)


def test_present_replicas_carry_and_spares_do_not() -> None:
    planned, seen = carries(PLAN, 99, "plan"), carries(PLAN, 5, "deployment")
    assert planned.rps == pytest.approx(PLAN.headroom * PLAN.sustained_rps)
    assert seen.rps == pytest.approx(5 * planned.per_replica_rps)
    assert (planned.carried_by, seen.carried_by) == ("plan", "deployment")
    more = addition(PLAN.deployment, seen, seen.rps + 1.5 * seen.per_replica_rps)
    assert (more.replicas, more.gpus) == (2, 4)


def test_what_a_diagnosis_measured_is_carried_in_place_of_the_plan() -> None:
    rps = made(Recipe(), 15, seed=6).rps
    history = LoadHistory(start_s=0.0, step_s=3600.0, rps=tuple(rps), engine="vllm", replicas=4)
    answer = forecast(ASKED, PLAN, history, source_name="test", at_s=15 * DAY, wanted=ForecastRequest(measured_rps=1e6))
    assert (answer.capacity.rps, answer.capacity.carried_by, answer.capacity.per_replica_rps) == (
        1e6,
        "measured",
        2.5e5,
    )
    assert "that the present 4 replicas carry within the limits, as measured" in answer.answer
    unseen = carries(PLAN, None, "deployment", 1e6)
    assert unseen.carried_by == "plan"


def test_lead_times_are_given_published_assumed_or_rented() -> None:
    deployed = PLAN.deployment
    assert lead_time(ASKED, deployed, 3.0).basis == "given"
    assert (lead_time(ASKED, deployed, None).weeks, lead_time(ASKED, deployed, None).basis) == (52.0, "published")
    other = deployed.model_copy(update={"gpu": "l40s"})
    assert (lead_time(ASKED, other, None).weeks, lead_time(ASKED, other, None).basis) == (12.0, "default")
    cloud = ASKED.model_copy(update={"deployment": ASKED.deployment.model_copy(update={"location": "cloud"})})
    assert lead_time(cloud, deployed, None).basis == "rented"


def test_points_are_bounded() -> None:
    assert [step_of(days * 86_400.0) / 3600 for days in (1, 28, 125, 200, 400)] == [1, 1, 1, 2, 4]
