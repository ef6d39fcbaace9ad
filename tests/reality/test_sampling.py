"""Uncertainty of measured values: worked examples, and against drawn samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles, Quantile
from reality.sampling import FEWEST_REQUESTS, around, mean_of, quantile_of, rate_of, variation
from tests.reality.truths import in_buckets


def test_a_rate_of_900_requests_is_known_to_4_percent() -> None:
    # 10/s over 105 s, one scrape of 15 s extrapolated: n = 900, 1.2816 / sqrt(900) = 4.27 %
    found = rate_of(10.0, 105.0, 15.0)
    assert found.count == 900
    assert (found.interval.low, found.interval.high) == (
        pytest.approx(9.5728, abs=1e-4),
        pytest.approx(10.4272, abs=1e-4),
    )


def test_the_largest_of_many_gives_back_what_chance_lifted() -> None:
    # n = 900, 15 looked at: sqrt(2 ln 15) = 2.327; low = 10 (1 - (1.2816 + 2.327) / 30)
    found = rate_of(10.0, 105.0, 15.0, looked_at=15)
    assert found.interval.low == pytest.approx(10 * (1 - (1.28155 + math.sqrt(2 * math.log(15))) / 30), abs=1e-3)
    assert found.interval.high == pytest.approx(10.4272, abs=1e-4)


def test_variation_of_one_bucket_is_that_of_even_values() -> None:
    # even on 0..2: mean 1, variance 1/3
    assert variation([Bucket(low=0.0, high=2.0, count=5.0)]) == pytest.approx(1 / 3)
    assert variation([]) is None


def test_a_mean_needs_requests() -> None:
    few = mean_of(HistogramQuantiles(mean=100.0, count=FEWEST_REQUESTS - 1.0))
    assert "only 29 requests" in few.weak
    assert (few.interval.low, few.interval.high) == (None, None)
    enough = mean_of(HistogramQuantiles(mean=100.0, count=400.0))  # no histogram: cv 1, +- 1.2816 / 20
    assert enough.weak == ""
    assert enough.interval.low == pytest.approx(93.592, abs=1e-3)


def test_gaps_of_one_request_count_once() -> None:
    alike = mean_of(HistogramQuantiles(mean=20.0, count=1e6), 400.0)
    assert alike.count == 400
    assert alike.interval.high == pytest.approx(20 * 1.064078, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "count", "judged"),
    [
        ("p95", 99, False),
        ("p95", 100, True),
        ("p99", 499, False),
        ("p99", 500, True),
        ("p50", 29, False),
        ("p50", 30, True),
    ],
)
def test_a_quantile_needs_requests_beyond_it(name: str, count: float, judged: bool) -> None:
    found = HistogramQuantiles(count=count, quantiles={name: Quantile(value=10.0, low=10.0, high=10.0)})
    assert (quantile_of(found, name).weak == "") is judged


def test_a_quantile_near_an_edge_may_be_in_the_next_bucket() -> None:
    buckets = tuple(Bucket(low=a, high=b, count=c) for a, b, c in ((0, 10, 94.9), (10, 25, 5), (25, math.inf, 0.1)))
    found = HistogramQuantiles(
        quantiles={"p95": Quantile(value=10.3, low=10.0, high=25.0)}, count=100.0, buckets=buckets
    )
    assert quantile_of(found, "p95").interval.low == 0.0, "p95 - 2.8 points lies in the first bucket"
    many = found.model_copy(update={"count": 1e8})
    assert quantile_of(many, "p95").interval.low == 10.0


def test_an_open_last_bucket_has_no_upper_end() -> None:
    buckets = (Bucket(low=0.0, high=10.0, count=500.0), Bucket(low=10.0, high=math.inf, count=500.0))
    found = HistogramQuantiles(quantiles={"p99": Quantile(value=10.0, low=10.0)}, count=1000.0, buckets=buckets)
    assert quantile_of(found, "p99").interval.high is None


@given(st.floats(0.2, 1.2), st.integers(200, 3000), st.integers(0, 2**32 - 1))
def test_intervals_of_lognormal_samples_hold_the_truth_as_often_as_they_say(
    sigma: float, count: int, seed: int
) -> None:
    """80 % intervals of the mean and of p50, over 100 samples: the share that holds the truth is 80 % or more."""
    rng = np.random.default_rng(seed)
    edges = [50.0, 100.0, 150.0, 250.0, 400.0, 700.0, 1500.0, 4000.0]
    truth = {"mean": 200 * math.exp(sigma**2 / 2), "p50": 200.0}
    held = dict.fromkeys(truth, 0)
    for _ in range(100):
        sample = 200.0 * np.exp(sigma * rng.standard_normal(count))
        found = in_buckets(sample, np.ones(count), edges)
        for name, one in (("mean", mean_of(found)), ("p50", quantile_of(found, "p50"))):
            low, high = one.interval.low, one.interval.high
            assert low is not None
            held[name] += low <= truth[name] <= (math.inf if high is None else high)
    assert held["mean"] >= 62, "80 of 100 are expected; below 62 once in 100,000 times"
    assert held["p50"] >= 62


@given(st.floats(1e-3, 1e6), st.floats(30, 1e9), st.floats(0, 100))
def test_an_interval_holds_its_value(value: float, count: float, spread: float) -> None:
    found = around(value, count, spread).interval
    assert found.high is not None
    assert 0 <= found.low <= value <= found.high
