"""Figures of one plan that have to agree: its load, its day, and what a token costs."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.units import HOURS_PER_DAY, MILLION
from sizing.question.understand import understand
from sizing.search.replicas import arrivals_of, lengths_of
from tests.sizing.asking import LLAMA_8B, ask, raw

H100 = {"gpus": ["h100_sxm"]}
AVERAGE = {"peak_rps": None, "average_rps": 64, "peak_percentile": 95}


def test_an_average_is_simulated_once_as_the_rate_that_lasts():
    question = understand(Scenario.model_validate(raw(LLAMA_8B, workload=AVERAGE)))
    arrivals = arrivals_of(question)
    assert arrivals.rate_rps == 64
    times = np.concatenate([chunk[0] for chunk in arrivals.stream(lengths_of(question), 2_000.0, 0)])
    in_a_second = np.bincount(times.astype(int), minlength=2_000)
    assert in_a_second.mean() == pytest.approx(64, rel=0.02)
    # The burst of the 95th percentile is among what is simulated, as often as it says.
    assert 0.01 < (in_a_second > question.demand.peak_rps).mean() < 0.06


def test_an_average_needs_what_the_same_sustained_rate_needs():
    average, peak = (ask(LLAMA_8B, workload=load, deployment=H100) for load in (AVERAGE, {"peak_rps": 64}))
    assert (average.peak_rps, average.sustained_rps, peak.sustained_rps) == (77, 64, 64)
    assert average.deployment == peak.deployment
    assert average.latency == peak.latency
    assert "64 requests/s on average (in bursts of one second 77 requests/s)" in average.answer


@pytest.mark.parametrize("load", [{"peak_rps": 10}, {"peak_rps": None, "users": {"daily_users": 96_000}}])
def test_a_token_costs_what_the_day_makes_of_it(load):
    found = ask(LLAMA_8B, workload=load, deployment=H100)
    cost, business = found.cost, found.business
    of_a_day = cost.usd_per_hour * HOURS_PER_DAY / business.output_tokens_per_day * MILLION
    assert cost.usd_per_million_output_tokens == pytest.approx(of_a_day)
    # Busiest time twice the mean, 8 of 24 hours: six times the cost at full load.
    assert cost.usd_per_million_output_tokens_at_full_load == pytest.approx(
        of_a_day * business.peak_to_mean**-1 * 8 / 24
    )


def test_users_of_a_plan_give_the_same_plan_when_they_are_entered():
    peak = ask(LLAMA_8B, workload={"peak_rps": 10}, deployment=H100)
    users = {"daily_users": peak.business.daily_users}
    entered = ask(LLAMA_8B, workload={"peak_rps": None, "users": users}, deployment=H100)
    assert entered.peak_rps == pytest.approx(10)
    assert entered.deployment == peak.deployment
    assert entered.business.daily_users == pytest.approx(peak.business.daily_users)
