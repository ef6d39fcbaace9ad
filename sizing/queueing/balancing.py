"""How load is shared among instances of different capacity, in closed form.

An instance with capacity c and weight w gets w / sum(w) of the load, so all of them hold their limits up to min(c / w)
x sum(w): with equal weights n x min(c), with weights as their capacities sum(c), which no weights exceed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_WEIGHT = 100
"""Largest whole weight that is written. Chosen: because people read them as per cent."""

NEAR = 0.99
"""Share of the capacity of all that whole weights reach at least. Chosen: because a measured capacity is no better
known than that."""


@dataclass(frozen=True, kw_only=True)
class Balanced:
    """Load that instances carry within the limits, requests/s: ``evenly`` with equal weights, ``by_capacity`` at most;
    ``weights`` in whole numbers, as front ends take them, with which ``weighted`` is carried."""

    evenly: float
    by_capacity: float
    weights: tuple[int, ...]
    weighted: float

    @property
    def lost_evenly(self) -> float:
        """Share of the capacity of all that equal weights leave unused: 1 - n x min(c) / sum(c)."""
        return 1.0 - self.evenly / self.by_capacity


def carried(capacities: Sequence[float], weights: Sequence[float]) -> float:
    """The largest load with which every instance stays within its capacity: min(c / w) x sum(w).

    Raises ValueError without instances, for a capacity or weight that is not above 0, and for other numbers of both.
    """
    if not capacities or len(capacities) != len(weights):
        raise ValueError("every instance needs a capacity and a weight, and there must be one at least")
    if min(*capacities, *weights) <= 0:
        raise ValueError("capacities and weights must be above 0")
    return min(c / w for c, w in zip(capacities, weights, strict=True)) * sum(weights)


def balanced(capacities: Sequence[float]) -> Balanced:
    """Weights for instances of these capacities within the limits, and what they and equal ones carry.

    Raises ValueError without instances and for a capacity that is not above 0.
    """
    evenly, together = carried(capacities, [1.0] * len(capacities)), carried(capacities, capacities)
    weights = whole_weights(capacities)
    return Balanced(evenly=evenly, by_capacity=together, weights=weights, weighted=carried(capacities, weights))


def whole_weights(capacities: Sequence[float]) -> tuple[int, ...]:
    """The smallest whole numbers that share load nearly as capacities do: those with which 99 % of it is carried, else
    the best of all up to 100."""
    whole, largest = carried(capacities, capacities), max(capacities)
    best, most = (1,) * len(capacities), 0.0
    for scale in range(1, MOST_WEIGHT + 1):
        weights = tuple(max(round(scale * c / largest), 1) for c in capacities)
        share = carried(capacities, weights) / whole
        if share > most:
            best, most = weights, share
        if most >= NEAR:
            break
    return best


def shares(capacities: Sequence[float]) -> tuple[float, ...]:
    """Load of each instance relative to an even share, by capacity: n x c / sum(c)."""
    return tuple(len(capacities) * c / sum(capacities) for c in capacities)
