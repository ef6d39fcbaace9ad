import dataclasses
import math

import pytest

from sizing.base.errors import SizingError
from sizing.catalog import cloud_instances, gpus
from sizing.planning.analytic import analytic_plan
from sizing.prices.cost import Offers, cheapest_option
from sizing.prices.hardware import best_founded_first, options
from sizing.question.understand import understand
from sizing.scenario.costs import Rent
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
    by = {o.id: (o.priced_by, o.price_basis) for o in found}
    assert by == {
        "dgx_h100": ("listed", "retail"),
        "hgx_h100_8": ("listed", "retail"),
        "hgx_h100_4": ("rule", "retail"),
    }
    dgx = found[0]
    assert dgx.usd_per_hour == pytest.approx((300_000 + 460_000) / 2 / (5 * 8760))
    assert (dgx.usd_per_hour_low, dgx.usd_per_hour_high) == pytest.approx((300_000 / 43_800, 460_000 / 43_800))
    assert all(option.basis.startswith("Complete system") for option in found)
    assert best_founded_first(found[::-1])[-1].id == "hgx_h100_4"


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
    assert "here as if all were owned; cost over years has base and burst" in hybrid.basis


def test_a_gpu_outside_the_catalogue_comes_in_an_assumed_8_gpu_server():
    unknown = options(CUSTOM, "on_prem", Prices())
    assert [(o.gpus, o.assumed, o.usd_per_hour, o.power_kw) for o in unknown] == [(8, True, None, None)]
    assert options(CUSTOM, "on_prem", Prices(), 20_000.0)[0].system_usd == 8 * 20_000 + 82_000
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


@pytest.mark.parametrize("gpu_id", ["rtx_4090", "rtx_5090", "rtx_a6000", "rtx_pro_6000_workstation", "rtx_3090_ti"])
def test_a_card_for_players_or_workstations_comes_in_workstations_of_four_at_most(gpu_id):
    found = options(gpus()[gpu_id], "on_prem", Prices())
    assert sorted(option.gpus for option in found) == [1, 2, 4]
    assert not any(option.racked for option in found)


@pytest.mark.parametrize(("gpu_id", "size"), [("gh200", 1), ("mi250x", 4), ("a10", 8), ("a100_sxm_40g", 8)])
def test_what_is_assumed_where_no_system_is_published_goes_by_how_it_is_built_in(gpu_id, size):
    (option,) = options(gpus()[gpu_id], "on_prem", Prices())
    assert (option.gpus, option.assumed, option.racked) == (size, True, True)


def test_a_dgx_spark_is_sold_whole_and_stands_on_a_desk():
    (spark,) = options(gpus()["gb10"], "on_prem", Prices())
    assert (spark.name, spark.gpus, spark.assumed, spark.racked) == ("DGX Spark", 1, False, False)
    assert spark.system_usd == 4700  # as reported after the price rise of 2026


