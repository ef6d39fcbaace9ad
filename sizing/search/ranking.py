"""Which deployment first: by cost, GPUs, latency or energy; and the frontier from few GPUs to low latency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.choices import Objective
from sizing.question.understand import Question
from sizing.search.screen import Evaluated, Sized, instances_needed, size

if TYPE_CHECKING:
    from sizing.search.pools import SizedPools

MORE_INSTANCES = (1.0, 1.25, 1.5, 2.0, 3.0)  # how far beyond the smallest deployment the frontier looks


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What deployments are ranked by, arrays (N,). Unknown prices and powers are infinite."""

    cost: Floats
    power: Floats
    gpus: Floats
    e2e_s: Floats
    bytes_per: Floats
    uses_surrogate: Floats
    pp_dp: Floats
    split: Floats
    dominated: Floats

    def order(self, objective: Objective) -> NDArray[np.intp]:
        """Positions, best first. Ties go to prefill and decode in one instance, then to fewer GPUs, then to an engine
        with measurements of its own, then to the wider weight format, then to the shorter E2E latency. By latency, what
        another beats on a fraction of the GPUs comes last. Where cost or power is unknown, GPUs stand in for it."""
        ties = (self.pp_dp, self.e2e_s, -self.bytes_per, self.uses_surrogate)
        keys = {
            "cost": (*ties, self.gpus, self.split, self._unless_known(self.cost), self.cost),
            "gpus": (*ties, self.cost, self.split, self.gpus),
            "latency": (self.pp_dp, -self.bytes_per, self.gpus, self.cost, self.split, self.e2e_s, self.dominated),
            "energy": (*ties, self.gpus, self.cost, self.split, self._unless_known(self.power), self.power),
        }[objective]
        return np.lexsort(keys)

    def _unless_known(self, counted: Floats) -> Floats:
        """GPUs where what counts is unknown, elsewhere 0: nothing else would keep a deployment small there."""
        return np.where(np.isinf(counted), self.gpus, 0.0)

    def followed_by(self, other: Keys) -> Keys:
        """These deployments and then the others."""
        return Keys(**{name: np.concatenate([values, getattr(other, name)]) for name, values in vars(self).items()})


def keys_of(sized: Sized, evaluated: Evaluated) -> Keys:
    """The keys of aggregated deployments."""
    candidates, index = evaluated.candidates, sized.index
    return Keys(
        cost=np.nan_to_num(sized.usd_per_hour, nan=np.inf),
        power=np.nan_to_num(sized.power_kw, nan=np.inf),
        gpus=sized.gpus.astype(np.float64),
        e2e_s=sized.e2e_s,
        bytes_per=candidates.column(lambda r: r.precision.bytes)[index],
        uses_surrogate=candidates.column(lambda r: r.engine.surrogate != r.engine.id)[index],
        pp_dp=candidates.pp[index] * candidates.dp[index],
        split=np.zeros(len(index)),
        dominated=sized.dominated.astype(np.float64),
    )


def order(sized: Sized, evaluated: Evaluated, objective: Objective) -> NDArray[np.intp]:
    """Rows of ``sized``, best first; see :meth:`Keys.order`."""
    return keys_of(sized, evaluated).order(objective)


def shortlist(sized: Sized, evaluated: Evaluated, ranked: NDArray[np.intp], count: int) -> list[int]:
    """The winner, the best of every other GPU, then the other engines, formats and parallelism on the winner's GPU.

    Returns rows of ``sized``, at most ``count`` beyond the winner; each of the two groups in ranked order.
    """
    if not len(ranked):
        return []
    candidates = evaluated.candidates
    gpu = candidates.gpu_number[sized.index[ranked]]

    def traits(k: int) -> set[object]:
        row = candidates.rows[sized.index[ranked[k]]]
        return {row.engine.surrogate, row.precision.id, (row.tp, row.pp, row.dp)}

    return [int(ranked[k]) for k in chosen_few(gpu, traits, count)]


def chosen_few(gpu: NDArray[np.int64], traits: Callable[[int], set[object]], count: int) -> list[int]:
    """Positions in a ranking: the winner, the best of every other GPU, then what has a trait of its own on the winner's
    GPU; at most ``count`` beyond the winner. ``gpu`` numbers the GPU types."""
    best_of_gpu = sorted(int(k) for k in np.unique(gpu, return_index=True)[1])
    seen: set[object] = set()
    variants = []
    for k in np.flatnonzero(gpu == gpu[0]):
        found = traits(int(k))
        if found - seen and k:
            variants.append(int(k))
        seen |= found
    return [*best_of_gpu, *variants][: count + 1]


def frontier(question: Question, evaluated: Evaluated, sized: Sized, winner: int) -> Sized:
    """Deployments on the winner's GPU, engine and formats that no other beats on both systems bought and E2E latency.

    Ordered from the fewest GPUs to the shortest latency.
    """
    unit = evaluated.candidates.unit[sized.index]
    alike = np.flatnonzero(unit == unit[winner])
    spare = question.scenario.deployment.spare_instances
    smallest = sized.instances[alike] - spare
    counts = np.concatenate([np.ceil(smallest * f) for f in MORE_INSTANCES]).astype(np.int64)
    index = np.tile(sized.index[alike], len(MORE_INSTANCES))
    more = size(question, evaluated, index, counts)
    return more.take(worth_a_step(more))


def worth_a_step(sized: Sized | SizedPools) -> NDArray[np.intp]:
    """Rows no other row beats on GPUs and E2E latency, by growing GPUs."""
    by_gpus = np.lexsort((sized.e2e_s, sized.gpus))
    best = np.inf
    kept = []
    for k in by_gpus:
        if sized.e2e_s[k] < best * 0.98:  # a gain below 2 % is not worth a point on the slider
            kept.append(k)
            best = sized.e2e_s[k]
    return np.array(kept, dtype=np.intp)


def resized(question: Question, evaluated: Evaluated, sized: Sized, changed: NDArray[np.intp]) -> Sized:
    """``sized`` once the capacity of the candidates ``changed`` is that of ``evaluated``; without those that have none.

    The same as sizing all candidates again, of which a search moves a few at a time.
    """
    place = np.flatnonzero(np.isin(sized.index, changed))
    index = sized.index[place]
    able = evaluated.capacity.rps[index] > 0
    new = size(
        question,
        evaluated,
        index[able],
        instances_needed(question.demand.peak_rps, evaluated.capacity.rps[index[able]]),
    )
    moved = sized.replaced(place[able], new)
    return moved if able.all() else moved.take(np.delete(np.arange(len(moved)), place[~able]))
