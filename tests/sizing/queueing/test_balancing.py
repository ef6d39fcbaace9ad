"""Shares of load by capacity, worked by hand."""

import math
import random

import pytest

from sizing.queueing.balancing import MOST_WEIGHT, NEAR, balanced, carried, shares, whole_weights


def test_equal_weights_are_limited_by_the_slowest() -> None:
    """Three replicas of 10, 10 and 4 requests/s: 3 x 4 = 12 evenly, 24 by capacity, half of it lost."""
    one = balanced([10.0, 10.0, 4.0])
    assert (one.evenly, one.by_capacity, one.lost_evenly) == (12.0, 24.0, 0.5)
    assert (one.weights, one.weighted) == ((5, 5, 2), 24.0)


def test_replicas_that_are_alike_need_no_weights() -> None:
    one = balanced([3.0] * 5)
    assert (one.weights, one.lost_evenly) == ((1, 1, 1, 1, 1), 0.0)
    assert one.evenly == one.by_capacity == pytest.approx(15.0)


def test_what_is_carried_is_bound_by_the_fullest() -> None:
    """Weights of 2 and 1 on capacities of 10 and 8: the first is full at 10 / (2 / 3)."""
    assert carried([10.0, 8.0], [2.0, 1.0]) == pytest.approx(15.0)


def test_shares_are_relative_to_an_even_one() -> None:
    assert shares([1.0, 1.0, 0.5]) == pytest.approx((1.2, 1.2, 0.6))


def test_no_weights_carry_more_than_all_capacity_and_whole_ones_nearly_all() -> None:
    dice = random.Random(7)
    for _ in range(300):
        capacities = [dice.uniform(1.0, 10.0) for _ in range(dice.randint(1, 12))]
        one = balanced(capacities)
        assert one.evenly <= one.weighted * (1 + 1e-12)
        assert one.weighted <= one.by_capacity * (1 + 1e-12)
        assert one.by_capacity == pytest.approx(sum(capacities))
        assert one.weighted >= 0.95 * one.by_capacity
        assert max(one.weights) <= MOST_WEIGHT
        weights = [dice.uniform(0.1, 1.0) for _ in capacities]
        assert carried(capacities, weights) <= sum(capacities) * (1 + 1e-12)


def test_whole_weights_are_the_smallest_that_do() -> None:
    weights = whole_weights([3.0, 2.0])
    assert weights == (3, 2)
    assert carried([3.0, 2.0], (2, 1)) < NEAR * 5.0
    assert carried([3.0, 2.0], (1, 1)) < NEAR * 5.0


@pytest.mark.parametrize("capacities", [[], [1.0, 0.0], [1.0, -2.0]])
def test_capacities_that_are_none_are_refused(capacities: list[float]) -> None:
    with pytest.raises(ValueError, match="capacit"):
        balanced(capacities)


def test_other_numbers_of_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="every instance needs a capacity and a weight"):
        carried([1.0, math.inf], [1.0])
