"""What a request takes before the engine has it delays its own first token, and nothing else."""

import numpy as np
import pytest

from sizing.simulator.drive import drive
from sizing.simulator.fleet import Disaggregated, Fleet, Replica
from sizing.simulator.layout import E2E, ITL, QUEUE, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import sampled_mean
from tests.sizing.simulator.building import columns, grid

REQUESTS = 4_000
CHUNK = columns(np.cumsum(np.random.default_rng(3).exponential(0.05, REQUESTS)), 1_000.0, 20.0, cached=600.0)


def replica(request_s: float = 0.0, prompt_token_s: float = 0.0) -> Replica:
    return Replica(
        grid=grid(row_s=1e-5), max_sequences=64, token_budget=8192.0, request_s=request_s, prompt_token_s=prompt_token_s
    )


def measured(deployment: Fleet | Disaggregated) -> SimulationCounts:
    horizon = float(CHUNK[0, -1])
    return drive(deployment, [CHUNK], MeasuredSpan(expected=REQUESTS, horizon_s=horizon))


def pools(one: Replica) -> Disaggregated:
    return Disaggregated(prefill=Fleet(replicas=(one,)), decode=Fleet(replicas=(one,)))


@pytest.mark.parametrize("deployed", [lambda one: Fleet(replicas=(one,)), pools], ids=["one pool", "two pools"])
def test_the_front_end_is_added_to_first_token_and_end_to_end(deployed) -> None:
    """20 ms, and 10 us for each of the 400 tokens that are not cached: 24 ms."""
    plain, delayed = measured(deployed(replica())), measured(deployed(replica(0.020, 1e-5)))
    for metric, more in ((TTFT, 0.024), (E2E, 0.024), (ITL, 0.0), (QUEUE, 0.0)):
        difference = sampled_mean(delayed, metric).value - sampled_mean(plain, metric).value
        assert difference == pytest.approx(more, abs=1e-9)
    assert delayed.finished == plain.finished


def test_the_replicas_of_a_fleet_have_one_front_end() -> None:
    with pytest.raises(ValueError, match="one front end"):
        Fleet(replicas=(replica(0.01), replica(0.02)))
