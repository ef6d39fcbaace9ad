"""Compiled: how long one engine step takes, by interpolation in the grid of a configuration."""

from __future__ import annotations

import math

from numba import njit

from sizing.simulation.layout import World


@njit
def decode_time(world: World, kind: int, sequences: int, context: float) -> tuple[float, float, float]:
    """Decode step of ``sequences`` at a mean ``context``: seconds, slope per token of context, and next knot.

    Piecewise linear in the context: exact for full attention, whose KV read grows in proportion. Beyond the last knot
    the last slope goes on.
    """
    knots, times = world.knots[kind], world.decode[kind, sequences]
    low, high = 0, knots.shape[0] - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if knots[middle] <= context:
            low = middle
        else:
            high = middle
    slope = (times[high] - times[low]) / (knots[high] - knots[low])
    following = knots[high] if high < knots.shape[0] - 1 else math.inf
    return times[low] + (context - knots[low]) * slope, slope, following


@njit
def _interpolated(knots: list[float], values: list[float], at: float) -> float:
    low, high = 0, knots.shape[0] - 1  # type: ignore[attr-defined]
    while high - low > 1:
        middle = (low + high) >> 1
        if knots[middle] <= at:
            low = middle
        else:
            high = middle
    return values[low] + (at - knots[low]) * (values[high] - values[low]) / (knots[high] - knots[low])


@njit
def prompt_time(world: World, kind: int, sequences: int, tokens: float, pair_s: float) -> float:
    """What ``tokens`` prompt tokens add to a step that decodes ``sequences``: matrices, launches, attention pairs.

    G(rows of decode + tokens) - G(rows of decode) + launches + pairs, with G the time of all matrices and collectives.
    """
    facts = world.kinds[kind]
    rows = sequences * facts.rows_per_sequence
    knots, times = world.row_knots[kind], world.row_s[kind]
    return _interpolated(knots, times, rows + tokens) - _interpolated(knots, times, rows) + facts.prompt_step_s + pair_s


@njit
def pair_time(world: World, kind: int, new: float, before: float) -> float:
    """Attention of a chunk of ``new`` tokens behind ``before``: new x (before + new / 2) pairs, sliding layers at most
    new x window."""
    facts = world.kinds[kind]
    full = new * (before + new / 2.0)
    return facts.full_pair_s * full + facts.sliding_pair_s * min(full, new * facts.window)


@njit
def pipeline_lag(world: World, kind: int, tokens: float, pair_s: float) -> float:
    """Time from the end of a step until the prompt's last stage is through; 0 without pipeline stages or DP ranks."""
    facts = world.kinds[kind]
    if facts.pair_lag == 0.0:
        return 0.0
    return _interpolated(world.row_knots[kind], world.lag_s[kind], tokens) + facts.pair_lag * pair_s
