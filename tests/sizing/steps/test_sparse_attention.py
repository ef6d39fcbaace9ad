"""Layers that attend to a choice of tokens, and layers with recurrent state: what prompts and steps take there."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.base.constants import constant
from sizing.catalog import Model, models
from sizing.question.traffic import Traffic
from sizing.simulator.step_grid import roofline_grid
from sizing.simulator.step_time import pair_time
from sizing.steps.attention import INDEX_RATE, kv_read_bytes, prompt_attention_s
from sizing.steps.hardware import hardware
from sizing.steps.rates import Rates, rates
from sizing.steps.roofline import roofline
from sizing.steps.shape import LATENT_SPARSE_HEADS, shape_of
from tests.sizing.steps.test_roofline import configuration, table

V32, GLM, M3, V4 = "deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5.2", "MiniMaxAI/MiniMax-M3", "deepseek-ai/DeepSeek-V4-Pro"
NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"


def speed_of(tp: int, engine: str = "vllm") -> Rates:
    row = table([configuration(tp, engine=engine)])
    return rates(row, hardware(row), roofline().fit, roofline().software_year)


def attention_s(model: Model, tp: int, new: float, cached: float = 0.0, engine: str = "vllm") -> float:
    return float(prompt_attention_s(shape_of(model), speed_of(tp, engine), new, cached).item())


def test_a_sparse_prompt_by_hand():
    """DeepSeek-V3.2 on 8 GPUs: 61 layers x 2,048 entries x 4 x 576 FLOP for 64 heads, though 16 are a GPU's own, and
    64 index heads of 128 values over the 1,000 tokens that precede one on average."""
    speed, new = speed_of(8), 2000.0
    chosen = 61 * 2048 * 4 * 576 * LATENT_SPARSE_HEADS / speed.sparse_attention
    index = 61 * 1000 * 2 * 64 * 128 / INDEX_RATE
    assert attention_s(models()[V32], 8, new) == pytest.approx(new * (chosen + index) / speed.attention.item())


def test_measured_kernels_are_met():
    """A layer of DeepSeek-V3.2 on the H200, 16 heads, FP8 cache, vLLM 0.24: 10.31 ms for 8,192 tokens, 1.26 us each, of
    which 0.09 are projections (``dsa_context_module`` of aiconfigurator-core 0.12)."""
    per_token = attention_s(models()[V32], 8, 8192.0) / 8192.0 / 61.0
    assert per_token == pytest.approx(1.17e-6, rel=0.15)


@pytest.mark.parametrize(("engine", "grows"), [("vllm", False), ("sglang", True)])
def test_short_prompts_are_cheaper_where_they_are_attended_to_densely(engine, grows):
    """Without the indexer a token takes the same at any length, or in proportion to what precedes it."""
    model = models()[V32]
    assert model.sparse is not None
    model = replace(model, sparse=replace(model.sparse, indexer_heads=0))
    short, long = (attention_s(model, 8, new, engine=engine) / new for new in (512.0, 2048.0))
    assert short / long == pytest.approx(0.25 if grows else 1.0)


def test_prompts_take_no_more_per_token_once_the_choice_is_full():
    """Beyond it only the indexer grows, which a dense layer's attention outgrows."""
    model = models()[V32]
    dense = replace(model, sparse=None)
    sparse = [attention_s(model, 1, new, engine="sglang") for new in (32_000.0, 128_000.0)]
    full = [attention_s(dense, 1, new) for new in (32_000.0, 128_000.0)]
    assert sparse[1] / sparse[0] < 10.0 < 15.8 < full[1] / full[0]
    assert sparse[1] < full[1]


