import dataclasses
import math

import pytest

from sizing.base.errors import SizingError
from sizing.catalog import cloud_instances, gpus
from sizing.planning.analytic import analytic_plan
from sizing.prices.hardware import best_founded_first, options
from sizing.question.understand import understand
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Scenario
from sizing.search.screen import all_offers
from tests.sizing.asking import LLAMA_70B, raw

H100 = gpus()["h100_sxm"]
CUSTOM = dataclasses.replace(H100, id="my_gpu", name="My GPU", custom=True, tdp_w=None)


def by_id(found):
    return {option.id: option for option in found}


def test_every_offer_is_a_complete_system_the_best_founded_price_first():
    found = options(H100, "on_prem", Prices())
    by = {o.id: o.priced_by for o in found}
    assert by == {"dgx_h100": "listed", "hgx_h100_8": "rule", "hgx_h100_4": "rule"}
    dgx = found[0]
    assert dgx.usd_per_hour == pytest.approx((270_000 + 400_000) / 2 / (5 * 8760))
    assert (dgx.usd_per_hour_low, dgx.usd_per_hour_high) == pytest.approx((270_000 / 43_800, 400_000 / 43_800))
    assert all(option.basis.startswith("Complete system") for option in found)
    assert best_founded_first(found[::-1])[0] == dgx


def test_power_is_that_of_whole_systems_listed_or_by_rule():
    found = by_id(options(H100, "on_prem", Prices()))
    dgx, hgx = found["dgx_h100"], found["hgx_h100_8"]
    assert (dgx.power_kw, dgx.power_from, "as listed" in dgx.basis) == (10.2, "listed", True)
    assert (hgx.power_kw, hgx.power_from) == (pytest.approx(8 * 0.7 * 1.82), "rule")  # 10.19 kW
    assert "by rule: 8 x 700 W x 1.82" in hgx.basis


def test_depreciation_spreads_the_price():
    five, ten = (options(H100, "on_prem", Prices(depreciation_years=y))[0].usd_per_hour for y in (5, 10))
    assert five == pytest.approx(2 * ten)


def test_an_asked_price_is_that_of_the_named_system_and_of_no_other():
    asked = by_id(options(H100, "on_prem", Prices(system="hgx_h100_8", system_usd=300_000)))
    assert (asked["hgx_h100_8"].system_usd, asked["hgx_h100_8"].priced_by) == (300_000, "asked")
    assert "as asked" in asked["hgx_h100_8"].basis
    assert asked["dgx_h100"] == by_id(options(H100, "on_prem", Prices()))["dgx_h100"]


def test_cloud_keeps_the_cheapest_region_of_each_instance_type():
    found = by_id(options(H100, "cloud", Prices()))
    for option in found.values():
        provider, kind = option.id.split(":", 1)
        listed = [
            r.on_demand_usd_per_hour
            for r in cloud_instances()
            if (r.provider, r.instance_type, r.gpu_id) == (provider, kind, "h100_sxm") and r.on_demand_usd_per_hour
        ]
        assert option.usd_per_hour == min(listed)
        assert option.region in option.basis
        assert (option.kind, option.system_usd) == ("instance", None)
    assert found["aws:p5.48xlarge"].usd_per_hour == pytest.approx(55.04)


def test_an_asked_gpu_hour_replaces_the_cloud_prices_of_the_named_gpu_and_of_no_other():
    asked = Prices(gpu="h100_sxm", gpu_hour_usd=2.5)
    for option in options(H100, "cloud", asked):
        assert option.usd_per_hour == pytest.approx(2.5 * option.gpus)
        assert "as asked" in option.basis
    h200 = gpus()["h200_sxm"]
    assert options(h200, "cloud", asked) == options(h200, "cloud", Prices())


def test_hybrid_is_priced_as_on_premises_base_and_says_so():
    base, hybrid = options(H100, "on_prem", Prices())[0], options(H100, "hybrid", Prices())[0]
    assert hybrid.usd_per_hour == base.usd_per_hour
    assert "not priced yet" in hybrid.basis


