"""What is asked of every row of a table (N, K), compiled, a number at a time.

As arrays, every step of it would write and read the whole table. Apart from :mod:`sizing.base.arrays`, because numba
takes long to load.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Position, Rows
from sizing.base.compiled import compiled_entry

Table = NDArray[np.float64]

LEAST_GAP = 1e-12
"""Points of a grid that are closer count as so far apart, so that nothing is divided by 0. Chosen: because points
of the grids in use are as close only where they are meant to be the same."""


def position(known: Floats, at: Floats, *, beyond: bool = False) -> Position:
    """The position of ``at``, (N,) or (N, M), on growing grids ``known`` (N, K): row by row, at its ends if outside.

    ``beyond``: the first and the last line go on outside the grid. The simulator has its own interpolation
    (:mod:`sizing.simulator.step_time`): it is asked for single numbers, many thousand times a run.
    """
    places = np.ascontiguousarray(at, dtype=np.float64).reshape(len(at), math.prod(at.shape[1:]))
    lower, share = np.empty(places.shape, dtype=np.intp), np.empty(places.shape)
    _positions(np.ascontiguousarray(known, dtype=np.float64), places, beyond, lower, share)
    return Position(lower.reshape(at.shape), share.reshape(at.shape))


@compiled_entry
def _positions(known: Table, at: Table, beyond: bool, lower: Rows, share: Table) -> None:
    """:func:`position`, into ``lower`` and ``share`` (N, M)."""
    points = known.shape[1]
    for n in range(at.shape[0]):
        for m in range(at.shape[1]):
            reached = 0
            for k in range(points):
                reached += known[n, k] <= at[n, m]
            below = min(max(reached - 1, 0), points - 2)
            low, high = known[n, below], known[n, below + 1]
            way = (at[n, m] - low) / np.maximum(high - low, LEAST_GAP)
            lower[n, m] = below
            share[n, m] = way if beyond else np.minimum(np.maximum(way, 0.0), 1.0)


def non_decreasing(values: Table) -> Table:
    """The largest of ``values`` (N, K) so far along each row."""
    highest = np.empty(values.shape)
    _largest_so_far(np.ascontiguousarray(values, dtype=np.float64), highest)
    return highest


@compiled_entry
def _largest_so_far(values: Table, out: Table) -> None:
    """:func:`non_decreasing`, into ``out`` (N, K)."""
    for n in range(values.shape[0]):
        most = values[n, 0]
        for k in range(values.shape[1]):
            most = np.maximum(most, values[n, k])
            out[n, k] = most


@compiled_entry
def where_reached(grid: Table, values: Table, limits: Table, out: Table) -> None:
    """Where along ``grid`` (N, K) the growing ``values`` (N, K) reach ``limits`` (N,), into ``out`` (N,): on straight
    lines between the points, 0 where already the first is above, infinite where none is. Points closer than
    ``LEAST_GAP`` count as so far apart."""
    points = values.shape[1]
    for n in range(values.shape[0]):
        within = 0
        for k in range(points):
            within += values[n, k] <= limits[n]
        if within == 0:
            out[n] = 0.0
        elif within == points:
            out[n] = np.inf
        else:
            low, high = values[n, within - 1], values[n, within]
            share = min((limits[n] - low) / max(high - low, LEAST_GAP), 1.0)
            out[n] = grid[n, within - 1] + share * (grid[n, within] - grid[n, within - 1])
