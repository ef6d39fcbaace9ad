"""The question whose day is planned: aggregated instances, and a load over the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sizing.base.errors import InvalidScenario
from sizing.question.understand import Question, understand
from sizing.scenario.day_profile import over_the_day
from sizing.scenario.schema import Scenario


def question_of_day(scenario: Scenario, assumed_hours: Sequence[float]) -> Question:
    """What is asked, with ``assumed_hours`` for a scenario that tells no day; its peak is told as it was entered.

    Raises InvalidScenario when disaggregated pools alone are wanted.
    """
    question = understand(aggregated_only(scenario))
    if not assumed_hours:
        return question
    entered = question.demand
    question = understand(over_the_day(question.scenario, entered.sustained_rps, assumed_hours))
    return replace(question, demand=replace(question.demand, how=entered.how))


def aggregated_only(scenario: Scenario) -> Scenario:
    """The scenario without disaggregated pools, whose two kinds of instances no single count describes.

    Raises InvalidScenario when only they are wanted.
    """
    if not scenario.deployment.allows("aggregated"):
        raise InvalidScenario(
            ["deployment.serving: over the day only aggregated instances are planned; allow them under Serving, too."]
        )
    deployment = scenario.deployment.model_copy(update={"serving": ["aggregated"]})
    return scenario.model_copy(update={"deployment": deployment})
