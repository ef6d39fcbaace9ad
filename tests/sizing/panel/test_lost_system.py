"""Every resilient proposal of the panel keeps the limits in a simulation in which its fullest system is lost.

Slow: whole simulations of some hundred fleets. :mod:`tests.sizing.planning.test_proposals` has a handful of them.
"""

import pytest

from sizing import Scenario, plan
from tests.sizing.lost_system import keeps_limits, with_system_to_lose
from tests.sizing.panel.question import questions

BY_NAME = {question.name: question for question in questions()}


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_a_lost_system_keeps_the_limits(name: str) -> None:
    scenario: Scenario = BY_NAME[name].scenario
    found = {one.name: one for one in plan(scenario, alternatives=0).proposals}
    if not found:
        return
    answer = with_system_to_lose(scenario)
    assert answer.plan.deployment == found["resilient"].deployment
    assert keeps_limits(answer)
