"""The whole answer about money: it agrees with the plan, states its sources, and refuses what it cannot price."""

from datetime import date
from typing import Any

import pytest

from sizing import Plan, Scenario
from sizing.base.errors import InvalidScenario
from sizing.economics.api import provider_name
from sizing.economics.cost import cost
from sizing.economics.results import CostAnswer, WayToPay
from sizing.economics.text import as_markdown, as_text
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sizing.asking import LLAMA_70B, raw

H100 = {"gpus": ["h100_sxm"]}
OFFICE = {"profile": [1.0] * 8 + [4.0, 8.0, 10.0, 10.0, 9.0, 10.0, 10.0, 8.0, 6.0, 4.0, 2.0] + [1.0] * 5}


def priced(plan: Plan | None = None, on: date | None = None, **sections: Any) -> CostAnswer:
    scenario = Scenario.model_validate(raw(LLAMA_70B, **({"deployment": H100} | sections)))
    asked = scenario if plan is None else Answer(understand(scenario), plan)
    return cost(asked, planner=analytic_plan, on=on)


def way(answer: CostAnswer, name: str) -> WayToPay:
    return next(one for one in answer.ways if one.name == name)


@pytest.mark.parametrize(("location", "part"), [("on_prem", "servers"), ("cloud", "instances")])
def test_hardware_costs_what_the_plan_says(location: str, part: str) -> None:
    sections: dict[str, Any] = {"deployment": H100 | {"location": location}}
    planned = analytic_plan(Scenario.model_validate(raw(LLAMA_70B, **sections)), alternatives=0)
    answer = priced(planned, **sections)
    assert answer.parts[part] == pytest.approx(planned.cost.hardware_usd_per_month)
    share = answer.parts[part] / answer.usd_per_month
    for ours, planned_usd in (
        (answer.usd_per_million_output_tokens, planned.cost.usd_per_million_output_tokens),
        (answer.full_load.usd_per_million_output_tokens, planned.cost.usd_per_million_output_tokens_at_full_load),
    ):
        assert ours * share == pytest.approx(planned_usd)
    assert answer.location == location
    assert answer.usd_per_month == way(answer, location).usd_per_month


def test_the_answer_is_of_everything_provisioned() -> None:
    answer = priced()
    assert answer.lens == "allocated"
    allocated, used = answer.lenses
    assert (allocated.name, used.name) == ("allocated", "used")
    assert answer.usd_per_month == allocated.usd_per_month > used.usd_per_month
    assert answer.usd_per_million_output_tokens == allocated.per_unit.usd_per_million_output_tokens
    tokens = answer.requests_per_day * 365 / 12 * 500
    assert answer.usd_per_month == pytest.approx(answer.usd_per_million_output_tokens * tokens / 1e6)
    assert used.per_unit.model_dump() == pytest.approx(answer.at_capacity.model_dump())
    assert answer.cash == (answer.usd_per_month,) * 36
    assert answer.low <= answer.usd_per_month <= answer.high
    assert (answer.cash_low, answer.cash_high) == ((answer.low,) * 36, (answer.high,) * 36)
    share = answer.usd_per_million_output_tokens_low / answer.usd_per_million_output_tokens
    assert share == pytest.approx(answer.low / answer.usd_per_month)


def test_without_a_profile_there_is_no_hybrid_and_the_answer_says_so() -> None:
    answer = priced(deployment=H100 | {"location": "hybrid"})
    assert way(answer, "hybrid").unavailable == "no_profile"
    assert (answer.usd_per_month, answer.cash, answer.lenses) == (None, (), ())
    assert "it needs the load over the day" in answer.answer
    assert "workload.arrivals" in as_text(answer)


def test_a_hybrid_over_the_day() -> None:
    answer = priced(workload={"arrivals": OFFICE}, deployment=H100 | {"location": "hybrid"})
    assert answer.usd_per_month == way(answer, "hybrid").usd_per_month
    assert answer.usd_per_month <= way(answer, "on_prem").usd_per_month
    assert answer.full_load.usd_per_request < answer.usd_per_month / (answer.requests_per_day * 365 / 12)
    committed = priced(
        workload={"arrivals": OFFICE},
        deployment=H100 | {"location": "hybrid"},
        costs={"hybrid_base": "reserved_1y", "reserved_1y_discount_percent": 60},
    )
    assert committed.parts["instances"] > 0


EVERY_PART = ("switches", "storage", "support", "capital_charge", "staff")


