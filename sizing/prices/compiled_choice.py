"""Compiled: the best option of each candidate, a number at a time."""

from __future__ import annotations

import numpy as np

from sizing.base.arrays import Counts, Floats
from sizing.base.compiled import compiled_entry


@compiled_entry
def best_of_each(counts: Counts, spread: Counts, price: Floats, systems: Counts, tie: float, best: Counts) -> None:
    """The place of the pair that each candidate takes, into ``best`` (C,): of those with the least ``spread`` those
    with the least ``price``, of these those with the fewest ``systems``, of these the first.

    Pairs (P,) of candidates and options, ``counts`` (C,) of them for each candidate; values within ``tie`` are equal.
    """
    start, more = 0, 1.0 + tie
    for c in range(len(counts)):
        end = start + counts[c]
        least, cheapest, fewest = np.inf, np.inf, np.inf
        for k in range(start, end):
            least = min(least, spread[k] * more)
        for k in range(start, end):
            if spread[k] <= least:
                cheapest = min(cheapest, price[k] * more)
        for k in range(start, end):
            if spread[k] <= least and price[k] <= cheapest:
                fewest = min(fewest, systems[k] * more)
        for k in range(start, end):
            if spread[k] <= least and price[k] <= cheapest and systems[k] <= fewest:
                best[c] = k
                break
        start = end
