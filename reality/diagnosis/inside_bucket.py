"""Where within a bucket of a histogram its requests lie: as in the engine's run of the measured traffic, without such a
run as evenly in the logarithm; and with the mean that the sum of the histogram leaves for this bucket.
"""

import math
from dataclasses import dataclass

import numpy as np

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from reality.diagnosis.open_bucket import LEAST_IN_BUCKET, mean_left
from reality.diagnosis.worlds import Ran
from sizing.base.arrays import Floats

PARTS = 32
"""Parts of a bucket between which requests are taken to lie evenly."""
STEEPEST = 100.0
"""Largest exponent over the width of a bucket that moves requests to their mean: there all lie at one of its ends."""
HALVINGS = 40
"""Times that the interval of that exponent is halved."""


@dataclass(frozen=True, kw_only=True)
class InsideBucket:
    """Requests of one bucket: ``shares`` (P,) of them within ``points_ms`` (P,)."""

    points_ms: Floats
    shares: Floats

    def share_within(self, limit_ms: float) -> float:
        """Share of the requests of the bucket within a limit."""
        return float(np.interp(limit_ms, self.points_ms, self.shares))

    def percentile_ms(self, share: float) -> float:
        """What so large a share of the requests of the bucket is within."""
        at = min(int(np.searchsorted(self.shares, share)), len(self.shares) - 1)
        if at == 0 or self.shares[at] <= self.shares[at - 1]:
            return float(self.points_ms[at])
        part = (share - self.shares[at - 1]) / (self.shares[at] - self.shares[at - 1])
        return float(self.points_ms[at - 1] + min(max(part, 0.0), 1.0) * (self.points_ms[at] - self.points_ms[at - 1]))

    def with_mean(self, mean_ms: float) -> "InsideBucket":
        """The same requests with this mean, their density times exp(t x): of all with that mean the one that differs
        least (Kullback, Information theory and statistics, 1959, chapter 3). The end of the bucket for a mean beyond.
        """
        low, width = self.points_ms[0], self.points_ms[-1] - self.points_ms[0]
        middles = (self.points_ms[1:] + self.points_ms[:-1]) / 2.0
        least, most = -STEEPEST, STEEPEST
        for _ in range(HALVINGS):
            density = np.diff(self.shares) * np.exp((least + most) / 2.0 * (middles - low) / width)
            reached = float((middles * density).sum() / density.sum())
            least, most = ((least + most) / 2.0, most) if reached < mean_ms else (least, (least + most) / 2.0)
        shares = np.concatenate(([0.0], np.cumsum(density)))
        return InsideBucket(points_ms=self.points_ms, shares=shares / shares[-1])


def inside_bucket(bucket: Bucket, name: str, ran: Ran | None) -> InsideBucket:
    """The requests of a bucket that ends, by the latency ``name`` of a run."""
    start = max(bucket.low, bucket.high / 1e3)
    points = start * (bucket.high / start) ** (np.arange(PARTS + 1.0) / PARTS)
    points[0], points[-1] = bucket.low, bucket.high
    return InsideBucket(points_ms=points, shares=_shares(bucket, points, name, ran))


def inside_bucket_of(distribution: HistogramQuantiles, bucket: Bucket, name: str, ran: Ran | None) -> InsideBucket:
    """The same of a bucket of a histogram, with the mean that its sum leaves for it; without where that is vaguer than
    the bucket itself, since the others are as wide or as full."""
    by_run, mean_ms = inside_bucket(bucket, name, ran), distribution.mean
    others = [one for one in distribution.buckets if one is not bucket and one.count > 0.0]
    vague = sum(one.count * (one.high - one.low) for one in others) >= bucket.count * (bucket.high - bucket.low)
    return by_run if mean_ms is None or vague else by_run.with_mean(mean_left(distribution.buckets, bucket, mean_ms))


def _shares(bucket: Bucket, points: Floats, name: str, ran: Ran | None) -> Floats:
    if ran is not None:
        within = np.array([ran.share_within(name, float(point)) for point in points])
        if within[-1] - within[0] >= LEAST_IN_BUCKET:
            return np.asarray(np.clip((within - within[0]) / (within[-1] - within[0]), 0.0, 1.0))
    if bucket.low <= 0.0:
        return np.asarray(points / bucket.high)
    return np.asarray(np.log(points / bucket.low) / math.log(bucket.high / bucket.low))
