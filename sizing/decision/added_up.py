"""Costs beside their differences, rounded so that what is shown adds up: $2,940 and $1,330 differ by $1,610.

Costs keep the digits that they have everywhere; where these would hide a difference, all of them get more. Amounts of
these results are shown with every digit that they have.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from sizing.base.format import ALL_DIGITS, rounded
from sizing.decision.comparison import Comparison, Driver
from sizing.decision.formats import Formats
from sizing.decision.levers import LeverRow
from sizing.decision.nim import NimComparison
from sizing.decision.outcome import Outcome

LEAST_DIGITS = 3
"""Digits of a cost everywhere else."""

LEAST_DIFFERENCE = 0.5
"""A month's costs that differ by less read alike."""

LEAST_SHARE = 0.005
"""Chosen: costs that differ by less than this share of the larger read alike: three digits can hide as much, and no
estimated cost is known as well."""

TRUE_TO = 0.05
"""Chosen: share of a difference by which the shown one may be off."""

Priced = TypeVar("Priced", Outcome, Driver)
Rounded = Callable[[float | None], float | None]


def comparison_added_up(comparison: Comparison) -> Comparison:
    """The scenarios with their costs as they are shown, and how far these are from the first."""
    first = comparison.scenarios[0].outcome
    rounding = _rounding(first, (one.outcome for one in comparison.scenarios[1:]))
    scenarios = tuple(
        one.model_copy(
            update={
                "outcome": _rounded(one.outcome, rounding),
                "usd_more": _less(one.outcome, first, rounding),
                "drivers": tuple(_rounded(driver, rounding) for driver in one.drivers),
            }
        )
        for one in comparison.scenarios
    )
    return comparison.model_copy(update={"scenarios": scenarios})


def formats_added_up(formats: Formats) -> Formats:
    """The formats with their costs as they are shown, and how far these are from the plan's."""
    rounding = _rounding(formats.base, (one.outcome for one in formats.rows))
    rows = tuple(
        one.model_copy(
            update={"outcome": _rounded(one.outcome, rounding), "usd_more": _less(one.outcome, formats.base, rounding)}
        )
        for one in formats.rows
    )
    return formats.model_copy(update={"base": _rounded(formats.base, rounding), "rows": rows})


def levers_added_up(rows: Iterable[LeverRow], base: Outcome) -> tuple[tuple[LeverRow, ...], Outcome]:
    """The levers and the plan with their costs as they are shown, and what each lever saves of the plan's."""
    rows = tuple(rows)
    rounding = _rounding(base, (one.outcome for one in rows if one.outcome is not None))
    added_up = tuple(
        one
        if one.outcome is None
        else one.model_copy(
            update={"outcome": _rounded(one.outcome, rounding), "usd_saved": _less(base, one.outcome, rounding)}
        )
        for one in rows
    )
    return added_up, _rounded(base, rounding)


def nim_added_up(one: NimComparison) -> NimComparison:
    """NIM and the engine inside it with their costs as they are shown, and what the licence adds."""
    rounding = _rounding(one.open_source, (one.licensed, one.nim))
    shown = {name: _rounded(getattr(one, name), rounding) for name in ("open_source", "licensed", "nim")}
    return one.model_copy(update=shown | {"usd_more": _less(one.licensed, one.open_source, rounding)})


def read_alike(one: float, other: float) -> bool:
    """Whether two months' costs are too near each other for a difference to be told."""
    return abs(other - one) < max(LEAST_DIFFERENCE, LEAST_SHARE * max(abs(one), abs(other)))


def _rounding(first: Outcome, others: Iterable[Outcome]) -> Rounded:
    """Rounds to the fewest digits in which every difference to the first is nearly the true one; what reads like the
    first is shown as it."""
    base = first.usd_per_month
    costs = [one.usd_per_month for one in others if one.usd_per_month is not None]
    if base is None:
        return partial(_to_digits, LEAST_DIGITS)
    digits = next(
        (n for n in range(LEAST_DIGITS, ALL_DIGITS) if all(_tells(base, cost, n) for cost in costs)), ALL_DIGITS
    )

    def rounding(cost: float | None) -> float | None:
        return _to_digits(digits, base if cost is not None and read_alike(base, cost) else cost)

    return rounding


def _tells(first: float, other: float, digits: int) -> bool:
    true = other - first
    shown = rounded(other, digits) - rounded(first, digits)
    return read_alike(first, other) or abs(shown - true) <= TRUE_TO * abs(true)


def _to_digits(digits: int, cost: float | None) -> float | None:
    return None if cost is None else rounded(cost, digits)


def _rounded(one: Priced, rounding: Rounded) -> Priced:
    return one.model_copy(update={"usd_per_month": rounding(one.usd_per_month)})


def _less(a: Outcome, b: Outcome, rounding: Rounded) -> float | None:
    """a - b as shown; what float arithmetic leaves is cut off."""
    minuend, subtrahend = rounding(a.usd_per_month), rounding(b.usd_per_month)
    return None if minuend is None or subtrahend is None else rounded(minuend - subtrahend, ALL_DIGITS)
