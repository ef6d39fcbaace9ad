"""Sharing a difference among what made it: the Shapley value of every cause, exactly."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

Coalition = frozenset[str]


def shapley(causes: Sequence[str], values: Mapping[Coalition, float]) -> dict[str, float]:
    """The share of each cause in values[all] - values[none]: the mean over all orders of what it adds when it joins.

    phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! x (v(S + i) - v(S)) (Shapley, 1953). ``values`` holds every
    coalition of the causes.
    """
    n = len(causes)
    weights = [math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in range(n)]
    shares = dict.fromkeys(causes, 0.0)
    for cause in causes:
        others = [one for one in causes if one != cause]
        for size in range(n):
            for some in combinations(others, size):
                without = frozenset(some)
                shares[cause] += weights[size] * (values[without | {cause}] - values[without])
    return shares


def coalitions(causes: Sequence[str]) -> list[Coalition]:
    """Every set of causes, the empty one first."""
    return [frozenset(some) for size in range(len(causes) + 1) for some in combinations(causes, size)]


def values_of(
    causes: Sequence[str], value: Callable[[Coalition], float], progress: Callable[[float], None] = lambda share: None
) -> dict[Coalition, float]:
    """The value of every coalition; ``progress`` is told the share that is done."""
    every = coalitions(causes)
    values = {}
    for i, one in enumerate(every):
        values[one] = value(one)
        progress((i + 1) / len(every))
    return values
