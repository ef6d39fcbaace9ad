"""The queues of an instance, held against closed formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sizing.queueing.waiting import gamma_quantile, prompt_queue, slot_queue
from tests.sizing.queueing.test_steady_state import column


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9, 0.99])
def test_prompt_queue_is_m_d_1(load):
    """Pollaczek-Khinchine: wait of mean rho S / (2 (1 - rho)) and variance rho S^2 (4 - rho) / (12 (1 - rho)^2)."""
    service = 0.2
    mean, var = prompt_queue(column(service), column(load), column(load / service), 1.0, 0.0)
    assert mean[0, 0] == pytest.approx(load * service / (2 * (1 - load)))
    assert var[0, 0] == pytest.approx(load * service**2 * (4 - load) / (12 * (1 - load) ** 2))


@pytest.mark.parametrize("cs2", [0.25, 1.0, 4.0])
def test_prompt_queue_is_m_g_1_for_lognormal_prompts(cs2):
    load, service = 0.7, 0.3
    rate = load / service
    mean, var = prompt_queue(column(service), column(load), column(rate), 1.0, cs2)
    sigma2 = math.log(1 + cs2)
    second, third = (service**n * math.exp(n * (n - 1) / 2 * sigma2) for n in (2, 3))
    wait = rate * second / (2 * (1 - load))
    assert mean[0, 0] == pytest.approx(wait)
    assert var[0, 0] == pytest.approx(wait**2 + rate * third / (3 * (1 - load)))


@pytest.mark.parametrize("cv2", [0.0, 0.5, 4.0])
def test_prompt_queue_follows_kingman_for_other_arrivals(cv2):
    mean, _ = prompt_queue(column(0.2), column(0.6), column(3.0), cv2, 0.0)
    assert mean[0, 0] == pytest.approx(0.6 * 0.2 / (2 * 0.4) * cv2)


def erlang_c_wait(servers, used, service):
    """Mean wait of an M/M/c queue."""
    offered = servers * used
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - used)
    return last / (sum(terms) + last) * service / (servers * (1 - used))


def waiting(servers, used):
    """Wait for a slot when ``servers`` of them each serve one request in exponential time, 2 s in the mean."""
    offered = column(servers * used)
    rate, full = column(servers * used / 2.0), column(servers / 2.0)
    return slot_queue(offered, offered, column(float(servers)), rate, full, 1.0, 1.0)


@pytest.mark.parametrize("used", [0.6, 0.9, 0.98])
def test_slot_queue_is_near_m_m_1_for_one_slot(used):
    queue = waiting(1, used)
    mean, var = queue.mean_s, queue.var
    assert mean[0, 0] == pytest.approx(used * 2.0 / (1 - used), rel=0.08)
    given_wait = 2.0 / (1 - used)
    assert var[0, 0] == pytest.approx(2 * used * given_wait**2 - (used * given_wait) ** 2, rel=0.08)


@pytest.mark.parametrize("servers", [2, 8, 32])
@pytest.mark.parametrize("used", [0.8, 0.9, 0.97])
def test_slot_queue_is_near_erlang_c(servers, used):
    mean = waiting(servers, used).mean_s
    assert mean[0, 0] == pytest.approx(erlang_c_wait(servers, used, 2.0), rel=0.07, abs=0.01 * 2.0)


@pytest.mark.parametrize("percentile", [50, 90, 95, 99, 99.9])
@pytest.mark.parametrize("shape", [1.0, 2.0, 5.0, 50.0])
def test_gamma_quantile_is_that_of_scipy(shape, percentile):
    mean = 0.7
    found = gamma_quantile(np.array([mean]), np.array([mean**2 / shape]), percentile)[0]
    assert found == pytest.approx(stats.gamma.ppf(percentile / 100, shape, scale=mean / shape), rel=0.04)


def test_gamma_quantile_of_something_certain_is_its_mean():
    assert gamma_quantile(np.array([0.5]), np.array([0.0]), 99)[0] == pytest.approx(0.5)
    assert gamma_quantile(np.array([0.0]), np.array([0.0]), 99)[0] == 0


@given(mean=st.floats(1e-4, 100), cv=st.floats(0, 5), low=st.floats(50, 99), more=st.floats(0, 0.9))
def test_gamma_quantile_grows_with_the_percentile(mean, cv, low, more):
    variance = np.array([(cv * mean) ** 2])
    assert (
        gamma_quantile(np.array([mean]), variance, low)
        <= gamma_quantile(np.array([mean]), variance, low + more) + 1e-12
    )
