"""Attention data parallelism: how much longer a step lasts because one rank carries more prompt tokens than the others.

All ranks step together, because the expert layers exchange tokens among them (vLLM docs, "Data Parallel Deployment":
forward passes must be aligned, idle ranks run empty ones). A step therefore lasts as long as its most loaded rank works
in attention and dense layers. Prompts fall on ranks at random here. Not modelled: engines that hold prompts back until
more ranks have one (TensorRT-LLM ``attention_dp_config.enable_balance``, off by default, "ADP Balance Strategy", tech
blog 10, 2025) or that send a request to the least loaded rank; with them reality lies between these times and those
of evenly loaded ranks. Measured there: 25,664 tokens/s without and 34,140 with it, DeepSeek V3 on 8 GB200, 8 ranks.
"""

from functools import cache, lru_cache

import numpy as np
from scipy.special import comb, pdtr

from sizing.base.arrays import Floats

MOST_HELD = 64
"""Prompts per rank and step that are told apart: so many balance to 3 % of what a lone prompt costs."""

MOST_COUNTED = 64
"""Prompts in a step whose largest share is tabulated; beyond it the excess falls with the root of their number."""

FEWEST, PER_DECADE = 1e-3, 24
"""Prompts per step at which the table starts (below, one prompt is alone), and its knots per factor of ten."""


def unevenness(prompts: Floats, ranks: Floats, held: Floats) -> Floats:
    """How far prompts on d ranks are from balance: 1 when one rank works for all, 0 when all ranks have the same.

    Equation: (E[min(M, c)] / L - 1/d) / (1 - 1/d), at least 0, with L prompts a step over all ranks, M the largest of d
    Poisson counts of mean L/d, and c the prompts that the token budget of a rank holds in one step: what comes beyond
    them waits for a later step of its rank, so that full ranks are even. ``prompts`` (R, K), ``ranks`` (R,) whole
    numbers above 1, ``held`` (R,), at least 1; (R, K).
    Source: largest order statistic, P(M <= k) = F(k)^d (David and Nagaraja, "Order statistics", 3rd ed. 2003, 2.1).
    """
    kinds, of = np.unique(ranks + 1j * np.minimum(held, MOST_HELD), return_inverse=True)  # pairs, by one sort
    curves = np.stack([_curve(int(kind.real), float(kind.imag)) for kind in kinds])
    decades = np.log10(np.maximum(prompts, FEWEST)) - np.log10(FEWEST)
    place = np.minimum(decades * PER_DECADE, curves.shape[1] - 1.000001)
    knot = place.astype(np.intp)
    start = knot + (np.reshape(of, (-1, 1)) * curves.shape[1])
    flat = curves.ravel()
    low = flat[start]
    return np.asarray(low + (place - knot) * (flat[start + 1] - low))


@lru_cache(maxsize=1024)
def _curve(ranks: int, held: float) -> Floats:
    """Unevenness at every knot; ``held`` may lie between whole numbers, where E[min(M, c)] is linear in c."""
    below = int(held)
    table = _fullest(ranks)
    prompts = table[below] + (held - below) * (table[min(below + 1, MOST_HELD)] - table[below])
    even = 1.0 / ranks
    unevenness = np.maximum((prompts / _knots() - even) / (1.0 - even), 0.0)
    unevenness[0] = 1.0  # the limit of a prompt alone, below the first knot
    return np.asarray(unevenness)


@cache
def _knots() -> Floats:
    """Prompts per step over all ranks (G,), evenly spaced in their logarithm."""
    decades = 8
    return FEWEST * 10.0 ** (np.arange(decades * PER_DECADE + 1) / PER_DECADE)


@cache
def _fullest(ranks: int) -> Floats:
    """E[min(M, c)] for c = 0..MOST_HELD (rows) at every knot: the sum of P(M > k) over k < c."""
    counts = np.arange(MOST_HELD, dtype=np.float64)[:, None]
    above = -np.expm1(ranks * np.log(np.maximum(pdtr(counts, _knots() / ranks), 1e-300)))
    return np.vstack([np.zeros_like(_knots()), np.cumsum(above, axis=0)])


@cache
def busiest_share(ranks: int) -> Floats:
    """Share of m prompts that the fullest of d ranks carries on average, m = 0..MOST_COUNTED; 1 for one rank.

    Equation: E[max] / m of m balls in d bins, P(max <= k) built up bin by bin: the j of m balls in the first of b bins
    are binomial (m, 1/b). ``ranks`` whole; (MOST_COUNTED + 1,), 1 for no prompt.
    Source: Johnson and Kotz, "Urn models and their application" (1977), 3.1; the counts are Poisson given their sum.
    """
    balls = np.arange(MOST_COUNTED + 1)
    chosen = comb(balls[:, None], balls[None, :])
    within = np.ones((len(balls), len(balls)))  # (m, k): one bin holds all m
    within[balls[:, None] > balls[None, :]] = 0.0
    for bins in range(2, ranks + 1):
        before = within.copy()
        for m in balls:  # j in the first bin, m - j in the others
            j = balls[: m + 1]
            first = chosen[m, j] * (1.0 - 1.0 / bins) ** (m - j) / float(bins) ** j
            within[m] = (first[:, None] * (j[:, None] <= balls) * before[m - j]).sum(axis=0)
    expected = (1.0 - within).sum(axis=1)
    return np.asarray(np.divide(expected, balls, out=np.ones(len(balls)), where=balls > 0))


def counted_unevenness(prompts: Floats, ranks: Floats, held: Floats) -> Floats:
    """As :func:`unevenness`, of a step with exactly so many ``prompts`` (R, K), at least 1, instead of a random number.

    Equation: (min(m s, c) / m - 1/d) / (1 - 1/d), at least 0, with s the share of :func:`busiest_share`, beyond its
    table 1/d + (s - 1/d) x root(last / m), as deviations of a sum fall.
    """
    even = np.reshape(1.0 / ranks, (-1, 1))
    share = np.empty_like(prompts)
    for d in np.unique(ranks):
        rows, known = ranks == d, busiest_share(int(d))
        share[rows] = np.interp(prompts[rows], np.arange(len(known)), known)
    share = even + (share - even) * np.sqrt(np.minimum(MOST_COUNTED / prompts, 1.0))
    fullest = np.minimum(share, np.reshape(held, (-1, 1)) / prompts)
    return np.asarray(np.maximum((fullest - even) / (1.0 - even), 0.0))
