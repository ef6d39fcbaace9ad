"""Which deployment first: by either cost, GPUs, latency or energy; and the few that are worth showing beside it."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats, Rows
from sizing.base.choices import Objective


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What deployments are ranked by, arrays (N,). Unknown prices and powers are infinite.

    ``off_format``: bytes per parameter between the weight format and that of the checkpoint, in either direction:
    quantised weights lose accuracy, and weights converted up gain none. ``factor``: by what the objective counts is
    multiplied (:mod:`sizing.search.preferences`). ``latency_s``: the latency that the lowest is asked of. ``bought``:
    GPUs of the systems that are bought or rented for the ``gpus`` that serve: two of a rack are not the fewest.
    """

    cost: Floats
    expected_cost: Floats
    power: Floats
    gpus: Floats
    bought: Floats
    e2e_s: Floats
    latency_s: Floats
    factor: Floats
    off_format: Floats
    uses_surrogate: Floats
    pp_dp: Floats
    split: Floats
    dominated: Floats

    def order(self, objective: Objective) -> Rows:
        """Positions, best first by what the objective counts x ``factor``. Ties go to what counts less itself, then to
        prefill and decode in one instance, then to fewer GPUs, then to an engine
        with measurements of its own, then to the weight format
        nearest to that of the checkpoint, then to the shorter E2E latency. By latency, what
        another beats on a fraction of the GPUs comes last. Where cost or power is unknown, GPUs stand in for it."""
        return np.lexsort(self._columns(objective))

    def first_few(self, objective: Objective, count: int) -> Rows:
        """The first ``count`` positions of :meth:`order`, without sorting what counts more than these."""
        counted = self.counted(objective)
        if len(counted) <= count:
            return self.order(objective)
        near = np.flatnonzero(~(counted > np.partition(counted, count - 1)[count - 1]))
        return near[self.take(near).order(objective)][:count]

    def first(self, objective: Objective) -> int:
        """The first position of :meth:`order`, without sorting."""
        place = np.arange(len(self.cost))
        for column in reversed(self._columns(objective)):
            values = column[place]
            least = values == np.fmin.reduce(values)
            place = place[least] if least.any() else place
            if len(place) == 1:
                break
        return int(place[0])

    def before(self, k: int, objective: Objective) -> Flags:
        """Which positions come before ``k`` in :meth:`order`, (N,), without sorting."""
        before, alike = np.zeros(len(self.cost), dtype=np.bool_), np.arange(len(self.cost))
        for column in reversed(self._columns(objective)):
            values = column[alike]
            before[alike[values < column[k]]] = True
            alike = alike[values == column[k]]
        before[alike[alike < k]] = True
        return before

    def counted(self, objective: Objective) -> Floats:
        """What the objective ranks by first, (N,)."""
        return self._columns(objective)[-1]

    def take(self, positions: Rows) -> Keys:
        """The keys of the deployments at ``positions`` alone."""
        return Keys(**{name: values[positions] for name, values in vars(self).items()})

    def _columns(self, objective: Objective) -> tuple[Floats, ...]:
        """What the objective ranks by, the most important last."""
        ties = (self.pp_dp, self.e2e_s, self.off_format, self.uses_surrogate)
        by_cost = (*ties, self.gpus, self.split, *self._preferred(self.cost))
        columns = {
            "cost": by_cost,
            "expected_cost": (*by_cost, *self._preferred(self.expected_cost)),
            "gpus": (*ties, self.gpus, self.cost, self.split, *self._preferred(self.bought)),
            "latency": (
                *(self.pp_dp, self.off_format, self.gpus, self.cost, self.split),
                *self._preferred(self.latency_s),
                self.dominated,
            ),
            "energy": (*ties, self.gpus, self.cost, self.split, *self._preferred(self.power)),
        }
        return columns[objective]

    def _preferred(self, counted: Floats) -> tuple[Floats, Floats]:
        """What counts x ``factor``, the more important last. Where it is unknown, GPUs x ``factor``: nothing else would
        keep a deployment small there."""
        return np.where(np.isinf(counted), self.gpus * self.factor, counted), counted * self.factor

    def followed_by(self, other: Keys) -> Keys:
        """The keys of these deployments followed by those of the others."""
        return Keys(**{name: np.concatenate([values, getattr(other, name)]) for name, values in vars(self).items()})


def chosen_few(gpu: Counts, traits: Callable[[int], Set[object]], count: int) -> list[int]:
    """Positions in a ranking: the winner, the best of every other GPU, then what has a trait of its own on the winner's
    GPU; at most ``count`` beyond the winner. ``gpu`` numbers the GPU types."""
    best_of_gpu = sorted(int(k) for k in np.unique(gpu, return_index=True)[1])
    seen: set[object] = set()
    variants: list[int] = []
    for k in np.flatnonzero(gpu == gpu[0]):
        if len(best_of_gpu) + len(variants) > count:  # no more are shown
            break
        own = traits(int(k))
        if own - seen and k:
            variants.append(int(k))
        seen |= own
    return [*best_of_gpu, *variants][: count + 1]
