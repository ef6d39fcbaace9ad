"""How unevenly prompts fall on attention-DP ranks, by hand, by counting, and as properties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.steps.ranks import MOST_COUNTED, busiest_share, counted_unevenness, unevenness

RANKS = (2, 3, 4, 8, 16)


def uneven(prompts: float, ranks: int, held: float = 64.0) -> float:
    return float(unevenness(np.array([[prompts]]), np.array([float(ranks)]), np.array([held]))[0, 0])


@pytest.mark.parametrize("prompts", [0.02, 0.3, 1.0, 2.5])
def test_two_ranks_by_direct_summation(prompts: float) -> None:
    """E[max] = sum of max(i, j) p(i) p(j), with p Poisson of half the prompts."""
    p = [math.exp(-prompts / 2) * (prompts / 2) ** k / math.factorial(k) for k in range(40)]
    largest = sum(max(i, j) * p[i] * p[j] for i in range(40) for j in range(40))
    assert uneven(prompts, 2) == pytest.approx((largest / prompts - 0.5) / 0.5, abs=2e-3)


def test_one_prompt_per_rank_and_step_is_held_by_the_token_budget() -> None:
    """A step with any prompt then lasts one prompt: (1 - e^-1) of them at one a step on eight ranks, an eighth even."""
    assert uneven(1.0, 8, 1.0) == pytest.approx((1.0 - math.exp(-1.0) - 1 / 8) / (7 / 8), abs=2e-3)
    between = (uneven(1.0, 8, 1.0) + uneven(1.0, 8, 2.0)) / 2
    assert uneven(1.0, 8, 1.5) == pytest.approx(between, abs=1e-9)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_prompt_alone_stalls_all_and_full_ranks_none(ranks: int) -> None:
    assert uneven(1e-9, ranks) == 1.0
    assert uneven(0.001, ranks) == pytest.approx(1.0, abs=2e-3)
    assert uneven(1e6, ranks) == 0.0
    assert uneven(2.0 * ranks, ranks, 2.0) < 0.1


@given(st.sampled_from(RANKS), st.floats(1e-4, 500.0), st.floats(1.0, 3.0), st.floats(1.0, 80.0), st.floats(1.0, 5.0))
def test_more_prompts_or_less_budget_are_more_even(
    ranks: int, prompts: float, more: float, held: float, wider: float
) -> None:
    here = uneven(prompts, ranks, held)
    assert 0.0 <= here <= 1.0
    assert uneven(prompts * more, ranks, held) <= here + 1e-9
    assert uneven(prompts, ranks, held * wider) >= here - 1e-9


@given(st.floats(1e-3, 200.0))
def test_a_lone_prompt_costs_more_of_the_whole_with_more_ranks(prompts: float) -> None:
    """The fullest rank's share of all prompts, 1/d + unevenness x (1 - 1/d), falls as ranks are added, but less than
    1/d."""
    shares = [1 / d + uneven(prompts, d) * (1 - 1 / d) for d in (2, 4, 8, 16)]
    assert all(b <= a + 1e-3 for a, b in itertools.pairwise(shares))
    assert all(b * 2 >= a - 1e-3 for a, b in itertools.pairwise(shares))


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("prompts", [1, 2, 3, 5])
def test_the_busiest_of_so_many_prompts_by_counting_all_ways(ranks: int, prompts: int) -> None:
    ways = list(itertools.product(range(ranks), repeat=prompts))
    largest = sum(max(way.count(rank) for rank in range(ranks)) for way in ways) / len(ways)
    assert busiest_share(ranks)[prompts] == pytest.approx(largest / prompts)


def test_random_numbers_of_prompts_agree_with_counted_ones() -> None:
    """E[max] under a Poisson number of prompts is the mean of E[max of m] over that number."""
    number = np.arange(MOST_COUNTED + 1)
    for ranks, mean in ((2, 3.0), (8, 5.0), (4, 20.0)):
        weight = np.exp(-mean + number * np.log(mean) - np.array([math.lgamma(n + 1.0) for n in number]))
        largest = float((weight * number * busiest_share(ranks)).sum())
        assert uneven(mean, ranks) == pytest.approx((largest / mean - 1 / ranks) / (1 - 1 / ranks), abs=3e-3)


def test_counted_prompts_beyond_the_table_go_on_evening_out() -> None:
    number = np.array([[1.0, 8.0, MOST_COUNTED, 4.0 * MOST_COUNTED]])
    found = counted_unevenness(number, np.array([4.0]), np.array([1e9]))[0]
    assert found[0] == 1.0
    assert found[3] == pytest.approx(found[2] / 2.0)
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(int(number[0, 3]), [0.25] * 4, 20_000).max(axis=1).mean() / number[0, 3]
    assert 0.25 + found[3] * 0.75 == pytest.approx(drawn, rel=0.01)
