"""Shares of causes: they add up, are equal where causes are alike, and nothing is given to what changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.shapley import coalitions, shapley

CAUSES = ["load", "prompts", "engine"]


@given(st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=8))
def test_shares_add_up_to_the_whole_difference(numbers: list[float]) -> None:
    values = dict(zip(coalitions(CAUSES), numbers, strict=True))
    shares = shapley(CAUSES, values)
    assert sum(shares.values()) == pytest.approx(values[frozenset(CAUSES)] - values[frozenset()], abs=1e-6)


def test_causes_that_multiply_share_alike() -> None:
    # 10 ms, doubled by each: 10, 20, 20, 40. Alone 10 each, the last 10 together: 15 each.
    values = {frozenset(): 10.0, frozenset("a"): 20.0, frozenset("b"): 20.0, frozenset("ab"): 40.0}
    assert shapley(["a", "b"], values) == {"a": 15.0, "b": 15.0}


def test_what_changes_nothing_has_no_share() -> None:
    values = {some: 5.0 + 3.0 * ("load" in some) + 2.0 * ("engine" in some) for some in coalitions(CAUSES)}
    assert shapley(CAUSES, values) == pytest.approx({"load": 3.0, "prompts": 0.0, "engine": 2.0})
