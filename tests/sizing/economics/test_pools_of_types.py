"""Prefill and decode on two GPU types as something to pay for: both pools, over all months, in one place."""

from dataclasses import replace

import pytest

from sizing.economics.amount import Amount
from sizing.economics.cloud import Rented
from sizing.economics.cost import cost, month_of_plan
from sizing.economics.curves import over_months
from sizing.economics.mix import WaysOfPools, _cheapest_place, ways_of_answer
from sizing.economics.views import PriceSource
from sizing.economics.ways import Ways, ways_of
from tests.sizing.economics.pricing import server
from tests.sizing.mixed import pools


def by_hand(ways: Ways) -> float:
    """USD a month: 8 GPUs of each rented system x USD an hour x 730, and staff once."""
    mixed = pools.answer().plan.mixed
    staff = ways.money.assumptions.amount("staff_rented_usd_per_month").value
    prefill, decode = mixed.apart.prefill, mixed.apart.decode
    return (prefill.systems * 8 * 1.0 + decode.systems * 8 * 0.18) * 730 + staff


def test_the_cost_of_pools_is_that_of_both() -> None:
    answer = pools.answer()
    ways, priced = ways_of_answer(answer), cost(answer)
    assert isinstance(ways, WaysOfPools)
    assert priced.usd_per_month == pytest.approx(by_hand(ways))
    assert sum(priced.cash) == pytest.approx(36 * by_hand(ways))
    assert over_months(ways)["cloud"] == priced.cash
    assert priced.mixed.by == "phase"
    assert [fleet.gpu for fleet in priced.mixed.fleets] == ["h100_sxm", "h20"]
    assert priced.mixed.usd_over_months == pytest.approx(36 * by_hand(ways))
    assert priced.mixed.one_fleet_usd_per_month == month_of_plan(answer)["usd_per_month"]
    assert "Priced are prefill on" in priced.answer


def test_all_requests_go_through_both_pools() -> None:
    ways = ways_of_answer(pools.answer())
    assert isinstance(ways, WaysOfPools)
    assert [each.fleet.peak_rps for each in ways.each] == [30.0, 30.0]
    # Twice the load: either pool has twice the instances that the load takes by its own capacity.
    for each in ways.each:
        (kind,) = each.fleet.kinds
        (more,) = each.fleet.at(2.0).kinds
        assert more.working == pytest.approx(60.0 / kind.max_rps, abs=1.0)
    assert ways.cloud(2.0).usd_per_month.value > ways.cloud(1.0).usd_per_month.value
    chosen = ways.cloud(1.0)
    busy = ways.month.requests / (30.0 * 3600 * 730)
    usd = 0.0
    for each, view in zip(ways.each, chosen.fleets, strict=True):
        assert view.systems is not None
        own = view.usd_per_month.value - view.parts["staff"].value
        per_system = 8 // each.fleet.kinds[0].gpus
        usd += own / view.systems.value / (per_system * each.fleet.kinds[0].max_rps * 3600 * 730 * busy)
    assert ways.marginal(chosen).usd_per_request == pytest.approx(usd)


def test_no_burst_stands_in_another_place() -> None:
    hybrid = next(way for way in cost(pools.answer()).ways if way.name == "hybrid")
    assert hybrid.unavailable == "two_places"


def _offer(place: str, usd: float) -> Rented:
    return Rented(
        option=server(),
        provider="own",
        region=place,
        usd_per_hour=Amount.exactly(usd),
        source=PriceSource(what="", source="", dates=()),
    )


def test_both_pools_are_rented_where_both_together_cost_least() -> None:
    first, second = (replace(ways_of(pools.answer())) for _ in range(2))
    # Alone the first is cheapest in "a", the second in "b"; together in "c", and "d" has no offer for the second.
    for one, prices in ((first, {"a": 1, "b": 9, "c": 2, "d": 1}), (second, {"a": 9, "b": 1, "c": 2})):
        one.__dict__["as_asked"] = tuple(_offer(place, usd) for place, usd in prices.items())
    assert _cheapest_place([first, second]) == ("own", "c")
    second.__dict__["as_asked"] = (_offer("e", 1),)
    assert _cheapest_place([first, second]) is None


def test_pools_that_no_place_rents_have_no_cost_in_the_cloud() -> None:
    ways = ways_of_answer(pools.answer())
    assert isinstance(ways, WaysOfPools)
    nowhere = replace(ways, rentable=False)
    assert nowhere.cloud(1.0).unavailable == "not_offered"
    assert nowhere.rented_by_the_hour().unavailable == "not_offered"
    assert nowhere.in_the_window() is None
