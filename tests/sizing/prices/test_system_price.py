import dataclasses

import pytest

from sizing.catalog import gpus, host_for, server_hosts, street_prices, systems, systems_for
from sizing.prices.system_price import (
    Money,
    host_price,
    instance_power,
    power_by_rule,
    street_price,
    system_power,
    system_price,
)
from sizing.scenario.prices import Prices
from tests.sizing.asking import a_gpu

LIST = Prices()


def test_a_listed_price_is_the_middle_of_its_range():
    price = system_price(systems()["dgx_h100"], LIST)
    assert (price.usd, price.by) == (Money(335_000, 270_000, 400_000), "listed")
    assert "SemiAnalysis" in price.source


def test_by_rule_a_server_costs_its_gpus_and_the_rest():
    # B200: middles 40,000, 41,500 and 37,500, median 40,000; ends 35,000 and 43,000. Rest: 73,500, 60,000 to 110,000.
    price = system_price(systems()["hgx_b200_8"], LIST)
    assert price.by == "rule"
    assert price.usd == Money(8 * 40_000 + 73_500, 8 * 35_000 + 60_000, 8 * 43_000 + 110_000)
    assert "8 x 40,000 USD" in price.basis
    assert "= 393,500 USD, between 340,000 and 454,000 USD" in price.basis


def test_by_rule_a_server_with_fewer_cards_costs_a_smaller_rest():
    # L40S: middles 8,000 and 8,500, ends 7,500 and 8,500; one CPU: 16,005, 10,000 to 36,750.
    price = system_price(systems()["l40s_4_pcie"], LIST)
    assert price.usd == Money(4 * 8_250 + 16_005, 4 * 7_500 + 10_000, 4 * 8_500 + 36_750)


def test_the_own_price_of_an_accelerator_takes_the_place_of_its_market_price():
    price = system_price(systems()["hgx_b200_8"], LIST, custom_price_usd=10_000)
    assert price.usd == Money(153_500, 140_000, 190_000)


def test_a_system_whose_gpus_have_no_price_has_none():
    price = system_price(systems()["h200_nvl_8"], LIST)
    assert (price.usd, price.by) == (None, "unknown")


def test_one_more_gpu_of_a_kind_never_makes_a_server_cheaper():
    hosts = sorted(server_hosts().values(), key=lambda host: host.max_gpus)
    for smaller, larger in [(a, b) for a in hosts for b in hosts if a.form_factor == b.form_factor]:
        cheap, dear = host_price(smaller), host_price(larger)
        if cheap and dear and smaller.max_gpus < larger.max_gpus:
            assert all(one <= other for one, other in zip(cheap, dear, strict=True)), (smaller.id, larger.id)


def test_the_price_of_an_accelerator_is_the_median_of_the_middles_of_its_sources():
    # H100: 30,000, 30,000, 30,678, 31,000, 31,500 and 27,500
    price = street_price("h100_sxm")
    assert price is not None
    assert price.usd == Money((30_000 + 30_678) / 2, 25_000, 35_000)


def test_a_superchip_price_counts_for_two_gpus(monkeypatch):
    chip = next(row for row in street_prices() if "superchip" in row.kind)
    dated = dataclasses.replace(chip, date="2026-06")
    monkeypatch.setattr("sizing.prices.system_price.street_prices", lambda: (dated,))
    assert street_price("gb200").usd == Money(37_500, 35_000, 40_000)


def test_a_price_without_a_date_or_of_used_cards_is_no_list_price():
    assert street_price("a100_sxm_40g") is None
    assert street_price("v100_sxm") is None


def test_power_by_rule_is_the_gpus_and_the_rest_of_the_server():
    h100, l40s = gpus()["h100_sxm"], gpus()["l40s"]
    assert power_by_rule(h100, 8, server_hosts()["baseboard_8"]).kw == pytest.approx(5.6 * 1.82)  # 10.192
    assert power_by_rule(l40s, 8, server_hosts()["pcie_8"]).kw == pytest.approx(2.8 + 1.85)  # 4.65
    assert power_by_rule(l40s, 2, server_hosts()["pcie_4"]).kw == pytest.approx(0.7 + 0.925)
    assert power_by_rule(a_gpu(tdp_w=None), 8, server_hosts()["pcie_8"]).by == "unknown"
    assert power_by_rule(l40s, 8, None).kw is None


def test_power_by_rule_is_near_the_power_that_systems_list():
    for system in systems().values():
        if system.max_power_kw is None:
            continue
        gpu = gpus()[system.gpu_id]
        listed, host = system_power(system, gpu), server_hosts()[system.host]
        assert (listed.kw, listed.by) == (system.max_power_kw, "listed")
        by_rule = power_by_rule(gpu, system.gpus, host).kw
        assert by_rule == (None if gpu.tdp_w is None else pytest.approx(listed.kw, rel=0.3)), system.id


def test_a_rented_instance_draws_what_the_smallest_server_with_its_gpus_does():
    assert host_for("card", 1) is server_hosts()["pcie_4"]
    assert host_for("card", 5) is server_hosts()["pcie_8"]
    assert host_for("module", 9) is None
    assert instance_power(gpus()["l4"], 1).kw == pytest.approx(0.072 + 0.925)
    assert instance_power(gpus()["tpu_v5e"], 8).kw is None


@pytest.mark.parametrize("gpu", gpus().values(), ids=lambda gpu: gpu.id)
def test_whatever_has_a_price_says_its_range_and_source(gpu):
    for system in systems_for(gpu):
        price = system_price(system, LIST)
        assert (price.usd is None) == (price.by == "unknown")
        if price.usd is not None:
            assert price.usd.low <= price.usd.typical <= price.usd.high
            assert price.source
