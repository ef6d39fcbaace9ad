"""A mixed fleet as something to pay for: the sum of its fleets, the same at every door."""

import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml

from api.questions import priced
from sharing.report.build_calculator import calculator_of
from sharing.report.content import Released
from sharing.report.subject import subject_of
from sizing.cli import main
from sizing.economics.cost import carbon_of, cost, month_of_plan
from sizing.economics.curves import over_months
from sizing.economics.mix import standing_for, together, ways_of_answer
from sizing.economics.on_prem import on_prem
from sizing.economics.results import CostAnswer
from sizing.economics.ways import Ways, ways_of
from tests.sizing.economics.pricing import cents, fleet, money, parts, server
from tests.sizing.mixed import cheaper
from ui.cost import computed


def test_two_fleets_of_ones_own() -> None:
    constants = money(staff_usd_per_month=5000)
    large = on_prem(server(usd=400_000, kw=10), fleet(2), constants)
    small = on_prem(server(usd=60_000, kw=2), fleet(3), constants)
    both = together([large, small])
    # (2 x 400,000 + 3 x 60,000) / 60; (20 kW + 6 kW) x 0.7 x 1.5 x 730 h x 0.10; staff once.
    assert parts(both) == {"servers": 16_333.33, "power": 1_992.90, "staff": 5_000.00}
    assert cents(both) == 23_326.23
    assert both.systems.value == 5
    carbon = carbon_of(both, constants.assumptions)
    assert carbon.value == pytest.approx(26 * 0.7 * 1.5 * 730 * 0.4)  # kW, share, PUE, hours, kg/kWh


def test_without_a_price_of_one_fleet_there_is_none() -> None:
    views = [on_prem(server(usd=usd), fleet(1), money()) for usd in (400_000, None)]
    assert together(views).unavailable == "no_price"


def test_instances_of_a_fleet_stand_for_requests_of_all() -> None:
    # 4 instances of 2 requests/s carry 8 of 24: each stands for 6 of all.
    part = standing_for(fleet(4, max_rps=2.0), 24.0)
    assert part.kinds[0].max_rps == 6.0
    assert part.max_rps == 24.0
    assert part.at(0.5).kinds[0].working == 2
    assert part.at(1.25).kinds[0].working == 5
    # Half of the requests of a full month keep its instances half busy, whatever their share is.
    assert part.busy(12.0 * 3600 * 730, part.gpus) == pytest.approx(0.5)


def by_hand(of: Ways) -> float:
    """USD a month of the rented instances of the mix: number x USD an hour x 730, and staff once."""
    staff = of.money.assumptions.amount("staff_rented_usd_per_month").value
    mix = cheaper.answer().plan.mixed
    small, large = mix.parts
    assert (small.deployment.gpu, large.deployment.gpu) == ("l4", "h100_sxm")
    return small.deployment.systems * 0.2 * 730 + large.usd_per_month + staff


def test_the_cost_of_a_mix_is_that_of_its_fleets() -> None:
    answer = cheaper.answer()
    mix, ways, priced_mix = answer.plan.mixed, ways_of_answer(answer), cost(answer)
    assert mix.outcome == "cheaper"
    assert priced_mix.usd_per_month == pytest.approx(by_hand(ways))
    assert sum(priced_mix.cash) == pytest.approx(36 * by_hand(ways))
    assert priced_mix.gpus == mix.gpus
    assert [each.gpus for each in priced_mix.mixed.fleets] == [part.deployment.gpus for part in mix.parts]
    assert priced_mix.mixed.one_fleet_usd_per_month == month_of_plan(answer)["usd_per_month"]
    instances = math.fsum(each.usd_per_month for each in priced_mix.mixed.fleets)
    assert instances == pytest.approx(mix.usd_per_month)
    assert priced_mix.investment is not None
    assert "Priced is the mixed fleet" in priced_mix.answer


