"""An amount with the ends of its range, and how ranges add up and multiply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A number of at least 0 with the lowest and highest that it may be; ``high`` is infinite where nothing bounds it.

    Ranges are carried as if everything were at its low or its high end together: wider than an 80 % interval of
    independent causes, never narrower.
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Amount:
        """A number without a range."""
        return cls(value=value, low=value, high=value)

    def __mul__(self, by: Amount | float) -> Amount:
        other = by if isinstance(by, Amount) else Amount.exactly(by)
        return Amount(
            value=_product(self.value, other.value),
            low=_product(self.low, other.low),
            high=_product(self.high, other.high),
        )

    __rmul__ = __mul__

    def __add__(self, other: Amount) -> Amount:
        return total((self, other))

    @property
    def bounded_high(self) -> float | None:
        """The upper end; None where nothing bounds the number above."""
        return self.high if math.isfinite(self.high) else None


NOTHING = Amount.exactly(0.0)


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum, correctly rounded, so that parts add up whatever their order."""
    each = tuple(amounts)
    return Amount(
        value=math.fsum(a.value for a in each), low=math.fsum(a.low for a in each), high=math.fsum(a.high for a in each)
    )


def _product(a: float, b: float) -> float:
    """0 times anything is 0, an unbounded number too."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b
