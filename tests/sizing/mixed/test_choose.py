"""The cheapest mix against every mix there is, closed forms by hand, and what holds for any units."""

from __future__ import annotations

import math
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.mixed.choose import cheapest_mix, number_needed, one_type, unserved
from sizing.mixed.units import Unit

FEW = settings(max_examples=40, deadline=None)
NEVER = math.inf


def unit(gpu: str, usd: float, *needed: float, spare: float = 0.0, factor: float = 1.0) -> Unit:
    """A unit of which only its type, price and needs count."""
    row: Any = SimpleNamespace(gpu=SimpleNamespace(id=gpu))
    option: Any = None
    return Unit(
        configuration=row, option=option, usd_per_hour=usd, factor=factor, needed=tuple(needed), spare=spare
    )


def by_trying(units: list[Unit], most_types: int) -> float:
    """The least that any assignment of ranges to units counts, each tried."""
    best = math.inf
    for chosen in product(range(len(units)), repeat=len(units[0].needed)):
        used = sorted(set(chosen))
        types = [units[k].gpu for k in used]
        if len(types) > most_types or len(set(types)) < len(types):
            continue
        each = (number_needed(units[k], [r for r, u in enumerate(chosen) if u == k]) * units[k].counted for k in used)
        best = min(best, math.fsum(each))
    return best


def test_short_prompts_go_to_the_cheap_type_and_long_ones_to_the_large() -> None:
    small, large = unit("small", 1.0, 2.0, 2.0, NEVER), unit("large", 5.0, 0.5, 0.5, 2.0)
    # All on large: 3 x 5 = 15. Short ones on small: 4 x 1 + 2 x 5 = 14.
    mix = cheapest_mix([small, large], 2)
    assert mix is not None
    assert mix.proven
    assert mix.counted == pytest.approx(14.0)
    assert [(one.unit.gpu, one.ranges, one.number) for one in mix.shares] == [("small", (0, 1), 4), ("large", (2,), 2)]


def test_whole_systems_make_one_type_the_cheapest() -> None:
    # 2.2 and 0.8 of "large" fill three whole units; moving any range elsewhere empties none of them.
    large, small = unit("large", 5.0, 1.0, 1.2, 0.8), unit("small", 4.9, 1.0, 2.0, 2.0)
    mix = cheapest_mix([large, small], 2)
    assert mix is not None
    assert mix.gpus == ("large",)
    assert mix.counted == pytest.approx(15.0)


def test_alike_requests_fill_a_remainder_with_smaller_units() -> None:
    # Six sixths take 2.4 of "eight" (10 USD), which are three; four sixths take 1.6, two of them, the rest two of "one".
    eight, one = unit("eight", 10.0, *[0.4] * 6), unit("one", 1.5, *[1.0] * 6)
    mix = cheapest_mix([eight, one], 2)
    assert mix is not None
    # 5 x 0.4 = 2.0 of eight: 20 + 1.5 = 21.5; 2 x 0.4 of eight and four of one: 10 + 6 = 16; none of eight: 9.
    assert mix.counted == pytest.approx(9.0)
    dear = cheapest_mix([eight, unit("one", 4.0, *[1.0] * 6)], 2)
    assert dear is not None
    assert dear.counted == pytest.approx(2 * 10.0 + 4.0)


def test_what_stands_by_counts_for_each_type() -> None:
    first, second = unit("a", 1.0, 1.0, NEVER, spare=1.0), unit("b", 1.0, NEVER, 1.0, spare=0.5)
    mix = cheapest_mix([first, second], 2)
    assert mix is not None
    assert mix.counted == pytest.approx(2.0 + 2.0)


def test_a_range_that_nothing_serves_has_no_mix() -> None:
    units = [unit("a", 1.0, 1.0, NEVER)]
    assert unserved(units, 2) == (1,)
    assert cheapest_mix(units, 2) is None
    assert one_type(units) is None
    assert cheapest_mix([], 2) is None


def test_only_so_many_types_and_one_kind_of_unit_of_each() -> None:
    three = [unit(name, 1.0, *(0.9 if k == j else NEVER for k in range(3))) for j, name in enumerate("abc")]
    assert cheapest_mix(three, 3) is not None
    assert cheapest_mix(three, 2) is None
    twice = [unit("a", 1.0, 1.0, NEVER), unit("a", 1.0, NEVER, 1.0), unit("b", 9.0, 1.0, 1.0)]
    mix = cheapest_mix(twice, 2)
    assert mix is not None
    assert mix.counted == pytest.approx(10.0), "both ranges on type a would take two kinds of it"


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


SMALL = st.integers(1, 4).flatmap(lambda ranges: st.lists(a_unit(ranges), min_size=1, max_size=5))


@FEW
@given(units=SMALL, most=st.integers(1, 3))
def test_nothing_counts_less_than_the_mix(units: list[Unit], most: int) -> None:
    mix, least = cheapest_mix(units, most), by_trying(units, most)
    assert (mix is None) == math.isinf(least)
    if mix is not None:
        assert mix.counted == pytest.approx(least, rel=2e-4)
        assert sorted(r for one in mix.shares for r in one.ranges) == list(range(len(units[0].needed)))
        assert len(mix.gpus) <= most


@FEW
@given(units=SMALL, most=st.integers(1, 3))
def test_a_mix_is_never_dearer_than_one_type_and_more_types_never_cost_more(units: list[Unit], most: int) -> None:
    mix, single, wider = cheapest_mix(units, most), one_type(units), cheapest_mix(units, most + 1)
    if single is not None:
        assert mix is not None
        assert mix.counted <= single.counted * (1 + 1e-9)
    if mix is not None:
        assert wider is not None
        assert wider.counted <= mix.counted * (1 + 2e-4)


@FEW
@given(units=SMALL, more=st.floats(1.0, 3.0))
def test_more_load_never_costs_less(units: list[Unit], more: float) -> None:
    loaded = [
        unit(one.gpu, one.usd_per_hour, *(n * more for n in one.needed), spare=one.spare, factor=one.factor)
        for one in units
    ]
    now, then = cheapest_mix(units, 2), cheapest_mix(loaded, 2)
    assert (now is None) == (then is None)
    if now is not None and then is not None:
        assert then.counted >= now.counted * (1 - 2e-4)