def test_further_requests_cost_what_each_fleet_adds() -> None:
    priced_mix, ways = cost(cheaper.answer()), ways_of_answer(cheaper.answer())
    chosen = ways.cloud(1.0)
    usd = 0.0
    for part, view in zip(cheaper.answer().fleets, chosen.fleets, strict=True):
        one = part.plan.per_instance
        assert one is not None
        assert view.systems is not None
        share = part.plan.sustained_rps / ways.fleet.peak_rps
        own = view.usd_per_month.value - view.parts["staff"].value
        # USD of a system over the requests that it serves at the mean share of its peak, times its share of requests.
        busy = ways.month.requests / (ways.fleet.peak_rps * 3600 * 730)
        usd += own / view.systems.value / (one.max_rps * 3600 * 730 * busy) * share
    assert priced_mix.marginal.usd_per_request == pytest.approx(usd)


def test_more_load_adds_to_every_fleet() -> None:
    ways = ways_of_answer(cheaper.answer())
    for load in (0.3, 1.0, 2.5):
        whole = ways.cloud(load)
        own = [view.usd_per_month.value - view.parts["staff"].value for view in whole.fleets]
        assert whole.usd_per_month.value == pytest.approx(sum(own) + whole.parts["staff"].value)
    assert ways.fleet.gpus == sum(ways_of(part).fleet.gpus for part in cheaper.answer().fleets)


def test_every_door_gives_the_same_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = cheaper.answer()
    asked = cost(answer)
    text = yaml.safe_dump(cheaper.KEYS)
    path = tmp_path / "mix.yaml"
    path.write_text(text)
    assert main(["cost", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(asked.model_dump_json())
    assert priced(text.encode(), analytic=False, on=None) == asked
    months = over_months(ways_of_answer(answer))
    assert months["cloud"] == asked.cash
    told = subject_of(answer, Released.OWN_PRICES)
    assert told.cost == asked
    assert told.months == months
    assert month_of_page(answer.scenario.model_dump_json(), answer.scenario.costs.model_dump_json(), asked) == months


def month_of_page(scenario: str, costs: str, asked: CostAnswer) -> object:
    """What the Cost page draws, on the day of ``asked``."""
    on = date.fromisoformat(asked.priced_on)
    assert computed.cost_of(scenario, costs, on).usd_per_month == asked.usd_per_month
    return computed.months_of(scenario, costs, on)


def test_a_workbook_has_no_formulas_for_a_mix() -> None:
    assert calculator_of(cheaper.answer(), Released.LIST_PRICES) is None


def test_a_mix_that_is_not_cheaper_is_priced_as_the_plan() -> None:
    answer = cheaper.answer()
    bare = replace(answer, plan=answer.plan.marked(replace(answer.plan.made_for, parts=())))
    assert cost(bare).usd_per_month == month_of_plan(answer)["usd_per_month"]
    assert cost(bare).mixed is None


def test_spot_instances_of_a_mix_stand_with_each_fleet() -> None:
    answer = cheaper.answer()
    spot = cost(answer.at_costs(answer.scenario.costs.model_copy(update={"purchase": "spot"})))
    assert spot.spot is None
    each = [one.spot for one in spot.mixed.fleets]
    for one, own in zip(spot.mixed.fleets, each, strict=True):
        assert own.needed == one.systems
        # What a fleet costs is its rent with interruptions; staff is stated of all together.
        assert own.usd_per_month == pytest.approx(one.usd_per_month)
        assert own.instances >= own.needed
    together_usd = math.fsum(own.usd_per_month for own in each if own is not None)
    assert spot.parts["instances"] + spot.parts["interruptions"] == pytest.approx(together_usd)
    assert spot.answer.count("pot: ") == 2
    assert f"{spot.mixed.fleets[0].name}, spot: " in spot.answer
    on_demand = cost(answer).mixed
    assert all(fleet.spot is None for fleet in on_demand.fleets)
