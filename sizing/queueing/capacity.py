"""How much one instance can take within the limits, and its latency at a given load."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy.special import ndtri

from sizing.base.arrays import Columns, Floats, Position, Rows
from sizing.base.compiled_rows import non_decreasing, position, where_reached
from sizing.question.limits import LatencyLimits
from sizing.queueing.compiled import percentiles
from sizing.queueing.steady_state import SteadyState


class Bound(IntEnum):
    """What sets the capacity of an instance; the order breaks ties."""

    TTFT = 0
    ITL = 1
    E2E = 2
    SATURATION = 3
    UTILIZATION = 4


@dataclass(frozen=True, kw_only=True)
class Capacity(Columns):
    """Per candidate, shape (C,): requests/s within the limits (0: none), stability limit, and what binds."""

    rps: Floats
    stable_rps: Floats
    bound: Rows
    excess: Floats
    """Largest ratio of unloaded latency to its limit; above 1 means that no load meets the limits, shape (C,)."""


@dataclass(frozen=True, kw_only=True)
class Percentiles(Columns):
    """The three latencies at the asked percentile at every point of the grid, seconds, (C, K)."""

    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats


def at_percentile(state: SteadyState, percentile: float) -> Percentiles:
    """All three latencies at one percentile; made non-decreasing in load, which they are up to rounding."""
    first = (state.ttft_mean_s, state.ttft_floor_s, state.ttft_var)
    rest = (state.itl_mean_s, state.itl_var, state.e2e_mean_s, state.e2e_var)
    full, out = np.concatenate([state.itl_full_s, state.itl_full_var], axis=1), np.empty((3, *state.rps.shape))
    percentiles(tuple(map(np.ascontiguousarray, (*first, *rest))), full, float(ndtri(percentile / 100.0)), out)
    return Percentiles(ttft_s=out[0], itl_s=out[1], e2e_s=out[2])


def capacity(state: SteadyState, latencies: Percentiles, limits: LatencyLimits, max_utilization: float) -> Capacity:
    """Largest rate at which every limit holds, at most ``max_utilization`` of the stability limit.

    The cap is room for more load than planned; that step times may be longer than estimated is no part of it. The rate
    at which a latency reaches its limit is interpolated linearly between points of the grid.
    """
    rps = non_decreasing(state.rps)
    stable = rps[:, -1]
    limited = ((latencies.ttft_s, limits.ttft_s), (latencies.itl_s, limits.itl_s), (latencies.e2e_s, limits.e2e_s))
    rates = [rate_at_limit(rps, values, limit) for values, limit in limited]
    rates += [stable, max_utilization * stable if max_utilization < 1.0 else np.full_like(stable, np.inf)]
    stacked = np.stack(rates)
    excess = np.max(np.stack([values[:, 0] / limit for values, limit in limited]), axis=0)
    return Capacity(rps=stacked.min(axis=0), stable_rps=stable, bound=stacked.argmin(axis=0), excess=excess)


def rate_at_limit(rps: Floats, values: Floats, limit: float | Floats) -> Floats:
    """Rate (C,) at which a non-decreasing latency (C, K) reaches ``limit`` (one, or one for each row): 0 if always
    above, inf if never."""
    if np.all(np.isinf(limit)):
        return np.full(len(rps), np.inf)
    rate, limits = np.empty(len(rps)), np.empty(len(rps))
    limits[:] = limit
    where_reached(*map(np.ascontiguousarray, (rps, values)), limits, rate)
    return rate


def at_rate(rates: Floats, rps: Floats) -> Position:
    """The position at which each candidate carries ``rps`` (C,), given the rates of its grid (C, K); clamped to it."""
    return position(non_decreasing(rates), rps)
