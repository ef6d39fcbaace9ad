"""Lengths of requests as a histogram shows them: every bucket keeps its share, and the mean is the true one."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from reality.sampling import closed_end
from sizing.base.arrays import Floats
from sizing.question.length_distributions import FixedLength, LengthDistribution, LognormalLength

DRAWS = 4_096
"""Lengths that stand for a distribution: 40 of them beyond p99."""

EXPONENT_TOLERANCE, TOKEN_TOLERANCE = 1e-9, 1e-6
"""How closely the exponent and the common part of prompts, in tokens, are solved for. Chosen: because both are far
below what a length is rounded to, and a root costs nothing."""

SHAPE = 0.03
"""Share of requests by which a histogram may miss the planned shape of lengths and still have it."""
KOLMOGOROV_99 = 1.63
"""Quantile of Kolmogorov's distribution at 99 %: by how much, times sqrt(n), a sample misses its distribution."""

STATED = 0.25
"""By how many times sqrt(q (1 - q)) the share of requests within a stated percentile q may miss it. Chosen: two
percentiles of a plan are round numbers; of p95 one in ten requests instead of one in twenty is longer."""

STEEPEST = 6.0
"""Bounds of the exponent, as its logarithm: beyond, all lengths of a bucket are at one of its edges."""


def whole_tokens(lengths: Floats) -> Floats:
    """Lengths as requests have them: an answer of 1.003 tokens would spread its last step over 0.003 of a gap."""
    return np.maximum(np.rint(lengths), 1.0)


def from_histogram(distribution: HistogramQuantiles) -> Floats | None:
    """Equally likely lengths, shortest first; None without a histogram.

    Within its bucket a length is a + (b - a) u^k in whole tokens, u even in 0..1; one k for all buckets gives the
    measured mean. So neither shape nor spread is assumed beyond what the buckets say.
    """
    kept = [b for b in distribution.buckets if b.count > 0]
    if not kept or distribution.mean is None:
        return None
    shares = (np.arange(DRAWS) + 0.5) / DRAWS
    edges = np.concatenate([[0.0], np.cumsum([b.count for b in kept])]) / sum(b.count for b in kept)
    place = np.clip(np.searchsorted(edges, shares, side="right") - 1, 0, len(kept) - 1)
    inside = np.clip((shares - edges[place]) / (edges[place + 1] - edges[place]), 0.0, 1.0)
    low = np.array([b.low for b in kept])[place]
    wide = np.array([closed_end(b) - b.low for b in kept])[place]
    return _with_mean(low, wide, inside, distribution.mean, kept)


def _with_mean(low: Floats, wide: Floats, inside: Floats, mean: float, kept: Sequence[Bucket]) -> Floats:
    def at(steepness: float) -> Floats:
        return np.maximum(np.ceil(low + wide * inside ** math.exp(steepness)), np.floor(low) + 1.0)  # above its edge

    def missing(steepness: float) -> float:
        return float(at(steepness).mean()) - mean

    if missing(-STEEPEST) <= 0.0:  # only an open last bucket leaves room above
        lengths = at(-STEEPEST)
        last = inside.size - round(kept[-1].count / sum(b.count for b in kept) * inside.size)
        if not math.isfinite(kept[-1].high) and last < inside.size:
            lengths[last:] += (mean - float(lengths.mean())) * inside.size / (inside.size - last)
        return lengths
    if missing(STEEPEST) >= 0.0:
        return at(STEEPEST)
    return at(float(brentq(missing, -STEEPEST, STEEPEST, xtol=EXPONENT_TOLERANCE)))


def shared_prefix(prompt: Floats, hits: float) -> Floats:
    """Cached tokens of each prompt when the same first part of all is cached, as a plan has it.

    That part c solves mean(min(c, prompt - 1)) = hits x mean(prompt): hit rates are weighted by tokens.
    """
    wanted = min(max(hits, 0.0) * float(prompt.mean()), float((prompt - 1.0).mean()))
    if wanted <= 0.0:
        return np.zeros_like(prompt)

    def missing(part: float) -> float:
        return float(np.minimum(part, prompt - 1.0).mean()) - wanted

    longest = float(prompt.max())
    part = longest if missing(longest) <= 0.0 else float(brentq(missing, 0.0, longest, xtol=TOKEN_TOLERANCE))
    return np.minimum(part, prompt - 1.0)


def from_plan(planned: LengthDistribution, mean: float | None) -> Floats:
    """Equally likely lengths of the plan's shape, scaled to the measured mean where there is one."""
    lengths = planned.at((np.arange(DRAWS) + 0.5) / DRAWS)
    scaled = lengths if mean is None else lengths * (mean / lengths.mean())
    return whole_tokens(scaled)


def fits_planned(distribution: HistogramQuantiles, lengths: Floats) -> bool:
    """Whether a histogram may be of these equally likely lengths: nowhere further off than chance and rounding."""
    kept = [b for b in distribution.buckets if math.isfinite(b.high)]
    total = sum(b.count for b in distribution.buckets)
    if not kept or not total > 0:
        return True
    below = np.cumsum([b.count for b in kept]) / total
    expected = np.searchsorted(np.sort(lengths), np.array([b.high for b in kept]), side="right") / DRAWS
    return bool(np.abs(below - expected).max() <= SHAPE + KOLMOGOROV_99 / math.sqrt(total))


def is_as_stated(distribution: HistogramQuantiles, planned: LengthDistribution, ratio: float) -> bool:
    """Whether a histogram contradicts nothing that a plan states of lengths, ``ratio`` times as long as there: where it
    gives two percentiles those alone, as the shape between and beyond is assumed; of a trace its shape.
    """
    match planned:
        case FixedLength():
            return True
        case LognormalLength():
            stated = ((0.50, planned.p50 * ratio), (0.95, planned.p95 * ratio))
            return all(_may_be(distribution, share, tokens) for share, tokens in stated)
        case _:
            return fits_planned(distribution, from_plan(planned, planned.mean * ratio))


def _may_be(distribution: HistogramQuantiles, share: float, tokens: float) -> bool:
    """Whether so large a share of the requests may be within a length: inside its bucket nothing is known."""
    total = sum(b.count for b in distribution.buckets)
    if not total > 0:
        return True
    least = sum(b.count for b in distribution.buckets if b.high <= tokens) / total
    most = sum(b.count for b in distribution.buckets if b.low < tokens) / total
    off = STATED * math.sqrt(share * (1.0 - share)) + KOLMOGOROV_99 / math.sqrt(total)
    return least - off <= share <= most + off
