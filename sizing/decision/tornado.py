"""How far the answer moves: each input alone (a tornado), and two inputs together (a heat map)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from sizing.base.errors import SizingError
from sizing.base.quantity import Result, quantity
from sizing.decision.inputs import SHARE, Input, Range, inputs_of, price_input
from sizing.decision.keep_hardware import same_hardware
from sizing.decision.keys import with_values
from sizing.decision.outcome import Answers, Outcome, Progress
from sizing.scenario.schema import Scenario

RENT = "prices.rent_percent"
"""Key of the prices of rented instances, in percent of what they are; no key of a scenario."""

AS_IT_IS = 100.0
"""Percent of today's prices that leaves them as they are."""

LENGTHS = ("workload.input_tokens", "workload.output_tokens", "workload.prefix_cached_tokens")
"""Moved last: with the lengths as they are, what the screen and the simulation know of the scenario serves again."""

PRICES = ("prices", "costs")
"""Sections of a scenario that say what things cost."""

CELLS = 5
"""Values of each input: its own in the middle."""

FARTHEST = 2.0
"""Factor between an input and its outermost values. Chosen: because people ask about twice and half the load."""


class Bar(Result):
    """One input at both ends of its range, everything else as it is."""

    key: Annotated[
        str, quantity("Input", help="Scenario key; prices.rent_percent: every price of what is rented, moved alike.")
    ]
    value: Annotated[float, quantity("Value", "see key", "scenario", help="As the scenario has it.")]
    low: Annotated[float, quantity("Low", "see key", "see basis", help="Lower end of its range.")]
    high: Annotated[float, quantity("High", "see key", "see basis", help="Upper end of its range.")]
    basis: Annotated[
        Range, quantity("Range from", help="share: 20 % to both sides; sources: what they give; natural: its bounds.")
    ]
    at_low: Annotated[
        Outcome | None, quantity("At the low end", help="None where that value cannot stand beside the others.")
    ]
    at_high: Annotated[
        Outcome | None, quantity("At the high end", help="None where that value cannot stand beside the others.")
    ]


class Tornado(Result):
    """All inputs, those that move the cost most first."""

    base: Annotated[Outcome, quantity("As it is", help="The scenario's own answer.")]
    bars: Annotated[tuple[Bar, ...], quantity("Inputs", help="Each moved alone, the largest swing first.")]

    @property
    def in_money(self) -> bool:
        """Whether costs are compared; GPUs where the price of the answer is not known."""
        return self.base.usd_per_month is not None


def tornado(
    scenario: Scenario, answers: Answers, progress: Progress | None = None, *, keep_hardware: bool = False
) -> Tornado:
    """Every input at both ends of its range; ``keep_hardware``: with the plan's GPU, engine, formats and layout alone,
    of which more or fewer may be needed.

    Raises InvalidScenario for an unknown model, GPU, region or provider.
    """
    answer = answers.answer(scenario)
    moved, price = same_hardware(answer) if keep_hardware else scenario, price_input(answer)
    base = answers.outcome(moved)
    inputs = sorted((*inputs_of(scenario), *([] if price is None else [price])), key=lambda one: one.key in LENGTHS)
    bars = []
    for done, one in enumerate(inputs):
        if progress is not None:
            progress(done, len(inputs))
        bars.append(_bar(one, moved, answers))
    bars += _rent(moved, answers, base)
    return Tornado(base=base, bars=tuple(_sorted(bars, base)))


def _rent(scenario: Scenario, answers: Answers, base: Outcome) -> list[Bar]:
    """Prices of rented instances, by a share to both sides; none where nothing is rented or priced, or the scenario
    has a price of its own for the GPU-hour, which is an input like others."""
    if scenario.deployment.location == "on_prem" or scenario.prices.gpu_hour_usd is not None:
        return []
    if base.usd_per_month is None:
        return []
    at_low, at_high = (answers.outcome_at(scenario, share) for share in (1.0 - SHARE, 1.0 + SHARE))
    low, high = AS_IT_IS * (1.0 - SHARE), AS_IT_IS * (1.0 + SHARE)
    return [Bar(key=RENT, value=AS_IT_IS, low=low, high=high, basis="share", at_low=at_low, at_high=at_high)]


def in_gpus(drawn: Tornado) -> Tornado:
    """The same counted in GPUs, without any amount and without the inputs that are nothing but prices."""
    bars = [
        bar.model_copy(update={"at_low": _unpriced(bar.at_low), "at_high": _unpriced(bar.at_high)})
        for bar in drawn.bars
        if bar.key.partition(".")[0] not in PRICES
    ]
    base = _unpriced(drawn.base) or drawn.base
    return Tornado(base=base, bars=tuple(_sorted(bars, base)))


def _unpriced(outcome: Outcome | None) -> Outcome | None:
    return outcome and outcome.model_copy(update=dict.fromkeys(("usd_per_month", "low", "high")))


def _bar(one: Input, scenario: Scenario, answers: Answers) -> Bar:
    ends = [one.moved(scenario, value) for value in (one.low, one.high)]
    at_low, at_high = (None if moved is None else answers.outcome(moved) for moved in ends)
    return Bar(
        key=one.key, value=one.value, low=one.low, high=one.high, basis=one.basis, at_low=at_low, at_high=at_high
    )


def _sorted(bars: Sequence[Bar], base: Outcome) -> list[Bar]:
    return sorted(bars, key=lambda bar: (-swing(bar, base), bar.key))


def counted(outcome: Outcome | None, base: Outcome) -> float | None:
    """What is compared: USD a month, or GPUs where the base has no price; None where nothing serves or is known."""
    if outcome is None:
        return None
    return outcome.gpus if base.usd_per_month is None else outcome.usd_per_month


def swing(bar: Bar, base: Outcome) -> float:
    """Largest less smallest of both ends and the base; infinite where nothing serves at an end."""
    if not base.feasible:
        return 0.0
    ends = [end for end in (bar.at_low, bar.at_high) if end is not None]
    if any(not end.feasible for end in ends):
        return float("inf")
    values = [value for one in (*ends, base) if (value := counted(one, base)) is not None]
    return max(values) - min(values) if values else 0.0


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
