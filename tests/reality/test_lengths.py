"""Lengths from a histogram keep every bucket's share and the mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles
from reality.lengths import fits_planned, from_histogram, from_plan, shared_prefix
from sizing.question.length_distributions import FixedLength, GroupedLength, LognormalLength
from tests.reality.truths import TOKEN_EDGES, in_buckets


@given(st.floats(1.5, 9.0), st.floats(0.1, 1.3), st.integers(0, 1000))
def test_mean_and_shares_are_those_of_the_histogram(location: float, sigma: float, seed: int) -> None:
    sample = np.clip(np.rint(np.exp(location + sigma * np.random.default_rng(seed).standard_normal(5000))), 1, 200_000)
    found = in_buckets(sample, np.ones(5000), TOKEN_EDGES)
    lengths = from_histogram(found)
    assert lengths.mean() == pytest.approx(sample.mean(), rel=0.02)
    assert np.all(lengths >= 1)
    for edge in TOKEN_EDGES[3:]:
        assert np.mean(lengths <= edge) == pytest.approx(np.mean(sample <= edge), abs=0.01), (
            "lengths at an edge count on either side"
        )


def test_an_open_last_bucket_reaches_as_far_as_the_mean_says() -> None:
    buckets = (Bucket(low=100.0, high=200.0, count=50.0), Bucket(low=200.0, high=float("inf"), count=50.0))
    lengths = from_histogram(HistogramQuantiles(mean=1000.0, count=100.0, buckets=buckets))
    assert lengths.mean() == pytest.approx(1000.0)
    assert np.mean(lengths <= 200.0) == pytest.approx(0.5)


@given(st.floats(0.0, 1.0), st.integers(0, 1000))
def test_a_shared_prefix_gives_the_hit_rate(hits: float, seed: int) -> None:
    prompt = np.rint(np.exp(6.0 + np.random.default_rng(seed).standard_normal(2000))) + 1.0
    cached = shared_prefix(prompt, hits)
    assert np.all((cached >= 0) & (cached <= prompt - 1))
    reachable = min(hits, (prompt - 1).mean() / prompt.mean())
    assert cached.mean() / prompt.mean() == pytest.approx(reachable, abs=1e-6)
    assert len(np.unique(cached[cached < prompt - 1])) <= 1, "one part for all that reach beyond it"


def test_without_buckets_there_is_no_histogram() -> None:
    assert from_histogram(HistogramQuantiles(mean=100.0, count=5.0)) is None


def test_shape_of_the_plan_at_the_measured_mean() -> None:
    spread = from_plan(LognormalLength(p50=1000, p95=3000), 2000.0)
    assert spread.mean() == pytest.approx(2000)
    assert np.quantile(spread, 0.95) / np.quantile(spread, 0.5) == pytest.approx(3.0, rel=0.01)
    assert set(from_plan(FixedLength(tokens=700.0), None)) == {700.0}
    assert from_plan(GroupedLength(groups=(100.0, 300.0)), 400.0).tolist() == [200.0] * 2048 + [600.0] * 2048


def test_a_planned_shape_that_coarse_buckets_bear_out_keeps_the_tail() -> None:
    """What vLLM's buckets (1, 2, 5, 10, ...) leave open fattens the work of the longest; the plan's shape does not."""
    planned = LognormalLength(p50=900.0, p95=2500.0)
    sample = np.rint(planned.at(np.random.default_rng(1).uniform(size=20_000)))
    found = in_buckets(sample, np.ones(len(sample)), TOKEN_EDGES)
    shaped = from_plan(planned, float(sample.mean()))
    assert fits_planned(found, shaped)
    spread = [float(np.mean(lengths**2)) / float(np.mean(sample**2)) for lengths in (shaped, from_histogram(found))]
    assert spread[0] == pytest.approx(1.0, abs=0.03)
    assert spread[1] > 1.04
    other = from_plan(LognormalLength(p50=400.0, p95=4000.0), float(sample.mean()))
    assert not fits_planned(found, other)
