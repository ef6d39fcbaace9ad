"""Types of arguments, for ``add_argument(type=...)``: what is out of bounds is refused with the bounds."""

import argparse
import math
from collections.abc import Callable
from datetime import date

GROUPED_FROM = 10_000
"""From here on a bound is written with separators between thousands."""
LONGEST = 100
"""Digits of a whole number that are read: no bound is so large, and Python refuses thousands of them otherwise."""


Argument = Callable[[str], float]
"""Reads one argument, or refuses it."""


def whole(low: int, high: int) -> Callable[[str], int]:
    """A whole number from ``low`` (at least 0) to ``high``."""

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > LONGEST or not low <= int(text) <= high:
            shown = f"{high:,}" if high >= GROUPED_FROM else str(high)
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {shown}")
        return int(text)

    return read


def number(what: str, low: float, high: float, *, above: bool = False) -> Callable[[str], float]:
    """A number from ``low`` to ``high``; ``above``: greater than ``low``. ``what`` it is, as in "a number of hours"."""
    bounds = f"above {low:.15g} and up to {high:.15g}" if above else f"from {low:.15g} to {high:.15g}"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low < value if above else low <= value) or not value <= high:
            raise argparse.ArgumentTypeError(f"must be {what} {bounds}")
        return value

    return read


def rounded(what: str, low: int, high: int) -> Callable[[str], int]:
    """A number from ``low`` to ``high`` without its fraction."""
    read = number(what, low, high)
    return lambda text: int(read(text))


def day_of_calendar(text: str) -> date:
    """A day as 2026-11-30."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a day such as 2026-11-30") from None
