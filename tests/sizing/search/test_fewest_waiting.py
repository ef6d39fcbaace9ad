"""The fewest instances at which requests wait no longer than they may, against trying every count."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.search.instances import InstanceBounds, InstanceLatency, fewest_waiting


def waiting(busy: float, *, power: float = 1.0):
    """A latency that grows with the busy share as a queue does, or faster or slower than that; and what was asked."""
    asked: list[int] = []

    def latency(count: int) -> InstanceLatency:
        asked.append(count)
        queue = busy / (count - busy)
        return InstanceLatency(seconds=1.0 + 0.5 * queue**power, alone_s=1.0)

    return latency, asked


@given(busy=st.floats(0.3, 90.0), limit=st.floats(0.9, 40.0), power=st.floats(0.5, 2.0), guess=st.integers(1, 200))
def test_it_is_the_smallest_count_within_the_limit(busy: float, limit: float, power: float, guess: int) -> None:
    least = math.ceil(busy / 0.97)
    bounds = InstanceBounds(limit_s=limit, busy=busy, least=least, most=199)
    latency, _ = waiting(busy, power=power)
    fewest = fewest_waiting(latency, bounds, guess)
    within = [count for count in range(least, 200) if latency(count).seconds <= limit]
    if not within:
        assert fewest is None
    else:
        assert within[0] <= fewest <= within[0] + max(int(0.01 * fewest) - 1, 0)


def test_no_count_is_asked_twice_and_few_are() -> None:
    latency, asked = waiting(10.5)
    bounds = InstanceBounds(limit_s=2.0, busy=10.5, least=11, most=48)
    assert fewest_waiting(latency, bounds, 11) == 16
    assert len(asked) == len(set(asked)) <= 5


@pytest.mark.parametrize("guess", [1, 20, 48, 500])
def test_a_limit_below_the_latency_without_waits_is_met_by_no_count(guess: int) -> None:
    latency, asked = waiting(10.5)
    assert fewest_waiting(latency, InstanceBounds(limit_s=0.99, busy=10.5, least=11, most=48), guess) is None
    assert asked[-1] == 48
    assert len(asked) <= 2


def test_without_a_limit_the_least_will_do() -> None:
    latency, _ = waiting(10.5)
    assert fewest_waiting(latency, InstanceBounds(limit_s=math.inf, busy=10.5, least=11, most=48), 30) == 11


def test_nothing_is_asked_where_no_count_is_allowed() -> None:
    latency, asked = waiting(10.5)
    assert fewest_waiting(latency, InstanceBounds(limit_s=9.0, busy=10.5, least=11, most=10), 11) is None
    assert not asked
