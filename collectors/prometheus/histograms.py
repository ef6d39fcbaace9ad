"""Quantiles from histogram buckets, each with the interval of its bucket and the mean beside it.

Interpolation inside a bucket is a guess: with vLLM's default buckets it overstates p95 of the time per output token by
41 to 58 %. What is known for certain is the bucket.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, model_serializer

from collectors.prometheus.answers import Bucket, NativeHistogram, Sample
from commandline.percentiles import HEADLINE, key_of, stated_by

QUANTILES = {key_of(percent): percent / 100.0 for percent in stated_by("live")}
"""Quantiles of an observation by their name in the JSON; scenarios limit one of them."""

SHOWN = key_of(HEADLINE)
"""The quantile that is shown where there is room for one."""

SAME_RANK = 1e-12
"""Share by which a bucket may miss a rank and still hold it: the rounding of a sum of counts."""


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """One quantile with the edges of the bucket that it fell in; None is unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class HistogramQuantiles(BaseModel):
    """Mean, quantiles and the bucket each fell in; ``count`` observations in the window. None is unknown, never 0.

    ``quantiles`` are by their name ("p95"); in JSON each is three numbers, ``p95``, ``p95_low`` and ``p95_high``.
    ``buckets`` are all of them, with the counts of the window; not part of the JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mean: float | None = None
    quantiles: dict[str, Quantile] = {}
    count: float | None = None
    buckets: tuple[Bucket, ...] = Field(default=(), exclude=True, repr=False)

    def at(self, name: str) -> Quantile:
        """A quantile by its name ("p95"), unknown where nothing tells it. Raises KeyError for a name that has none."""
        return self.quantiles.get(name, UNKNOWN_QUANTILES[name])

    @model_serializer
    def _flat(self) -> dict[str, float | None]:
        flat = {"mean": self.mean}
        for name in QUANTILES:
            one = self.at(name)
            flat |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        return flat | {"count": self.count}


UNKNOWN_QUANTILES = {name: Quantile() for name in QUANTILES}
"""Every quantile, unknown."""


def finite(value: float | None) -> float | None:
    """``value`` when it is a finite number: NaN and infinities are not measurements."""
    return value if value is not None and math.isfinite(value) else None


def buckets_of(samples: Iterable[Sample]) -> tuple[Bucket, ...]:
    """Disjoint buckets from cumulative ``le`` samples (1 and 1.0 are the same edge) or from a native histogram."""
    cumulative: dict[float, float] = {}
    for sample in samples:
        if sample.histogram is not None:
            return sample.histogram.buckets
        try:
            edge = float(sample.labels["le"])
        except (KeyError, ValueError):
            continue
        if not math.isnan(edge) and not math.isnan(sample.value):
            cumulative[edge] = cumulative.get(edge, 0.0) + sample.value
    low, below = 0.0, 0.0
    buckets = []
    for edge in sorted(cumulative):
        total = max(below, cumulative[edge])  # rates of single buckets may dip by rounding
        buckets.append(Bucket(low=min(low, edge), high=edge, count=total - below))
        low, below = edge, total
    return tuple(buckets)


def without_zeros(buckets: Sequence[Bucket], zeros: float) -> tuple[Bucket, ...]:
    """Buckets with ``zeros`` observations of 0 taken out of the first."""
    if not buckets or zeros <= 0:
        return tuple(buckets)
    first = buckets[0]
    return (Bucket(low=first.low, high=first.high, count=max(0.0, first.count - zeros)), *buckets[1:])


def quantile(q: float, buckets: Sequence[Bucket]) -> tuple[float, float, float] | None:
    """The q-quantile by linear interpolation as Prometheus does it, with the edges of its bucket.

    In a bucket without an upper end the value is its lower edge and the upper edge is infinite. None without data, and
    where everything lies in such a bucket: the lower edge of all is no quantile.
    """
    total = sum(b.count for b in buckets)
    if not any(b.count > 0 for b in buckets if math.isfinite(b.high)):
        return None
    if not buckets or not total > 0 or not math.isfinite(total):
        return None
    rank, seen = q * total, 0.0
    for bucket in buckets:
        if bucket.count > 0 and seen + bucket.count >= rank * (1 - SAME_RANK):
            if math.isinf(bucket.high):
                return bucket.low, bucket.low, math.inf
            share = min(1.0, max(0.0, (rank - seen) / bucket.count))
            return bucket.low + (bucket.high - bucket.low) * share, bucket.low, bucket.high
        seen += bucket.count
    last = next(b for b in reversed(buckets) if b.count > 0)
    return last.high, last.low, last.high


def distribution(
    buckets: Sequence[Bucket],
    *,
    rate_sum: float | None,
    rate_count: float | None,
    window_s: float,
    scale: float,
    zeros: float = 0.0,
) -> HistogramQuantiles:
    """A distribution from rates over a window; ``scale`` turns the metric's unit into the wanted one."""
    zeros = zeros if rate_count is not None and 0 < zeros < rate_count else 0.0
    kept = without_zeros(buckets, zeros)
    quantiles: dict[str, Quantile] = {}
    mean: float | None = None
    counts = tuple(Bucket(low=b.low * scale, high=b.high * scale, count=b.count * window_s) for b in kept)
    for name, q in QUANTILES.items():
        interval = quantile(q, kept)
        if interval is not None:
            value, low, high = (finite(part * scale) for part in interval)
            quantiles[name] = Quantile(value=value, low=low, high=high)
    counted = rate_count - zeros if rate_count is not None else None
    if counted is not None and counted < 0:  # no number of observations, and nothing else is one of them
        return HistogramQuantiles()
    if counted and counted > 0 and rate_sum is not None and rate_sum >= 0:
        mean = finite(rate_sum / counted * scale)
    number = None if counted is None else finite(counted * window_s)
    return HistogramQuantiles(mean=mean, quantiles=quantiles, count=number, buckets=counts)


def native(samples: Iterable[Sample]) -> NativeHistogram | None:
    """The native histogram among samples, if there is one."""
    return next((s.histogram for s in samples if s.histogram is not None), None)
