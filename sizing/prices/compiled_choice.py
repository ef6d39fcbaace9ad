"""Compiled: the cheapest option of each candidate, a number at a time.

As arrays, every step would write and read all pairs of candidates and options. Systems are counted by the formulas of
:mod:`sizing.prices.packing`, compiled as they are.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import register_jitable

from sizing.base.arrays import Counts
from sizing.base.compiled import compiled, compiled_entry, digest
from sizing.prices import packing
from sizing.prices.packing import MAX_GPUS_PER_SYSTEM

MOST = np.iinfo(np.int64).max
"""The largest 64-bit integer, which exceeds every number of systems."""

APART = 2 * MAX_GPUS_PER_SYSTEM
"""Added to the systems that an instance spans where no fabric joins them: more than any instance spans."""

register_jitable(packing.whole_systems)
held_in_systems = compiled(packing.held_in_systems)
shared_systems = compiled(packing.shared_systems)


@compiled
def in_order_of_size(kinds: tuple[Counts, ...], c: int) -> tuple[int, int, int, int]:
    """Instances and GPUs of each of the larger kind of instances of a candidate, then of the smaller."""
    count, each, other_count, other_each = kinds[0][c], kinds[1][c], kinds[2][c], kinds[3][c]
    if each < other_each:
        return other_count, other_each, count, each
    return count, each, other_count, other_each


@compiled
def spread_over(large: int, size: int, hosts: int, joined: int, unpriced: int) -> int:
    """Twice the hosts of the systems that one instance spans, one more without a price; far more where no fabric joins
    these systems."""
    spans = -(-large // size)
    apart = APART if spans > 1 and joined == 0 else 0
    return 2 * (spans * hosts + apart) + unpriced


def _entry(sources: str) -> Callable[..., None]:
    """The compiled entry; ``sources``: digest of all that it calls."""

    @compiled_entry
    def cheapest_of_each(
        gpu: Counts,
        kinds: tuple[Counts, ...],
        reserve: tuple[int, int],
        offers: tuple[Any, ...],
        tie: float,
        chosen: Counts,
        systems: Counts,
    ) -> None:
        first, counts, sizes, hosts, joined, unpriced, usd = offers
        spares, lost = reserve
        for c in range(len(gpu) if len(sources) > 0 else 0):
            n_large, large, n_small, small = in_order_of_size(kinds, c)
            begin = first[gpu[c]]
            end = begin + counts[gpu[c]]
            least, cheapest, fewest = MOST, np.inf, MOST
            for k in range(begin, end):
                spread = spread_over(large, sizes[k], hosts[k], joined[k], unpriced[k])
                if spread <= least:
                    held_large = held_in_systems(n_large, large, sizes[k], spares, lost)
                    held_small = held_in_systems(n_small, small, sizes[k], spares, lost)
                    price = usd[k] * shared_systems(held_large, large, held_small, small, sizes[k])
                    cheapest = price if spread < least else min(cheapest, price)
                    least = spread
            for k in range(begin, end):
                if spread_over(large, sizes[k], hosts[k], joined[k], unpriced[k]) == least:
                    held_large = held_in_systems(n_large, large, sizes[k], spares, lost)
                    held_small = held_in_systems(n_small, small, sizes[k], spares, lost)
                    number = shared_systems(held_large, large, held_small, small, sizes[k])
                    if usd[k] * number <= cheapest * (1.0 + tie) and number < fewest:
                        fewest = number
                        chosen[c], systems[c] = k, number

    return cheapest_of_each  # type: ignore[no-any-return]


cheapest_of_each: Any = _entry(digest(packing.__file__))
"""``cheapest_of_each(gpu, kinds, reserve, offers, tie, chosen, systems)``: the option that each candidate takes and how
many of it, into ``chosen`` (C,) and ``systems`` (C,).

Of the options in which one instance spans the fewest hosts, joined by a fabric before those that are not, priced
before unpriced, those of the least price; of these, within ``tie``, the one with the fewest systems, of these the
first. ``gpu`` (C,): which GPU; ``kinds``, (C,) each: instances that work and GPUs per instance of the one kind and of
the other; ``reserve``: spares and what may be lost (:func:`sizing.prices.packing.held_in_systems`).
``offers``: by GPU its first option and their number, then by option its GPUs, its hosts, whether a fabric joins
several, whether it has no price, and its USD/h, 0 where that is not known.
"""
