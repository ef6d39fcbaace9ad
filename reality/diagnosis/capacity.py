"""The largest load within the limits, and how many replicas a load needs, by the engine as it was measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reality.diagnosis.limits import Asked
from reality.diagnosis.worlds import Circumstances, Worlds

REQUESTS = 15_000
"""Requests of a run: 750 beyond p95."""
BRACKET, ROUNDS = 1.35, 6
"""Factor by which the load grows or falls until a limit is passed, and halvings of such a range after that: 0.5 %."""
MOST_BRACKETS, SINGLE_BRACKETS = 9, 3
"""How many steps are tried, and from which on each is twice as far as the one before: up to 10^16 times the load of an
idle night, and down to as small a part."""
MOST_REPLICAS_TRIED = 5
"""Numbers of replicas that are simulated around the first guess."""


@dataclass(frozen=True, kw_only=True)
class PromisedLimits:
    """The limits that a load must keep, at their percentile; ``scale`` by quantity: how many times as high the measured
    percentile is as the simulated one, where that is known to differ."""

    limits: Sequence[Asked]
    percentile: float
    scale: Mapping[str, float]

    def kept(self, worlds: Worlds, one: Circumstances, rps: float) -> bool:
        """Whether every limit holds at a load that lasts. The rush of a window is no such load."""
        ran = worlds.run(replace(one, rps=rps, profile=()), lasting=True, requests=REQUESTS)
        if ran.growing:
            return False
        return all(
            ran.percentile_ms(bound.quantity, self.percentile) * self.scale.get(bound.quantity, 1.0) <= bound.limit_ms
            for bound in self.limits
            if math.isfinite(ran.percentile_ms(bound.quantity, self.percentile))
        )


def largest_load(worlds: Worlds, one: Circumstances, promise: PromisedLimits) -> float | None:
    """The largest load within the limits, in requests/s; None where even a small one breaks them."""
    load = one.rps
    held, broken = (load, None) if promise.kept(worlds, one, load) else (None, load)
    for step in range(MOST_BRACKETS):
        if held is not None and broken is not None:
            break
        factor = BRACKET**2.0 ** max(step - SINGLE_BRACKETS + 1, 0)
        load = load * factor if broken is None else load / factor
        if promise.kept(worlds, one, load):
            held = load
        else:
            broken = load
    if held is None:
        return None
    if broken is None:
        return held
    while broken / held > BRACKET**0.5**ROUNDS * (1.0 + 1e-9):
        middle = math.sqrt(held * broken)
        if promise.kept(worlds, one, middle):
            held = middle
        else:
            broken = middle
    return held


def ordinary(one: Circumstances, replicas: int) -> Circumstances:
    """A fleet of so many replicas that are alike and get an even share."""
    return replace(one, replicas=replicas, shares=(), slowness=())


def replicas_needed(worlds: Worlds, one: Circumstances, promise: PromisedLimits, capacity: float | None) -> int | None:
    """The fewest ordinary replicas that keep the limits at the load; ``capacity`` of as many ordinary ones as there are
    (None: not even a small load). None where none do."""
    if capacity is None:
        return None
    guess = max(math.ceil(one.rps / capacity * one.replicas - 1e-9), 1)
    enough: int | None = None
    for _ in range(MOST_REPLICAS_TRIED):
        if promise.kept(worlds, ordinary(one, guess), one.rps):
            enough = guess
            if guess == 1:
                break
            guess -= 1
        else:
            if enough is not None:
                break
            guess += 1
    return enough
