import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import poisson

from sizing import Scenario
from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.format import percent
from sizing.question.understand import understand
from sizing.scenario.business import in_business_terms
from sizing.scenario.day_profile import at_peak, over_the_day, working_day
from sizing.scenario.demand import mean_to_peak_of, peak_demand, poisson_peak
from sizing.scenario.schema import Workload
from tests.sizing.asking import LLAMA_8B

OFFICE_HOURS = [0.0] * 8 + [1.0] * 8 + [0.0] * 8


def workload(**keys):
    return Workload(input_tokens=2000, output_tokens=200, **keys)


@pytest.mark.parametrize(("average", "peak"), [(64, 77), (7, 12)])
def test_poisson_peaks_of_the_deck(average, peak):
    demand = peak_demand(workload(average_rps=average))
    assert demand.peak_rps == peak
    assert demand.average_rps == average
    assert percent(peak / average - 1) in demand.how
    assert demand.sustained_rps == average
    assert "burst of one second" in demand.how


@given(st.floats(1e-6, 1e6), st.floats(50, 99.9))
def test_poisson_peak_equals_scipy_stats_and_is_never_below_the_mean(average, percentile):
    peak = poisson_peak(average, percentile)
    assert peak >= average
    assert peak == max(average, poisson.ppf(percentile / 100, average))


@given(st.floats(1e-6, 9e5), st.floats(0, 1e5), st.floats(50, 99.9))
def test_a_higher_average_never_has_a_lower_peak(average, more, percentile):
    assert poisson_peak(average + more, percentile) >= poisson_peak(average, percentile)


@given(st.floats(1e-3, 1e5), st.floats(50, 99.9), st.floats(50, 99.9))
def test_a_higher_percentile_never_has_a_lower_peak(average, one, other):
    assert poisson_peak(average, max(one, other)) >= poisson_peak(average, min(one, other))


def test_a_low_rate_says_what_the_window_means():
    demand = peak_demand(workload(average_rps=0.3))
    assert demand.peak_rps == 1
    assert "one-second window" in demand.how
    assert peak_demand(workload(average_rps=0.001)).peak_rps == 0.001


def test_a_given_peak_is_taken_as_it_is():
    demand = peak_demand(workload(peak_rps=31))
    assert (demand.peak_rps, demand.average_rps, demand.mean_to_peak, demand.hours) == (31, None, 0.5, 8)
    assert demand.sustained_rps == demand.peak_rps
    assert demand.day_assumed
    assert demand.how == "Peak as given: 31 requests/s."


def test_users_spread_over_hours_with_a_peak_factor():
    users = {"daily_users": 96_000, "requests_per_user": 3, "hours": 8, "peak_to_mean": 2}
    demand = peak_demand(workload(users=users))
    assert demand.average_rps == pytest.approx(10)
    assert demand.peak_rps == pytest.approx(20)
    assert demand.mean_to_peak == pytest.approx(0.5)
    assert "96,000 users x 3 requests / (8 h x 3,600 s) x 2" in demand.how


@pytest.mark.parametrize(
    "load",
    [
        {"users": {"daily_users": 1_493_812, "requests_per_user": 2_000, "hours": 24, "peak_to_mean": 1.04}},
        {"peak_rps": 1_000_000},
        {"peak_rps": 0.00001},
        {"average_rps": 83_912.4},
        {"arrivals": {"trace": "t.csv", "rps": [123_456.7]}},
    ],
)
def test_no_load_is_told_in_powers_of_ten(load):
    demand = peak_demand(workload(**load))
    assert not re.search(r"\de[+-]\d", demand.how + demand.arithmetic)


def test_growth_multiplies_the_load():
    users = {"daily_users": 96_000}
    assert peak_demand(workload(peak_rps=31, growth_percent=50)).peak_rps == pytest.approx(46.5)
    assert peak_demand(workload(users=users, growth_percent=100)).peak_rps == pytest.approx(40)
    grown = peak_demand(workload(average_rps=32, growth_percent=100))
    assert (grown.peak_rps, grown.growth_factor) == (77, 2)
    assert "x 2 growth" in grown.how


def test_an_hourly_profile_gives_the_busiest_hour_and_the_share_of_the_mean():
    assert mean_to_peak_of(OFFICE_HOURS) == pytest.approx(1 / 3)
    arrivals = {"profile": OFFICE_HOURS}
    assert peak_demand(workload(peak_rps=30, arrivals=arrivals)).average_rps == pytest.approx(10)
    assert peak_demand(workload(average_rps=64 / 3, arrivals=arrivals)).peak_rps == 77
    by_users = peak_demand(workload(users={"daily_users": 96_000}, arrivals=arrivals))
    assert (by_users.hours, by_users.peak_rps) == (24, pytest.approx(10))


@given(st.lists(st.floats(0, 1e6), min_size=24, max_size=24).filter(lambda hours: max(hours) > 0))
def test_the_mean_hour_is_never_above_the_busiest(hours):
    assert 0 < mean_to_peak_of(hours) <= 1


@given(st.floats(1e-3, 1e4), st.floats(0, 100))
def test_the_peak_is_never_below_the_average(rate, growth):
    for keys in ({"average_rps": rate}, {"users": {"daily_users": rate * 1e3}}):
        demand = peak_demand(workload(growth_percent=growth, **keys))
        assert demand.peak_rps >= demand.average_rps
        assert demand.mean_to_peak <= 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0, -1, 1e12, "many", None])
@pytest.mark.parametrize("key", ["peak_rps", "average_rps"])
def test_a_bad_rate_does_not_validate(key, bad):
    with pytest.raises(ValidationError):
        workload(**{key: bad})


