"""The Pareto front: points that no other beats on both of two axes."""

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats, Rows

SMALLEST_GAIN = 0.01
"""Gain on an axis below which a point is not worth showing. Chosen: because 1 % cannot be seen in a chart, and step
times are known to a few per cent."""

SMALLEST_RANGE = 1e-300
"""Range of values at least, so that nothing is divided by 0."""


def pareto_front(good_x: Floats, good_y: Floats, group: NDArray[np.int64]) -> Rows:
    """Points (N,) that no other of their group beats on both axes (more is better), by group and falling ``good_x``.

    A point that gains less than 1 % upwards is left out; one that loses less than 1 % across takes the place of the
    last. Points that are not finite never count.
    """
    usable = np.flatnonzero(np.isfinite(good_x) & np.isfinite(good_y))
    order = usable[np.lexsort((-good_y[usable], -good_x[usable], group[usable]))]
    kept: list[int] = []
    last, best, last_x = -1, -np.inf, np.inf
    for i in order[_record(good_y[order], group[order])]:
        here = int(group[i])
        if here == last and good_y[i] - best <= SMALLEST_GAIN * abs(good_y[i]):
            continue
        if here == last and last_x - good_x[i] <= SMALLEST_GAIN * abs(last_x):
            kept[-1] = int(i)
        else:
            kept.append(int(i))
            last_x = good_x[i]
        last, best = here, good_y[i]
    return np.array(kept, dtype=np.intp)


def _record(values: Floats, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values exceed all earlier ones of their group; groups are in growing order."""
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    low, high = values.min(), values.max()
    raised = group + (values - low) / max(high - low, SMALLEST_RANGE) / 2.0  # no value of a group reaches into the next
    before = np.concatenate([[-1.0], np.maximum.accumulate(raised)[:-1]])
    return np.asarray(raised > before)
