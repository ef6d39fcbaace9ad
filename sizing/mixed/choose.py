"""The cheapest mix: which units take which ranges of requests, and how many of each, by an integer programme.

minimise    sum_u counted_u y_u
subject to  sum_u x_ru = 1                                  every range goes to one kind of unit
            sum_r needed_ru x_ru + spare_u z_u <= y_u       whole units carry it, with what stands by
            x_ru <= z_u,  sum of z over a GPU type <= 1,  sum of z <= most types
            x, z binary, y integer

That is packing requests by size onto GPU types by an integer programme as Melange does (Griggs et al., arXiv
2404.14527, 2024), with whole systems in place of single GPUs. Solved by ``scipy.optimize.milp`` (HiGHS).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sizing.base.arrays import ROUNDING
from sizing.mixed.units import Unit

MOST_NODES = 2_000
"""Nodes of the search at most, so that an answer comes in time; chosen, and reached by few questions. A count and not a
time, because the same question has to get the same answer."""

CLOSE = 1e-4
"""Gap to the best at which the search ends: far below what prices are known to."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """Units of one kind and the ranges, by their numbers, that they take."""

    unit: Unit
    ranges: tuple[int, ...]
    number: int


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A mix: every range in one of its ``shares``; ``proven``: whether nothing counts less, by the programme."""

    shares: tuple[Share, ...]
    proven: bool

    @property
    def counted(self) -> float:
        """What it counts in comparing, USD per hour with what an expert adds."""
        return math.fsum(one.unit.counted * one.number for one in self.shares)

    @property
    def gpus(self) -> tuple[str, ...]:
        """Its GPU types."""
        return tuple(one.unit.gpu for one in self.shares)


def number_needed(unit: Unit, ranges: Sequence[int]) -> float:
    """Whole units that some ranges take, what stands by included; infinite where it serves one of them never."""
    needed = math.fsum(unit.needed[one] for one in ranges) + unit.spare
    return math.ceil(needed - ROUNDING) if math.isfinite(needed) else math.inf


def one_type(units: Sequence[Unit]) -> Mix | None:
    """The cheapest with one kind of unit for all ranges; None where none serves all."""
    able = [one for one in units if all(math.isfinite(needed) for needed in one.needed)]
    if not able:
        return None
    everything = tuple(range(len(able[0].needed)))
    best = min(able, key=lambda one: one.counted * number_needed(one, everything))
    return Mix(shares=(Share(unit=best, ranges=everything, number=int(number_needed(best, everything))),), proven=True)


def unserved(units: Sequence[Unit], ranges: int) -> tuple[int, ...]:
    """Ranges that no unit serves."""
    return tuple(k for k in range(ranges) if not any(math.isfinite(one.needed[k]) for one in units))


def cheapest_mix(units: Sequence[Unit], most_types: int) -> Mix | None:
    """The mix of least cost of so many GPU types at most; None where a range is served by nothing.

    Equation: minimise sum_u USD_u y_u over whole units y_u, each range in one kind of unit, at most one kind of a GPU
    type, and sum_r needed_ru x_ru + spare_u <= y_u.

    Source: Griggs et al., "Melange" (arXiv 2404.14527, 2024), with whole systems in place of single GPUs.
    """
    if not units or unserved(units, len(units[0].needed)):
        return None
    single = one_type(units)
    few = _worth_a_look(units, math.inf if single is None else single.counted)
    solved, proven = _solved(few, most_types)
    if solved is None:
        return single
    count, ranges = len(few), len(few[0].needed)
    taken = solved[: ranges * count].reshape(ranges, count) > 0.5
    shares = []
    for k in np.flatnonzero(taken.any(axis=0)).tolist():
        mine = tuple(np.flatnonzero(taken[:, k]).tolist())
        shares.append(Share(unit=few[k], ranges=mine, number=int(number_needed(few[k], mine))))
    mix = Mix(shares=tuple(sorted(shares, key=lambda one: one.ranges)), proven=proven)
    return single if single is not None and single.counted <= mix.counted else mix


