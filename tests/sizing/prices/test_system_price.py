import dataclasses

import pytest

from sizing.catalog import gpus, host_for, server_hosts, street_prices, systems, systems_for
from sizing.prices.system_price import (
    PriceRange,
    asked_over_asp,
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
    assert (price.usd, price.by, price.basis_of_price) == (PriceRange(380_000, 300_000, 460_000), "listed", "retail")
    assert "Mercatus" in price.source


def test_a_typical_price_that_its_source_names_comes_before_the_middle():
    price = system_price(systems()["gb200_nvl72"], LIST)
    assert (price.usd, price.basis_of_price) == (PriceRange(3_000_000, 2_000_000, 3_100_000), "estimate")
    assert "3,000,000 USD estimate, typical of 2,000,000 to 3,100,000 USD" in price.basis


def test_by_rule_a_server_costs_its_gpus_and_the_rest():
    # B200, retail: middles 40,000, 41,500, 37,500, 50,000 and 51,875, median 41,500; ends 35,000 and 56,250.
    # Rest: 82,000, 65,000 to 178,000.
    price = system_price(systems()["hgx_b200_8"], LIST)
    assert (price.by, price.basis_of_price) == ("rule", "retail")
    assert price.usd == PriceRange(8 * 41_500 + 82_000, 8 * 35_000 + 65_000, 8 * 56_250 + 178_000)
    assert "8 x 41,500 USD (retail price)" in price.basis
    assert "= 414,000 USD, between 345,000 and 628,000 USD" in price.basis


def test_by_rule_a_server_with_fewer_cards_costs_a_smaller_rest():
    # L40S, retail: middle 8,000; ends with the list price 7,500 and 8,500; one CPU: 21,500, 10,000 to 36,750.
    price = system_price(systems()["l40s_4_pcie"], LIST)
    assert price.usd == PriceRange(4 * 8_000 + 21_500, 4 * 7_500 + 10_000, 4 * 8_500 + 36_750)


def test_an_estimate_of_a_system_comes_after_a_rule_from_prices_that_customers_are_asked():
    # RTX PRO 6000 Server, retail: 14,999 and 26,500 / 2 = 13,250, median 14,124.5; the server was estimated at 145,000.
    price = system_price(systems()["rtxpro6000_8"], LIST)
    assert (price.by, price.basis_of_price) == ("rule", "retail")
    assert price.usd.typical == 8 * 14_124.5 + 30_000


def test_an_average_selling_price_is_what_it_says_and_no_retail_price():
    price = system_price(systems()["mi355x_8"], LIST)
    assert (price.by, price.basis_of_price) == ("rule", "asp")
    assert "8 x 24,000 USD (average selling price; sellers ask 0.85 to 1.11 times that" in price.basis


def test_the_own_price_of_an_accelerator_takes_the_place_of_its_market_price():
    price = system_price(systems()["hgx_b200_8"], LIST, custom_price_usd=10_000)
    assert price.usd == PriceRange(162_000, 145_000, 258_000)


def test_a_system_whose_gpus_have_no_price_has_none():
    price = system_price(systems()["mi325x_8"], LIST)
    assert (price.usd, price.by, price.basis_of_price) == (None, "unknown", None)


def test_one_more_gpu_of_a_kind_never_makes_a_server_cheaper():
    hosts = sorted(server_hosts().values(), key=lambda host: host.max_gpus)
    for smaller, larger in [(a, b) for a in hosts for b in hosts if a.form_factor == b.form_factor]:
        cheap, dear = host_price(smaller), host_price(larger)
        if cheap and dear and smaller.max_gpus < larger.max_gpus:
            assert all(one <= other for one, other in zip(cheap, dear, strict=True)), (smaller.id, larger.id)


def test_the_price_of_an_accelerator_is_the_median_of_the_middles_on_one_basis():
    # H100 SXM, retail with the edition stated: 31,000 and 27,500; the range holds every basis.
    price = street_price("h100_sxm")
    assert (price.usd, price.basis) == (PriceRange((31_000 + 27_500) / 2, 25_000, 32_000), "retail")
    # B300: list 45,000 comes before the average selling price of 53,000 and the estimate of 48,000 to 70,000.
    b300 = street_price("b300_sxm")
    assert (b300.usd, b300.basis) == (PriceRange(45_000, 45_000, 70_000), "list")


def test_a_superchip_or_baseboard_price_counts_for_all_its_gpus(monkeypatch):
    board = next(row for row in street_prices() if row.gpus_per_price == 8)
    monkeypatch.setattr("sizing.prices.system_price.street_prices", lambda: (board,))
    assert street_price("b200_sxm").usd == PriceRange(415_000 / 8, 380_000 / 8, 450_000 / 8)


@pytest.mark.parametrize(
    "changed", [{"basis": "used"}, {"superseded": "2026-09"}, {"edition": "PCIe"}, {"edition": "not stated"}]
)
def test_a_price_of_used_cards_of_another_edition_or_superseded_prices_nothing(monkeypatch, changed):
    one = next(row for row in street_prices() if row.gpu_id == "h200_sxm" and row.edition == "SXM")
    monkeypatch.setattr("sizing.prices.system_price.street_prices", lambda: (one,))
    assert street_price("h200_sxm") is not None
    monkeypatch.setattr("sizing.prices.system_price.street_prices", lambda: (dataclasses.replace(one, **changed),))
    assert street_price("h200_sxm") is None


def test_the_price_of_a_card_is_dated_by_the_prices_it_is_made_of():
    assert system_price(systems()["rtxpro6000_8"], LIST).dates == ("2026-09", "2026", "2026 to 2026-09-19")
    assert system_price(systems()["dgx_b200"], LIST).dates == ("2026-02-13",)
    assert system_price(systems()["mi325x_8"], LIST).dates == ()


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


def test_an_average_selling_price_is_as_wide_as_sellers_were_found_to_ask() -> None:
    over = asked_over_asp()
    assert set(over.gpus) == {"a100_sxm_80g", "b200_sxm", "b300_sxm", "h100_sxm"}
    assert over.low < 1.0 <= over.ratio < over.high
    assert over.high == pytest.approx(29_250 / 26_460)  # H100 SXM: median of what is asked over HSBC's average
    price = street_price("mi355x")
    assert price is not None
    assert price.usd == pytest.approx((24_000, 23_000 * over.low, 25_000 * over.high))
