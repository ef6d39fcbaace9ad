"""What is said of money: how many of what on which terms, every amount on one basis, and no key in place of a word."""

import re
from datetime import date
from typing import Any

import pytest

from sizing.base.choices import Location, Purchase
from sizing.catalog import api_prices, systems
from sizing.economics.api import PROVIDERS, offered, provider_name
from sizing.economics.cost import cost
from sizing.economics.month import Month
from sizing.economics.results import CostAnswer
from sizing.economics.text import CONSTANTS, WAY_NAMES, against_renting, as_markdown, as_text, described, senses
from sizing.economics.views import in_place
from sizing.planning.analytic import analytic_plan
from sizing.planning.left_out import other_bases
from sizing.prices.system_price import system_price
from sizing.question.understand import understand
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_70B, raw

H100 = {"gpus": ["h100_sxm"]}
TERMS: dict[Purchase, str] = {
    "on_demand": "on demand",
    "reserved_1y": "reserved for one year",
    "reserved_3y": "reserved for three years",
}


def priced(location: Location = "on_prem", **sections: Any) -> CostAnswer:
    keys = raw(LLAMA_70B, **({"deployment": H100 | {"location": location}} | sections))
    return cost(Scenario.model_validate(keys), planner=analytic_plan)


@pytest.mark.parametrize("purchase", TERMS)
def test_rented_instances_are_said_with_their_terms_wherever_they_are_compared(purchase: Purchase) -> None:
    answer = priced("cloud", costs={"purchase": purchase})
    cloud = next(way for way in answer.ways if way.name == "cloud")
    assert cloud.payment == purchase
    assert described(cloud).endswith(f", {TERMS[purchase]}")
    others = [words for term, words in TERMS.items() if term not in (purchase, "on_demand")]
    for text in (answer.answer, against_renting(answer), as_text(answer), as_markdown(answer)):
        assert f"renting the same GPUs {TERMS[purchase]}" in text
        assert not [words for words in others if words in text]


@pytest.mark.parametrize(("rps", "said"), [(1, "one HGX"), (20, "2 x HGX"), (60, "6 x HGX")])
def test_a_cost_says_of_how_many_systems_it_is(rps: float, said: str) -> None:
    answer = priced(workload={"peak_rps": rps}, deployment=H100 | {"objective": "gpus", "tp": [8]})
    own = next(way for way in answer.ways if way.name == "on_prem")
    number = described(own).partition(" ")[0]
    assert number == ("one" if own.systems == 1 else f"{own.systems:.0f}")
    assert f"({described(own)})" in answer.answer
    assert said.partition(" ")[2].lstrip("x ") in described(own)


@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("oci BM.GPU", "all", "oci BM.GPU in any region"),
        ("hyperstack B200", "CA+US+NO", "hyperstack B200 in CA, US or NO"),
        ("lambda gpu", "US", "lambda gpu in US"),
        ("Acme eu-west 8x H100", "eu-west", "Acme eu-west 8x H100"),
        ("DGX H100", "", "DGX H100"),
    ],
)
def test_a_place_is_said_once_and_in_words(name: str, place: str, said: str) -> None:
    assert in_place(name, place) == said


@pytest.mark.parametrize("location", ["on_prem", "cloud"])
def test_texts_hold_no_key_of_a_way_or_a_constant(location: Location) -> None:
    answer = priced(location, costs={"leave_out": ["staff"]})
    for text in (as_text(answer), as_markdown(answer)):
        keys = {*WAY_NAMES, *CONSTANTS, "allocated"}
        assert not [key for key in keys if "_" in key and re.search(rf"\b{key}\b", text)]
        assert all(name in text for name, _ in senses(answer))
        assert all(WAY_NAMES[way.name] in text for way in answer.ways)


def test_what_is_paid_is_the_purchase_and_the_running_cost_before_the_residual_value() -> None:
    answer = priced()
    own = next(one for one in answer.investment.ways if one.name == "on_prem")
    gone = sum(answer.parts.get(name, 0.0) for name in ("servers", "switches", "storage", "capital_charge"))
    running = 36 * (answer.usd_per_month - gone)
    paid = own.purchase_usd + running
    assert own.paid_usd + own.residual_usd == pytest.approx(paid)
    line = next(line for line in as_text(answer).splitlines() if " paid, " in line)
    said = re.search(r"\$([\d.]+)([kM]) paid", line)
    assert float(said[1]) * {"k": 1e3, "M": 1e6}[said[2]] == pytest.approx(paid, rel=0.01)


def test_nothing_provisioned_has_no_utilisation() -> None:
    used = {way.name: way.utilization for way in priced().ways}
    assert used["api"] is None
    assert used["api_median"] is None
    assert 0 < used["on_prem"] < 1
    assert 0 < used["cloud"] < 1


@pytest.mark.parametrize(
    "model", ["meta-llama/Llama-3.3-70B-Instruct", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-R1"]
)
def test_one_offer_of_a_provider_counts_once(model: str) -> None:
    month = Month(requests=1000, input_tokens=3000, cached_tokens=500, output_tokens=500)
    offers = offered(model, date(2026, 11, 25), month)
    each = [(provider_name(one.provider), one.input_usd, one.cached_input_usd, one.output_usd) for one in offers]
    assert len(offers) > 3
    assert len(set(each)) == len(each)
    assert not [one.name for one in offers if re.search(r" at [a-z]+_", one.name)]


def test_every_provider_with_a_name_is_one_of_the_list() -> None:
    assert set(PROVIDERS) <= {row.provider for row in api_prices()}


def test_no_source_of_a_price_says_its_date_twice() -> None:
    for system in systems().values():
        source = system_price(system, Prices()).source
        for date_said in re.findall(r"\(([^()]*\d{4}[^()]*)\)", source):
            assert f"({date_said}) ({date_said})" not in source, system.id


@pytest.mark.parametrize(
    ("deployment", "named"),
    [
        ({"gpus": ["mi355x", "h100_sxm"]}, ["MI355X"]),
        ({"gpus": ["h100_sxm", "h200_sxm"]}, []),
        ({"gpus": ["mi355x"], "location": "cloud"}, []),
    ],
)
def test_prices_on_another_basis_than_what_sellers_ask_are_named(deployment: dict[str, Any], named: list[str]) -> None:
    scenario = Scenario.model_validate(raw(LLAMA_70B, deployment=deployment))
    plan = analytic_plan(scenario)
    assert plan.deployment is not None
    shown = [plan.deployment, *(one.deployment for one in plan.alternatives)]
    said = other_bases(shown, understand(scenario))
    assert bool(said) == bool(named)
    assert all(name in said for name in named)
    assert "H100" not in said
