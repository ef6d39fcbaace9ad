"""Where requests lie within one wide bucket of a histogram, by what its sum says."""

import numpy as np
import pytest

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from reality.diagnosis.inside_bucket import inside_bucket, inside_bucket_of
from reality.diagnosis.open_bucket import mean_left
from sizing.base.arrays import Floats

WIDE = Bucket(low=20_000.0, high=40_000.0, count=800.0)
NARROW = Bucket(low=10_000.0, high=20_000.0, count=200.0)


def test_without_a_mean_they_lie_evenly_in_the_logarithm():
    spread = inside_bucket(WIDE, "ttft_ms", None)
    assert spread.share_within(20_000.0 * 2**0.5) == pytest.approx(0.5, abs=1e-3)
    assert spread.percentile_ms(0.5) == pytest.approx(20_000.0 * 2**0.5, rel=1e-3)


def test_the_sum_of_a_histogram_tells_the_mean_of_its_widest_bucket():
    """200 requests at 15 s and 800 at 25 s: 23 s in the mean."""
    assert mean_left((NARROW, WIDE), WIDE, 23_000.0) == pytest.approx(25_000.0)
    alone = {bucket: inside_bucket(bucket, "ttft_ms", None).shares for bucket in (NARROW, WIDE)}
    assert not np.array_equal(of_both(WIDE, 23_000.0), alone[WIDE])
    assert np.array_equal(of_both(NARROW, 23_000.0), alone[NARROW])  # vaguer than the bucket itself
    assert np.array_equal(of_both(WIDE, None), alone[WIDE])


def of_both(bucket: Bucket, mean_ms: float | None) -> Floats:
    distribution = HistogramQuantiles(mean=mean_ms, count=1_000.0, buckets=(NARROW, WIDE))
    return inside_bucket_of(distribution, bucket, "ttft_ms", None).shares


@pytest.mark.parametrize("mean_s", [21.0, 24.3, 30.0, 38.0])
def test_a_percentile_follows_the_mean(mean_s: float):
    """Its requests have the mean that was given; percentiles and shares are each other's inverse."""
    spread = inside_bucket(WIDE, "ttft_ms", None).with_mean(mean_s * 1e3)
    middles = (spread.points_ms[1:] + spread.points_ms[:-1]) / 2.0
    assert float((middles * np.diff(spread.shares)).sum()) == pytest.approx(mean_s * 1e3, rel=1e-3)
    assert spread.percentile_ms(0.0) == 20_000.0 <= spread.percentile_ms(0.5) < spread.percentile_ms(0.95) <= 40_000.0
    assert spread.share_within(spread.percentile_ms(0.87)) == pytest.approx(0.87, abs=1e-6)


def test_a_mean_outside_its_bucket_puts_requests_at_its_end():
    assert inside_bucket(WIDE, "ttft_ms", None).with_mean(45_000.0).percentile_ms(0.5) > 38_000.0
    assert inside_bucket(WIDE, "ttft_ms", None).with_mean(15_000.0).percentile_ms(0.5) < 21_000.0