def _worth_a_look(units: Sequence[Unit], most: float) -> list[Unit]:
    """Units that may be part of what counts no more than ``most``, for the ranges alone for which they may be.

    Each range costs at least its least part of any unit, every kind that is used at least one unit, and one that
    another of the same GPU type beats in everything is never needed.
    """
    counted, needed = np.array([one.counted for one in units]), np.array([one.needed for one in units])
    parts = counted[:, None] * needed
    least = parts.min(axis=0)
    bound = most * (1.0 + CLOSE)
    possible = (parts + (least.sum() - least) <= bound) & (counted <= bound)[:, None]
    kept: list[Unit] = []
    for k in np.flatnonzero(possible.any(axis=1)):
        if not any(_beats(other, units[k], first=j < k) for j, other in enumerate(units) if j != k):
            possible_needs = np.where(possible[k], needed[k], math.inf)
            kept.append(replace(units[k], needed=tuple(possible_needs.tolist())))
    return kept


def _beats(one: Unit, other: Unit, *, first: bool) -> bool:
    """Whether a unit of the same GPU type is as good in everything, and better or named ``first``."""
    if one.gpu != other.gpu:
        return False
    mine, theirs = (one.counted, one.spare, *one.needed), (other.counted, other.spare, *other.needed)
    return all(a <= b for a, b in zip(mine, theirs, strict=True)) and (first or mine != theirs)


def _solved(units: Sequence[Unit], most_types: int) -> tuple[Any, bool]:
    """The values of x (ranges x units), z and y, and whether they are proven; None where no solution was found."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # takes a quarter of a second, and few plans need it

    if not units:
        return None, True
    needed = np.array([one.needed for one in units]).T
    ranges, count = needed.shape
    able = np.isfinite(needed)
    size = ranges * count
    scale = max(one.counted for one in units)
    weights = np.concatenate([np.zeros(size + count), [one.counted / scale for one in units]])
    rows, least, most = _constraints(units, np.where(able, needed, 0.0), most_types)
    solved = milp(
        weights,
        integrality=np.ones(size + 2 * count, dtype=np.int64),
        bounds=Bounds(np.zeros(size + 2 * count), np.concatenate([able.ravel(), np.ones(count), np.full(count, np.inf)])),
        constraints=[LinearConstraint(rows, least, most)],
        options={"mip_rel_gap": CLOSE, "node_limit": MOST_NODES},
    )
    return solved.x, solved.status == 0


def _constraints(units: Sequence[Unit], needed: Any, most_types: int) -> tuple[Any, Any, Any]:
    """The constraints of the programme as rows over x, z and y, with their least and most."""
    ranges, count = needed.shape
    size = ranges * count
    once, carried = np.zeros((ranges, size + 2 * count)), np.zeros((count, size + 2 * count))
    used = np.zeros((size, size + 2 * count))
    for k in range(count):
        places = np.arange(ranges) * count + k
        once[np.arange(ranges), places] = 1.0
        carried[k, places] = needed[:, k]
        carried[k, size + k], carried[k, size + count + k] = units[k].spare, -1.0
        used[places, places], used[places, size + k] = 1.0, -1.0
    types = list(dict.fromkeys(one.gpu for one in units))
    per_type = np.zeros((len(types) + 1, size + 2 * count))
    for k, one in enumerate(units):
        per_type[types.index(one.gpu), size + k] = 1.0
    per_type[-1, size : size + count] = 1.0
    rows = np.vstack([once, carried, used, per_type])
    least = np.concatenate([np.ones(ranges), np.full(len(rows) - ranges, -np.inf)])
    most = np.concatenate([np.ones(ranges), np.zeros(count + size), np.ones(len(types)), [float(most_types)]])
    return rows, least, most
