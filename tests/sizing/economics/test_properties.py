"""What holds for money whatever the numbers are."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.catalog import gpus, systems
from sizing.economics.api import api
from sizing.economics.break_even import against_api, against_renting
from sizing.economics.cash import MONTHS, cash
from sizing.economics.cloud import cloud_on
from sizing.economics.hybrid import Base, Day, hybrid
from sizing.economics.month import DAYS_PER_MONTH, Month
from sizing.economics.on_prem import on_prem
from sizing.economics.units import per_unit
from sizing.economics.views import View
from sizing.prices.hardware import options
from sizing.scenario.costs import Costs
from sizing.scenario.prices import Prices
from tests.sizing.economics.pricing import fleet, instance, money, server, token_price

USD = st.floats(1, 1e7)
SHARE = st.floats(0, 100)
COUNT = st.integers(1, 200)
MONTHLY = st.builds(
    Month,
    requests=st.floats(1, 1e10),
    input_tokens=st.floats(2, 1e5),
    cached_tokens=st.just(1.0),
    output_tokens=st.floats(1, 1e5),
)
FEW = settings(max_examples=60, deadline=None)


@FEW
@given(usd=USD, rate=SHARE, staff=USD, hourly=st.floats(0.1, 500), count=COUNT, month=MONTHLY)
def test_parts_add_up_in_every_view(
    usd: float, rate: float, staff: float, hourly: float, count: int, month: Month
) -> None:
    known = money(
        support_percent_per_year=rate,
        capital_charge_percent_per_year=rate,
        switches_percent=rate,
        staff_usd_per_month=staff,
        pue=None,
    )
    instances = fleet(count, gpus=(count, 16.0 * count))
    owned = server(usd)
    base = Base(system_gpus=8, view=lambda always: on_prem(owned, always, known))
    views = [
        on_prem(owned, instances, known),
        cloud_on(instance(hourly), instances, known, "spot"),
        hybrid(base, (instance(hourly),), instances, Day(loads=(1.0, 0.5, 0.1)), known),
        api(token_price(), month),
    ]
    for view in views:
        amounts = view.parts.values()
        for end in ("low", "value", "high"):
            assert getattr(view.usd_per_month, end) == math.fsum(getattr(amount, end) for amount in amounts)
        assert view.usd_per_month.low <= view.usd_per_month.value <= view.usd_per_month.high


@FEW
@given(usd=USD, count=COUNT, month=MONTHLY, input_usd=st.floats(0.01, 100), output_usd=st.floats(0.01, 100))
def test_at_break_even_both_ways_cost_the_same(
    usd: float, count: int, month: Month, input_usd: float, output_usd: float
) -> None:
    view, prices = on_prem(server(usd), fleet(count), money()), token_price(input_usd, 0.01, output_usd)
    one = against_api(view, prices, fleet(count), month)
    if one.requests_per_day is None:
        assert view.usd_per_month.value > prices.of_request(month) * (view.capacity_requests or 0.0)
        return
    requests = one.requests_per_day * DAYS_PER_MONTH
    there = api(prices, month.times(requests / month.requests)).usd_per_month.value
    assert there == pytest.approx(view.usd_per_month.value)
    assert per_unit(view.usd_per_month.value, requests, month).usd_per_request == pytest.approx(
        prices.of_request(month)
    )


@FEW
@given(usd=USD, hourly=st.floats(0.1, 500), count=COUNT)
def test_at_break_even_owning_and_renting_cost_the_same(usd: float, hourly: float, count: int) -> None:
    own, hired = (
        on_prem(server(usd), fleet(count), money()),
        cloud_on(instance(hourly), fleet(count), money(), "on_demand"),
    )
    one = against_renting(own, hired)
    if one.utilization is None:
        assert own.usd_per_month.value > hired.usd_per_month.value
    else:
        assert one.utilization * hired.usd_per_month.value == pytest.approx(own.usd_per_month.value)


@FEW
@given(usd=USD, count=COUNT, growth=st.floats(0, 300))
def test_without_growth_36_months_are_36_times_one_and_growth_never_saves(
    usd: float, count: int, growth: float
) -> None:
    def way(load: float) -> View:
        return on_prem(server(usd), fleet(count).at(load), money())

    still, grown = (
        [month.value for month in cash(way, count, Costs(growth_percent_per_year=each))] for each in (0.0, growth)
    )
    assert still == [way(1.0).usd_per_month.value] * MONTHS
    assert math.fsum(still) == pytest.approx(36 * way(1.0).usd_per_month.value)
    assert all(later >= earlier for earlier, later in pairwise(grown))
    assert grown[0] == still[0]


@FEW
@given(usd=USD, more=st.floats(0, 1e6), count=st.integers(1, 8), rate=SHARE)
def test_one_more_gpu_never_makes_a_server_cheaper(usd: float, more: float, count: int, rate: float) -> None:
    known = money(support_percent_per_year=rate, licence="nvidia_ai_enterprise", facility="colocation")
    one = fleet(1, gpus_each=count)
    smaller = on_prem(server(usd, count=count, kw=count), one, known)
    larger = on_prem(server(usd + more, count=count + 1, kw=count + 1), one, known)
    assert larger.usd_per_month.value >= smaller.usd_per_month.value


def test_no_server_of_the_catalogue_is_cheaper_than_one_with_fewer_of_the_same_gpus() -> None:
    for gpu_id in {system.gpu_id for system in systems().values()} & set(gpus()):
        every = options(gpus()[gpu_id], "on_prem", Prices())
        priced = sorted((o.gpus, o.system_usd) for o in every if o.system_usd is not None)
        for (fewer, less), (more, dearer) in pairwise(priced):
            assert fewer == more or dearer >= less, gpu_id


@FEW
@given(
    count=COUNT,
    loads=st.lists(st.floats(0, 1), min_size=1, max_size=24),
    hourly=st.floats(0.1, 500),
    start_up=st.floats(0, 1440),
)
def test_a_hybrid_costs_no_more_than_owning_or_renting_everything(
    count: int, loads: list[float], hourly: float, start_up: float
) -> None:
    owned, known = server(200_000), money(burst_start_up_minutes=start_up)
    base = Base(system_gpus=8, view=lambda always: on_prem(owned, always, known))
    view = hybrid(base, (instance(hourly),), fleet(count), Day(loads=(1.0, *loads)), known)
    rent = cloud_on(instance(hourly), fleet(count), known, "on_demand")
    most = min(on_prem(owned, fleet(count), known).usd_per_month.value, rent.usd_per_month.value)
    assert view.usd_per_month.value <= most * (1 + 1e-9)


def test_of_many_bases_the_cheapest_is_found() -> None:
    """A trace with as many loads as windows; every whole number of servers is tried for comparison."""
    shape = np.random.default_rng(7).gamma(2.0, size=500)
    day = Day(loads=tuple(shape / shape.max()))
    owned, known, most = server(200_000), money(), fleet(400)
    base = Base(system_gpus=8, view=lambda always: on_prem(owned, always, known))
    view = hybrid(base, (instance(6.0),), most, day, known)
    needed = np.array([most.at(load).kinds[0].instances for load in day.loads])
    each = owned.system_usd / 60 + 10 * 0.7 * 1.5 * 730 * 0.1
    every = [each * k + 6.0 * np.maximum(needed - k, 0).sum() * 730 / 500 for k in range(401)]
    assert view.usd_per_month.value == pytest.approx(min(every))
