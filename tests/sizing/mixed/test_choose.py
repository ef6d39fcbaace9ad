"""The cheapest split against every split there is, closed forms by hand, and what holds for any units."""

import math
from itertools import groupby, product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.mixed.choose import RangeSplit, cheapest_split, number_needed, unserved
from sizing.mixed.units import Unit

FEW = settings(max_examples=60, deadline=None)
NEVER = math.inf


def unit(gpu: str, usd: float, *needed: float, spare: float = 0.0, factor: float = 1.0) -> Unit:
    """A unit of which only its type, price and needs count."""
    row: Any = SimpleNamespace(gpu=SimpleNamespace(id=gpu))
    option: Any = None
    return Unit(configuration=row, option=option, usd_per_hour=usd, factor=factor, needed=needed, spare=spare)


def by_trying(units: list[Unit], most: int) -> float:
    """The least that any assignment of ranges to units counts in so many runs of neighbours at most, each tried."""
    best = math.inf
    for chosen in product(range(len(units)), repeat=len(units[0].needed)):
        runs = [(k, [place for place, _ in run]) for k, run in groupby(enumerate(chosen), key=lambda one: one[1])]
        if len(runs) <= most:
            each = (units[k].counted * number_needed(units[k], run[0], run[-1] + 1) for k, run in runs)
            best = min(best, math.fsum(each))
    return best


def told(split: RangeSplit | None) -> list[tuple[str, int, int, int]]:
    return [(one.unit.gpu, one.first, one.end, one.number) for one in split.shares]


def test_short_prompts_go_to_the_cheap_type_and_long_ones_to_the_large() -> None:
    small, large = unit("small", 1.0, 2.0, 2.0, NEVER), unit("large", 5.0, 0.5, 0.5, 2.0)
    # All on large: 3 x 5 = 15. Short ones on small: 4 x 1 + 2 x 5 = 14.
    split = cheapest_split([small, large], 2)
    assert told(split) == [("small", 0, 2, 4), ("large", 2, 3, 2)]
    assert split.counted == pytest.approx(14.0)
    assert told(cheapest_split([small, large], 1)) == [("large", 0, 3, 3)]


def test_whole_systems_make_one_fleet_the_cheapest() -> None:
    # 1.0, 1.2 and 0.8 of "large" fill three whole units for 15; one range on "small" saves one of them and costs 5.1.
    large, small = unit("large", 5.0, 1.0, 1.2, 0.8), unit("small", 5.1, 1.0, 2.0, 2.0)
    assert told(cheapest_split([large, small], 3)) == [("large", 0, 3, 3)]


def test_alike_requests_fill_a_remainder_with_smaller_units() -> None:
    # Six sixths take 2.4 of "eight", which are three whole units; five take two of them.
    eight, one = unit("eight", 10.0, *[0.4] * 6), unit("one", 4.0, *[1.0] * 6)
    split = cheapest_split([eight, one], 2)
    assert split.counted == pytest.approx(2 * 10.0 + 4.0)
    cheap = cheapest_split([eight, unit("one", 1.5, *[1.0] * 6)], 2)
    assert told(cheap) == [("one", 0, 6, 6)]


def test_two_layouts_of_one_type_are_two_fleets() -> None:
    short, long = unit("gpu", 1.0, 1.0, NEVER), unit("gpu", 4.0, 1.0, 1.0)
    assert told(cheapest_split([short, long], 2)) == [("gpu", 0, 1, 1), ("gpu", 1, 2, 1)]


def test_what_stands_by_counts_for_each_fleet() -> None:
    first, second = unit("a", 1.0, 1.0, NEVER, spare=1.0), unit("b", 1.0, NEVER, 1.0, spare=0.5)
    assert told(cheapest_split([first, second], 2)) == [("a", 0, 1, 2), ("b", 1, 2, 2)]


def test_a_range_that_nothing_serves_has_no_split() -> None:
    units = [unit("a", 1.0, 1.0, NEVER)]
    assert unserved(units, 2) == (1,)
    assert cheapest_split(units, 2) is None
    assert cheapest_split([], 2) is None
    apart = [unit(name, 1.0, *(0.9 if k == j else NEVER for k in range(3))) for j, name in enumerate("abc")]
    assert cheapest_split(apart, 2) is None
    assert cheapest_split(apart, 3) is not None


def a_unit(ranges: int) -> st.SearchStrategy[Unit]:
    needs = st.one_of(st.just(NEVER), st.floats(0.05, 3.0))
    return st.builds(
        lambda gpu, usd, needed, spare, factor: unit(gpu, usd, *needed, spare=spare, factor=factor),
        st.sampled_from("abcd"),
        st.floats(0.5, 20.0),
        st.lists(needs, min_size=ranges, max_size=ranges),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.sampled_from([1.0, 1.3]),
    )


SMALL = st.integers(1, 5).flatmap(lambda ranges: st.lists(a_unit(ranges), min_size=1, max_size=4))


@FEW
@given(units=SMALL, most=st.integers(1, 4))
def test_nothing_counts_less_than_the_split(units: list[Unit], most: int) -> None:
    split, least = cheapest_split(units, most), by_trying(units, most)
    assert (split is None) == math.isinf(least)
    if split is not None:
        assert split.counted == pytest.approx(least)
        assert len(split.shares) <= most
        ends = [0, *(one.end for one in split.shares)]
        assert [one.first for one in split.shares] == ends[:-1]
        assert ends[-1] == len(units[0].needed)


@FEW
@given(units=SMALL, most=st.integers(1, 3))
def test_more_fleets_never_cost_more(units: list[Unit], most: int) -> None:
    fewer, more = cheapest_split(units, most), cheapest_split(units, most + 1)
    if fewer is not None:
        assert more.counted <= fewer.counted * (1 + 1e-9)


@FEW
@given(units=SMALL, times=st.floats(1.0, 3.0))
def test_more_load_never_costs_less(units: list[Unit], times: float) -> None:
    loaded = [
        unit(one.gpu, one.usd_per_hour, *(n * times for n in one.needed), spare=one.spare, factor=one.factor)
        for one in units
    ]
    now, then = cheapest_split(units, 2), cheapest_split(loaded, 2)
    assert (now is None) == (then is None)
    if now is not None and then is not None:
        assert then.counted >= now.counted * (1 - 1e-9)
