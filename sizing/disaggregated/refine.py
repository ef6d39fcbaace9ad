"""Pools beside what the simulation decided about aggregated serving: simulated where they could come first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.candidates import Floats
from sizing.disaggregated.search import SizedPools
from sizing.disaggregated.simulate import NeededPools, simulated
from sizing.question import Question
from sizing.ranking import keys_of
from sizing.screen import Evaluated, Sized
from sizing.serving import Choice, keys_of_pools, order_of_all, shortlist_of_all

CLOSE = 1.15
"""Pools within so much of the best aggregated deployment may come first."""

MOST_PAIRS = 2
"""Pairs of different parallelism that are simulated."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Pools of a question: as the screen sees them, and the best of them as the simulation does, if it comes first."""

    pools: SizedPools | None
    winner: SizedPools | None
    found: NeededPools | None


def split_of(
    question: Question, pools: SizedPools | None, evaluated: Evaluated, sized: Sized, first: int | None, seed: int
) -> Split:
    """Simulate the best pools unless clearly worse than row ``first`` of ``sized``, the best aggregated deployment."""
    if pools is None:
        return Split(pools=None, winner=None, found=None)
    objective = question.scenario.deployment.objective
    ranked = keys_of_pools(pools).order(objective)
    measured = _measure(pools, objective)
    known = np.inf if first is None else float(_measure(sized, objective)[first])
    best: tuple[SizedPools, NeededPools] | None = None
    for k in ranked[:MOST_PAIRS]:
        if np.isfinite(known) and not measured[k] <= CLOSE * known:
            break
        one = simulated(question, pools, int(k), seed)
        if one is not None and (best is None or _first(question, one[0], best[0])):
            best = one
    if best is None or (first is not None and not _beats(question, evaluated, sized, first, best[0])):
        return Split(pools=pools, winner=None, found=None)
    return Split(pools=pools, winner=best[0], found=best[1])


def shortlist_beside(
    question: Question, evaluated: Evaluated, sized: Sized, ranked: NDArray[np.intp], pools: SizedPools | None,
    count: int,
) -> list[Choice]:
    """The best aggregated deployment and what comes after it; pools that the screen put before it were simulated and
    did not hold."""
    if pools is None:
        return shortlist_of_all(evaluated, sized, pools, ranked, count)
    both = order_of_all(question, evaluated, sized, pools)
    after = both[int(np.flatnonzero(both == ranked[0])[0]):]
    split = after[after >= len(sized.index)]
    return shortlist_of_all(evaluated, sized, pools, np.concatenate([ranked, split]), count)


def _measure(sized: Sized | SizedPools, objective: str) -> Floats:
    """What the objective counts first; infinite where it is not known."""
    counted = {"cost": sized.usd_per_hour, "gpus": sized.gpus, "latency": sized.e2e_s, "energy": sized.power_kw}
    return np.asarray(np.nan_to_num(np.asarray(counted[objective], dtype=np.float64), nan=np.inf))


def _first(question: Question, one: SizedPools, other: SizedPools) -> bool:
    """Whether ``one`` ranks before ``other``."""
    keys = keys_of_pools(other).followed_by(keys_of_pools(one))
    return int(keys.order(question.scenario.deployment.objective)[0]) == 1


def _beats(question: Question, evaluated: Evaluated, sized: Sized, first: int, pools: SizedPools) -> bool:
    """Whether the pools rank before row ``first`` of the aggregated deployments."""
    every = keys_of(sized, evaluated)
    one = type(every)(**{name: values[[first]] for name, values in vars(every).items()})
    return int(one.followed_by(keys_of_pools(pools)).order(question.scenario.deployment.objective)[0]) == 1
