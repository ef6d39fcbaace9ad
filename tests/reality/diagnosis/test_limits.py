"""Limits against histograms whose truth is known: verdict, interval, attainment, since when, burn rates."""

import numpy as np
import pytest

from collectors.questions.over_limits import OverLimit
from reality.diagnosis.limits import Asked, broken_since, burn_rates, limit_row, percentile_ms, worst
from tests.reality.truths import NOW, in_buckets, observation

EDGES = [10.0, 25.0, 50.0, 75.0, 100.0, 150.0]


def row(values, limit_ms=50.0, percentile=95.0, over=None):
    values = np.asarray(values, dtype=float)
    seen = observation({"arrivals_rps": 10.0}, {"tpot_ms": in_buckets(values, np.ones(len(values)), EDGES)})
    return limit_row(Asked(key="itl_ms", quantity="tpot_ms", limit_ms=limit_ms), percentile, seen, over, None, "")


def test_attainment_is_exact_where_the_limit_ends_a_bucket():
    given = row([40.0] * 960 + [60.0] * 40)
    assert (given.verdict, given.attainment) == ("met", pytest.approx(0.96))
    assert given.low <= 40.0 <= given.high
    broken = row([40.0] * 930 + [60.0] * 70)
    assert (broken.verdict, broken.attainment) == ("broken", pytest.approx(0.93))
    assert broken.measured > 50.0


def test_chance_decides_nothing():
    given = row([40.0] * 95 + [60.0] * 5)
    assert given.verdict == "unclear"
    assert "longer window" in given.reason


def test_a_few_requests_decide_nothing_and_say_so():
    given = row([40.0, 40.0, 60.0])
    assert (given.verdict, given.attainment) == ("unclear", None)
    assert given.reason == "only 3 requests in the window, at least 100 are needed"


def test_without_a_histogram_it_is_unclear():
    given = row([])
    assert (given.verdict, given.measured) == ("unclear", None)
    assert "no histogram of TPOT" in given.reason


def test_a_percentile_lies_within_its_bucket():
    values = np.random.default_rng(1).lognormal(np.log(30.0), 0.4, 20_000)
    distribution = in_buckets(values, np.ones(len(values)), EDGES)
    found = percentile_ms(distribution, 0.95, "tpot_ms", None)
    assert found == pytest.approx(np.percentile(values, 95), rel=0.1)


def test_a_percentile_beyond_the_last_bucket_comes_from_the_mean():
    values = np.concatenate([np.full(600, 40.0), 150.0 + np.random.default_rng(2).exponential(4_000.0, 1_400)])
    given = row(values)
    assert given.verdict == "broken"
    assert given.measured == pytest.approx(np.percentile(values, 95), rel=0.15)
    assert (given.low, given.high) == (150.0, None)
    assert "beyond 150 ms" in given.reason
    every = row(values[600:])  # all of them: the lower end of the bucket is known
    assert every.measured == pytest.approx(np.percentile(values[600:], 95), rel=0.15)


def test_a_limit_beyond_the_last_bucket_is_unclear_unless_so_many_are_within():
    values = np.concatenate([np.full(900, 40.0), np.full(100, 400.0)])
    assert row(values, limit_ms=300.0).verdict == "unclear"
    assert "begins at 150 ms" in row(values, limit_ms=300.0).reason
    assert row(np.concatenate([values, np.full(4_000, 40.0)]), limit_ms=300.0).verdict == "met"


def over(shares, step_s=300.0):
    times = tuple(NOW - step_s * (len(shares) - 1 - i) for i in range(len(shares)))
    return OverLimit(
        low_ms=25.0,
        edge_ms=50.0,
        times_s=times,
        shares=tuple(shares),
        inside=(0.0,) * len(shares),
        requests=(1000.0,) * len(shares),
        step_s=step_s,
        by_window={"1h": (0.8, 5000.0), "5m": (0.9, 500.0), "6h": (0.1, 9e4), "30m": (0.9, 900.0), "3d": (0.06, 9e5)},
    )


def test_since_when_it_is_broken():
    calm, bad = 0.01, 0.2
    given = row([40.0] * 900 + [60.0] * 100, over=over([bad] * 2 + [calm] * 6 + [bad] * 3 + [calm] + [bad] * 4))
    assert given.verdict == "broken"
    # Eight steps of five minutes before now: a single calm step does not end it, six did.
    assert given.broken_since == "2027-01-15T07:20Z"
    assert given.budget_left == pytest.approx(1.0 - 0.06 / 0.05)


def test_burn_rates_are_those_of_the_exported_alerts():
    rates = {(one.long, one.short): one for one in burn_rates(over([0.2]), 0.05)}
    assert rates["1h", "5m"].over_long == pytest.approx(16.0)
    assert rates["1h", "5m"].alerts
    assert not rates["6h", "30m"].alerts
    assert rates["3d", "6h"].over_short == pytest.approx(2.0)


def test_nothing_was_ever_broken():
    assert broken_since((), 0.05) is None


def test_the_worst_limit_is_the_broken_one():
    kept = row([40.0] * 1000, limit_ms=50.0)
    broken = row([60.0] * 1000, limit_ms=50.0)
    assert worst([kept, broken]) is broken
