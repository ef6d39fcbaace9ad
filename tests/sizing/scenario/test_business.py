import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import SizingError
from sizing.scenario.business import in_business_terms
from sizing.scenario.demand import peak_demand
from sizing.scenario.schema import Workload


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
