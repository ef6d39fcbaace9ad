"""The simulator set up as a textbook queue must give the textbook's answer within Monte-Carlo error."""

import math

import numpy as np
import pytest

from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import E2E, QUEUE
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import Sampled, sampled_mean, sampled_quantile
from tests.sizing.simulator.building import columns, grid

REQUESTS = 240_000
HALF_WIDTHS = 1.8
"""Tolerated distance in half widths of the 95 % interval: 3.5 standard errors, about one false alarm in 2,000."""


def outcome_of(replica: Replica, rate: float, prompt: object, output: object) -> SimulationCounts:
    gaps = np.random.default_rng(1).exponential(1.0 / rate, REQUESTS)
    chunk = columns(np.cumsum(gaps), prompt, output)
    parts = [chunk[:, k : k + 20_000] for k in range(0, REQUESTS, 20_000)]
    measurement = MeasuredSpan(expected=REQUESTS, horizon_s=float(chunk[0, -1]), warm_up=10_000, bins=10)
    return drive(Fleet(replicas=(replica,)), parts, measurement)


def close(sampled: Sampled, exact: float, slack: float = 0.0) -> bool:
    half = (sampled.high - sampled.low) / 2.0
    assert half < 0.2 * exact, "the interval must be narrow enough to say something"
    return abs(sampled.value - exact) <= HALF_WIDTHS * half + slack


def prefill_only(service_s: float) -> tuple[Replica, float]:
    """One sequence at a time, one token each: a single server whose service time is 1 ms per prompt token."""
    steps = grid(1, row_s=1e-3)
    return Replica(grid=steps, max_sequences=1, token_budget=1e9), service_s / 1e-3


@pytest.mark.parametrize("load", [0.3, 0.7, 0.85])
def test_one_server_with_exponential_service_is_mm1(load: float) -> None:
    replica, tokens = prefill_only(0.1)
    prompt = np.random.default_rng(2).exponential(tokens, REQUESTS)
    outcome = outcome_of(replica, load / 0.1, prompt, 1.0)
    sojourn = 0.1 / (1.0 - load)
    assert close(sampled_mean(outcome, E2E), sojourn)
    for percent in (50.0, 95.0, 99.0):  # the sojourn time of M/M/1 is exponential
        assert close(sampled_quantile(outcome, E2E, percent), -sojourn * math.log(1.0 - percent / 100.0))
    assert outcome.column("busy_s").sum() / outcome.horizon_s == pytest.approx(load, rel=0.02)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_one_server_with_constant_service_is_md1(load: float) -> None:
    replica, tokens = prefill_only(0.1)
    outcome = outcome_of(replica, load / 0.1, tokens, 1.0)
    assert close(sampled_mean(outcome, QUEUE), load * 0.1 / (2.0 * (1.0 - load)))  # Pollaczek-Khinchine


@pytest.mark.parametrize(("servers", "load"), [(4, 0.8), (16, 0.9)])
def test_slots_with_constant_steps_are_mmc(servers: int, load: float) -> None:
    step, mean_tokens = 1e-4, 5000.0
    steps = grid(servers, decode=lambda n, c: step, idle_s=step)
    replica = Replica(grid=steps, max_sequences=servers, token_budget=1e9)
    output = np.maximum(np.ceil(np.random.default_rng(3).exponential(mean_tokens, REQUESTS)), 1.0)
    service = step * mean_tokens
    outcome = outcome_of(replica, load * servers / service, 1.0, output)
    wait = erlang_c(servers, load) * service / (servers * (1.0 - load))
    assert close(sampled_mean(outcome, QUEUE), wait, slack=step)
    assert close(sampled_mean(outcome, E2E), wait + service, slack=2 * step)


def erlang_c(servers: int, load: float) -> float:
    """Probability that all servers are busy in M/M/c."""
    offered = servers * load
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) / (1.0 - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("lengths", ["exponential", "constant"])
def test_steps_proportional_to_the_batch_are_processor_sharing(lengths: str) -> None:
    # n sequences share the engine equally; the mean sojourn of M/G/1-PS is S / (1 - load) whatever the distribution.
    token, mean_tokens, load = 1e-4, 1000.0, 0.7
    steps = grid(256, decode=lambda n, c: token * n, row_s=token)
    replica = Replica(grid=steps, max_sequences=256, token_budget=1e9)
    drawn = np.random.default_rng(4).exponential(mean_tokens, REQUESTS)
    output = np.maximum(np.ceil(drawn), 1.0) if lengths == "exponential" else mean_tokens
    outcome = outcome_of(replica, load / (token * mean_tokens), 1.0, output)
    assert close(sampled_mean(outcome, E2E), token * mean_tokens / (1.0 - load), slack=0.002 * token * mean_tokens)
