"""What is known of requests in the last bucket of a histogram, which has no upper end: where it begins, and how far
beyond they lie in the mean, as the sum of a histogram counts all requests exactly.
"""

from __future__ import annotations

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
    excess = _mean_excess(distribution, last, total)
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


def _mean_excess(distribution: HistogramQuantiles, last: Bucket, total: float) -> float | None:
    """How far beyond the edge the requests of the open bucket lie in the mean: what the others leave of the sum."""
    if distribution.mean is None:
        return None
    others = sum(one.count * (one.low + one.high) / 2.0 for one in distribution.buckets if one is not last)
    return max((distribution.mean * total - others) / last.count - last.low, 0.0)