@pytest.mark.parametrize(("gpu_id", "single_host"), [("tpu_v5e", 8), ("tpu_v6e", 8), ("tpu_v5p", 4), ("tpu7x", 4)])
def test_a_tpu_is_rented_in_slices_that_nothing_joins_and_an_instance_takes_one_of_its_size(gpu_id, single_host):
    found = sorted(options(gpus()[gpu_id], "cloud", Prices()), key=lambda option: option.gpus)
    assert {option.gpus for option in found} <= {1, 4, 8, 16, 32, 64}
    assert not any(option.fabric for option in found)
    assert [option.hosts for option in found] == [max(option.gpus // single_host, 1) for option in found]
    of_a_chip = {round(option.usd_per_hour / option.gpus, 6) for option in found}
    assert len(of_a_chip) == 1
    for gpus_of_instance in (single_host, 2 * single_host):  # never two of them in one slice of several hosts
        chosen = cheapest_option([2], [gpus_of_instance], [0], Offers([found]))
        assert (chosen.options[0].gpus, chosen.systems[0]) == (gpus_of_instance, 2)


def test_a_workstation_is_told_from_a_server_by_what_it_is_built_into():
    geforce = by_id(options(gpus()["rtx_5090"], "on_prem", Prices()))
    assert list(geforce) == ["workstation_1x_rtx_5090", "ws_rtx5090_2", "workstation_4x_rtx_5090"]
    assert all(not option.racked for option in geforce.values())
    assert all(option.racked for option in options(gpus()["rtx_pro_6000_server"], "on_prem", Prices()))


def test_a_capacity_block_a_queue_or_a_cluster_is_no_price_on_demand():
    blocks = {one.instance_type for one in cloud_instances() if one.other_terms and one.on_demand_usd_per_hour is None}
    assert {"u-p6e-gb200x72", "a4-highgpu-8g", "serverless H100", "1-Click Cluster from 64 GPUs"} <= blocks
    for gpu in gpus().values():
        for option in options(gpu, "cloud", Prices()):
            assert option.usd_per_hour is None or option.id.split(":", 1)[1] not in blocks
    assert by_id(options(H100, "cloud", Prices()))["aws:p5.48xlarge"].usd_per_hour == pytest.approx(
        55.04
    )  # block 41.53


def test_what_others_report_or_one_customer_was_quoted_prices_nothing_that_a_provider_lists():
    listed = options(gpus()["mi355x"], "cloud", Prices())
    assert [(option.id, option.price_basis) for option in listed] == [("oci:BM.GPU.MI355X.8", "list")]
    reported = options(gpus()["trn2"], "cloud", Prices())
    assert [(option.id, option.price_basis) for option in reported] == [("aws:trn2.3xlarge", "reported")]
    assert "list price as others report it" in reported[0].basis


def test_a_small_load_of_a_large_model_buys_no_eight_gpus():
    plan = analytic_plan(Scenario.model_validate(raw(LLAMA_70B, workload={"peak_rps": 1})), alternatives=0)
    assert plan.deployment.gpus_bought < 8


def test_rented_by_one_provider_in_its_way_to_pay() -> None:
    on_demand = options(H100, "cloud", Prices(), rent=Rent(provider="aws"))
    assert {option.id.partition(":")[0] for option in on_demand} == {"aws"}
    spot = options(H100, "cloud", Prices(), rent=Rent(purchase="spot"))
    assert all(option.payment == "spot" and "as spot instances" in option.basis for option in spot)
    listed = {f"{row.provider}:{row.instance_type}" for row in cloud_instances() if row.spot_usd_per_hour}
    assert {option.id for option in spot} <= listed


def test_a_commitment_without_a_listed_price_is_the_price_on_demand_less_the_discount() -> None:
    as_usual, asked = (
        options(gpus()["l4"], "cloud", Prices(), rent=Rent(provider="aws", purchase="reserved_1y", discount_percent=d))
        for d in (None, 50.0)
    )
    rows = {f"{row.provider}:{row.instance_type}": row for row in cloud_instances()}
    unlisted = [o for o in asked if not rows[o.id].reserved_1y_usd_per_hour]
    assert unlisted
    for option in unlisted:
        assert option.usd_per_hour == pytest.approx(0.5 * rows[option.id].on_demand_usd_per_hour)
        assert "less 50 %" in option.basis
    assert by_id(as_usual)[unlisted[0].id].usd_per_hour > unlisted[0].usd_per_hour


def test_a_gpu_that_the_provider_does_not_rent_is_excluded_and_an_unknown_provider_is_refused() -> None:
    asked = raw(LLAMA_70B, deployment={"location": "cloud", "gpus": ["h200_nvl"]}, costs={"cloud_provider": "aws"})
    found = analytic_plan(Scenario.model_validate(asked))
    assert not found.feasible
    assert found.excluded[0].reason == "The catalogue has no instance with it by aws."
    asked["costs"] = {"cloud_provider": "asw"}
    with pytest.raises(SizingError, match="Did you mean aws"):
        understand(Scenario.model_validate(asked))
