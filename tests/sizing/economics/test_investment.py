"""Purchases, cash flow, present value and break-even worked out by hand, to the cent."""

import pytest

from sizing.economics.break_even import against_api, cheaper_ranges
from sizing.economics.cash import load_in, views_over_time
from sizing.economics.cloud import cloud_on
from sizing.economics.investment import CashFlow, cash_flow_of, payback_month
from sizing.economics.on_prem import Money, on_prem
from sizing.economics.views import View
from sizing.economics.ways import Way
from sizing.scenario.costs import Costs
from tests.sizing.economics.pricing import MONTH, cents, fleet, instance, money, parts, server, token_price

OWN = money(support_percent_per_year=10, staff_usd_per_month=1_000)
"""A server of 60,000 without power: support 60,000 x 10 % / 12 = 500, staff 1,000."""


def flow(way: Way, known: Money, peak_rps: float = 1.0, **costs: float) -> CashFlow:
    """What a way pays over 36 months."""
    return cash_flow_of(views_over_time(way, peak_rps, Costs.model_validate(costs)), known)


def owned(known: Money = OWN, count: int = 1) -> Way:
    def way(load: float) -> View:
        return on_prem(server(60_000, kw=0.0), fleet(count).at(max(load, 1.0)), known)

    return way


def hired(usd_per_hour: float) -> Way:
    def way(load: float) -> View:
        return cloud_on(instance(usd_per_hour), fleet(1).at(load), OWN_STAFFED_ELSEWHERE, "on_demand")

    return way


OWN_STAFFED_ELSEWHERE = money()
"""No staff beside rented instances."""


def test_a_server_is_paid_at_once_and_sold_for_what_is_not_written_off() -> None:
    paid = flow(owned(), OWN)
    # Today 60,000; each month 500 + 1,000; after 36 of 60 months 60,000 x (1 - 36 / 60) = 24,000 are left.
    assert paid.residual == pytest.approx(24_000)
    assert [round(usd, 2) for usd in paid.payments] == [60_000, *[1_500] * 35, -22_500]
    assert sum(paid.payments) == pytest.approx(90_000)  # 60,000 + 54,000 - 24,000


def test_present_cost_and_net_present_value() -> None:
    # At 10 % a year a month is 1.1^(1/12) - 1 = 0.7974140 %; 36 payments of 1 are worth (1 - 1.1^-3) / 0.007974140 =
    # 31.1864584 today; 1 after 36 months is worth 1.1^-3 = 0.7513148.
    own, rent = flow(owned(), OWN), flow(hired(5.0), OWN_STAFFED_ELSEWHERE)
    # 60,000 + 1,500 x 31.1864584 - 24,000 x 0.7513148
    assert round(own.present_value(10.0), 2) == 88_748.13
    # An instance: 5 x 730 = 3,650 a month; 3,650 x 31.1864584
    assert round(rent.present_value(10.0), 2) == 113_830.57
    assert round(rent.present_value(10.0) - own.present_value(10.0), 2) == 25_082.44
    assert own.present_value(0.0) == pytest.approx(sum(own.payments))
    # 60,000 + 1,500 m <= 3,650 m from m = 60,000 / 2,150 = 27.9 on
    assert payback_month(own, rent) == 28
    # At 2 USD an instance costs 1,460 a month, less than running the server.
    assert payback_month(own, flow(hired(2.0), OWN_STAFFED_ELSEWHERE)) is None
    assert payback_month(rent, rent) == 0


def test_what_grows_is_bought_when_it_is_needed() -> None:
    # Load doubles every year: 2 servers, a third at the end of month 1, a fourth at the end of month 8.
    paid = flow(owned(money(), count=2), money(), peak_rps=2.0, growth_percent_per_year=100.0)
    assert [round(usd) for usd in paid.purchases[:10]] == [120_000, 60_000, *[0] * 6, 60_000, 0]
    assert sum(paid.purchases) == pytest.approx(16 * 60_000)  # ceil(2 x 2^(35/12)) = 16 in the last month


def test_what_is_written_off_within_the_months_is_sold_and_bought_anew() -> None:
    known = money(years=2.0, residual_percent=10)
    paid = flow(owned(known), known)
    # 60,000 today; after 24 months 60,000 again less the 6,000 that the old one brings; after 12 more months the new
    # one is worth 60,000 x (1 - 90 % x 12 / 24) = 33,000.
    assert {month: round(usd) for month, usd in enumerate(paid.purchases) if usd} == {0: 60_000, 24: 54_000}
    assert paid.residual == pytest.approx(33_000)


