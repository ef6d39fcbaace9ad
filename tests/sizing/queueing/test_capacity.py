"""Capacity within limits, by hand on small grids."""

import numpy as np
import pytest

from sizing.base.result import LoadPoint
from sizing.question.limits import LatencyLimits
from sizing.queueing.capacity import Bound, Percentiles, at_rate, capacity, rate_at_limit
from sizing.queueing.knee import knee
from sizing.queueing.steady_state import SteadyState
from sizing.scenario.schema import Limits

RATES = np.array([[1.0, 2.0, 4.0]])


def limits(ttft=np.inf, itl=np.inf, e2e=np.inf):
    return LatencyLimits(ttft_s=ttft, itl_s=itl, e2e_s=e2e, percentile=95)


def held(asked, utilization=1.0, ttft=(0.1, 0.2, 0.4), itl=(0.01, 0.02, 0.03), e2e=(1.0, 2.0, 5.0)):
    nothing = {n: RATES for n in SteadyState.__dataclass_fields__ if n != "rps"}
    state = SteadyState(rps=RATES, **nothing)
    latencies = Percentiles(ttft_s=np.array([ttft]), itl_s=np.array([itl]), e2e_s=np.array([e2e]))
    return capacity(state, latencies, asked, utilization)


@pytest.mark.parametrize(
    ("limit", "rate"), [(0.05, 0.0), (0.1, 1.0), (0.15, 1.5), (0.2, 2.0), (0.3, 3.0), (0.4, np.inf), (np.inf, np.inf)]
)
def test_rate_at_a_limit_is_interpolated(limit, rate):
    assert rate_at_limit(RATES, np.array([[0.1, 0.2, 0.4]]), limit)[0] == pytest.approx(rate)


def test_every_row_has_its_own_limit():
    """At half of the way, never, always, of a latency that is not known, and none at all."""
    rates = np.repeat([[1.0, 2.0, 4.0]], 4, axis=0)
    values = np.array([[0.1, 0.2, 0.4]] * 3 + [[np.nan] * 3])
    found = rate_at_limit(rates, values, np.array([0.3, np.inf, 0.05, 0.3]))
    assert found.tolist() == [pytest.approx(3.0), np.inf, 0.0, 0.0]
    assert rate_at_limit(rates[:0], values[:0], 0.3).shape == (0,)


def test_without_limits_the_stability_limit_binds():
    found = held(limits())
    assert found.rps[0] == 4.0
    assert found.bound[0] == Bound.SATURATION


@pytest.mark.parametrize(
    ("asked", "rate", "bound"),
    [(limits(ttft=0.3), 3.0, Bound.TTFT), (limits(itl=0.015), 1.5, Bound.ITL), (limits(e2e=2.0), 2.0, Bound.E2E)],
)
def test_the_tightest_limit_binds(asked, rate, bound):
    found = held(asked)
    assert found.rps[0] == pytest.approx(rate)
    assert found.bound[0] == bound
    assert found.excess[0] < 1


def test_a_limit_below_the_idle_latency_leaves_no_capacity():
    found = held(limits(ttft=0.05))
    assert found.rps[0] == 0
    assert found.excess[0] == pytest.approx(2.0)


def test_the_utilisation_cap_counts_from_the_stability_limit():
    found = held(limits(), utilization=0.6)
    assert found.rps[0] == pytest.approx(2.4)
    assert found.stable_rps[0] == 4.0
    assert found.bound[0] == Bound.UTILIZATION


@pytest.mark.parametrize(
    ("mode", "applied"),
    [("streaming", (1.0, 0.02, 3.0)), ("sequential", (np.inf, np.inf, 3.0)), ("offline", (np.inf, np.inf, np.inf))],
)
def test_limits_that_apply_depend_on_the_mode(mode, applied):
    asked = LatencyLimits.of(Limits(ttft_ms=1000, itl_ms=20, e2e_ms=3000), mode)
    assert (asked.ttft_s, asked.itl_s, asked.e2e_s) == applied


def test_position_at_a_rate_is_between_its_neighbours():
    where = at_rate(RATES, np.array([3.0]))
    assert where.of(np.array([[10.0, 20.0, 40.0]]))[0] == pytest.approx(30.0)


@pytest.mark.parametrize(("rate", "value"), [(0.01, 10.0), (99.0, 40.0)])
def test_position_outside_the_grid_is_its_end(rate, value):
    assert at_rate(RATES, np.array([rate])).of(np.array([[10.0, 20.0, 40.0]]))[0] == pytest.approx(value)


def point(rps: float, e2e_ms: float) -> LoadPoint:
    return LoadPoint(rps=rps, concurrency=1, ttft_ms=1, itl_ms=1, e2e_ms=e2e_ms, output_tokens_per_s_per_gpu=1)


def test_the_knee_of_a_single_server_queue_is_at_half_load() -> None:
    # M/M/1: time in system 1 / (mu - lambda), power lambda (mu - lambda), largest at lambda = mu / 2 (Kleinrock 1979).
    found = knee([point(i / 100, 1 / (1 - i / 100)) for i in range(1, 100)])
    assert found.rps == pytest.approx(0.5)


def test_a_curve_that_does_not_bend_has_no_knee() -> None:
    assert knee([point(i, 100) for i in range(1, 10)]) is None


@pytest.mark.parametrize("points", [[], [point(1, 1)], [point(1, 1), point(2, float("inf"))]])
def test_too_few_points_have_no_knee(points: list[LoadPoint]) -> None:
    assert knee(points) is None
