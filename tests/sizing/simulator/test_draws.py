"""Gaps and lengths that are kept are those that would be drawn again."""

import numpy as np
import pytest

from sizing.question.length_distributions import LognormalLength
from sizing.simulator.arrivals import Arrivals, Bursts, _kept
from sizing.simulator.request_lengths import DrawnLengths, ObservedLengths

BURSTS = Bursts(on_s=5.0, off_s=9.0)
LENGTHS = DrawnLengths(prompt=LognormalLength(p50=900, p95=3000), output=LognormalLength(p50=90, p95=300), groups=5)


def stream(arrivals, lengths=LENGTHS, seed=3):
    return np.hstack(list(arrivals.stream(lengths, 4_000.0 / arrivals.rate_rps, seed, chunk=1_500)))


@pytest.fixture(autouse=True)
def nothing_kept():
    _kept.cache_clear()


@pytest.mark.parametrize(
    "arrivals", [Arrivals(rate_rps=7.0), Arrivals(rate_rps=7.0, cv=2.0), Arrivals(rate_rps=7.0, bursts=BURSTS)]
)
def test_kept_requests_are_the_same_at_every_rate(arrivals):
    first = stream(arrivals)
    stream(Arrivals(rate_rps=11.0, cv=arrivals.cv))
    assert _kept.cache_info().hits
    np.testing.assert_array_equal(stream(arrivals), first)


def test_other_seeds_and_lengths_are_other_requests():
    first = stream(Arrivals(rate_rps=7.0))
    assert not np.array_equal(stream(Arrivals(rate_rps=7.0), seed=4)[:, :3_000], first[:, :3_000])
    longer = DrawnLengths(prompt=LognormalLength(p50=950, p95=3000), output=LENGTHS.output)
    assert not np.array_equal(stream(Arrivals(rate_rps=7.0), longer)[2, :3_000], first[2, :3_000])


def test_what_a_reader_changes_is_not_kept():
    first = stream(Arrivals(rate_rps=7.0))
    for chunk in Arrivals(rate_rps=7.0).stream(LENGTHS, 4_000.0 / 7.0, 3, chunk=1_500):
        chunk[:] = 0.0
    np.testing.assert_array_equal(stream(Arrivals(rate_rps=7.0)), first)


def test_traces_and_long_runs_are_not_kept():
    stream(Arrivals(rate_rps=7.0), ObservedLengths(np.array([[10.0, 500.0], [1.0, 2.0], [0.0, 50.0]])))
    list(Arrivals(rate_rps=100.0).stream(LENGTHS, 700.0, 3))
    assert not _kept.cache_info().currsize
