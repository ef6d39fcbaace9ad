"""What flips the answer: the values of an input at which another GPU type, format or number of systems is the best."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from sizing.base.quantity import Result, quantity
from sizing.decision.inputs import Input, sizing_inputs
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.scenario.schema import Scenario

FACTORS = (1.5, 2.0, 4.0)
"""How far an input is moved to either side beyond its range. Chosen: because a guess is seldom off by more than four,
and because promises are relaxed to the first two."""

NEAR = 1.02
"""Ratio of the values on both sides at which a flip is found. Chosen: because no input is known better."""


class Flip(Result):
    """The nearest value of an input, to one side, at which something else would be ordered."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    value: Annotated[float, quantity("Value", "see key", "scenario", help="As the scenario has it.")]
    unchanged: Annotated[
        float,
        quantity(
            "Unchanged to", "see key", "bisection over plans", help="Last value found with the scenario's own answer."
        ),
    ]
    at: Annotated[
        float, quantity("Flips at", "see key", "bisection over plans", help="First value found with another answer.")
    ]
    before: Annotated[Outcome, quantity("Answer now", help="The scenario's own answer.")]
    after: Annotated[Outcome, quantity("Answer then", help="What would be ordered beyond.")]


class Searched(Result):
    """An input at whose values nothing else would be ordered, as far as they were looked at."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    value: Annotated[float, quantity("Value", "see key", "scenario", help="As the scenario has it.")]
    to: Annotated[
        float, quantity("Searched to", "see key", "steps of plans", help="Last value looked at, or as it is.")
    ]
    all: Annotated[bool, quantity("To the end", help="Whether all steps were looked at.")]


class Flips(Result):
    """For each input, the nearest value at which another answer comes first."""

    nearest: Annotated[tuple[Flip, ...], quantity("Flips", help="The nearest first.")]
    unmoved: Annotated[tuple[Searched, ...], quantity("No flip", help="Sides on which none was found.")]


def flips(
    scenario: Scenario,
    answers: Answers,
    progress: Progress | None = None,
    *,
    most: int | None = None,
    near: float = NEAR,
) -> Flips:
    """For every input that decides the plan the nearest flip below and above, up to four times the value.

    The ends of the ranges first, then ever farther, and each flip narrowed to a ratio ``near`` before the next step;
    ``most``: values that may be looked at beyond the ends of the ranges, which a tornado has planned; after these what
    was found stands as it is. Between two steps an answer that flips and flips back is not seen. Raises InvalidScenario
    for unknown names.
    """
    search = _Search(scenario, answers, float("inf") if most is None else most)
    sides = [side for one in sizing_inputs(scenario) for side in _sides(one, scenario)]
    steps = len(FACTORS) + 1
    for step in range(steps):
        for done, side in enumerate(sides):
            if progress is not None:
                progress(step * len(sides) + done, steps * len(sides))
            search.moved(side, step)
        for side in sorted(sides, key=lambda side: side.away):
            search.narrowed(side, near)
    nearest = sorted(
        (side.flip(search.base) for side in sides if side.after is not None),
        key=lambda flip: _ratio(flip.at, flip.value),
    )
    unmoved = tuple(side.searched() for side in sides if side.after is None)
    return Flips(nearest=tuple(nearest), unmoved=unmoved)


@dataclass(kw_only=True)
class _Side:
    """An input moved to one side: its steps, the last value with the same answer, the first with another."""

    input: Input
    steps: tuple[float, ...]
    same: float
    other: float = 0.0
    after: Outcome | None = None
    tried: int = 0

    @property
    def away(self) -> float:
        """How far the flip is from the value; infinite without one."""
        return _ratio(self.other, self.input.value) if self.after is not None else float("inf")

    def flip(self, base: Outcome) -> Flip:
        after = base if self.after is None else self.after
        one = self.input
        return Flip(key=one.key, value=one.value, unchanged=self.same, at=self.other, before=base, after=after)

    def searched(self) -> Searched:
        one = self.input
        return Searched(key=one.key, value=one.value, to=self.same, all=self.tried == len(self.steps))


def _sides(one: Input, scenario: Scenario) -> Iterator[_Side]:
    """The sides to which the input can be moved, each as far as it goes."""
    for up in (False, True):
        end = one.high if up else one.low
        beyond = () if one.basis == "natural" else (one.value * f if up else one.value / f for f in FACTORS)
        steps = [value for value in (end, *beyond) if value != one.value]
        possible = tuple(value for value in steps if one.moved(scenario, value) is not None)
        if possible:
            yield _Side(input=one, steps=possible, same=one.value)


class _Search:
    """Plans at moved inputs, as many as may be looked at: whether they are known already makes no difference."""

    def __init__(self, scenario: Scenario, answers: Answers, left: float) -> None:
        self.base = answers.outcome(scenario)
        self._scenario, self._answers, self._left = scenario, answers, left

    def _at(self, one: Input, value: float) -> Outcome | None:
        """What a value leads to; None where it cannot be, or where no more may be looked at."""
        moved, free = one.moved(self._scenario, value), value in (one.low, one.high)
        if moved is None or (self._left <= 0 and not free):
            return None
        self._left -= 0 if free else 1
        return self._answers.outcome(moved)

    def moved(self, side: _Side, step: int) -> None:
        """Go one step on, where all before were gone and nothing has flipped."""
        if side.after is not None or side.tried != step or step >= len(side.steps):
            return
        value = side.steps[step]
        outcome = self._at(side.input, value)
        if outcome is None:
            return
        side.tried += 1
        if outcome.choice == self.base.choice:
            side.same = value
        else:
            side.other, side.after = value, outcome

    def narrowed(self, side: _Side, near: float) -> None:
        """Halve, by ratio, what lies between the same answer and the other."""
        while side.after is not None and _ratio(side.other, side.same) > near:
            middle = (side.same * side.other) ** 0.5
            outcome = self._at(side.input, middle)
            if outcome is None:
                return
            if outcome.choice == self.base.choice:
                side.same = middle
            else:
                side.other, side.after = middle, outcome


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)
