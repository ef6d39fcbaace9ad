"""The deployments of all kinds in one numbering: their order, and the few worth showing beside the first."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Counts, Floats, Rows, least_by_group
from sizing.base.choices import Objective
from sizing.search.deployments import Deployments
from sizing.search.ranking import Keys, chosen_few


@dataclass(frozen=True, eq=False)
class Place:
    """One deployment of a ranking: number ``k`` of those of its kind."""

    kind: Deployments
    k: int

    @property
    def label(self) -> str:
        """GPU, engine, precision and parallelism."""
        return self.kind.label(self.k)

    @property
    def systems(self) -> int:
        """Whole systems that it takes."""
        return int(self.kind.systems[self.k])


@dataclass(frozen=True, eq=False)
class AllDeployments(Sequence[Place]):
    """The deployments of every kind in one numbering: the places of the first kind, then those of the next."""

    kinds: tuple[Deployments, ...]

    @cached_property
    def _first(self) -> list[int]:
        """The first place of every kind."""
        return [0, *np.cumsum([len(kind) for kind in self.kinds]).tolist()]

    def __len__(self) -> int:
        return self._first[-1]

    def __getitem__(self, place: int) -> Place:  # type: ignore[override]
        for kind, first in zip(self.kinds, self._first, strict=False):
            if 0 <= place - first < len(kind):
                return Place(kind, int(place) - first)
        raise IndexError(place)

    @cached_property
    def gpus(self) -> Counts:
        """GPUs of each, spares counted."""
        return np.concatenate([kind.gpus for kind in self.kinds])

    @cached_property
    def usd_per_hour(self) -> Floats:
        """List cost of each, NaN where unknown."""
        return np.concatenate([kind.usd_per_hour for kind in self.kinds])

    @cached_property
    def systems(self) -> Counts:
        """Whole systems of each."""
        return np.concatenate([kind.systems for kind in self.kinds])

    @cached_property
    def power_kw(self) -> Floats:
        """Power of all systems of each at their maximum, NaN where unknown."""
        return np.concatenate([kind.power_kw for kind in self.kinds])

    @cached_property
    def max_rps(self) -> Floats:
        """Requests/s that each carries within the limits with these instances, spares aside."""
        return np.concatenate([kind.max_rps for kind in self.kinds])

    @cached_property
    def _keys(self) -> Keys:
        """What all are ranked by."""
        keys = self.kinds[0].keys()
        for kind in self.kinds[1:]:
            keys = keys.followed_by(kind.keys())
        return keys

    @property
    def _objective(self) -> Objective:
        """What the question ranks by."""
        return self.kinds[0].objective

    @cached_property
    def _gpu_number(self) -> Counts:
        """Which GPU type each generates the answers on."""
        return np.concatenate([kind.evaluated.candidates.gpu_number[kind.rows] for kind in self.kinds])

    def order(self, objective: Objective | None = None) -> Rows:
        """Places, best first by ``objective``, or by that of the question."""
        return self._keys.order(objective or self._objective)

    def smallest(self) -> Rows:
        """Places, best first by the GPUs in use: what counts in systems that others share."""
        return replace(self._keys, bought=self._keys.gpus).order("gpus")

    def before(self, place: int) -> Rows:
        """The places that come before one in :meth:`order`, in no order."""
        return np.flatnonzero(self._keys.before(place, self._objective))

    def contenders(self, without: Rows) -> Rows:
        """The places but for some, best first, as far as a :meth:`shortlist` looks at them: all on the GPU type of the
        first, and of every other those that count least. Sorting all would take longer than all that is done with it.
        """
        left = np.delete(np.arange(len(self)), without)
        if not len(left):
            return left
        keys, gpu = self._keys.take(left), self._gpu_number[left]
        counted = keys.counted(self._objective)
        least = least_by_group(gpu, counted, int(gpu.max()) + 1)
        worth = np.flatnonzero((gpu == gpu[keys.first(self._objective)]) | (counted <= least[gpu]))
        return left[worth[keys.take(worth).order(self._objective)]]

    def shortlist(self, ranked: Rows, count: int) -> list[int]:
        """The first of ``ranked``, the best of every other GPU, then the other kind of serving, engines, formats and
        parallelism on the first one's GPU; at most ``count`` beyond the first, each group in ranked order."""
        if not len(ranked):
            return []
        gpu = self._gpu_number[ranked]

        def traits(position: int) -> Set[object]:
            one = self[ranked[position]]
            return one.kind.traits(one.k)

        return [int(ranked[position]) for position in chosen_few(gpu, traits, count)]

    def fewest_of_other_kinds(self, place: int) -> int | None:
        """GPUs that the other kinds of serving need at least on the GPU type of ``place``; None where none serves."""
        chosen, fewest = self[place], []
        gpu = chosen.kind.gpu(chosen.k)
        for kind in self.kinds:
            if type(kind) is not type(chosen.kind):
                same = kind.evaluated.candidates.column(lambda r: r.gpu.id == gpu, kind.rows) > 0
                fewest += kind.gpus[same].tolist()
        return min(fewest, default=None)
