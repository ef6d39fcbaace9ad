"""Two inputs moved together: what every pair of values leads to."""

from typing import Annotated

import numpy as np

from sizing.base.errors import SizingError
from sizing.base.quantity import Result, quantity
from sizing.decision.inputs import Input, inputs_of
from sizing.decision.keys import with_values
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.scenario.schema import Scenario

CELLS = 5
"""Values of each input: its own in the middle."""

FARTHEST = 2.0
"""Factor between an input and its outermost values. Chosen: because people ask about twice and half the load."""


class TwoInputs(Result):
    """Answers for every pair of values of two inputs."""

    x_key: Annotated[str, quantity("Input along x", help="Scenario key.")]
    y_key: Annotated[str, quantity("Input along y", help="Scenario key.")]
    x: Annotated[tuple[float, ...], quantity("Values along x", "see key", "value x 2^(-1 ... 1)", help="Ascending.")]
    y: Annotated[tuple[float, ...], quantity("Values along y", "see key", "value x 2^(-1 ... 1)", help="Ascending.")]
    outcomes: Annotated[
        tuple[tuple[Outcome | None, ...], ...],
        quantity("Answers", help="One row per value of y; None where a pair cannot stand together."),
    ]


def two_inputs(
    scenario: Scenario, x_key: str, y_key: str, answers: Answers, progress: Progress | None = None
) -> TwoInputs:
    """The answers round the scenario. Raises SizingError for an input that the scenario does not have."""
    x, y = _input(scenario, x_key), _input(scenario, y_key)
    xs, ys = _values(x), _values(y)
    rows = []
    for j, at_y in enumerate(ys):
        row: list[Outcome | None] = []
        for i, at_x in enumerate(xs):
            if progress is not None:
                progress(j * len(xs) + i, len(xs) * len(ys))
            moved = with_values(scenario, {**x.values(at_x), **y.values(at_y)})
            row.append(None if moved is None else answers.outcome(moved))
        rows.append(tuple(row))
    return TwoInputs(x_key=x_key, y_key=y_key, x=xs, y=ys, outcomes=tuple(rows))


def _input(scenario: Scenario, key: str) -> Input:
    known = {one.key: one for one in inputs_of(scenario)}
    if key not in known:
        raise SizingError(f"{key} cannot be moved: this scenario has {', '.join(known)}.")
    return known[key]


def _values(one: Input) -> tuple[float, ...]:
    """Values round the input, its own among them."""
    if one.basis == "natural":
        return tuple(float(v) for v in np.linspace(one.low, one.high, CELLS))
    powers = np.linspace(-1.0, 1.0, CELLS)
    return tuple(float(v) for v in one.value * FARTHEST**powers)
