"""The one way to refuse a number that is not a number, not finite, or outside its range."""

import math
from numbers import Real

from sizing.base.errors import SizingError
from sizing.base.format import stated


def number_between(name: str, value: float, low: float, high: float, *, exclude_low: bool = False) -> float:
    """``value`` as a float when ``low <= value <= high`` (``low < value`` with ``exclude_low``).

    Raises SizingError with one sentence that names the quantity, the value and the range; text, NaN and infinity are
    outside every range.
    """
    wanted = f"{'above' if exclude_low else 'at least'} {low:,.12g} and at most {high:,.12g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SizingError(f"{name} must be a number {wanted}, not “{str(value)[:40]}”.")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond double precision
        number = math.inf
    below = number <= low if exclude_low else number < low
    if not math.isfinite(number) or below or number > high:
        raise SizingError(f"{name} must be {wanted}, not {_shown(number)}.")
    return number


def whole_number(name: str, value: int, low: int, high: int) -> int:
    """``value`` as an int when it is a whole number in ``low..high``; raises SizingError otherwise."""
    number = number_between(name, value, low, high)
    if number != int(number):
        raise SizingError(f"{name} must be a whole number, not {_shown(number)}.")
    return int(value)


def _shown(number: float) -> str:
    return stated(number) if math.isfinite(number) else str(number)
