"""Prices in a tornado: of what is bought, also by a price book, and of what is rented, each worked out by hand."""

from functools import partial
from typing import Any

import pytest

from sizing.decision.keys import with_values
from sizing.decision.outcome import Answers
from sizing.decision.tornado import RENT, tornado
from sizing.economics.cost import cost
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario import Scenario
from tests.sizing.decision.test_decision import asked


@pytest.mark.parametrize("name", ["hgx_h100_4", "HGX H100 4-GPU OEM server"])
@pytest.mark.parametrize("book", ["listed", "negotiated"])
def test_a_price_of_the_price_book_is_moved(book: str, name: str) -> None:
    """A server at 100,000, written off over 60 months: 20 % of it are 20,000 / 60 a month, where nothing follows it."""
    without = {"costs.leave_out": ["switches", "storage", "support", "capital_charge"]}
    base = with_values(asked(), without | {f"prices.{book}.systems": [{"system": name, "usd": 100_000.0}]})
    assert base is not None
    drawn = tornado(base, Answers(partial(analytic_plan, alternatives=0)))
    bar = next(bar for bar in drawn.bars if bar.key == "prices.system_usd")
    assert (bar.value, bar.low, bar.high, bar.basis) == (100_000.0, 80_000.0, 120_000.0, "share")
    assert bar.at_high.usd_per_month == pytest.approx(drawn.base.usd_per_month + 20_000 / 60)


def rented(purchase: str = "on_demand", location: str = "cloud", **costs: Any) -> Scenario:
    """The same in the cloud, or with a base of one's own and the busy hours rented."""
    day = [1.0] + [0.1] * 23
    changes = {
        "deployment.location": location,
        "costs.purchase": purchase,
        "workload.peak_rps": 300.0,
        **({"workload.arrivals": {"profile": day}} if location == "hybrid" else {}),
        **{f"costs.{key}": value for key, value in costs.items()},
    }
    scenario = with_values(asked(), changes)
    assert scenario is not None
    return scenario


@pytest.mark.parametrize("purchase", ["on_demand", "reserved_1y", "spot"])
def test_the_price_of_what_is_rented_is_moved(purchase: str) -> None:
    """A fifth of what the instances cost to both sides; of spot instances with what interruptions cost on top. Licence
    and staff do not move with it."""
    scenario = rented(purchase, licence="nvidia_ai_enterprise", staff_usd_per_month=500.0)
    drawn = tornado(scenario, Answers(partial(analytic_plan, alternatives=0)))
    money = cost(Answer.of(scenario, analytic_plan))
    bar = next(bar for bar in drawn.bars if bar.key == RENT)
    assert (bar.value, bar.low, bar.high) == (100.0, 80.0, 120.0)
    assert money.parts["licence"] > 0
    fifth = 0.2 * (money.parts["instances"] + money.parts["interruptions"])
    assert (money.parts["interruptions"] > 0) == (purchase == "spot")
    assert bar.at_low.usd_per_month == pytest.approx(money.usd_per_month - fifth)
    assert bar.at_high.usd_per_month == pytest.approx(money.usd_per_month + fifth)
    assert bar.at_high.choice == drawn.base.choice


def test_the_price_of_what_a_hybrid_rents_is_moved() -> None:
    """What is rented beyond the base costs a fifth more; another base may cost less then, so that is the most."""
    scenario = rented(location="hybrid")
    drawn = tornado(scenario, Answers(partial(analytic_plan, alternatives=0)))
    money = cost(Answer.of(scenario, analytic_plan))
    bar = next(bar for bar in drawn.bars if bar.key == RENT)
    assert "prices.system_usd" in {bar.key for bar in drawn.bars}
    assert money.parts["burst"] > 0
    assert money.usd_per_month < bar.at_high.usd_per_month <= money.usd_per_month + 0.2 * money.parts["burst"] + 1e-6


def test_own_systems_and_own_prices_of_a_gpu_hour_have_no_second_bar() -> None:
    answers = Answers(partial(analytic_plan, alternatives=0))
    assert RENT not in {bar.key for bar in tornado(asked(), answers).bars}
    own = with_values(rented(), {"prices.gpu": "h100_sxm", "prices.gpu_hour_usd": 2.0})
    assert own is not None
    assert {"prices.gpu_hour_usd", RENT} & {bar.key for bar in tornado(own, answers).bars} == {"prices.gpu_hour_usd"}


@pytest.mark.parametrize("location", ["on_prem", "cloud", "hybrid"])
def test_a_larger_constant_of_the_cost_costs_more_and_a_smaller_one_less(location: str) -> None:
    """Each moved alone: what follows another constant where a scenario states only that stays what it is."""
    scenario = rented(location=location, facility="colocation", licence="nvidia_ai_enterprise")
    drawn = tornado(scenario, Answers(partial(analytic_plan, alternatives=0)))
    bars = {bar.key: bar for bar in drawn.bars if bar.key.startswith("costs.")}
    now = drawn.base.usd_per_month
    assert now is not None
    assert len(bars) > 1
    for key, bar in bars.items():
        assert bar.at_low.usd_per_month <= now * (1 + 1e-9), key
        assert bar.at_high.usd_per_month >= now * (1 - 1e-9), key


def test_a_share_at_work_that_the_scenario_states_is_the_mean_and_moves_as_one() -> None:
    scenario = rented(location="on_prem", power_utilization=0.5)
    drawn = tornado(scenario, Answers(partial(analytic_plan, alternatives=0)))
    bar = next(bar for bar in drawn.bars if bar.key == "costs.power_utilization")
    money = cost(Answer.of(scenario, analytic_plan))
    more = bar.at_high.usd_per_month - money.usd_per_month
    assert more == pytest.approx(money.parts["power"] * (bar.high / 0.5 - 1.0))