def test_a_gpu_outside_the_catalogue_comes_in_an_assumed_8_gpu_server():
    unknown = options(CUSTOM, "on_prem", Prices())
    assert [(o.gpus, o.assumed, o.usd_per_hour, o.power_kw) for o in unknown] == [(8, True, None, None)]
    assert options(CUSTOM, "on_prem", Prices(), 20_000.0)[0].system_usd == 8 * 20_000 + 73_500
    rented = options(CUSTOM, "cloud", Prices(gpu="my_gpu", gpu_hour_usd=3))[0]
    assert (rented.usd_per_hour, rented.assumed, rented.kind) == (24, True, "instance")
    assert options(CUSTOM, "cloud", Prices())[0].priced_by == "unknown"


@pytest.mark.parametrize("location", ["on_prem", "cloud", "hybrid"])
@pytest.mark.parametrize("gpu", gpus().values(), ids=lambda gpu: gpu.id)
def test_every_gpu_can_be_had_somehow_and_every_option_explains_itself(gpu, location):
    found = options(gpu, location, Prices())
    assert len({option.id for option in found}) == len(found) >= 1
    assert best_founded_first(found) == found
    for option in found:
        assert option.gpu_id == gpu.id
        assert option.gpus >= option.domain_gpus >= 1
        assert (option.usd_per_hour is None) == (option.priced_by == "unknown") == (not option.priced)
        assert (option.power_kw is None) == (option.power_from == "unknown")
        ends = (option.usd_per_hour_low, option.usd_per_hour, option.usd_per_hour_high)
        assert ends == (None, None, None) or list(ends) == sorted(ends)
        assert option.usd_per_hour is None or 0 < option.usd_per_hour < 1000
        assert option.basis.endswith(".")
        assert option.source


def test_options_are_computed_once_per_question():
    assert options(H100, "cloud", Prices()) is options(H100, "cloud", Prices())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 1e12])
def test_a_bad_custom_price_is_refused(bad):
    with pytest.raises(SizingError, match="Price of the accelerator"):
        options(CUSTOM, "on_prem", Prices(), bad)


def test_what_a_gpu_costs_does_not_depend_on_what_else_is_considered():
    everything = all_offers(understand(Scenario.model_validate(raw())))
    alone = all_offers(understand(Scenario.model_validate(raw(deployment={"gpus": ["h100_sxm"]}))))
    assert alone.by_gpu[0] in everything.by_gpu
    assert all(option.priced_by != "unknown" for option in alone.by_gpu[0])


@pytest.mark.parametrize(
    ("gpu", "joined"), [("l4", 1), ("l40s", 1), ("h100_nvl", 2), ("h200_nvl", 4), ("rtx_pro_6000_server", 1)]
)
def test_cards_come_in_servers_of_one_two_four_and_eight_joined_as_their_bridges_allow(gpu, joined):
    servers = options(gpus()[gpu], "on_prem", Prices())
    assert [(o.gpus, o.domain_gpus) for o in servers] == [(n, min(n, joined)) for n in (1, 2, 4, 8)]


def test_workstations_are_compared_where_nothing_is_racked_or_their_price_is_given():
    card, geforce = gpus()["rtx_pro_6000_server"], gpus()["rtx_5090"]
    assert "ws_rtxpro6000_1" not in by_id(options(card, "on_prem", Prices()))
    given = by_id(options(card, "on_prem", Prices(system="ws_rtxpro6000_1", system_usd=15_000)))
    assert given["ws_rtxpro6000_1"].system_usd == 15_000
    assert list(by_id(options(geforce, "on_prem", Prices()))) == ["ws_rtx5090_2"]


def test_a_small_load_of_a_large_model_buys_no_eight_gpus():
    plan = analytic_plan(Scenario.model_validate(raw(LLAMA_70B, workload={"peak_rps": 1})), alternatives=0)
    assert plan.deployment is not None
    assert plan.deployment.gpus_bought < 8
