"""Aggregated and disaggregated deployments in one ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.choices import Objective
from sizing.base.result import Candidate
from sizing.planning.pools_plan import candidates_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.batch_limits import with_batch_limits
from sizing.search.pools import Pools, SizedPools
from sizing.search.pools_search import sized as sized_pools
from sizing.search.pools_search import smallest_pools
from sizing.search.ranking import Keys, chosen_few, keys_of
from sizing.search.screen import Evaluated, Sized, instances_needed, size

NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One deployment of a ranking: row ``k`` of the aggregated ones, or of the pools."""

    pools: bool
    k: int


@dataclass(frozen=True, kw_only=True)
class Deployments:
    """Every deployment that serves a question, in as few instances as its limits let it: aggregated ones, then pools.

    Arrays (N,): GPUs, spares counted, and list USD/h, NaN where unknown.
    """

    evaluated: Evaluated
    sized: Sized
    pools: SizedPools | None
    gpus: NDArray[np.int64]
    usd_per_hour: Floats
    spares: int

    def choice(self, place: int) -> Choice:
        """Which kind of deployment stands at ``place``."""
        first = len(self.sized.index)
        return Choice(pools=place >= first, k=place - first if place >= first else place)

    def gpu(self, place: int) -> str:
        """Catalogue id of the GPU of the deployment at ``place``."""
        choice = self.choice(place)
        if choice.pools and self.pools is not None:
            candidates, row = self.pools.pools.evaluated.candidates, self.pools.pools.decode[choice.k]
        else:
            candidates, row = self.evaluated.candidates, self.sized.index[choice.k]
        return str(candidates.rows[row].gpu.id)

    def systems(self, place: int) -> int:
        """Whole systems that the deployment at ``place`` takes."""
        choice = self.choice(place)
        whole = self.sized.systems if not choice.pools or self.pools is None else self.pools.systems
        return int(whole[choice.k])

    def order(self, objective: Objective) -> NDArray[np.intp]:
        """Places, best first."""
        keys = keys_of(self.sized, self.evaluated)
        keys = keys if self.pools is None else keys.followed_by(keys_of_pools(self.pools))
        return keys.order(objective)

    @property
    def max_rps(self) -> Floats:
        """Requests/s that each carries within the limits with these instances, spares aside, (N,)."""
        together = (self.sized.instances - self.spares) * self.evaluated.capacity.rps[self.sized.index]
        return together if self.pools is None else np.concatenate([together, self.pools.pools.max_rps])

    def label(self, place: int) -> str:
        """GPU, engine, precision and parallelism of the deployment at ``place``."""
        choice = self.choice(place)
        if choice.pools and self.pools is not None:
            return self.pools.pools.label(choice.k)
        return label_of(self.evaluated.candidates.rows[self.sized.index[choice.k]])


def deployments(question: Question, base: Evaluated, *, plain: bool = False) -> Deployments:
    """What a plan chooses from: ``base`` with batch limits where they help, and pairs of pools.

    ``plain`` leaves both out: what is there without a cap and without pools, in a fraction of the time.
    """
    if plain:
        return deployments_of(question, base, None)
    return deployments_of(question, with_batch_limits(question, base), smallest_pools(question, base))


def deployments_of(question: Question, evaluated: Evaluated, split: Pools | None) -> Deployments:
    """As :func:`deployments`, once what batch limits and pools give is known."""
    pools = None if split is None else sized_pools(question, split)
    sized = sized_aggregated(question, evaluated)
    gpus, cost = [sized.gpus], [sized.usd_per_hour]
    if pools is not None:
        gpus, cost = [*gpus, pools.gpus], [*cost, pools.usd_per_hour]
    return Deployments(
        evaluated=evaluated,
        sized=sized,
        pools=pools,
        gpus=np.concatenate(gpus),
        usd_per_hour=np.concatenate(cost),
        spares=question.scenario.deployment.spare_instances,
    )


