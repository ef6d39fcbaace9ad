"""What an optimisation of a scenario may do: every lever moved alone, and NIM beside open source."""

from operator import not_
from typing import Annotated

from sizing.base.quantity import Result, quantity
from sizing.decision.lever_changes import default_settings
from sizing.decision.levers import LeverRow, levers
from sizing.decision.nim import NimComparison, nim_beside_open_source
from sizing.decision.outcome import Answers, Outcome
from sizing.planning.answered import Planner
from sizing.scenario.schema import Scenario


class Optimised(Result):
    """The levers of a scenario at the assumptions of the catalogue, and NIM beside open source."""

    plan: Annotated[Outcome, quantity("The plan", help="The scenario's own answer.")]
    levers: Annotated[tuple[LeverRow, ...], quantity("Levers", help="Each moved alone, in the order tried.")]
    nim: Annotated[NimComparison, quantity("NIM beside open source", help="The scenario with either.")]
    mix_left_out: Annotated[
        bool,
        quantity(
            "Mix left out",
            help="Whether a mixed fleet is asked for, which none of these figures is of; left out without.",
            exclude_if=not_,
        ),
    ] = False


def optimised(scenario: Scenario, planner: Planner | None = None) -> Optimised:
    """Every lever and both ways to serve. Raises InvalidScenario for unknown names and for a measured record."""
    answers = Answers(planner)
    rows = levers(scenario, default_settings(), answers)
    return Optimised(
        plan=answers.outcome(scenario),
        levers=rows,
        nim=nim_beside_open_source(scenario, answers),
        mix_left_out=scenario.deployment.mixed > 1,
    )
