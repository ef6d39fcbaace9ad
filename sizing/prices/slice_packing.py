"""How many cards hold slices of several kinds: an integer programme over the ways to cut a card.

A card is cut so that its compute and memory slices suffice; which cuts are used how often is cutting stock by patterns
(Gilmore, Gomory 1961), solved by ``scipy.optimize.milp``.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from sizing.catalog.slices import MigProfile, profiles_of

Cut = tuple[int, ...]
"""How many slices of each kind a card is cut into."""


def cards_for(card: str, counts: Mapping[str, int]) -> int:
    """The fewest cards of one kind that hold so many slices of each, by profile; even fractions are no profiles.

    minimise sum_c n_c subject to sum_c n_c x slices_c >= wanted, n integer, c over the cuts of a card. Raises KeyError
    for a profile that the card does not have (a bug).
    """
    from scipy.optimize import LinearConstraint, milp  # takes a quarter of a second, and few pages need it

    wanted = {name: number for name, number in counts.items() if number}
    if not wanted:
        return 0
    cuts = cuts_of(card, tuple(wanted))
    held = np.array(cuts, dtype=np.float64).T
    solved = milp(
        np.ones(len(cuts)),
        integrality=np.ones(len(cuts), dtype=np.int64),
        constraints=[LinearConstraint(held, list(wanted.values()), np.inf)],
    )
    assert solved.x is not None, solved.message
    return round(float(np.sum(np.round(solved.x))))


@cache
def cuts_of(card: str, names: tuple[str, ...]) -> tuple[Cut, ...]:
    """Every way to cut a card into slices of these kinds, those that leave room for no further one."""
    known = [profiles_of(card)[name] for name in names]
    possible = [cut for cut in product(*(range(one.instances + 1) for one in known)) if _fits(known, cut)]
    return tuple(cut for cut in possible if not any(_more(cut, other) for other in possible))


def _fits(known: Sequence[MigProfile], cut: Cut) -> bool:
    """Whether a card has the compute and memory slices; the largest of its profiles has all of them."""
    whole = max(profiles_of(known[0].gpu_id).values(), key=lambda one: one.compute_slices)
    compute = sum(one.compute_slices * number for one, number in zip(known, cut, strict=True))
    memory = sum(one.memory_slices * number for one, number in zip(known, cut, strict=True))
    return compute <= whole.compute_slices and memory <= whole.memory_slices


def _more(cut: Cut, other: Cut) -> bool:
    """Whether another cut holds all of this one and more."""
    return other != cut and all(a <= b for a, b in zip(cut, other, strict=True))