def test_every_part_has_a_published_default_and_can_be_left_out() -> None:
    """5.6 % and 2.6 % of the servers for switches and storage, 10 % a year of all for support, half an engineer."""
    answer = priced()
    servers = answer.parts["servers"]
    assert answer.parts["switches"] == pytest.approx(0.056 * servers)
    assert answer.parts["storage"] == pytest.approx(0.026 * servers)
    assert answer.parts["support"] == pytest.approx(1.082 * servers * 5 * 0.10)  # written off over five years
    assert answer.parts["staff"] == 7292
    assert (answer.counted, answer.not_counted) == ("full", ())
    for part in EVERY_PART:
        without = priced(costs={"leave_out": [part]})
        assert not without.parts[part]
        assert without.counted == "partly"
        assert without.usd_per_month < answer.usd_per_month
        assert "Left out as asked: " in without.answer


def test_hardware_and_power_only_is_named_so() -> None:
    answer, bare = priced(), priced(costs={"leave_out": list(EVERY_PART)})
    assert bare.counted == "hardware_and_power"
    assert bare.answer.startswith("Hardware and power only: own systems for ")
    assert bare.usd_per_month == pytest.approx(answer.hardware_and_power_usd_per_month)
    assert answer.hardware_and_power_usd_per_month == pytest.approx(answer.parts["servers"] + answer.parts["power"])
    assert {name for name, usd in bare.parts.items() if usd} == {"servers", "power"}
    assert "leave_out" in as_text(bare)


def test_a_constant_of_the_scenario_keeps_what_is_published_beside_it() -> None:
    given = {one.name: one for one in priced(costs={"support_percent_per_year": 5}).assumptions}
    one = given["support_percent_per_year"]
    assert (one.value, one.low, one.high, one.published, one.published_date) == (5, 5, 5, 10, "2025")
    assert given["switches_percent"].published is None


def test_staff_of_rented_instances_is_less_and_follows_what_is_given() -> None:
    assert way(priced(), "cloud").parts["staff"] == 4500
    assert way(priced(costs={"staff_usd_per_month": 1000}), "cloud").parts["staff"] == 1000


def test_rented_cheapest_and_on_the_same_gpus_are_ways_of_their_own() -> None:
    answer = priced(deployment=H100 | {"gpus": ["h100_sxm", "l40s"]})
    same, best = way(answer, "cloud"), way(answer, "cloud_best")
    assert best.usd_per_month <= same.usd_per_month + 1e-6
    assert way(priced(deployment=H100 | {"location": "cloud"}), "on_prem_best").parts["servers"] > 0


