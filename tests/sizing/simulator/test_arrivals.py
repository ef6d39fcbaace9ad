"""Streams of requests: right rates and spreads, the same for the same seed, whatever the rate."""

import numpy as np
import pytest

from sizing.base.arrays import Floats
from sizing.question.length_distributions import FixedLength, GroupedLength, LognormalLength
from sizing.simulator.arrivals import Arrivals, Bursts
from sizing.simulator.request_lengths import DrawnLengths, ObservedLengths

LENGTHS = DrawnLengths(prompt=LognormalLength(p50=1000, p95=4000), output=FixedLength(tokens=200.0), cached_tokens=100)


def drawn(arrivals: Arrivals, duration_s: float, seed: int = 0) -> Floats:
    return np.concatenate(list(arrivals.stream(LENGTHS, duration_s, seed)), axis=1)


@pytest.mark.parametrize("cv", [0.0, 0.5, 1.0, 3.0])
def test_gaps_have_the_asked_mean_and_spread(cv: float) -> None:
    time = drawn(Arrivals(rate_rps=50.0, cv=cv), 4000.0)[0]
    gaps = np.diff(time)
    assert len(time) == pytest.approx(200_000, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, abs=0.05 * max(cv, 0.1))


def test_the_profile_shapes_the_day_and_peaks_at_the_rate() -> None:
    profile = tuple(float(h) for h in range(24))
    arrivals = Arrivals(rate_rps=20.0, profile=profile)
    time = drawn(arrivals, 2 * 86_400.0)[0]
    assert len(time) == pytest.approx(arrivals.expected(2 * 86_400.0), rel=0.01)
    hourly = np.histogram(time, bins=48, range=(0, 2 * 86_400.0))[0] / 3600.0
    np.testing.assert_allclose(hourly, np.tile(np.array(profile) / 23.0 * 20.0, 2), rtol=0.05, atol=0.02)


def test_bursts_keep_the_mean_and_raise_the_variance() -> None:
    bursty = drawn(Arrivals(rate_rps=20.0, bursts=Bursts(on_s=10.0, off_s=30.0, share_on=0.9)), 40_000.0)[0]
    assert len(bursty) == pytest.approx(800_000, rel=0.08)
    counts = np.histogram(bursty, bins=4_000)[0]
    assert counts.var() > 5 * counts.mean()


def test_the_same_seed_gives_the_same_requests_at_any_rate() -> None:
    one, other = drawn(Arrivals(rate_rps=10.0), 3_000.0, seed=7), drawn(Arrivals(rate_rps=20.0), 1_500.0, seed=7)
    np.testing.assert_allclose(one[0], 2.0 * other[0])
    np.testing.assert_array_equal(one[2:6], other[2:6])
    short = drawn(Arrivals(rate_rps=10.0), 300.0, seed=7)
    assert short.tobytes() == drawn(Arrivals(rate_rps=10.0), 300.0, seed=7).tobytes()
    assert not np.array_equal(drawn(Arrivals(rate_rps=10.0), 300.0, seed=8)[0][:100], one[0][:100])


def test_lognormal_lengths_hit_their_percentiles() -> None:
    prompt = drawn(Arrivals(rate_rps=100.0), 2_000.0)[2]
    assert np.quantile(prompt, [0.5, 0.95]) == pytest.approx([1000, 4000], rel=0.02)
    assert prompt.min() >= 1


def test_the_cache_never_holds_a_whole_prompt() -> None:
    chunk = drawn(Arrivals(rate_rps=100.0), 2_000.0)
    assert np.all(chunk[4] <= chunk[2] - 1)
    assert np.all(chunk[4] <= 100)


def test_observed_lengths_keep_prompt_and_output_together() -> None:
    rows = np.array([[10.0, 500.0], [1.0, 2.0], [0.0, 50.0]])
    sample = ObservedLengths(rows).sample((np.random.default_rng(0),), 1000)
    assert {tuple(c) for c in sample[:3].T} == {(10.0, 1.0, 0.0), (500.0, 2.0, 50.0)}


@pytest.mark.parametrize(
    "arrivals",
    [
        Arrivals(rate_rps=7.0),
        Arrivals(rate_rps=7.0, cv=2.0),
        Arrivals(rate_rps=7.0, bursts=Bursts(on_s=5.0, off_s=9.0)),
    ],
)
def test_the_size_of_the_chunks_does_not_change_the_requests(arrivals: Arrivals) -> None:
    lengths = DrawnLengths(
        prompt=LognormalLength(p50=900, p95=3000), output=GroupedLength(groups=(10.0, 200.0, 700.0)), groups=5
    )
    whole = np.hstack(list(arrivals.stream(lengths, 600.0, 3)))
    parts = np.hstack(list(arrivals.stream(lengths, 600.0, 3, chunk=500)))
    assert whole.shape == parts.shape
    np.testing.assert_allclose(whole, parts, rtol=1e-12)
