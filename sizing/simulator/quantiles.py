"""Percentiles of simulated latencies, and how far they may be off because only so many requests were simulated."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Counts, Floats
from sizing.base.units import TWO_SIDED_80, TWO_SIDED_95
from sizing.simulator.layout import BIN_RATIO, BINS, COUNTED, FIRST_COUNT, FIRST_SUM, GOOD, SMALLEST_S
from sizing.simulator.outcome import BinCounts, SimulationCounts

DECIDING_80 = round(TWO_SIDED_80, 4)
"""Half width of the 80 % interval that decides whether a limit holds once no more requests are simulated."""

FEWEST_PER_BATCH = 5
"""Batches with fewer requests say nothing about scatter."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """A simulated value with its 95 % Monte-Carlo interval; ``high`` is infinite where too few requests went so far.

    Not an :class:`sizing.base.quantity.Estimate`, which is written to JSON without infinity and NaN: the search
    compares all three numbers with limits, for which they must be numbers.
    """

    value: float
    low: float
    high: float


def quantile(counts: NDArray[np.integer], share: float) -> float:
    """Duration in s below which ``share`` of the histogram lies: geometric within a bin, relative error < 0.5 %."""
    total = counts.sum()
    if total == 0:
        return float("nan")
    cumulative = np.cumsum(counts)
    wanted = min(max(share, 0.0), 1.0) * total
    k = int(np.searchsorted(cumulative, max(wanted, 1e-9)))
    if k == 0:
        return 0.0
    inside = (wanted - (cumulative[k] - counts[k])) / counts[k]
    return float(SMALLEST_S * BIN_RATIO ** (k - 1 + inside))


def quantiles(outcome: SimulationCounts, metric: int, percents: Iterable[float]) -> list[float]:
    """Percentiles alone: a fraction of the time of :func:`sampled_quantile`."""
    counts = outcome.histogram[metric].every_bin()
    return [quantile(counts, percent / 100.0) for percent in percents]


def sampled_quantile(outcome: SimulationCounts, metric: int, percent: float) -> Sampled:
    """A percentile with its Monte-Carlo interval.

    Standard error of the share of requests below the percentile: the larger of the scatter between consecutive batches
    (which sees that successive requests resemble each other) and the binomial one; the interval is read off the
    histogram at share +- 1.96 errors. Source: batch means for quantiles (Seila, 1982; Asmussen and Glynn, 2007).
    """
    bins = outcome.histogram[metric]
    counts = bins.every_bin()
    total, share = int(counts.sum()), percent / 100.0
    value = quantile(counts, share)
    if total == 0:
        return Sampled(value=value, low=value, high=value)
    cumulative = np.cumsum(counts)
    k = int(np.searchsorted(cumulative, share * total))
    error = max(_batch_error(bins, k), math.sqrt(share * (1.0 - share) / total))
    high = share + TWO_SIDED_95 * error
    return Sampled(
        value=value,
        low=min(quantile(counts, share - TWO_SIDED_95 * error), value),
        high=max(quantile(counts, high), value) if high <= 1.0 - 0.5 / total else float("inf"),
    )


def sampled_share(outcome: SimulationCounts, metric: int, seconds: float, z: float = TWO_SIDED_95) -> Sampled:
    """Share of requests with a latency up to ``seconds``, with its Monte-Carlo interval of ``z`` standard errors.

    Standard error: the larger of the scatter between batches and the binomial one, the latter as if one more request
    lay on the other side, so that it is never 0. Source: batch means, as for :func:`sampled_quantile`.
    """
    bins, size = outcome.histogram[metric], counted(outcome, metric)
    total = float(size.sum())
    if total == 0:
        return Sampled(value=float("nan"), low=float("nan"), high=float("nan"))
    at = math.log(max(seconds, SMALLEST_S) / SMALLEST_S) / math.log(BIN_RATIO)
    k, inside = min(int(at), BINS - 2), at - int(at)
    below = _up_to(bins, k) + inside * _of_each_batch(bins.counts[:, _places(bins, k + 1)])
    value = float(below.sum() / total)
    share = min(max(value, 1.0 / (total + 1.0)), total / (total + 1.0))
    error = max(_scatter(below, size), math.sqrt(share * (1.0 - share) / total))
    return Sampled(value=value, low=value - z * error, high=value + z * error)


def counted(outcome: SimulationCounts, metric: int) -> Floats:
    """Requests of each batch of which this latency was counted, (batches,)."""
    return outcome.sums[:, FIRST_COUNT + metric]


def _batch_error(bins: BinCounts, k: int) -> float:
    """Standard error of the share of requests in bins up to ``k``, from its scatter between batches."""
    return _scatter(_up_to(bins, k), _of_each_batch(bins.counts))


def _up_to(bins: BinCounts, k: int) -> Counts:
    """Requests of each batch in bins up to ``k``, (batches,)."""
    return _of_each_batch(bins.counts[:, : max(k + 1 - bins.first, 0)])


def _places(bins: BinCounts, k: int) -> slice:
    """Where the bin ``k`` is among those kept: nowhere, if nothing was counted there."""
    return slice(max(k - bins.first, 0), max(k + 1 - bins.first, 0))


def _of_each_batch(batches: NDArray[np.unsignedinteger[Any]]) -> Counts:
    """Requests of each batch, (batches,)."""
    return np.asarray(batches.sum(axis=1, dtype=np.uint32), dtype=np.int64)  # every bin converted: 4 times as long


def _scatter(below: NDArray[Any], size: NDArray[Any]) -> float:
    """Standard error of a share from its scatter between batches: ``below`` of ``size`` requests in each."""
    used = size >= FEWEST_PER_BATCH
    if used.sum() < 2:
        return 0.0
    return _standard_error(below[used] / size[used])


def _standard_error(values: Floats) -> float:
    """Standard error of the mean of at least two values; np.std takes twice the time, of which a search has little."""
    off = values - values.mean()
    return math.sqrt(float(off @ off) / (len(values) - 1) / len(values))


def sampled_mean(outcome: SimulationCounts, metric: int) -> Sampled:
    """Mean latency in seconds with its Monte-Carlo interval from batch means."""
    sums, counts = outcome.sums[:, FIRST_SUM + metric], outcome.sums[:, FIRST_COUNT + metric]
    return _from_batches(sums, counts)


def sampled_good_share(outcome: SimulationCounts) -> Sampled:
    """Share of finished requests within every limit."""
    return _from_batches(outcome.sums[:, GOOD], outcome.sums[:, COUNTED])


def _from_batches(sums: Floats, counts: Floats) -> Sampled:
    if counts.sum() == 0:
        return Sampled(value=float("nan"), low=float("nan"), high=float("nan"))
    value = float(sums.sum() / counts.sum())
    used = counts >= FEWEST_PER_BATCH
    if used.sum() < 2:
        return Sampled(value=value, low=value, high=value)
    error = _standard_error(sums[used] / counts[used])
    return Sampled(value=value, low=value - TWO_SIDED_95 * error, high=value + TWO_SIDED_95 * error)
