"""The step-time grid of a real configuration against the roofline it was built from."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import resolve_gpu
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.speculation import Speculation
from sizing.question.traffic import Traffic
from sizing.simulator.fleet import Replica
from sizing.simulator.step_grid import roofline_grid
from sizing.steps.roofline import roofline
from tests.sizing.asking import model_named
from tests.sizing.simulator.building import columns, grid, simulate_all

DRAFTS = Speculation(draft_tokens=3, acceptance=0.7)
MODELS = ("meta-llama/Meta-Llama-3-8B-Instruct", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-R1")


def configuration(tp: int = 1, pp: int = 1, dp: int = 1) -> Configuration:
    return Configuration(
        gpu=resolve_gpu("h100_sxm"),
        engine=engines()["vllm"],
        precision=precisions()["fp8"],
        kv_precision="fp16",
        tp=tp,
        pp=pp,
        ep=dp,
        dp=dp,
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("parallelism", [{"tp": 1}, {"tp": 4}, {"tp": 2, "pp": 2}, {"dp": 4}])
def test_decode_steps_are_those_of_the_roofline(name: str, parallelism: dict[str, int]) -> None:
    model, row = model_named(name), configuration(**parallelism)
    grid = roofline_grid(model, row, 200)
    for context in (100.0, 1500.0, 9000.0):
        traffic = Traffic(input_tokens=context - 50.0, output_tokens=100.0)
        counts = np.array([[1.0, 7.0, 64.0, 200.0]])
        exact = roofline().times(model, table([row]), traffic, counts).decode_s[0]
        found = [np.interp(context, grid.knots, grid.decode_s[int(n)]) for n in counts[0]]
        np.testing.assert_allclose(found, exact, rtol=0.01)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("parallelism", [{"tp": 1}, {"tp": 2, "pp": 2}, {"tp": 1, "dp": 4}])
def test_a_lone_prompt_takes_the_prefill_time_of_the_roofline(name: str, parallelism: dict[str, int]) -> None:
    model, row = model_named(name), configuration(**parallelism)
    replica = Replica(grid=roofline_grid(model, row, 8), max_sequences=8, token_budget=8192.0 * row.pp * row.dp)
    exact = (
        roofline()
        .times(model, table([row]), Traffic(input_tokens=3000, output_tokens=1), np.array([[1.0, 2.0]]))
        .prefill_s[0]
    )
    _, found = simulate_all(replica, columns([0.0], 3000.0, 1.0))
    assert found["first"][0] == pytest.approx(exact, rel=0.02)


def test_grids_are_equal_where_every_duration_is() -> None:
    """So are the replicas that have them: their runs are simulated once."""
    one, same, other = grid(8), grid(8), grid(8, row_s=1e-6)
    assert one is not same
    assert (one, hash(one)) == (same, hash(same))
    assert one not in (other, one.stretched(1.1, 1.1), grid(9), "a grid")
    assert Replica(grid=one, max_sequences=8, token_budget=64.0) == Replica(
        grid=same, max_sequences=8, token_budget=64.0
    )


def test_another_source_moves_the_level_of_the_grid() -> None:
    model, row = model_named(MODELS[0]), configuration()
    concurrency = np.array([[1.0, 16.0, 64.0]])
    reference = roofline().times(model, table([row]), Traffic(input_tokens=1000, output_tokens=100), concurrency)
    grid = roofline_grid(model, row, 64)
    doubled = grid.fitted_to(reference.scaled(np.array([2.0]), np.array([2.0])), reference, concurrency[0])
    np.testing.assert_allclose(doubled.decode_s[1:], 2.0 * grid.decode_s[1:])
    np.testing.assert_allclose(doubled.row_s, 2.0 * grid.row_s)


def test_verifying_drafts_costs_more_than_a_step_and_less_than_as_many_steps() -> None:
    model, row = model_named(MODELS[0]), configuration()
    plain = roofline_grid(model, row, 64).decode_s[1:]
    drafted = roofline_grid(model, replace(row, speculation=DRAFTS), 64).decode_s[1:]
    assert np.all(drafted > plain)
    assert np.all(drafted < 4 * plain)
