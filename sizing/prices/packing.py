"""Whole systems: how many servers, racks or cloud instances hold a number of model instances.

An instance that fits into a system never straddles two; one that is larger than a system takes whole systems.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike

from sizing.base.arrays import Counts
from sizing.base.choices import Redundancy
from sizing.base.errors import SizingError

MAX_COUNT = 10**12
"""Counts beyond this are typing errors; below it every product here fits 64 bits."""

MAX_GPUS_PER_SYSTEM = 100_000
"""Most GPUs one instance or one system may have."""


LOST_SYSTEM, LOST_SITE = 1, 2
LOST: Mapping[Redundancy, int] = MappingProxyType({"none": 0, "system": LOST_SYSTEM, "site": LOST_SITE})
"""What may fail, as a number for compiled loops."""


@dataclass(frozen=True, kw_only=True)
class Reserve:
    """What stands by at the peak: ``spares``, instances of each kind, and what may fail as a whole (``redundancy``)."""

    spares: int = 0
    redundancy: Redundancy = "none"

    def held(self, working: ArrayLike, gpus_per_instance: ArrayLike, system_gpus: ArrayLike) -> Counts:
        """Instances for which there has to be room in the systems, int64, as :func:`held_in_systems`."""
        counts, each, size = instance_counts(working), gpu_counts(gpus_per_instance), system_sizes(system_gpus)
        return np.asarray(held_in_systems(counts, each, size, self.spares, LOST[self.redundancy]), dtype=np.int64)

    def standing_by(self, working: Counts, each: Counts, size: Counts, systems: Counts) -> Counts:
        """Instances of the only kind that stand by, beside those ``working``, in so many systems, int64.

        Spread evenly over U = systems / ceil(g / G) places, k = ceil(n / (U - 1)) more are the fewest with which n are
        left once the fullest place is lost: n + k <= k U. Of two sites each holds all n.
        """
        places = np.maximum(systems // -(-each // size), 2)
        return self._beside(working, -(-working // (places - 1)))

    def standing_by_of_two(self, working: Counts, each: Counts, size: Counts) -> Counts:
        """The same of one of two kinds that share systems: as many as a system holds, wherever the others are."""
        return self._beside(working, np.maximum(size // each, 1))

    def _beside(self, working: Counts, of_a_system: Counts) -> Counts:
        """Instances beside those working: the spares, or as many as are lost with a system or a site, if more."""
        match self.redundancy:
            case "none":
                return np.full(np.shape(working), self.spares, dtype=np.int64)
            case "system":
                return np.maximum(of_a_system, self.spares)
            case "site":
                return np.maximum(working, self.spares)
            case unknown:
                assert_never(unknown)


NO_RESERVE = Reserve()
"""The reserve of a plan that keeps no instance or system beyond the peak."""


def held_in_systems(working: Counts, each: Counts, size: Counts, spares: int, lost: int) -> Counts:
    """Instances for which there has to be room, so that ``working`` are left when what is ``lost`` fails.

    Beside these as many as one system holds, or as many as all systems of another site hold (:data:`LOST`). Of none
    working, none.
    """
    in_one = np.maximum(size // each, 1)
    reserve = spares * (working > 0)
    if lost == LOST_SYSTEM:
        reserve = np.maximum(reserve, in_one * (working > 0))
    elif lost == LOST_SITE:
        reserve = np.maximum(reserve, -(-working // in_one) * in_one)
    return working + reserve


def systems_needed(instances: ArrayLike, gpus_per_instance: ArrayLike, system_gpus: ArrayLike) -> Counts:
    """Whole systems for instances of some GPUs each, int64; arrays that broadcast against each other, and that shape.

    Fits: ``systems = ceil(instances / floor(G / g))``; larger than a system: ``systems = instances x ceil(g / G)``.
    0 instances need 0 systems. Raises SizingError where a count is negative, NaN, infinite, fractional or too large, or
    a number of GPUs is below 1. Source: NVIDIA "LLM inference sizing", instances x TP = 8 on an 8-GPU server (TP1 8,
    TP2 4, TP4 2, TP8 1).
    """
    return whole_systems(instance_counts(instances), gpu_counts(gpus_per_instance), system_sizes(system_gpus))


def systems_for_both(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike], system_gpus: ArrayLike
) -> Counts:
    """Whole systems for two kinds of instances, (instances, GPUs each), the smaller ones beside the larger.

    The larger fill systems as in :func:`systems_needed`; what they leave takes smaller ones, the rest systems of their
    own. Never more than both kinds apart. The same errors.
    """
    size = system_sizes(system_gpus)
    counts, each = [instance_counts(n) for n, _ in (first, second)], [gpu_counts(g) for _, g in (first, second)]
    swap = each[0] < each[1]
    large, small = np.where(swap, each[1], each[0]), np.where(swap, each[0], each[1])
    n_large, n_small = np.where(swap, counts[1], counts[0]), np.where(swap, counts[0], counts[1])
    return np.asarray(shared_systems(n_large, large, n_small, small, size), dtype=np.int64)


def whole_systems(count: Counts, each: Counts, size: Counts) -> Counts:
    """The formula of :func:`systems_needed`, of counts or arrays that are known to be such."""
    return -(-count // np.maximum(size // each, 1)) * -(-each // size)  # type: ignore[no-any-return]


def shared_systems(n_large: Counts, large: Counts, n_small: Counts, small: Counts, size: Counts) -> Counts:
    """The formula of :func:`systems_for_both`, likewise; ``large`` are the GPUs of one of the larger instances."""
    per_system = size // large
    full = n_large // np.maximum(per_system, 1)
    rest = n_large - full * per_system
    beside = full * ((size - per_system * large) // small) + (rest > 0) * ((size - rest * large) // small)
    left = np.maximum(n_small - (per_system > 0) * beside, 0)
    return whole_systems(n_large, large, size) + whole_systems(left, small, size)


def instance_counts(values: ArrayLike) -> Counts:
    """Numbers of instances as int64. Raises SizingError for what is no count."""
    return _counts("Instances", values, 0, MAX_COUNT)


def gpu_counts(values: ArrayLike) -> Counts:
    """GPUs of one instance as int64. Raises SizingError for what is no such number."""
    return _counts("GPUs per instance", values, 1, MAX_GPUS_PER_SYSTEM)


def system_sizes(values: ArrayLike) -> Counts:
    """GPUs of a system as int64. Raises SizingError for what is no such number."""
    return _counts("GPUs per system", values, 1, MAX_GPUS_PER_SYSTEM)


def _counts(name: str, values: ArrayLike, low: int, high: int) -> Counts:
    """An array of whole numbers in ``low..high`` as int64."""
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise SizingError(f"{name} must be whole numbers.")
    if given.size and not (given.min() >= low and given.max() <= high):
        raise SizingError(f"{name} must be whole numbers of at least {low} and at most {high:,}.")
    whole = given.astype(np.int64, copy=False)
    if given.dtype.kind == "f" and not np.array_equal(whole, given):
        raise SizingError(f"{name} must be whole numbers.")
    return whole