def test_a_step_reads_what_it_attends_to_and_every_key_of_the_indexer():
    """V3.2: 61 x 576 values for at most 2,048 tokens, 61 x 128 for all. V4-Pro: 30 layers of 128 values a token for at
    most 4,096, keys of 32, 31 layers of 4 values for all, and 128 tokens of 512 in every layer."""
    for name, context, values in (
        (V32, 1000.0, 61 * 704 * 1000),
        (V32, 100_000.0, 61 * (576 * 2048 + 128 * 100_000)),
        (M3, 100_000.0, 2 * 4 * 128 * (3 * 100_000 + 57 * 2048) + 57 * 128 * 100_000),
        (V4, 100_000.0, 30 * (128 * 4096 + 32 * 100_000) + 31 * 4 * 100_000 + 61 * 512 * 128),
    ):
        assert float(kv_read_bytes(shape_of(models()[name]), context, np.array([[1.0]])).item()) == pytest.approx(
            values
        )


def test_indexers_shared_by_layers_compute_once():
    """GLM-5.2 has 21 of them for 78 layers; GLM-5 78."""
    shared, own = (shape_of(models()[name]) for name in (GLM, "zai-org/GLM-5"))
    assert own.index_flop / shared.index_flop == pytest.approx(78 / 21)
    assert own.sparse_flop == shared.sparse_flop


def test_a_model_without_sparse_layers_has_nothing_of_them():
    shape = shape_of(models()["deepseek-ai/DeepSeek-R1"])
    assert (shape.sparse_flop, shape.index_flop, shape.kv_sparse) == (0.0, 0.0, 0.0)
    assert shape.full_layers == 61


def test_recurrent_state_is_moved_on_by_every_prompt_token():
    """Qwen3-Next: 36 layers of 32 heads of 128 x 128 values, 6 FLOP each; a step reads and writes 4 bytes each."""
    shape, speed = shape_of(models()[NEXT]), speed_of(2)
    state = models()[NEXT].state_elements
    assert state == pytest.approx(36 * 32 * 128 * 128, rel=0.05)  # and the windows of its convolutions
    recurrent = 1000.0 * 6.0 * state / 2.0 / (constant("recurrent_prompt_rate") * speed.attention.item())
    others = attention_s(replace(models()[NEXT], state_elements=0.0), 2, 1000.0)
    assert attention_s(models()[NEXT], 2, 1000.0) - others == pytest.approx(recurrent)
    assert shape.state_bytes == 8.0 * state


@pytest.mark.parametrize("name", [V32, GLM, M3, NEXT, "openai/gpt-oss-120b", "meta-llama/Meta-Llama-3.1-8B"])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize(("new", "cached"), [(500.0, 0.0), (4000.0, 0.0), (1000.0, 30_000.0)])
def test_the_simulator_takes_as_long_for_a_prompt(name, engine, new, cached):
    model, row = models()[name], configuration(8, engine=engine)
    grid, scale = roofline_grid(model, row, 8), speed_of(8, engine).scale.item()
    simulated = pair_time.py_func(grid, new, cached)
    assert simulated == pytest.approx(scale * attention_s(model, 8, new, cached, engine))


def test_sparse_layers_of_pooled_entries_are_simulated_within_what_their_windows_leave():
    """DeepSeek-V4's layers with a sliding window of 128 beside the choice: the simulator takes the window as full."""
    model, row = models()["deepseek-ai/DeepSeek-V4-Flash"], configuration(8)
    grid, scale = roofline_grid(model, row, 8), speed_of(8).scale.item()
    assert pair_time.py_func(grid, 2000.0, 0.0) == pytest.approx(scale * attention_s(model, 8, 2000.0), rel=1e-9)


def test_steps_bend_where_the_choice_is_full():
    """From 2,048 tokens on only the indexer's keys are read and scored."""
    grid = roofline_grid(models()[V32], configuration(8), 64)
    at = grid.knots.tolist().index(2048.0)
    below, above = (np.diff(grid.decode_s[64, i : i + 2])[0] / np.diff(grid.knots[i : i + 2])[0] for i in (at - 1, at))
    assert above < 0.5 * below


def test_traffic_of_long_prompts_costs_less_than_by_full_attention():
    times = (
        roofline().times(
            m, table([configuration(8)]), Traffic(input_tokens=100_000, output_tokens=500), np.ones((1, 1))
        )
        for m in (models()[V32], replace(models()[V32], sparse=None))
    )
    sparse, dense = times
    assert sparse.decode_s.item() < dense.decode_s.item()
