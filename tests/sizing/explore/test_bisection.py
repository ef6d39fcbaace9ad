"""The search for the largest load: how close it comes, and how often it asks."""

from dataclasses import dataclass

import pytest

from sizing.explore.inverse import LAST_STEP, LEAST_RPS, largest_load

MOST_QUESTIONS = 80
"""Of one search. Doubling from the least load to 1,000 requests/s takes 35, both halvings together fewer than 35."""


@dataclass(frozen=True)
class Carrier:
    rps: float


@pytest.mark.parametrize("most", [2e-6, 0.037, 1.0, 137.7, 1000.0])
@pytest.mark.parametrize("creep", [0.0, 1e-9, 1e-7, 3e-6, 1e-4])
def test_a_load_found_in_tiny_steps_takes_few_questions(most: float, creep: float) -> None:
    """Deployments that carry hardly more than is asked: stepping from one to the next would take thousands."""
    asked = []

    def at(rps: float) -> Carrier | None:
        asked.append(rps)
        return Carrier(rps * (1.0 + creep)) if rps <= most else None

    best = largest_load(at, None)
    assert most * (1.0 - 2.0 * LAST_STEP) <= best.rps <= most * (1.0 + creep)
    assert len(asked) <= MOST_QUESTIONS


def test_a_limit_that_is_found_exactly_is_asked_about_once_more() -> None:
    asked = []

    def at(rps: float) -> Carrier | None:
        asked.append(rps)
        return Carrier(50.0) if rps <= 50.0 else None

    best = largest_load(at, None)
    assert best == Carrier(50.0)
    assert asked[0] == LEAST_RPS
    assert asked[-1] == pytest.approx(50.0 * (1.0 + LAST_STEP), rel=1e-12)
    assert len([rps for rps in asked if rps > 50.0]) == len(asked) - 1


def test_nothing_carried_is_nothing_found() -> None:
    assert largest_load(lambda rps: None, None) is None
    assert largest_load(lambda rps: None, Carrier(3.0)) == Carrier(3.0)
