"""Pools beside what the simulation decided about aggregated serving: simulated where they could come first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Counts, Floats
from sizing.question.understand import Question
from sizing.search.instances import HEAVIEST
from sizing.search.pools import Pools, SizedPools, decoding_of, prefill_stable, times_of
from sizing.search.pools_search import sized
from sizing.search.pools_simulated import NeededPools, Wins, simulated
from sizing.search.ranking import keys_of
from sizing.search.screen import Evaluated, Sized, instances_needed
from sizing.search.serving import Choice, keys_of_pools, order_of_all, shortlist_of_all

CLOSE = 1.15
"""Pools within so much of the best aggregated deployment may come first."""

MOST_PAIRS = 2
"""Pairs of different parallelism that are simulated."""

NEVER_MORE = 1.25
"""What an instance carries for ever by simulation, over the same by the analytic load model: at most so much. Largest
found: 1.22 (docs/LOAD_MODEL.md); a test looks at pools."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Pools of a question: as the screen sees them, and the best of them as the simulation does, if it comes first."""

    pools: SizedPools | None
    winner: SizedPools | None
    found: NeededPools | None


def split_of(
    question: Question, pools: SizedPools | None, evaluated: Evaluated, together: Sized, first: int | None, seed: int
) -> Split:
    """Simulate the best pools unless they cannot come before row ``first`` of ``together``, the best aggregated."""
    if pools is None:
        return Split(pools=None, winner=None, found=None)
    objective = question.scenario.deployment.objective
    ranked = keys_of_pools(pools).order(objective)
    measured = _measure(pools, objective)
    known = np.inf if first is None else float(_measure(together, objective)[first])
    best: tuple[SizedPools, NeededPools] | None = None
    for k in ranked[:MOST_PAIRS]:
        if np.isfinite(known) and not measured[k] <= CLOSE * known:
            break
        before = np.inf if best is None else float(_measure(best[0], objective)[0])
        pair = pools.pools.take(np.array([k]))
        wins, fewest = _wins(question, pair, known, before), with_fewest(question, pair)
        if not wins(fewest.prefill_instances, fewest.decode_instances)[0]:
            continue
        one = simulated(question, pools, int(k), seed, wins)
        if one is not None and (best is None or _first(question, one[0], best[0])):
            best = one
    if best is None or (first is not None and not _beats(question, evaluated, together, first, best[0])):
        return Split(pools=pools, winner=None, found=None)
    return Split(pools=pools, winner=best[0], found=best[1])


def shortlist_beside(
    question: Question,
    evaluated: Evaluated,
    sized: Sized,
    ranked: NDArray[np.intp],
    pools: SizedPools | None,
    count: int,
) -> list[Choice]:
    """The best aggregated deployment and what comes after it; pools that the screen put before it were simulated and
    did not hold."""
    if pools is None:
        return shortlist_of_all(evaluated, sized, pools, ranked, count)
    both = order_of_all(question, evaluated, sized, pools)
    after = both[int(np.flatnonzero(both == ranked[0])[0]) :]
    split = after[after >= len(sized.index)]
    return shortlist_of_all(evaluated, sized, pools, np.concatenate([ranked, split]), count)


def _wins(question: Question, pair: Pools, known: float, before: float) -> Wins:
    """Whether a pair with given instances would come before an aggregated deployment that counts ``known``, and not
    after pools that count ``before``; infinite: there is none, or its price is unknown.

    Of what counts the same, aggregated serving comes first. By latency more instances may always win.
    """
    objective = question.scenario.deployment.objective

    def wins(prefill: Counts, decode: Counts) -> NDArray[np.bool_]:
        if objective == "latency" or (np.isinf(known) and np.isinf(before)):
            return np.full(len(prefill), True)
        many = replace(
            pair.take(np.zeros(len(prefill), dtype=np.intp)), prefill_instances=prefill, decode_instances=decode
        )
        counted = _measure(sized(question, many), objective)
        return np.asarray(((counted < known) | np.isinf(known)) & (counted <= before))

    return wins


def with_fewest(question: Question, pools: Pools) -> Pools:
    """The pairs with the instances that carry the peak at :data:`NEVER_MORE` times the analytic stability limit."""
    evaluated, most = pools.evaluated, NEVER_MORE * min(question.scenario.deployment.max_utilization, HEAVIEST)
    prefill = prefill_stable(question, evaluated, pools.prefill, times_of(question, evaluated, pools.prefill))
    decode = decoding_of(question, evaluated, pools.decode).rps[:, -1]
    peak = question.demand.peak_rps
    return replace(
        pools,
        prefill_instances=np.minimum(pools.prefill_instances, instances_needed(peak, most * prefill)),
        decode_instances=np.minimum(pools.decode_instances, instances_needed(peak, most * decode)),
    )


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
