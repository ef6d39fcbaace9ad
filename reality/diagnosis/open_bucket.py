"""What is known of requests in the last bucket of a histogram, which has no upper end: where it begins, and how far
beyond they lie in the mean, as the sum of a histogram counts all requests exactly.
"""

import math
from collections.abc import Sequence

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from reality.diagnosis.worlds import Ran
from sizing.base.format import ms

LEAST_IN_BUCKET = 0.002
"""Share of the requests of a run that must lie in a bucket before its shape inside is taken from the run."""


def open_bucket(buckets: Sequence[Bucket]) -> Bucket | None:
    """The bucket without an upper end; None where nothing lies in it, or where it is the only one."""
    last = max(buckets, key=lambda one: one.high, default=None)
    return last if last is not None and math.isinf(last.high) and last.low > 0.0 and last.count > 0.0 else None


def beyond_ms(distribution: HistogramQuantiles, share: float, name: str, ran: Ran | None) -> float | None:
    """A percentile that lies in the open bucket, None where it does not: as far beyond its edge as the mean says, with
    the shape of a run's requests there; without a run, exponentially."""
    last, total = open_bucket(distribution.buckets), sum(one.count for one in distribution.buckets)
    if last is None or (1.0 - share) * total > last.count:
        return None
    mean = distribution.mean
    excess = None if mean is None else max(mean_left(distribution.buckets, last, mean) - last.low, 0.0)
    farther = max((1.0 - share) * total / last.count, 1e-6)  # share of its requests that are beyond the percentile
    run_share = 0.0 if ran is None else 1.0 - ran.share_within(name, last.low)
    if ran is not None and run_share >= LEAST_IN_BUCKET and (run_excess := ran.mean_excess_ms(name, last.low)) > 0.0:
        at = ran.percentile_ms(name, (1.0 - run_share * farther) * 100.0) - last.low
        return last.low + max(at, 0.0) * (1.0 if excess is None else excess / run_excess)
    return last.low + (0.0 if excess is None else -excess * math.log(farther))


def share_inside(last: Bucket, limit_ms: float, name: str, ran: Ran | None) -> float:
    """Share of the requests of an open bucket that keep a limit beyond its edge, by a run; half without one."""
    if ran is None:
        return 0.5
    low = ran.share_within(name, last.low)
    if 1.0 - low < LEAST_IN_BUCKET:
        return 0.5
    return min(max((ran.share_within(name, limit_ms) - low) / (1.0 - low), 0.0), 1.0)


def in_words(last: Bucket) -> str:
    """Why a percentile there is an estimate."""
    return f"beyond {ms(last.low)}, where the last bucket of the histogram begins: estimated from the mean"


def mean_left(buckets: Sequence[Bucket], one: Bucket, mean_ms: float) -> float:
    """The mean of the requests of one bucket: what the others, in their middles, leave of the sum of all."""
    others = [other for other in buckets if other is not one and other.count > 0.0]
    total = one.count + sum(other.count for other in others)
    return (mean_ms * total - sum(other.count * (other.low + other.high) / 2.0 for other in others)) / one.count