def fewest_gpus(question: Question, base: Evaluated, *, plain: bool = False) -> tuple[int, str] | None:
    """GPUs of the smallest of :func:`deployments`, spares counted, and its label; None where nothing serves.

    Without systems and prices, which take longer than the count.
    """
    scenario, peak = question.scenario.deployment, question.demand.peak_rps
    found: list[tuple[int, str]] = []
    if not scenario.serving or "aggregated" in scenario.serving:
        evaluated = base if plain else with_batch_limits(question, base)
        able = np.flatnonzero(evaluated.capacity.rps > 0)
        if len(able):
            instances = instances_needed(peak, evaluated.capacity.rps[able]) + scenario.spare_instances
            gpus = instances * evaluated.candidates.gpus[able]
            found.append((int(gpus.min()), label_of(evaluated.candidates.rows[able[gpus.argmin()]])))
    pools = None if plain else smallest_pools(question, base)
    if pools is not None:
        of_pools = pools.gpus_with(scenario.spare_instances)
        found.append((int(of_pools.min()), pools.label(int(of_pools.argmin()))))
    return min(found, key=lambda one: one[0]) if found else None


def label_of(row: Configuration) -> str:
    """GPU, engine, precision, parallelism and, where there is one, the cap on the sequences in flight."""
    return row.label if row.batch_limit is None else f"{row.label}, batch limit {row.batch_limit:,}"


def sized_aggregated(question: Question, evaluated: Evaluated) -> Sized:
    """Instances, systems and cost of aggregated deployments; none where the scenario leaves them out."""
    asked = question.scenario.deployment.serving
    if asked and "aggregated" not in asked:
        return size(question, evaluated, NO_ROWS, np.empty(0, dtype=np.int64))
    return size(question, evaluated)


def keys_of_pools(sized: SizedPools) -> Keys:
    """The keys of pairs of pools."""
    candidates, rows = sized.pools.evaluated.candidates, sized.pools.decode
    pp_dp = candidates.pp * candidates.dp
    return Keys(
        cost=np.nan_to_num(sized.usd_per_hour, nan=np.inf),
        power=np.nan_to_num(sized.power_kw, nan=np.inf),
        gpus=sized.gpus.astype(np.float64),
        e2e_s=sized.e2e_s,
        bytes_per=candidates.column(lambda r: r.precision.bytes)[rows],
        uses_surrogate=candidates.column(lambda r: r.engine.surrogate != r.engine.id)[rows],
        pp_dp=pp_dp[rows] * pp_dp[sized.pools.prefill],
        split=np.ones(len(rows)),
        dominated=np.zeros(len(rows)),
    )


def order_of_all(question: Question, evaluated: Evaluated, sized: Sized, pools: SizedPools | None) -> NDArray[np.intp]:
    """Positions, best first: those of ``sized``, then, counted on, those of ``pools``."""
    keys = keys_of(sized, evaluated)
    keys = keys if pools is None else keys.followed_by(keys_of_pools(pools))
    return keys.order(question.scenario.deployment.objective)


def shortlist_of_all(
    evaluated: Evaluated, sized: Sized, pools: SizedPools | None, ranked: NDArray[np.intp], count: int
) -> list[Choice]:
    """As :func:`sizing.search.ranking.shortlist`, over both kinds; the best of the other kind on the winner's GPU "
    "is in it."""
    if not len(ranked):
        return []
    first = len(sized.index)
    rows = evaluated.candidates.rows
    gpu = evaluated.candidates.gpu_number
    of_pools = gpu[pools.pools.decode] if pools is not None else gpu[:0]
    gpu = np.concatenate([gpu[sized.index], of_pools])[ranked]

    def traits(k: int) -> set[object]:
        place = int(ranked[k])
        if place < first:
            row = rows[sized.index[place]]
            return {"aggregated", row.engine.surrogate, row.precision.id, (row.tp, row.pp, row.dp)}
        assert pools is not None
        row = rows[pools.pools.decode[place - first]]
        return {"disaggregated", row.engine.surrogate, row.precision.id}

    places = [int(ranked[k]) for k in chosen_few(gpu, traits, count)]
    return [Choice(pools=p >= first, k=p - first if p >= first else p) for p in places]


def alternatives_of(
    question: Question, pools: SizedPools | None, chosen: list[Choice], aggregated: Iterable[Candidate]
) -> tuple[Candidate, ...]:
    """Every choice but the first as a result, in order; ``aggregated`` are the results of those that are."""
    rows = [c.k for c in chosen[1:] if c.pools]
    split = iter(candidates_of(question, pools, rows) if pools is not None else ())
    together = iter(aggregated)
    return tuple(next(split) if c.pools else next(together) for c in chosen[1:])
