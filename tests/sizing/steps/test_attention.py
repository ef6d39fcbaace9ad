"""Attention of prompts: products beside softmax, what each query takes, and chunks in a pipeline."""

from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import gpus, models
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.simulator.fleet import Replica
from sizing.simulator.step_grid import roofline_grid
from sizing.simulator.step_time import pair_time
from sizing.steps.attention import pair_s, prompt_attention_s
from sizing.steps.hardware import H100_SCORES, hardware, scores_of
from sizing.steps.rates import Rates, rates
from sizing.steps.roofline import roofline
from sizing.steps.shape import shape_of
from tests.sizing.simulator.building import columns, simulate_all
from tests.sizing.steps.test_roofline import LLAMA, configuration

GPT_OSS, QWEN = "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B"


def speed_of(row: Configuration) -> Rates:
    candidates, source = table([row]), roofline()
    return rates(candidates, hardware(candidates), source.fit, source.software_year)


def test_a_pair_by_hand():
    """Llama 3.1 8B: 32 heads x 4 x 128 FLOP, and a score a head; what is shorter is exposed in part."""
    speed = speed_of(configuration(1, "h100_sxm", "bf16"))
    products, softmax = 32 * 4 * 128 / speed.attention.item(), 32 / H100_SCORES
    assert products > softmax
    taken = pair_s(shape_of(models()[LLAMA]), speed).item()
    assert taken == pytest.approx(products + speed.wide_exposed * softmax, rel=1e-3)


@pytest.mark.parametrize(
    ("gpu", "tera"), [("h100_sxm", 2.91), ("a100_sxm_80g", 1.3), ("b200_sxm", 4.2), ("b300_sxm", 5.3), ("h20", 1.91)]
)
def test_softmax_by_special_function_units_and_lanes(gpu, tera):
    """H100: 132 multiprocessors x 1.98 GHz / (1 / 16 + 3.5 / 128) scores a second; A100: 108 x 1.41 / (1 / 16 + 3.5 /
    64); H20: 78 of the H100's; B300: 1 / 32 instead of 1 / 16; B200: three quarters of 1 / 16."""
    assert scores_of(gpus()[gpu]) == pytest.approx(tera * 1e12, rel=0.01)


def test_half_as_large_heads_reach_less_the_faster_the_matrix_units_are():
    """Measured (aisimulate 0.13, vLLM 0.25, 16,384 tokens): 64 values reach 0.80 of the rate of 128 on the H100, 0.61
    on the B200, 0.70 on the B300."""

    def share(gpu: str) -> float:
        speed, shape = speed_of(configuration(1, gpu)), shape_of(models()[LLAMA])
        small = replace(shape, pair_flop=shape.pair_flop / 2.0)
        return float((pair_s(shape, speed) / pair_s(small, speed)).item() / 2.0)

    found = {gpu: share(gpu) for gpu in ("h100_sxm", "b200_sxm", "b300_sxm", "h20")}
    assert found["b200_sxm"] < found["b300_sxm"] < found["h20"]
    assert found["h100_sxm"] == pytest.approx(0.80, abs=0.07)
    assert found["b200_sxm"] == pytest.approx(0.61, abs=0.08)
    assert found["b300_sxm"] == pytest.approx(0.70, abs=0.10)


def test_short_prompts_reach_less_than_long_ones():
    """Measured on the H100 (aisimulate 0.13, vLLM 0.25): 0.38 of the dense rate at 1,024 tokens, launches included,
    0.61 at 16,384."""
    speed, shape = speed_of(configuration(1, "h100_sxm")), shape_of(models()[LLAMA])
    flop_of = {n: 32 * 32 * 4 * 128 * n * n / 2.0 for n in (1024.0, 16_384.0)}
    short, long = (flop / prompt_attention_s(shape, speed, n, 0.0).item() / 989e12 for n, flop in flop_of.items())
    assert short < 0.8 * long
    assert long == pytest.approx(0.60, abs=0.05)


@pytest.mark.parametrize("model", [LLAMA, GPT_OSS])
def test_simulated_steps_count_the_same_pairs(model):
    """A prompt of 8,192 tokens in one step: the grid's pairs and tokens are the roofline's attention."""
    row = configuration(1, "h100_sxm")
    speed, shape, n = speed_of(row), shape_of(models()[model]), 8192.0
    simulated = pair_time.py_func(roofline_grid(models()[model], row, 4), n, 0.0)
    assert simulated == pytest.approx((speed.scale * prompt_attention_s(shape, speed, n, 0.0)).item())


@pytest.mark.parametrize(("tokens", "chunks"), [(4_000.0, 1), (131_072.0, 16)])
def test_chunks_of_a_prompt_fill_the_stages_of_a_pipeline(tokens, chunks):
    """Alone it takes T / 4 and three quarters of its last chunk; T where it is one chunk."""
    row = replace(configuration(4, "h20"), pp=4)
    traffic, alone = Traffic(input_tokens=tokens, output_tokens=1.0), np.ones((1, 1))
    piped = roofline().times(models()[QWEN], table([row]), traffic, alone)
    share = float(np.asarray(piped.last_chunk).item())
    whole = float(piped.prefill_s[0] * (4.0 - 3.0 * share))
    assert (share == pytest.approx(1.0)) == (chunks == 1)
    assert piped.prefill_s[0] == pytest.approx((whole + 3.0 * share * piped.prefill_s[0]) / 4.0)
    # The simulator's steps, one after the other, and what the last one lags behind the pipeline.
    replica = Replica(grid=roofline_grid(models()[QWEN], row, 4), max_sequences=4, token_budget=8192)
    _, found = simulate_all(replica, columns([0.0], tokens, 1.0))
    assert float(piped.prefill_s[0]) == pytest.approx(found["first"][0], rel=0.1)
