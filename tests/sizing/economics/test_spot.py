"""Spot instances: zones that fail by hand and by simulation, what time on demand costs, and what is said of it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing import InvalidScenario, Scenario
from sizing.catalog import cloud_instances
from sizing.catalog.spot import spot_interruptions
from sizing.economics.amount import Amount
from sizing.economics.cloud import Rented, cheapest
from sizing.economics.cost import cost
from sizing.economics.fleet_text import spot_sentences
from sizing.economics.results import CostAnswer
from sizing.economics.spot import left, spread_over, starting_again, taken_back, with_interruptions
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sizing.asking import raw
from tests.sizing.economics.pricing import fleet, instance, money

FEW = settings(max_examples=50, deadline=None)
CLOUD: dict[str, Any] = {"gpus": ["h100_sxm"], "location": "cloud"}


def priced(**costs: Any) -> CostAnswer:
    scenario = Scenario.model_validate(raw(deployment=CLOUD, costs={"purchase": "spot", **costs}))
    return cost(Answer.of(scenario, analytic_plan), planner=analytic_plan)


def named(name: str, usd: float) -> Rented:
    one = instance(usd)
    return replace(one, provider="aws", option=replace(one.option, id=f"aws:{name}"))


def test_a_zone_starts_again_for_as_long_as_a_start_takes() -> None:
    # Taken back once a month, ten minutes to start: 1 / 4,380 of its time beside the time that it runs.
    assert starting_again(100.0, 10.0) == pytest.approx((1 / 4380) / (1 + 1 / 4380))
    assert starting_again(0.0, 10.0) == 0.0
    assert starting_again(100.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("number", "zones", "many", "stay"), [(6, 3, 1, 4), (7, 3, 1, 4), (7, 3, 2, 2), (5, 1, 0, 5), (4, 2, 2, 0)]
)
def test_what_is_left_once_the_fullest_zones_are_lost(number: int, zones: int, many: int, stay: int) -> None:
    assert left(number, zones, many) == stay


def test_zones_by_hand() -> None:
    # Two zones of which each is lost 1 % of the time: both run 98.01 %, at least one 99.99 %.
    one = spread_over(4, 0.01, 2, 0.999)
    assert (one.number, one.zones, one.many) == (8, 2, 1)
    assert one.short == pytest.approx(0.01**2)
    # Three: at most one is lost in 0.99^3 + 3 x 0.01 x 0.99^2 of the time, and six less two are the four.
    three = spread_over(4, 0.01, 3, 0.999)
    assert (three.number, three.zones, three.many) == (6, 3, 1)
    assert three.short == pytest.approx(1 - (0.99**3 + 3 * 0.01 * 0.99**2))
    rare = spread_over(4, 1e-6, 3, 0.999)
    assert (rare.number, rare.many) == (4, 0)


def test_more_often_than_any_spread_holds_is_said() -> None:
    one = spread_over(2, 0.5, 1, 0.999)
    assert not one.held(0.999)
    assert one.number == 2
    assert not spread_over(2, 0.5, 3, 0.999).held(0.999)


@FEW
@given(needed=st.integers(1, 40), share=st.floats(0, 0.3), zones=st.integers(1, 6), held=st.floats(0.5, 0.9999))
def test_a_spread_leaves_what_is_needed(needed: int, share: float, zones: int, held: float) -> None:
    one = spread_over(needed, share, zones, held)
    assert left(one.number, one.zones, one.many) >= needed
    assert one.number >= needed
    if one.held(held):
        wider = spread_over(needed, share, zones + 1, held)
        assert wider.number <= one.number
        assert spread_over(needed + 1, share, zones, held).number >= one.number


def test_the_binomial_is_what_zones_do() -> None:
    """Two states that alternate at random: up for 1 / r on average, then down for the start-up."""
    rng, zones, up_h, down_h = np.random.default_rng(5), 3, 20.0, 0.5
    share = starting_again(100.0 * 730.0 / up_h, down_h * 60.0)
    assert share == pytest.approx(down_h / (up_h + down_h))
    moments = np.arange(0.0, 40_000.0, 0.37)
    lost = np.zeros(len(moments), dtype=int)
    for _ in range(zones):
        cycle = np.column_stack([rng.exponential(up_h, 4000), np.full(4000, down_h)]).ravel()
        lost += np.searchsorted(np.cumsum(cycle), moments) % 2
    two = spread_over(4, share, zones, 0.99)
    assert two.many == 1
    assert (lost > two.many).mean() == pytest.approx(two.short, rel=0.2)
    assert (lost > 0).mean() == pytest.approx(1 - (1 - share) ** 3, rel=0.1)


def test_time_on_demand_by_hand() -> None:
    # A third of the time at 30 USD in place of 10: (2/3 x 10 + 1/3 x 30) / 10 - 1 = 2/3 on top.
    known = money(spot_without_capacity_percent=100 / 3, spot_interrupted_percent_per_month=0).assumptions
    one, dear = named("p5.48xlarge", 10.0), named("p5.48xlarge", 30.0)
    assert with_interruptions(one, fleet(4), known, (dear,), None).on_top.value == pytest.approx(2 / 3)
    assert with_interruptions(one, fleet(4), known, (), None).on_top.value == pytest.approx(0.0)
    assert with_interruptions(one, fleet(4), known, (dear,), 15.0).on_top == Amount.exactly(0.15)
    # One zone of three may be lost where zones are interrupted often: six in place of four.
    often = money(
        spot_without_capacity_percent=0, spot_interrupted_percent_per_month=14_600, burst_start_up_minutes=3
    ).assumptions
    assert with_interruptions(one, fleet(4), often, (dear,), None).on_top.value == pytest.approx(0.5)


def test_the_cheapest_counts_the_time_on_demand() -> None:
    plain, risky = named("p5.48xlarge", 12.0), replace(named("p5.48xlarge", 10.0), on_top=Amount.exactly(0.5))
    assert cheapest((risky, plain), fleet(2)) is plain


def test_published_figures_are_of_instance_types_of_the_catalogue() -> None:
    known = {(row.provider, row.instance_type) for row in cloud_instances()}
    for key, row in spot_interruptions().items():
        assert key in known or row.instance_type.startswith("p3")
        assert 0 <= row.low_percent <= row.typical_percent <= row.high_percent <= 100
        assert row.regions > 0
    assumed = money().assumptions
    of_type = taken_back(named("p5.48xlarge", 1.0), assumed)
    assert (of_type.percent, of_type.rate_from) == (7.5, "type")
    other = taken_back(instance(1.0), assumed)
    assert (other.percent, other.rate_from) == (17.5, "other_types")
    said = money(spot_interrupted_percent_per_month=40).assumptions
    assert taken_back(named("p5.48xlarge", 1.0), said).percent == 40


def test_an_answer_says_what_spot_takes_and_saves() -> None:
    answer = priced()
    spot = answer.spot
    assert spot.instances >= spot.needed
    assert spot.held
    assert not spot.validated
    chosen = next(way for way in answer.ways if way.name == "cloud")
    rent = chosen.parts["instances"] + chosen.parts["interruptions"]
    assert spot.usd_per_month == pytest.approx(rent)
    assert 0 < spot.saved_share < 1
    assert spot.saved_share == pytest.approx(1 - spot.usd_per_month / spot.on_demand_usd_per_month)
    assert "Spot:" in answer.answer
    assert answer.high is not None
    assert answer.low < answer.usd_per_month < answer.high
    words = " ".join(spot_sentences(spot, lambda amount: "MONEY"))
    assert "no newer GPU" in words
    stated = priced(spot_without_capacity_percent=10, spot_interrupted_percent_per_month=5).spot
    assert stated is not None
    words = " ".join(spot_sentences(stated, lambda amount: "MONEY"))
    assert "no newer GPU" not in words
    assert "5 % are taken back in a month, as stated" in words


def test_other_ways_to_pay_say_nothing_of_spot() -> None:
    assert priced(purchase="on_demand").spot is None
    stated = priced(spot_interruption_percent=10)
    assert stated.spot is None
    parts = next(way for way in stated.ways if way.name == "cloud").parts
    assert parts["interruptions"] == pytest.approx(0.1 * parts["instances"])


def test_more_interruptions_and_less_capacity_never_cost_less() -> None:
    calm, wild, scarce = (
        priced(),
        priced(spot_interrupted_percent_per_month=30_000),
        priced(spot_without_capacity_percent=80),
    )
    assert wild.usd_per_month >= calm.usd_per_month
    assert scarce.usd_per_month > calm.usd_per_month
    assert wild.spot.instances > calm.spot.instances


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spot_zones", 0),
        ("spot_zones", 1.5),
        ("spot_held_percent", 100),
        ("spot_without_capacity_percent", 101),
        ("spot_interrupted_percent_per_month", -1),
        ("spot_interrupted_percent_per_month", math.nan),
    ],
)
def test_bad_input_is_one_problem_with_its_key(key: str, value: float) -> None:
    from sizing.scenario.file import scenario_from

    with pytest.raises(InvalidScenario) as error:
        scenario_from(raw(deployment=CLOUD, costs={"purchase": "spot", key: value}))
    assert len(error.value.problems) == 1
    assert key in error.value.problems[0]
