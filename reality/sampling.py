"""Measured values with their uncertainty: how many requests stand behind them, and how wide their bucket is.

Everything is an 80 % interval, like the predictions. Requests are taken as independent of each other; in a queue near
saturation successive ones are alike and the true interval is wider, which is why nothing is judged there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import QUANTILES, HistogramQuantiles, quantile
from reality.result import Interval
from sizing.base.format import with_noun
from sizing.base.units import TWO_SIDED_80

FEWEST_REQUESTS = 30
"""Below this a mean says nothing: the 80 % interval of an exponential latency is still +- 23 % at 30 requests."""

FEWEST_BEYOND = 5
"""Requests beyond a quantile below which it is not judged: 100 requests for p95, 500 for p99."""

UNKNOWN = Interval(value=None, low=None, high=None)


@dataclass(frozen=True, kw_only=True)
class SampledValue:
    """A measured value, the requests behind it, and why it is too weak to be judged ("" when it is not)."""

    interval: Interval
    count: float | None = None
    weak: str = ""


NOTHING = SampledValue(interval=UNKNOWN)


def variation(buckets: Sequence[Bucket]) -> float | None:
    """Squared coefficient of variation from a histogram, observations even within their bucket; None without data.

    E[x] = (a + b) / 2 and E[x^2] = (a^2 + a b + b^2) / 3 per bucket; an open last bucket is taken to end at twice its
    start.
    """
    total = sum(b.count for b in buckets)
    if not total > 0:
        return None
    first = second = 0.0
    for bucket in buckets:
        a, b = bucket.low, closed_end(bucket)
        first += bucket.count * (a + b) / 2.0
        second += bucket.count * (a * a + a * b + b * b) / 3.0
    mean = first / total
    return max(second / total / mean**2 - 1.0, 0.0) if mean > 0 else None


def closed_end(bucket: Bucket) -> float:
    """The upper edge; of an open bucket, twice its start."""
    return bucket.high if math.isfinite(bucket.high) else max(2.0 * bucket.low, 1.0)


def mean_of(distribution: HistogramQuantiles, requests: float | None = None) -> SampledValue:
    """The mean: +- 1.28 x standard deviation / sqrt(n), n at most ``requests`` (gaps of one request are alike).

    Without a histogram the coefficient of variation is taken as 1, as of an exponential distribution.
    """
    if distribution.mean is None:
        return NOTHING
    count = distribution.count if requests is None else min(distribution.count or requests, requests)
    spread = variation(distribution.buckets)
    return around(distribution.mean, count, 1.0 if spread is None else spread)


def around(value: float, count: float | None, squared_variation: float, *, looked_at: int = 1) -> SampledValue:
    """A mean or rate over ``count`` requests: value x (1 +- 1.28 x sqrt(cv^2 / n)); without a count no interval.

    ``looked_at`` > 1: the largest of so many such values, which chance alone lifts by about sqrt(2 ln k) standard
    errors (extreme values of the normal distribution); the lower end takes that back.
    """
    if not count or count < FEWEST_REQUESTS:
        return SampledValue(interval=Interval(value=value, low=None, high=None), count=count, weak=_few(count))
    error = math.sqrt(squared_variation / count)
    chance = math.sqrt(2.0 * math.log(looked_at)) if looked_at > 1 else 0.0
    low, high = max(value * (1.0 - (TWO_SIDED_80 + chance) * error), 0.0), value * (1.0 + TWO_SIDED_80 * error)
    return SampledValue(interval=Interval(value=value, low=low, high=high), count=count)


def rate_of(rps: float | None, window_s: float, scrape_interval_s: float | None, *, looked_at: int = 1) -> SampledValue:
    """A rate of requests: relative error sqrt(1 / n), Poisson counts.

    n is counted from the first to the last scrape of the window, which PromQL extends to its edges.
    """
    if rps is None:
        return NOTHING
    return around(rps, counted(rps, window_s, scrape_interval_s), 1.0, looked_at=looked_at)


def counted(rps: float, window_s: float, scrape_interval_s: float | None) -> float:
    """Requests that were really counted at a rate: one scrape interval of the window is extrapolated."""
    return rps * max(window_s - (scrape_interval_s or 0.0), 0.0)


def quantile_of(distribution: HistogramQuantiles, name: str) -> SampledValue:
    """A quantile: from the lower edge of the bucket of q - e to the upper edge of that of q + e.

    e = 1.28 sqrt(q (1 - q) / n): order statistics; inside its bucket the value itself is a guess.
    """
    at, q, count = distribution.at(name), QUANTILES[name], distribution.count
    value, low, high = at.value, at.low, at.high
    if value is None:
        return NOTHING
    if not count or count * (1.0 - q) < FEWEST_BEYOND or count < FEWEST_REQUESTS:
        needed = max(FEWEST_REQUESTS, math.ceil(FEWEST_BEYOND / (1.0 - q)))
        return SampledValue(interval=Interval(value=value, low=low, high=high), count=count, weak=_few(count, needed))
    error = TWO_SIDED_80 * math.sqrt(q * (1.0 - q) / count)
    below, above = (
        quantile(max(q - error, 0.0), distribution.buckets),
        quantile(min(q + error, 1.0), distribution.buckets),
    )
    if below is not None and above is not None:
        low, high = below[1], above[2] if math.isfinite(above[2]) else None
    return SampledValue(interval=Interval(value=value, low=low, high=high), count=count)


def exact(value: float | None) -> SampledValue:
    """Something counted or configured: no sampling error."""
    return SampledValue(interval=Interval(value=value, low=value, high=value))


def _few(count: float | None, needed: int = FEWEST_REQUESTS) -> str:
    shown = "an unknown number of requests" if count is None else with_noun(f"{count:.0f}", "request")
    return f"only {shown} in the window, at least {needed} are needed: choose a longer window"
