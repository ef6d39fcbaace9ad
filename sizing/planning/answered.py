"""A question with the plan that answers it: made in one place, and handed to whatever needs both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, cast

from sizing.base.errors import ForeignPlan, InvalidScenario
from sizing.base.result import Plan
from sizing.question.configuration import Configuration
from sizing.question.reused import CacheState
from sizing.question.understand import Question, understand, with_caches
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario

Planner = Callable[[Scenario], Plan]
"""What answers a scenario: :func:`sizing.plan`, the analytic estimate, or either with answers kept."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A question and the plan that answers it, to be priced, compared, explained, simulated or written down.

    ``question`` is the scenario as it was understood once: names resolved; seconds, tokens, requests/s, USD; of
    sessions with what the plan counts on of its prefix caches. Raises
    ForeignPlan where ``plan`` answers another scenario, and where it was read from a file, which does not say what it
    answers. The name and the constants of cost may differ: no plan depends on them.
    """

    question: Question
    plan: Plan

    def __post_init__(self) -> None:
        for value, kind in ((self.question, Question), (self.plan, Plan)):  # notebooks check no types
            if not isinstance(value, kind):
                raise InvalidScenario(
                    [
                        f"An answer takes a {kind.__name__.lower()}, not something of type {type(value).__name__}: use "
                        "sizing.Answer.of(scenario)."
                    ]
                )
        made_for = self.plan.made_for.scenario
        if made_for is None:
            raise ForeignPlan("This plan does not say which scenario it answers: plan the scenario again.")
        assert isinstance(made_for, Scenario)
        if made_for is not self.scenario and (differing := _differing(made_for, self.scenario)):
            raise ForeignPlan(
                f"This plan answers another scenario than “{self.scenario.name}”, which differs in "
                f"{' and '.join(differing)}: plan “{self.scenario.name}” itself."
            )
        if self.plan.made_for.caches is not None:
            caches = cast(CacheState, self.plan.made_for.caches)
            object.__setattr__(self, "question", with_caches(self.question, caches))

    @classmethod
    def of(cls, scenario: Scenario, planner: Planner | None = None) -> Self:
        """The answer of a scenario by ``planner``, :func:`sizing.plan` if left out. Raises InvalidScenario as that."""
        return cls(understand(scenario), (planner or _simulated)(scenario))

    @property
    def scenario(self) -> Scenario:
        """What was asked, as it stands in the file."""
        return self.question.scenario

    @cached_property
    def chosen(self) -> tuple[Configuration, ...]:
        """The configurations of the deployment that the plan chose: of instances that do both, or of prefill and of
        decode. Empty where nothing is deployed, and for a measured record, which is none that was considered."""
        return tuple(cast(Configuration, one) for one in self.plan.made_for.configurations)

    @cached_property
    def fleets(self) -> tuple[Answer, ...]:
        """The parts of the mixed fleet, each a plan of its own, where that costs less than the plan; else empty."""
        return tuple(Answer(cast(Question, one), cast(Plan, plan)) for one, plan in self.plan.made_for.parts)

    @cached_property
    def pools(self) -> Answer | None:
        """The same answered by prefill and decode on two GPU types, where that is advised instead."""
        made_for = self.plan.made_for
        if made_for.pools is None:
            return None
        there = cast(Plan, made_for.pools)
        return Answer(self.question, there.marked(replace(there.made_for, scenario=made_for.scenario)))

    @property
    def of_two_types(self) -> bool:
        """Whether what this plan deploys is prefill on one GPU type and decode on another."""
        return len({one.gpu.id for one in self.chosen}) > 1

    def at_costs(self, costs: Costs) -> Self:
        """The same plan with other constants of cost. Raises InvalidScenario as :func:`sizing.plan`."""
        return replace(self, question=understand(self.scenario.model_copy(update={"costs": costs})))


def question_of(scenario_or_answer: Scenario | Answer) -> Question:
    """What is asked, as it was understood. Raises InvalidScenario for a scenario that cannot be."""
    return scenario_or_answer.question if isinstance(scenario_or_answer, Answer) else understand(scenario_or_answer)


def as_answer(scenario_or_answer: Scenario | Answer, planner: Planner | None = None) -> Answer:
    """The answer itself, or that of a scenario as :meth:`Answer.of` makes it."""
    return scenario_or_answer if isinstance(scenario_or_answer, Answer) else Answer.of(scenario_or_answer, planner)


def as_planned_for(scenario: Scenario) -> Scenario:
    """The scenario without what no plan depends on: its name, and the constants of cost."""
    return scenario.model_copy(update={"costs": Costs(), "name": ""})


def _simulated(scenario: Scenario) -> Plan:
    from sizing.planning.plan import plan  # and with it the simulator, which takes its time

    return plan(scenario)


def _differing(one: Scenario, other: Scenario) -> list[str]:
    """The parts of two scenarios that differ and that a plan depends on, as a file names them."""
    ours, theirs = as_planned_for(one), as_planned_for(other)
    return [name for name in Scenario.model_fields if getattr(ours, name) != getattr(theirs, name)]
