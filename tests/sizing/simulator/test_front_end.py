"""What a request takes before the engine has it delays its own first token, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Disaggregated, Fleet, Replica
from sizing.simulator.layout import E2E, ITL, QUEUE, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import sampled_mean
from sizing.steps.roofline import roofline
from tests.sizing.simulator.building import columns, grid, simulate_all

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


def test_steps_planned_ahead_delay_what_comes_while_others_run() -> None:
    """Steps of 10 ms. A request at 105 ms shares the step from 110 to 120 ms; 1.5 steps more are 15 ms, for its last
    token as for its first. One that comes to an idle engine waits for nobody."""
    chunk = columns([0.0, 0.105], [100.0, 100.0], [50.0, 5.0])
    plain, ahead = (
        simulate_all(Replica(grid=grid(), max_sequences=64, token_budget=8192.0, first_token_steps=steps), chunk)[1]
        for steps in (0.0, 1.5)
    )
    assert plain["first"][1] == pytest.approx(0.120)
    assert ahead["first"] - plain["first"] == pytest.approx([0.0, 0.015])
    assert ahead["finished"] - plain["finished"] == pytest.approx([0.0, 0.015])


@pytest.mark.parametrize(
    ("engine", "model", "year", "ahead"),
    [
        ("vllm", "meta-llama/Llama-3.1-8B-Instruct", 2025.8, False),
        ("vllm", "meta-llama/Llama-3.1-8B-Instruct", 2026.1, True),
        ("vllm", "openai/gpt-oss-120b", 2025.8, True),  # its recipe sets --async-scheduling
        ("sglang", "meta-llama/Llama-3.1-8B-Instruct", 2025.1, True),
        ("sglang", "openai/gpt-oss-120b", 2024.5, False),
        ("trtllm", "meta-llama/Llama-3.1-8B-Instruct", 2024.6, False),
        ("llamacpp", "meta-llama/Llama-3.1-8B-Instruct", 2026.9, False),
    ],
)
def test_a_first_token_waits_for_others_where_the_engine_of_that_time_plans_ahead(engine, model, year, ahead) -> None:
    source = replace(roofline(), software_year=year)
    steps = source.first_token_steps(resolve_engine(engine), resolve_model(model).model)
    assert steps == (source.fit.common.first_token_steps if ahead else 0.0)
    assert source.fit.common.first_token_steps > 0.5
