"""What is asked of every row of a table (N, K), compiled, a number at a time.

As arrays, every step of it would write and read the whole table. Apart from :mod:`sizing.base.arrays`, because numba
takes long to load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sizing.base.compiled import compiled_entry

Table = NDArray[np.float64]


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
def where_reached(grid: Table, values: Table, limits: Table, least_gap: float, out: Table) -> None:
    """Where along ``grid`` (N, K) the growing ``values`` (N, K) reach ``limits`` (N,), into ``out`` (N,): on straight
    lines between the points, 0 where already the first is above, infinite where none is. Points closer than
    ``least_gap`` count as so far apart."""
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
            share = min((limits[n] - low) / max(high - low, least_gap), 1.0)
            out[n] = grid[n, within - 1] + share * (grid[n, within] - grid[n, within - 1])
