"""The cheapest split: which fleet takes which ranges of requests, in the order of their prompts, and its units.

Requests are packed by size onto GPU types as Melange does (Griggs et al., arXiv 2404.14527, 2024), with whole systems
in place of single GPUs, and with neighbouring ranges together: a router tells prompts apart by a threshold between two
fleets. So few ranges have so few such splits that the best is cheapest by trying every one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sizing.base.arrays import ROUNDING
from sizing.mixed.units import Unit


@dataclass(frozen=True, kw_only=True)
class Share:
    """Units of one kind, and the ranges that they take: from number ``first`` to before ``end``."""

    unit: Unit
    first: int
    end: int
    number: int

    @property
    def counted(self) -> float:
        """What it counts in comparing, USD per hour with what an expert adds."""
        return self.unit.counted * self.number


@dataclass(frozen=True, kw_only=True)
class RangeSplit:
    """Every range in one of the ``shares``, in their order."""

    shares: tuple[Share, ...]

    @property
    def counted(self) -> float:
        """What it counts in comparing, USD per hour with what an expert adds."""
        return math.fsum(one.counted for one in self.shares)


def number_needed(unit: Unit, first: int, end: int) -> float:
    """Whole units that some ranges take, what stands by included; infinite where one of them is never served.

    ``ceil(sum of what each range needs + spare)``.
    """
    needed = math.fsum(unit.needed[first:end]) + unit.spare
    return math.ceil(needed - ROUNDING) if math.isfinite(needed) else math.inf


def unserved(units: Sequence[Unit], ranges: int) -> tuple[int, ...]:
    """Ranges that no unit serves."""
    return tuple(k for k in range(ranges) if not any(math.isfinite(one.needed[k]) for one in units))


def cheapest_split(units: Sequence[Unit], most: int) -> RangeSplit | None:
    """The split of least cost into so many fleets at most, of as cheap ones that with the fewest; None where a range is
    served by nothing, or all by no unit where ``most`` is one.

    Equation: least(k, end) = min over first of least(k - 1, first) + min over units of USD x ceil(sum needed + spare).
    """
    if not units:
        return None
    ranges = len(units[0].needed)
    alone = {(a, b): _cheapest(units, a, b) for a in range(ranges) for b in range(a + 1, ranges + 1)}
    best: dict[int, RangeSplit] = {0: RangeSplit(shares=())}
    cheapest: RangeSplit | None = None
    for _ in range(most):
        longer: dict[int, RangeSplit] = {}
        for (first, end), share in alone.items():
            if share is None or first not in best:
                continue
            one = RangeSplit(shares=(*best[first].shares, share))
            if end not in longer or one.counted < longer[end].counted:
                longer[end] = one
        best = longer
        if ranges in best and (cheapest is None or best[ranges].counted < cheapest.counted * (1.0 - ROUNDING)):
            cheapest = best[ranges]
    return cheapest


def _cheapest(units: Sequence[Unit], first: int, end: int) -> Share | None:
    """The cheapest units for neighbouring ranges; None where no kind serves them all."""
    best: Share | None = None
    for unit in units:
        number = number_needed(unit, first, end)
        if math.isfinite(number) and (best is None or unit.counted * number < best.counted):
            best = Share(unit=unit, first=first, end=end, number=int(number))
    return best