def test_residual_value_lowers_what_is_written_off_and_raises_the_bound_capital() -> None:
    view = on_prem(server(60_000, kw=0.0), fleet(1), money(residual_percent=20, capital_charge_percent_per_year=6))
    # 60,000 x 80 % / 60 = 800; 60,000 x (1 + 20 %) / 2 = 36,000 x 6 % / 12 = 180
    assert parts(view) == {"servers": 800.00, "capital_charge": 180.00}


def test_a_ramp_up_pays_for_systems_from_the_first_month_and_by_the_hour_as_needed() -> None:
    costs = Costs(ramp_up_months=4)
    assert [load_in(month, costs) for month in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    own = flow(owned(money(), count=4), money(), 4.0, ramp_up_months=4)
    assert own.purchases[0] == pytest.approx(240_000)
    rent = [
        round(view.usd_per_month.value)
        for view in views_over_time(
            lambda load: cloud_on(instance(10.0), fleet(4).at(load), money(), "on_demand"), 4.0, costs
        )
    ]
    assert rent[:5] == [7_300, 14_600, 21_900, 29_200, 29_200]  # 1, 2, 3, 4 instances of 7,300


def test_power_follows_what_is_served() -> None:
    known = money(power_utilization=0.7, idle_power_share=0.2)
    view = on_prem(server(120_000, kw=10), fleet(2), known, requests=1_000_000)
    # 1,000,000 of 2 x 3,600 x 730 = 5,256,000 requests: busy 19.0259 %.
    # 20 kW x (0.2 + 0.5 x 0.190259) x 1.5 x 730 x 0.10
    assert parts(view) == {"servers": 4_000.00, "power": 646.33}
    idle = on_prem(server(120_000, kw=10), fleet(2), known, requests=0)
    assert parts(idle)["power"] == 438.00  # 20 x 0.2 x 1.5 x 73
    busy = on_prem(server(120_000, kw=10), fleet(2), known)
    assert parts(busy)["power"] == 1_533.00  # 20 x 0.7 x 1.5 x 73
    # A copy of the model on 4 of 8 GPUs: half of the server stays idle. 10 x (0.2 + 0.5 x 0.5) x 1.5 x 73
    half = on_prem(server(60_000, kw=10), fleet(1, gpus_each=4), known)
    assert parts(half)["power"] == 492.75
    # A share that the scenario states is the mean over the month, whatever is served.
    stated = on_prem(server(120_000, kw=10), fleet(2), money(power_utilization=0.5), requests=0)
    assert parts(stated)["power"] == 1_095.00  # 20 x 0.5 x 1.5 x 73


def test_break_even_counts_the_power_that_requests_take() -> None:
    known = money(power_utilization=0.7, idle_power_share=0.2)
    two = server(60_000, kw=10)
    view, idle = on_prem(two, fleet(2), known, 1_000_000), on_prem(two, fleet(2), known, 0)
    one = against_api(view, token_price(), fleet(2), MONTH, idle)
    # 2,000 + 438 without any; (646.33 - 438) / 1,000,000 of power a request: 2,438 / (0.00425 - 0.00020833) = 603,216.5
    assert one.requests_per_day == pytest.approx(603_216.4948 / (365 / 12), abs=0.01)


def test_break_even_in_ranges_where_it_is_crossed_more_than_once() -> None:
    # A server costs 1,500 a month and carries half of the planned load; a month of the API 4,250 x load.
    def own(load: float) -> View:
        return on_prem(server(90_000, kw=0.0), fleet(2).at(load), money())

    def tokens(load: float) -> View:
        from sizing.economics.api import api

        return api(token_price(), MONTH.times(load))

    found = cheaper_ranges(own, tokens, fleet(2), MONTH)
    # 32,876.71 requests a day are planned. One server: from 1,500 / 4,250 = 0.3529 of them to 0.5, from where on there
    # are two: from 3,000 / 4,250 = 0.7059 to 1; three: from 4,500 / 4,250 = 1.0588; four at 1.5: 6,000 < 6,375, and on.
    each = [(one.from_requests_per_day, one.to_requests_per_day) for one in found]
    assert [round(low or 0.0, 1) for low, _ in each] == [11_603.5, 23_207.1, 34_810.6]
    assert [round(high, 1) if high else None for _, high in each] == [16_438.4, 32_876.7, None]
    assert cents(own(0.5)) == 1_500.00
    assert cheaper_ranges(own, lambda load: own(load), fleet(2), MONTH) == ()
    (always,) = cheaper_ranges(tokens, lambda load: tokens(2.0 * load), fleet(2), MONTH) or ()
    assert (always.from_requests_per_day, always.to_requests_per_day) == (None, None)
