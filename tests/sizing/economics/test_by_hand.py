"""Costs worked out by hand, as in a spreadsheet: each line of a case is a cell, and they agree to the cent."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import gpus
from sizing.economics.amount import Amount
from sizing.economics.api import api
from sizing.economics.break_even import against_api, against_renting
from sizing.economics.cash import cash
from sizing.economics.cloud import cloud_on, rented
from sizing.economics.cost import carbon_of, energy_of
from sizing.economics.hybrid import Base, Day, hybrid, paid_hours
from sizing.economics.month import Month
from sizing.economics.on_prem import on_prem
from sizing.economics.units import (
    at_capacity,
    at_full_load,
    marginal,
    marginal_of_load,
    per_unit,
    used_usd_per_month,
    utilization,
)
from sizing.economics.views import View
from sizing.scenario.costs import Costs
from sizing.scenario.prices import Prices
from tests.sizing.economics.pricing import MONTH, cents, fleet, instance, money, parts, server, token_price

HALF_DAY = Day(loads=(1.0,) * 12 + (0.25,) * 12)
"""Twelve busy hours, and a quarter of that in the other twelve."""


def test_two_servers_of_ones_own() -> None:
    view = on_prem(
        server(usd=400_000, kw=10),
        fleet(2),
        money(
            switches_percent=10,
            storage_percent=5,
            support_percent_per_year=8,
            capital_charge_percent_per_year=6,
            licence="nvidia_ai_enterprise",
            licence_usd_per_gpu_year=4500,
            staff_usd_per_month=5000,
        ),
    )
    # 2 x 400,000 = 800,000 for servers, 80,000 for switches, 40,000 for storage: 920,000 over 60 months.
    assert parts(view) == {
        "servers": 13_333.33,  # 800,000 / 60
        "switches": 1_333.33,  # 80,000 / 60
        "storage": 666.67,  # 40,000 / 60
        "support": 6_133.33,  # 920,000 x 8 % / 12
        "capital_charge": 2_300.00,  # 920,000 / 2 x 6 % / 12
        "power": 1_533.00,  # 2 x 10 kW x 0.7 x 1.5 x 730 h x 0.10
        "licence": 6_000.00,  # 16 GPUs x 4,500 / 12
        "staff": 5_000.00,
    }
    assert cents(view) == 36_299.67
    energy, carbon = (of(view, money().assumptions) for of in (energy_of, carbon_of))
    assert energy.value == pytest.approx(15_330)  # 20 kW x 0.7 x 1.5 x 730 h
    assert carbon.value == pytest.approx(6_132)  # 15,330 kWh x 400 g


def test_licences_by_die_and_licences_that_come_with_the_card() -> None:
    licensed = money(licence="nvidia_ai_enterprise", licence_usd_per_gpu_year=4500)
    two_dies = on_prem(server(usd=0, kw=0, gpu_id="b300_sxm"), fleet(1), licensed).usd_per_month
    assert (two_dies.value, two_dies.high) == (3_000, 6_000)  # 8 x 4,500 / 12, and twice that
    assert on_prem(server(usd=0, kw=0, gpu_id="h100_nvl"), fleet(1), licensed).usd_per_month.high == 0


def test_the_same_servers_in_colocation() -> None:
    view = on_prem(server(), fleet(2), money(facility="colocation", colocation_usd_per_kw_month=200))
    # 800,000 / 60 + 20 kW x 200 + 20 x 0.7 x 1.5 x 730 x 0.10
    assert parts(view) == {"servers": 13_333.33, "colocation": 4_000.00, "power": 1_533.00}
    assert cents(view) == 18_866.33


def test_whole_instances_on_demand() -> None:
    # 5 copies of the model of 4 GPUs, two to an instance: 3 instances x 24 USD x 730 h; licence 3 x 8 GPUs x 730 h x 1.
    view = cloud_on(
        instance(24.0),
        fleet(5, gpus_each=4),
        money(licence="nvidia_ai_enterprise", licence_usd_per_gpu_hour=1),
        "on_demand",
    )
    assert parts(view) == {"instances": 52_560.00, "licence": 17_520.00}
    assert cents(view) == 70_080.00


def test_spot_instances_with_what_interruptions_cost_on_top() -> None:
    view = cloud_on(replace(instance(10.0), on_top=Amount.exactly(0.15)), fleet(3), money(), "spot")
    # 3 x 10 x 730 = 21,900, and 15 % more
    assert parts(view) == {"instances": 21_900.00, "interruptions": 3_285.00}
    assert cents(view) == 25_185.00


def test_a_commitment_of_three_years_at_a_discount() -> None:
    h100 = gpus()["h100_sxm"]
    committed = rented(h100, money(reserved_3y_discount_percent=40), Prices(), "reserved_3y")
    listed = rented(h100, money(), Prices(), "on_demand")
    on_demand = {(one.option.id, one.region): one.usd_per_hour.value for one in listed}
    by_discount = [one for one in committed if one.discount]
    assert len(by_discount) > 10
    for one in by_discount:
        assert round(one.usd_per_hour.value, 6) == round(0.6 * on_demand[one.option.id, one.region], 6)
    own = {one.option.id: one.usd_per_hour.value for one in committed if not one.discount}
    assert own["aws:p5.48xlarge"] == 23.776
    # 2 instances x 24 x 60 % x 730 h
    assert cents(cloud_on(instance(24.0 * 0.6), fleet(2), money(), "reserved_3y")) == 21_024.00


def hybrid_of_four(usd_per_hour: float, load: float = 1.0, **costs: float) -> View:
    """Four servers of one copy each in the busy half of the day, one in the other; a server is 180,000 over 5 years."""
    owned = server(usd=180_000, kw=0.0)
    plain = money(**costs)
    base = Base(system_gpus=8, view=lambda always: on_prem(owned, always, plain))
    return hybrid(base, (instance(usd_per_hour),), fleet(4), HALF_DAY, plain, load)


def test_a_hybrid_owns_what_is_always_needed() -> None:
    # A server costs 3,000 a month, an instance at 10 USD 3,650 in the 365 busy hours and 7,300 in all 730.
    # Base of 0: 4 x 3,650 + 3,650 = 18,250. Of 1: 3,000 + 3 x 3,650 = 13,950. Of 4: 12,000.
    assert cents(hybrid_of_four(10.0)) == 12_000.00
    # At 6 USD: 0: 4 x 2,190 + 2,190 = 10,950. 1: 3,000 + 3 x 2,190 = 9,570. 4: 12,000.
    view = hybrid_of_four(6.0)
    assert parts(view) == {"servers": 3_000.00, "burst": 6_570.00}
    assert cents(view) == 9_570.00
    # At 1 USD: 0: 4 x 365 + 365 = 1,825. 1: 3,000 + 1,095 = 4,095.
    assert parts(hybrid_of_four(1.0)) == {"burst": 1_825.00}


def test_instances_of_a_hybrid_are_paid_for_while_they_start() -> None:
    # Each morning three start beyond the base of one: 3 x 0.5 h x 365 / 12 days x 6 USD = 273.75 more a month.
    view = hybrid_of_four(6.0, burst_start_up_minutes=30)
    assert parts(view) == {"servers": 3_000.00, "burst": 6_843.75}


@pytest.mark.parametrize(
    ("needed", "minutes", "hours_a_day"),
    [
        ([2.0] * 12 + [0.0] * 12, 0, 24.0),
        ([2.0] * 12 + [0.0] * 12, 30, 25.0),  # two start once a day
        ([2.0] * 12 + [0.0] * 12, 90, 27.0),
        ([2.0, 0.0] * 12, 30, 36.0),  # twelve times a day
        ([2.0, 0.0] * 12, 60, 48.0),  # needed again before it would have started anew: never switched off
        ([2.0, 0.0] * 12, 600, 48.0),
        ([2.0] * 24, 600, 48.0),
    ],
)
def test_hours_that_are_paid_for(needed: list[float], minutes: float, hours_a_day: float) -> None:
    assert paid_hours(np.array(needed), minutes) == pytest.approx(hours_a_day * 730 / 24)


def test_the_next_requests_of_a_hybrid() -> None:
    # A quarter more load: 5 busy, 2 otherwise. Base of 2: 6,000 + 3 x 2,190 = 12,570; of 1: 3,000 + 5 x 2,190 = 13,950.
    assert cents(hybrid_of_four(6.0, load=1.25)) == 12_570.00
    next_ones = marginal_of_load(hybrid_of_four(6.0), lambda load: hybrid_of_four(6.0, load), fleet(4), MONTH)
    assert round(next_ones.usd_per_request, 6) == 0.012  # (12,570 - 9,570) / 250,000


def test_an_api_by_the_token() -> None:
    view = api(token_price(input_usd=1.0, cached_usd=0.25, output_usd=4.0), MONTH)
    # A million requests: 2,000 million new tokens x 1, 1,000 million cached x 0.25, 500 million x 4
    assert parts(view) == {"api_input": 2_000.00, "api_cached_input": 250.00, "api_output": 2_000.00}
    assert cents(view) == 4_250.00


def test_break_even_with_an_api_is_reached() -> None:
    # 2 copies x 1 request/s: 5,256,000 requests a month day and night. A server: 60,000 / 60 = 1,000, two 2,000.
    view = on_prem(server(usd=60_000, kw=0.0), fleet(2), money())
    assert cents(view) == 2_000.00
    # A request behind the API: 4,250 / 1,000,000 = 0.00425. 2,000 / 0.00425 = 470,588.2 a month = 15,471.4 a day.
    one = against_api(view, token_price(), fleet(2), MONTH)
    assert one.outcome == "reached"
    assert one.requests_per_day == pytest.approx(15_471.39, abs=0.01)
    assert one.utilization == pytest.approx(0.0895335)  # 470,588.2 / 5,256,000


def test_break_even_is_reached_on_a_flatter_day_only() -> None:
    # The planned day has 1,000,000 requests of 5,256,000: at the peak it serves 19.0 % of day and night.
    # Two servers at 10,000 a month: 20,000 / 0.00425 = 4,705,882 a month, 89.5 %.
    view = on_prem(server(usd=600_000, kw=0.0), fleet(2), money())
    one = against_api(view, token_price(), fleet(2), MONTH)
    assert one.outcome == "reached_on_a_flatter_day"
    assert one.utilization == pytest.approx(0.895335)


def test_break_even_is_not_reached() -> None:
    # Two servers at 12,000 a month: 24,000 / 0.00425 = 5,647,059 of 5,256,000.
    one = against_api(on_prem(server(usd=720_000, kw=0.0), fleet(2), money()), token_price(), fleet(2), MONTH)
    assert one.outcome == "not_reached"
    assert one.requests_per_day is None


def test_owning_against_renting_by_the_hour() -> None:
    own = on_prem(server(usd=180_000, kw=0.0), fleet(2), money())  # 6,000 a month
    dear = cloud_on(instance(10.0), fleet(2), money(), "on_demand")  # 14,600
    one = against_renting(own, dear)
    assert one.outcome == "reached"
    assert one.utilization == pytest.approx(0.410959)  # 6,000 / 14,600
    cheap = cloud_on(instance(4.0), fleet(2), money(), "on_demand")  # 5,840
    assert against_renting(own, cheap).outcome == "not_reached"


def test_allocated_against_used() -> None:
    # 2 copies: 5,256,000 requests a month at full load, of which 1,000,000 come: 19.0 %.
    view = on_prem(server(usd=60_000, kw=0.0), fleet(2), money())
    assert utilization(view, MONTH) == pytest.approx(1_000_000 / 5_256_000)
    assert round(used_usd_per_month(view, MONTH), 2) == 380.52  # 2,000 x 19.0259 %
    allocated = per_unit(2_000.0, MONTH.requests, MONTH)
    assert round(allocated.usd_per_million_output_tokens, 2) == 4.00  # 2,000 / 500 million
    assert round(allocated.usd_per_million_input_tokens, 4) == 0.6667  # 2,000 / 3,000 million
    assert round(allocated.usd_per_million_blended_tokens, 4) == 0.5714  # 2,000 / 3,500 million
    assert round(at_capacity(view, MONTH).usd_per_million_output_tokens, 4) == 0.7610  # 2,000 / 2,628 million
    used = per_unit(used_usd_per_month(view, MONTH), MONTH.requests, MONTH)
    assert used == at_capacity(view, MONTH)
    # The peak is 1.5 requests/s: day and night that would be 3,942,000 requests, 2,000 / 1,971 million tokens.
    peak = replace(fleet(2), peak_rps=1.5)
    assert round(at_full_load(view, peak, MONTH).usd_per_million_output_tokens, 4) == 1.0147


def test_marginal_leaves_staff_out() -> None:
    # Two servers at 1,000 and staff at 5,000: the next server costs 1,000 and serves 2,628,000 x 19.0259 % = 500,000.
    view = on_prem(server(usd=60_000, kw=0.0), fleet(2), money(staff_usd_per_month=5_000))
    assert round(marginal(view, fleet(2), MONTH).usd_per_request, 6) == 0.002
    assert round(per_unit(7_000.0, MONTH.requests, MONTH).usd_per_request, 6) == 0.007


def test_the_range_of_gpus_and_constants_is_carried_into_money() -> None:
    # 2 servers, 1 at best and 4 at worst; electricity 0.10 at a PUE of 1.2 to 1.6 around 1.54.
    view = on_prem(server(usd=60_000), fleet(2, gpus=(8, 32)), money(pue=None))
    # 1,000 + 10 x 0.7 x 1.2 x 730 x 0.1; 2,000 + 20 x 0.7 x 1.54 x 73; 4,000 + 40 x 0.7 x 1.6 x 73
    amount = view.usd_per_month
    assert [round(end, 2) for end in (amount.low, amount.value, amount.high)] == [1_613.20, 3_573.88, 7_270.40]
    unbounded = on_prem(server(), fleet(2, gpus=(8, float("inf"))), money()).usd_per_month
    assert unbounded.bounded_high is None


def test_36_months_of_growth_add_whole_servers() -> None:
    # Load doubles every year: 2 servers carry it in the first month; 3 from the 2nd on, 4 from the 9th, when it is
    # 2 x 2^(8/12) = 3.17, to the 13th, and so on to ceil(2 x 2^(35/12)) = 16 in the last month.
    one = server(usd=60_000, kw=0.0)
    months = cash(lambda load: on_prem(one, fleet(2).at(load), money()), 2.0, Costs(growth_percent_per_year=100))
    assert [round(usd.value) for usd in months[:14]] == [2000, *[3000] * 7, *[4000] * 5, 5000]
    assert round(months[-1].value) == 16_000
    assert cash(lambda load: on_prem(one, fleet(2).at(load), money()), 2.0, Costs()) == (Amount.exactly(2000.0),) * 36


def test_a_month_has_a_twelfth_of_365_days() -> None:
    assert Month(requests=365_000, input_tokens=1, cached_tokens=0, output_tokens=1).requests_per_day == 12_000


def test_the_base_of_a_hybrid_is_that_of_the_newsvendor() -> None:
    """Of servers that hold one copy each: owned is what is needed in more of the hours than owning costs of renting."""
    rng = np.random.default_rng(11)
    for usd_per_hour in (4.0, 6.0, 9.0):
        shape = rng.gamma(2.0, size=24)
        day = Day(loads=tuple(shape / shape.max()))
        plain, most = money(), fleet(12)
        owned = server(usd=180_000, kw=0.0)
        base = Base(system_gpus=8, view=lambda always, owned=owned, plain=plain: on_prem(owned, always, plain))
        view = hybrid(base, (instance(usd_per_hour),), most, day, plain)
        share = 3_000 / (usd_per_hour * 730)  # 180,000 over 60 months, against all hours of a month
        assert view.base.worth_owning == pytest.approx(share)
        needed = [most.at(load).kinds[0].instances for load in day.loads]
        newsvendor = sum(1 for k in range(1, 13) if sum(n >= k for n in needed) / 24 > share)
        assert view.base.instances == newsvendor
        assert view.base.burst == max(needed) - newsvendor
        hours = sum(max(n - newsvendor, 0) for n in needed) * 730 / 24
        assert view.base.hours == pytest.approx(hours)