def test_an_api_cheapest_median_and_chosen() -> None:
    answer = priced()
    offers = [one.usd_per_month for one in answer.api_offers]
    assert offers == sorted(offers)
    assert way(answer, "api").usd_per_month == pytest.approx(offers[0])
    assert way(answer, "api_median").usd_per_month == pytest.approx(offers[(len(offers) - 1) // 2])
    dear = answer.api_offers[-1]
    chosen = priced(costs={"api": {"provider": dear.provider}})
    assert provider_name(dear.provider) in way(chosen, "api").system
    assert way(chosen, "api_cheapest").usd_per_month == pytest.approx(offers[0])


def test_the_investment_is_that_of_the_parts() -> None:
    answer = priced()
    own = next(one for one in answer.investment.ways if one.name == "on_prem")
    written_off = answer.parts["servers"] + answer.parts["switches"] + answer.parts["storage"]
    assert own.purchase_usd == pytest.approx(60 * written_off)
    assert own.residual_usd == pytest.approx(0.4 * own.purchase_usd)  # 24 of 60 months are left
    running = answer.usd_per_month - written_off - answer.parts["capital_charge"]
    assert own.paid_usd == pytest.approx(own.purchase_usd + 36 * running - own.residual_usd)
    rent = next(one for one in answer.investment.owning_against if one.name == "cloud")
    present = {one.name: one.present_cost_usd for one in answer.investment.ways}
    assert rent.npv_usd == pytest.approx(present["cloud"] - present["on_prem"])
    assert "before tax" in answer.answer


def test_region_sets_electricity_and_carbon() -> None:
    france, india = (priced(costs={"region": region}) for region in ("France", "india"))
    assert france.parts["power"] > india.parts["power"]  # Europe is dearer than Asia
    clean, dirty = (way(answer, "on_prem").carbon_kg_per_month for answer in (france, india))
    assert clean < dirty
    assert way(priced(), "on_prem").carbon_kg_per_month is None  # no figure for the whole world
    assert way(priced(costs={"carbon_g_per_kwh": 100}), "on_prem").carbon_kg_per_month is not None


def test_old_prices_are_flagged_against_the_day_of_the_caller() -> None:
    ages = {source.what: source.age for source in priced(on=date(2026, 11, 22), costs={"region": "germany"}).sources}
    assert ages["electricity_usd_per_kwh"] == "stale"
    assert ages["pue"] == "unclear"
    later = {source.age for source in priced(on=date(2031, 1, 1)).sources}
    assert later <= {"stale", "undated"}
    given = priced(costs={"api": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}}).sources
    assert "given" in {source.age for source in given if source.what == "API"}


def test_the_cheapest_provider_of_the_same_open_weights_unless_one_is_chosen() -> None:
    keys = raw("openai/gpt-oss-120b", deployment=H100)
    cheapest = cost(Scenario.model_validate(keys), planner=analytic_plan)
    chosen = cost(Scenario.model_validate(keys | {"costs": {"api": {"provider": "cerebras"}}}), planner=analytic_plan)
    assert "Weights & Biases" in way(cheapest, "api").system
    assert "Cerebras" in way(chosen, "api").system
    assert way(cheapest, "api").usd_per_month < way(chosen, "api").usd_per_month


def test_a_model_behind_no_api_has_no_break_even_with_one() -> None:
    answer = cost(Scenario.model_validate(raw({"name": "own", "params_b": 8}, deployment=H100)), planner=analytic_plan)
    assert way(answer, "api").unavailable == "no_api_price"
    assert answer.break_even.api.outcome == "unknown"


def test_some_requests_go_to_a_smaller_model_or_an_api() -> None:
    whole = priced()
    split = priced(costs={"routing": {"percent": 50, "model": "meta-llama/Meta-Llama-3-8B-Instruct"}})
    by_token = priced(costs={"routing": {"percent": 50, "api": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}}})
    for answer in (split, by_token):
        blended = way(answer, "blended")
        assert blended.usd_per_month == pytest.approx(blended.parts["this_model"] + blended.parts["routed"])
        assert 0 < blended.parts["this_model"] <= whole.usd_per_month
    requests = whole.requests_per_day * 365 / 12
    assert way(by_token, "blended").parts["routed"] == pytest.approx(requests / 2 * (3500 * 1 + 500 * 2) / 1e6)


def test_growth_adds_systems_over_36_months() -> None:
    cash = priced(costs={"growth_percent_per_year": 100}).cash
    assert list(cash) == sorted(cash)
    assert cash[-1] > 3 * cash[0]


def test_prefill_and_decode_apart_are_priced_together() -> None:
    answer = priced(
        limits={"ttft_ms": 3000, "itl_ms": 30},
        workload={"arrivals": OFFICE},
        deployment=H100 | {"serving": ["disaggregated"]},
    )
    assert all(one.usd_per_month for one in answer.ways if one.name != "api")


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"costs": {"region": "atlantis"}}, "costs.region"),
        ({"costs": {"cloud_region": "nowhere-1"}}, "costs.cloud_region"),
        ({"costs": {"cloud_provider": "awz"}}, "aws"),
        ({"costs": {"api": {"model": "no such model"}}}, "costs.api.model"),
        ({"costs": {"api": {"provider": "nobody"}}}, "costs.api.provider"),
        ({"costs": {"growth_percent_per_year": 1000}, "workload": {"peak_rps": 2000}}, "growth_percent_per_year"),
        ({"limits": {"ttft_ms": 0.001}}, "no deployment to price"),
        ({"costs": {"routing": {"percent": 9, "model": "nobody/knows"}}}, "costs.routing.model"),
    ],
)
def test_what_cannot_be_priced_is_refused_in_a_sentence(sections: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidScenario, match=words) as refused:
        priced(**sections)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    "costs",
    [
        {"staff_usd_per_month": -1},
        {"pue": 0.5},
        {"power_utilization": 0},
        {"reserved_1y_discount_percent": 101},
        {"api": {"input_usd_per_mtok": 1}},
        {"routing": {"percent": 50}},
        {"routing": {"percent": 100, "model": "x"}},
        {"suport_percent_per_year": 5},
    ],
)
def test_impossible_constants_are_refused(costs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="costs"):
        Scenario.model_validate(raw(costs=costs))


def test_texts_hold_what_the_answer_holds() -> None:
    answer = priced(workload={"arrivals": OFFICE}, costs={"region": "germany"})
    for text in (as_text(answer), as_markdown(answer)):
        assert answer.answer in text
        assert "Everything provisioned: " in text or "| Everything provisioned |" in text
    assert f"**{answer.usd_per_month:,.2f}**" in as_markdown(answer)
