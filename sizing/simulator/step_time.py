"""Compiled: how long one engine step takes, by interpolation in the grid of a configuration."""

import math
from typing import Any

from sizing.base.arrays import Floats
from sizing.base.compiled import compiled
from sizing.steps.ranks import MOST_COUNTED


@compiled
def segment(knots: Floats, at: float) -> int:
    """The interval of ``knots`` that holds ``at``, or the first or last one."""
    low, high = 0, knots.shape[0] - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if knots[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@compiled
def decode_time(table: Floats, sequences: int, context: float) -> tuple[float, float, float]:
    """Decode step of ``sequences`` at a mean ``context``: seconds, slope per token of context, and next knot.

    ``table`` (S + 2, K) holds the knots, then a row for each number of sequences. Piecewise linear in the context:
    exact for full attention, whose KV read grows in proportion. Beyond the last knot the last slope goes on.
    """
    low = segment(table[0], context)
    start, end = table[0, low], table[0, low + 1]
    base, next_base = table[sequences + 1, low], table[sequences + 1, low + 1]
    slope = (next_base - base) / (end - start)
    following = end if low + 2 < table.shape[1] else math.inf
    return base + (context - start) * slope, slope, following


@compiled
def interpolated(knots: Floats, values: Floats, at: float) -> float:
    """``values`` (M,) over their ``knots`` (M,), at one place."""
    low = segment(knots, at)
    start, end = knots[low], knots[low + 1]
    share = (at - start) / (end - start)
    return values[low] + share * (values[low + 1] - values[low])  # type: ignore[no-any-return]


@compiled
def fullest_share(rows: Floats, prompts: int, ranks: float) -> float:
    """Share of the prompt tokens of a step that the fullest of the ranks carries, with ``prompts`` in the step.

    Equation: s(m) in line 4 of ``rows``; beyond that table 1/d + (s(M) - 1/d) x root(M / m), as deviations of a sum
    fall. Source: :func:`sizing.steps.ranks.busiest_share`.
    """
    if prompts <= MOST_COUNTED:
        return rows[4, prompts]  # type: ignore[no-any-return]
    excess = rows[4, MOST_COUNTED] - 1.0 / ranks
    return 1.0 / ranks + excess * math.sqrt(MOST_COUNTED / prompts)  # type: ignore[no-any-return]


@compiled
def prompt_time(
    rows: Floats, replica: Any, running: int, tokens: float, pair_s: float, prompts: int, rest_s: float
) -> float:
    """What ``tokens`` tokens of so many ``prompts`` add to a step: matrices and attention pairs, or launching them.

    max(G(rows of decode + tokens) - G(rows of decode) + pairs, launches - the rest of the step), with G the time of all
    that grows with rows.
    The fullest attention-DP rank carries its share of the tokens, at most its token budget: what G holds of a rank's
    own rows, and the pairs, take as long as if all ranks had as many.
    """
    decoding = running * replica.rows_per_sequence
    matrices = interpolated(rows[0], rows[1], decoding + tokens) - interpolated(rows[0], rows[1], decoding)
    if replica.ranks > 1.0:
        of_rank = (replica.budget - decoding) / replica.ranks
        fullest = min(tokens * fullest_share(rows, prompts, replica.ranks), of_rank) * replica.ranks
        matrices += interpolated(rows[0], rows[3], decoding + fullest) - interpolated(
            rows[0], rows[3], decoding + tokens
        )
        pair_s *= fullest / tokens
    return max(matrices + pair_s, replica.launch_s - rest_s)  # type: ignore[no-any-return]


@compiled
def pair_time(replica: Any, new: float, before: float) -> float:
    """Attention of a chunk of ``new`` tokens behind ``before``: new x (before + new / 2) pairs, windowed layers at most
    new x window, and what every token takes."""
    full = new * (before + new / 2.0)
    windowed = replica.sliding_pair_s * min(full, new * replica.window)
    return replica.full_pair_s * full + windowed + replica.token_s * new  # type: ignore[no-any-return]


@compiled
def pipeline_lag(rows: Floats, replica: Any, tokens: float, pair_s: float) -> float:
    """Time from the end of a step until the prompt's last stage is through; 0 without pipeline stages."""
    if replica.pair_lag == 0.0:
        return 0.0
    return interpolated(rows[0], rows[2], tokens) + replica.pair_lag * pair_s  # type: ignore[no-any-return]
