"""How far a value can be pushed: the largest that fits, by growing steps and bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

RATE_TOLERANCE = 0.002
"""Relative width at which a bisection of the load stops. Chosen: because an answer shows three digits."""
LEAST_RPS = 1e-6
"""Load that any instance carries that can carry anything."""
FIRST_STEP, LARGEST_STEP = 1.1, 2.0
"""Factor of the first step to a larger load, and of the largest: steps grow as long as one is found."""
LAST_STEP = 1e-6
"""Relative step of the last search for a slightly larger load, and the width at which it stops halving."""


class Carries(Protocol):
    """Something that carries a load."""

    @property
    def rps(self) -> float:
        """The load in requests/s."""
        ...


Carrier = TypeVar("Carrier", bound=Carries)


def largest_load(at: Callable[[float], Carrier | None], start: Carrier | None) -> Carrier | None:
    """The largest load that ``at`` finds a deployment for, from ``start`` upwards: growing steps, then bisection.

    A deployment that is found carries more than was asked for, up to its own limits: the search goes on from there, and
    mostly ends where a slightly larger load finds none. Where each finds one that carries hardly more, the gap below
    the smallest load without a deployment is halved until it is no wider than :data:`LAST_STEP`.
    """
    best = at(LEAST_RPS if start is None else start.rps * (1.0 + RATE_TOLERANCE))
    if best is None:
        return start
    beyond, step = np.inf, FIRST_STEP
    while beyond > best.rps * (1.0 + RATE_TOLERANCE):
        tried = step * best.rps if np.isinf(beyond) else float(np.sqrt(best.rps * beyond))
        larger = at(tried)
        best, beyond, step = (best, tried, step) if larger is None else (larger, beyond, min(step**2, LARGEST_STEP))
    while beyond > best.rps * (1.0 + LAST_STEP) and (larger := at(best.rps * (1.0 + LAST_STEP))) is not None:
        best = larger
        if beyond > best.rps:
            middle = float(np.sqrt(best.rps * beyond))
            larger = at(middle)
            best, beyond = (best, middle) if larger is None else (larger, beyond)
    return best


def farthest(
    fits: Callable[[float, bool], str | None], low: float, high: float, tolerance: float
) -> tuple[float | None, str]:
    """Largest value in [low, high] that fits, to a relative tolerance, and what fits it; None if ``low`` fails.

    ``fits`` is asked without caps and pools (True) as long as these can, then with all there is (False).
    """
    plain, label = _bisect(lambda value: fits(value, True), low, high, tolerance)
    start = low if plain is None else min(plain * (1.0 + tolerance), high)
    farther, other = _bisect(lambda value: fits(value, False), start, high, tolerance)
    return (plain, label) if farther is None else (farther, other)


def _bisect(fits: Callable[[float], str | None], low: float, high: float, tolerance: float) -> tuple[float | None, str]:
    """Largest value in [low, high] that fits, to a relative tolerance, and what fits it; None if ``low`` fails."""
    label = fits(low)
    if high < low or label is None:
        return None, ""
    top = fits(high)
    if top is not None:
        return high, top
    while high - low > tolerance * high:
        middle = (low * high) ** 0.5
        inside = fits(middle)
        low, high, label = (middle, high, inside) if inside is not None else (low, middle, label)
    return low, label