@pytest.mark.parametrize(
    "keys",
    [
        {"users": {"daily_users": 1e10, "requests_per_user": 1e5}},
        {"users": {"daily_users": 1e10, "requests_per_user": 1e5, "hours": 1e-300}},
        {"users": {"daily_users": 5e-324, "requests_per_user": 1e-5}},
        {"peak_rps": 1e6, "growth_percent": 100},
    ],
)
def test_a_demand_beyond_every_system_is_refused(keys):
    with pytest.raises(InvalidScenario, match="The peak comes to") as caught:
        peak_demand(workload(**keys))
    assert "\n" not in str(caught.value)


def test_a_request_in_an_age_is_a_typing_error() -> None:
    with pytest.raises(InvalidScenario, match="must be at least 1e-09"):
        peak_demand(Workload(input_tokens=100, output_tokens=100, peak_rps=1e-12))


def asked(**load: object) -> Scenario:
    workload = {"input_tokens": 1000, "output_tokens": 100, **load}
    return Scenario.model_validate({"model": LLAMA_8B, "workload": workload})


def test_a_flat_working_day_is_a_box_by_hand() -> None:
    """Eight hours around 13 o'clock: 9 to 17."""
    assert working_day(8.0, 1.0) == tuple(1.0 if 9 <= hour < 17 else 0.0 for hour in range(24))


def test_a_sine_has_a_busiest_hour_by_hand() -> None:
    """p = 1 over 24 h: mean 2 / pi = 0.637; busiest hour (11 or 12) sin averaged around the middle, 0.9914 x ratio."""
    hours = working_day(24.0, 1.5)
    assert sum(hours) / 24 == pytest.approx(1 / 1.5, rel=1e-6)
    assert sorted(range(24), key=hours.__getitem__)[-2:] in ([11, 12], [12, 11])


@given(hours=st.floats(2, 24), ratio=st.floats(1, 4))
def test_the_busiest_hour_is_so_many_times_the_mean_of_the_working_hours(hours: float, ratio: float) -> None:
    found = working_day(hours, ratio)
    assert len(found) == 24
    assert max(found) == 1.0
    assert min(found) >= 0.0
    if 1.3 < ratio < hours / 2:
        assert hours / sum(found) == pytest.approx(ratio, rel=1e-3)


def test_nonsense_is_refused() -> None:
    for hours, ratio in ((0.0, 2.0), (25.0, 2.0), (8.0, 0.5)):
        with pytest.raises(SizingError):
            working_day(hours, ratio)


@pytest.mark.parametrize(
    "load", [{"peak_rps": 30, "growth_percent": 50}, {"average_rps": 20}, {"users": {"daily_users": 50_000}}]
)
def test_the_peak_stays_whatever_the_load_was_given_by(load: dict[str, object]) -> None:
    scenario = asked(**load)
    peak = understand(scenario).demand.peak_rps
    assert understand(over_the_day(scenario, peak, working_day(8, 2))).demand.peak_rps == pytest.approx(peak)
    assert understand(at_peak(scenario, peak, "poisson")).demand.peak_rps == pytest.approx(peak)


def demand(**keys):
    return peak_demand(Workload(input_tokens=2000, output_tokens=200, **keys))


def test_a_working_day_at_70_7_requests_per_second():
    flat = replace(demand(peak_rps=70.7), mean_to_peak=1.0)
    terms = in_business_terms(70.7, 2000, 200, flat)
    assert terms.requests_per_day == pytest.approx(2.04e6, rel=0.005)
    assert terms.requests_per_day == pytest.approx(70.7 * 3600 * 8)
    assert terms.daily_users == pytest.approx(679_000, rel=0.001)
    assert terms.input_tokens_per_day == pytest.approx(4.07e9, rel=0.001)
    assert terms.output_tokens_per_day == pytest.approx(407e6, rel=0.001)
    assert (terms.hours, terms.requests_per_user, terms.growth) == (8, 3, 0)


@pytest.mark.parametrize("load", [{"peak_rps": 10}, {"peak_rps": 70.7, "growth_percent": 0}])
def test_users_shown_for_a_peak_ask_for_that_peak_when_they_are_entered(load):
    terms = in_business_terms(load["peak_rps"], 2000, 200, demand(**load))
    entered = {"daily_users": terms.daily_users}
    assert demand(users=entered).peak_rps == pytest.approx(load["peak_rps"])


@given(st.floats(1, 1e6), st.floats(0.1, 50), st.floats(0.5, 24), st.floats(1, 10))
def test_users_entered_are_the_users_shown(people, requests, hours, ratio):
    asked = demand(users={"daily_users": people, "requests_per_user": requests, "hours": hours, "peak_to_mean": ratio})
    assert in_business_terms(asked.sustained_rps, 2000, 200, asked).daily_users == pytest.approx(people)


def test_users_that_were_asked_for_come_out_again_with_growth():
    asked = demand(users={"daily_users": 10_000, "requests_per_user": 5, "peak_to_mean": 3}, growth_percent=20)
    terms = in_business_terms(asked.peak_rps, 2000, 200, asked)
    assert terms.daily_users == pytest.approx(12_000)
    assert terms.requests_per_day == pytest.approx(60_000)
    assert terms.growth == pytest.approx(0.2)


def test_a_profile_counts_the_whole_day():
    asked = demand(peak_rps=30, arrivals={"profile": [0.0] * 8 + [1.0] * 8 + [0.0] * 8})
    assert in_business_terms(30, 2000, 200, asked).requests_per_day == pytest.approx(30 * 3600 * 8)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0, -1, 1e12, "x"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_bad_numbers_are_refused(position, bad):
    numbers = [70.7, 2000, 200]
    numbers[position] = bad
    with pytest.raises(SizingError):
        in_business_terms(*numbers, demand(peak_rps=70.7))
