"""Sharing a difference among what made it: the Shapley value of every cause, exactly."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

Coalition = frozenset[str]


def coalitions(causes: Sequence[str]) -> list[Coalition]:
    """Every set of causes, the empty one first."""
    return [frozenset(some) for size in range(len(causes) + 1) for some in combinations(causes, size)]


def weighted_coalitions(cause: str, causes: Sequence[str]) -> Iterator[tuple[Coalition, float]]:
    """Every set of the other causes, with the share of all orders in which exactly these come before ``cause``.

    weight(S) = |S|! (n - |S| - 1)! / n!, n causes. Source: Shapley, "A value for n-person games", 1953.
    """
    n = len(causes)
    for some in coalitions([one for one in causes if one != cause]):
        yield some, math.factorial(len(some)) * math.factorial(n - len(some) - 1) / math.factorial(n)


def shapley(causes: Sequence[str], values: Mapping[Coalition, float]) -> dict[str, float]:
    """The share of each cause in values[all] - values[none]: the mean over all orders of what it adds when it joins.

    phi_i = sum over S without i of weight(S) x (v(S + i) - v(S)). ``values`` holds every coalition of the causes.
    """
    return {
        cause: sum(
            weight * (values[others | {cause}] - values[others])
            for others, weight in weighted_coalitions(cause, causes)
        )
        for cause in causes
    }
