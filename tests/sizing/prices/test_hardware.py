import dataclasses
import math

import pytest

from sizing.base.errors import SizingError
from sizing.catalog import cloud_instances, gpus, street_prices
from sizing.prices.hardware import options, preferred_onprem_order, street_price
from sizing.scenario.schema import Prices

H100 = gpus()["h100_sxm"]
CUSTOM = dataclasses.replace(H100, id="my_gpu", name="My GPU", custom=True, tdp_w=None)


def by_id(found):
    return {option.id: option for option in found}


def test_a_complete_system_is_preferred_over_cheaper_bare_gpus():
    found = options(H100, "on_prem", Prices())
    assert [(o.id, o.price_covers) for o in found] == [("dgx_h100", "complete"), ("hgx_h100_8", "gpus_only")]
    dgx, hgx = found
    assert dgx.usd_per_hour == pytest.approx(400_000 / (5 * 8760))
    assert hgx.system_usd == 240_000 < dgx.system_usd
    assert dgx.basis.startswith("Complete system")
    assert hgx.basis.startswith("GPUs only")
    assert preferred_onprem_order(found[::-1]) == found


def test_power_is_the_listed_maximum_or_says_that_it_is_the_gpus_alone():
    found = by_id(options(H100, "on_prem", Prices()))
    assert (found["dgx_h100"].power_kw, "as listed" in found["dgx_h100"].basis) == (10.2, True)
    assert found["hgx_h100_8"].power_kw == pytest.approx(8 * 700 / 1000)
    assert "Power: GPUs only" in found["hgx_h100_8"].basis


def test_a_system_without_list_price_is_priced_by_its_gpus_and_says_so():
    h200 = by_id(options(gpus()["h200_sxm"], "on_prem", Prices()))["dgx_h200"]
    assert h200.system_usd == 8 * (32_000 + 35_000) / 2
    assert h200.price_covers == "gpus_only"
    assert "8 x 33,500 USD" in h200.basis


def test_a_superchip_price_counts_for_two_gpus(monkeypatch):
    chip = next(row for row in street_prices() if "superchip" in row.kind)
    dated = dataclasses.replace(chip, date="2026-06")
    monkeypatch.setattr("sizing.prices.hardware.street_prices", lambda: (dated,))
    assert street_price("gb200")[0] == (70000 + 80000) / 2 / 2


def test_a_price_without_a_date_or_of_used_cards_is_no_list_price():
    assert street_price("a100_sxm_80g")[0] is None
    assert street_price("v100_sxm")[0] is None


def test_the_price_of_a_kit_is_not_that_of_a_server():
    assert options(gpus()["gaudi3"], "on_prem", Prices())[0].price_covers == "gpus_only"


def test_depreciation_spreads_the_price():
    five, ten = (options(H100, "on_prem", Prices(depreciation_years=y))[0].usd_per_hour for y in (5, 10))
    assert five == pytest.approx(2 * ten)


def test_an_asked_system_price_replaces_the_list():
    for option in options(H100, "on_prem", Prices(system_usd=300_000)):
        assert (option.system_usd, option.price_covers) == (300_000, "complete")
        assert "as asked" in option.basis


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


def test_an_asked_gpu_hour_replaces_every_cloud_price():
    for option in options(H100, "cloud", Prices(gpu_hour_usd=2.5)):
        assert option.usd_per_hour == pytest.approx(2.5 * option.gpus)
        assert "as asked" in option.basis


def test_hybrid_is_priced_as_on_premises_base_and_says_so():
    base, hybrid = options(H100, "on_prem", Prices())[0], options(H100, "hybrid", Prices())[0]
    assert hybrid.usd_per_hour == base.usd_per_hour
    assert "not priced yet" in hybrid.basis


def test_a_gpu_outside_the_catalogue_comes_in_an_assumed_8_gpu_server():
    unknown = options(CUSTOM, "on_prem", Prices())
    assert [(o.gpus, o.assumed, o.usd_per_hour, o.power_kw) for o in unknown] == [(8, True, None, None)]
    assert options(CUSTOM, "on_prem", Prices(), 20_000.0)[0].system_usd == 160_000
    rented = options(CUSTOM, "cloud", Prices(gpu_hour_usd=3))[0]
    assert (rented.usd_per_hour, rented.assumed, rented.kind) == (24, True, "instance")
    assert options(CUSTOM, "cloud", Prices())[0].price_covers == "unknown"


@pytest.mark.parametrize("location", ["on_prem", "cloud", "hybrid"])
@pytest.mark.parametrize("gpu", gpus().values(), ids=lambda gpu: gpu.id)
def test_every_gpu_can_be_had_somehow_and_every_option_explains_itself(gpu, location):
    found = options(gpu, location, Prices())
    assert len({option.id for option in found}) == len(found) >= 1
    assert [option.price_rank for option in found] == sorted(option.price_rank for option in found)
    for option in found:
        assert option.gpu_id == gpu.id
        assert option.gpus >= option.domain_gpus >= 1
        assert (option.usd_per_hour is None) == (option.price_covers == "unknown")
        assert option.usd_per_hour is None or 0 < option.usd_per_hour < 1000
        assert option.basis.endswith(".")
        assert option.source


def test_options_are_computed_once_per_question():
    assert options(H100, "cloud", Prices()) is options(H100, "cloud", Prices())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 1e12])
def test_a_bad_custom_price_is_refused(bad):
    with pytest.raises(SizingError, match="Price of the accelerator"):
        options(CUSTOM, "on_prem", Prices(), bad)
