"""Work is counted, not timed, and ends where it is bounded."""

import math

import numpy as np
import pytest

from sizing.question.length_distributions import FixedLength
from sizing.simulator import arrivals
from sizing.simulator.arrivals import Arrivals, Bursts
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.request_lengths import DrawnLengths
from sizing.simulator.run_length import run
from sizing.simulator.work import OutOfWork, Work
from tests.sizing.simulator.building import grid

LENGTHS = DrawnLengths(prompt=FixedLength(tokens=500.0), output=FixedLength(tokens=50.0), cached_tokens=0)


def replica():
    """One engine with steps of 10 ms and room for everything."""
    return Replica(grid=grid(), max_sequences=64, token_budget=2048.0, kv_tokens=1e9)


def counted(requests, **bounds):
    return run(Fleet(replicas=(replica(),)), Arrivals(rate_rps=1.0), LENGTHS, requests, 0, **bounds)


def test_twice_the_requests_take_about_twice_the_work():
    few, many = (counted(n).events for n in (2_000, 4_000))
    assert few > 0
    assert many == pytest.approx(2 * few, rel=0.2)


def test_a_run_ends_where_its_work_does_and_says_so():
    whole = counted(2_000)
    part = counted(2_000, most_events=whole.events // 2)
    assert not whole.exhausted
    assert part.exhausted
    assert part.finished < whole.finished
    assert whole.events // 2 <= part.events < whole.events


def test_a_search_ends_with_the_run_that_could_not_end():
    with pytest.raises(OutOfWork):
        Work().spend_on(counted(2_000, most_events=100))
    Work().spend_on(counted(2_000))


def times_of(bursts, rate_rps=1.0, requests=2_000):
    stream = Arrivals(rate_rps=rate_rps, bursts=bursts).stream(LENGTHS, requests / rate_rps, seed=0)
    return np.concatenate([chunk[0] for chunk in stream])


def test_bursts_do_not_depend_on_how_many_periods_are_drawn_at_once(monkeypatch):
    many = times_of(Bursts(on_s=0.1, off_s=0.3))
    monkeypatch.setattr(arrivals, "PERIODS_DRAWN", 7)
    assert times_of(Bursts(on_s=0.1, off_s=0.3)) == pytest.approx(many, rel=1e-9)


def test_bursts_that_many_periods_blur_are_drawn_in_no_time():
    """A millisecond of bursts at one request in a quarter of an hour: a thousand million periods otherwise."""
    times = times_of(Bursts(on_s=0.001, off_s=0.001), rate_rps=0.001)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(1_000, rel=0.1)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.1)
    assert math.isfinite(times[-1])
