"""What flips the answer: the values of an input at which another GPU type, format or number of systems is the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sizing.base.quantity import Result, quantity
from sizing.decision.inputs import Input, sizing_inputs
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.scenario.schema import Scenario

FACTORS = (1.25, 1.6, 2.5, 4.0)
"""How far an input is moved to either side, step by step. Chosen: because a guess is seldom off by more than four."""

NEAR = 1.02
"""Ratio of the values on both sides at which a flip is found. Chosen: because no input is known better."""


class Flip(Result):
    """The nearest value of an input, to one side, at which something else would be ordered."""

    key: str = quantity("Input", help="Scenario key.")
    value: float = quantity("Value", "see key", "scenario", help="As the scenario has it.")
    at: float = quantity(
        "Flips at", "see key", "bisection over plans", help="First value found with another answer, to 2 %."
    )
    before: Outcome = quantity("Answer now", help="The scenario's own answer.")
    after: Outcome = quantity("Answer then", help="What would be ordered beyond.")


def flips(scenario: Scenario, answers: Answers, progress: Progress | None = None) -> tuple[Flip, ...]:
    """For every input that decides the plan the nearest flip below and above, up to four times the value.

    Between two steps an answer that flips and flips back is not seen. Raises InvalidScenario for unknown names.
    """
    base, inputs = answers.outcome(scenario), sizing_inputs(scenario)
    out: list[Flip] = []
    for done, one in enumerate(inputs):
        if progress is not None:
            progress(done, len(inputs))
        out += _of(one, scenario, base, answers)
    return tuple(sorted(out, key=lambda flip: max(flip.at / flip.value, flip.value / flip.at)))


def _of(one: Input, scenario: Scenario, base: Outcome, answers: Answers) -> Iterator[Flip]:
    def at(value: float) -> Outcome | None:
        moved = one.moved(scenario, value)
        return None if moved is None else answers.outcome(moved)

    natural = (one.low, one.high) if one.basis == "natural" else (0.0, float("inf"))
    for up in (False, True):
        other = _first_other(at, one.value, base, natural, up=up)
        if other is not None:
            value, after = other
            yield Flip(key=one.key, value=one.value, at=value, before=base, after=after)


def _first_other(
    at: Callable[[float], Outcome | None], value: float, base: Outcome, natural: tuple[float, float], *, up: bool
) -> tuple[float, Outcome] | None:
    """The first value to one side with another choice, by growing steps, then bisection; None where there is none."""
    same = value
    for factor in FACTORS:
        other = min(max(value * factor if up else value / factor, natural[0]), natural[1])
        if other == same:
            return None
        outcome = at(other)
        if outcome is None:
            return None
        if outcome.choice != base.choice:
            return _narrowed(at, base, (same, other, outcome))
        same = other
    return None


def _narrowed(
    at: Callable[[float], Outcome | None], base: Outcome, around: tuple[float, float, Outcome]
) -> tuple[float, Outcome]:
    same, other, outcome = around
    while max(other / same, same / other) > NEAR:
        middle = (same * other) ** 0.5
        between = at(middle)
        if between is None or between.choice == base.choice:
            same = middle
        else:
            other, outcome = middle, between
    return other, outcome
