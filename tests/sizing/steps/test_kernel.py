"""Step times read from NVIDIA's measured kernels: what they cover, what they say, and what they must not touch."""

import numpy as np
import pytest

from sizing.catalog import Model, gpus, models
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.steps import kernel_engines
from sizing.steps.kernel import KernelTables
from sizing.steps.roofline import roofline
from sizing.steps.times import StepTimes

TRAFFIC = Traffic(input_tokens=2000, output_tokens=500)
LLAMA_8B, LLAMA_70B = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B"
BATCHES = (1.0, 8.0, 32.0, 64.0, 256.0)


def configuration(
    gpu: str = "h100_sxm", engine: str = "trtllm", precision: str = "bf16", kv: str = "fp16", **parallelism: int
) -> Configuration:
    return Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=precisions()[precision], kv_precision=kv, **parallelism
    )


def times(
    model: str | Model, row: Configuration, traffic: Traffic = TRAFFIC, batches: tuple[float, ...] = BATCHES
) -> StepTimes:
    entry = models()[model] if isinstance(model, str) else model
    return KernelTables().times(entry, table([row]), traffic, np.array([batches]))


def mean_itl_s(result: StepTimes, index: int) -> float:
    """Time per output token in a closed loop: the decode step and the prompts that arrive meanwhile."""
    batch = BATCHES[index]
    return float(result.decode_s[0, index] + batch * result.prefill_work_s[0] / (TRAFFIC.output_tokens - 1))


OF_70B = [
    configuration("h100_sxm", "nim", "fp8", "fp8", tp=2),
    configuration("h200_sxm", "vllm", "fp8", "fp8", tp=4, pp=2),
]
COVERED = [
    (LLAMA_8B, configuration()),
    (LLAMA_8B, configuration("a100_sxm_80g", "vllm")),
    (LLAMA_8B, configuration("l40s", "sglang", "fp8", "fp8")),
    (LLAMA_8B, configuration("b60", "vllm")),
    *((LLAMA_70B, row) for row in OF_70B),
    ("Qwen/Qwen3-32B", configuration("b200_sxm", "sglang", "nvfp4", "fp8")),
    pytest.param(
        "Qwen/Qwen3-30B-A3B", configuration("rtx_pro_6000_server", "vllm", "fp8", "fp8", tp=2), marks=pytest.mark.slow
    ),
    ("openai/gpt-oss-120b", configuration("h100_sxm", "vllm", "mxfp4")),
    pytest.param("openai/gpt-oss-120b", configuration("gb200", "trtllm", "mxfp4"), marks=pytest.mark.slow),
    ("deepseek-ai/DeepSeek-R1", configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=8, ep=8)),
    pytest.param(
        "deepseek-ai/DeepSeek-R1",
        configuration("b300_sxm", "sglang", "nvfp4", "fp8", tp=1, dp=8, ep=8),
        marks=pytest.mark.slow,
    ),
    ("moonshotai/Kimi-K2.5", configuration("h200_sxm", "vllm", "int4_awq", tp=8)),
]
"""Slow: further GPUs of a generation that is covered without them, whose tables take seconds to load."""


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("model", "row"), COVERED, ids=lambda value: getattr(value, "label", value))
def test_covered_configurations_answer_with_positive_times_that_grow_with_the_batch(
    model: str, row: Configuration
) -> None:
    result = times(model, row)
    assert KernelTables().reason(models()[model], row) == ""
    assert np.all(np.isfinite(result.decode_s))
    assert np.all(np.diff(result.decode_s) >= 0)
    assert result.decode_s[0, 0] > 0
    assert 0 < result.prefill_work_s[0] < result.prefill_s[0] * 1.01
    assert result.source.startswith("kernel tables (aiconfigurator-core ")


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("model", "row", "tpot_ms"),
    [
        (LLAMA_70B, configuration("h100_sxm", "trtllm", "fp8", "fp8", tp=2), 27.3),
        (LLAMA_70B, configuration("h100_sxm", "vllm", "fp8", "fp8", tp=2), 28.9),
        (LLAMA_70B, configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=2), 22.6),
        (LLAMA_70B, configuration("h200_sxm", "vllm", "fp8", "fp8", tp=2), 26.0),
        (LLAMA_8B, configuration("h100_sxm", "vllm", "fp8", "fp8"), 8.65),
        (LLAMA_8B, configuration("h200_sxm", "vllm", "fp8", "fp8"), 7.70),
    ],
)
def test_output_token_time_agrees_with_the_package_s_own_estimate(
    model: str, row: Configuration, tpot_ms: float
) -> None:
    """AIConfigurator 0.12 at batch 32, ISL 2000, OSL 500; it composes the same steps by other rules."""
    assert mean_itl_s(times(model, row), BATCHES.index(32.0)) * 1e3 == pytest.approx(tpot_ms, rel=0.07)


@pytest.mark.usefixtures("tables")
def test_decode_reads_the_table_at_the_mean_context_of_the_traffic() -> None:
    row = configuration()
    handle = kernel_engines.engine_for(models()[LLAMA_8B], row).table
    assert handle is not None
    expected = [handle.decode_step_latency(b, 2000, 500) * 1e-3 for b in (1, 8, 32, 64, 256)]
    assert times(LLAMA_8B, row).decode_s[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.usefixtures("tables")
def test_llama_8b_in_bf16_on_h100_cannot_decode_faster_than_its_weights_can_be_read() -> None:
    """16.06 GB of weights, less 1.05 GB of embeddings that are looked up, at 3.35 TB/s: 4.48 ms."""
    decode = times(LLAMA_8B, configuration()).decode_s[0, 0]
    assert 4.48e-3 < decode < 2 * 4.48e-3


@pytest.mark.usefixtures("tables")
def test_pipeline_stages_share_the_batch_and_a_token_passes_all_of_them() -> None:
    one = times(LLAMA_70B, configuration("h100_sxm", "trtllm", "fp8", "fp8", tp=2), batches=(32.0,))
    two = times(LLAMA_70B, configuration("h100_sxm", "trtllm", "fp8", "fp8", tp=2, pp=2), batches=(64.0,))
    assert two.decode_s[0, 0] == pytest.approx(one.decode_s[0, 0], rel=0.01)
    assert two.prefill_s[0] == pytest.approx(one.prefill_s[0], rel=0.01)
    assert two.prefill_work_s[0] == pytest.approx(one.prefill_work_s[0] / 2, rel=0.01)


@pytest.mark.usefixtures("tables")
def test_attention_dp_ranks_share_the_batch() -> None:
    row = configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=1, dp=8, ep=8)
    handle = kernel_engines.engine_for(models()["deepseek-ai/DeepSeek-R1"], row).table
    assert handle is not None
    asked = times("deepseek-ai/DeepSeek-R1", row, batches=(256.0,)).decode_s[0, 0]
    assert asked == pytest.approx(handle.decode_step_latency(32, 2249, 1) * 1e-3)


@pytest.mark.usefixtures("tables")
def test_a_prompt_on_one_rank_is_read_from_tables_that_put_one_on_every_rank() -> None:
    row = configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=1, dp=8, ep=8)
    model = models()["deepseek-ai/DeepSeek-R1"]
    handle = kernel_engines.engine_for(model, row).table
    assert handle is not None
    found, ours = times(model, row), roofline().times(model, table([row]), TRAFFIC, np.array([BATCHES]))
    assert 0.3 < found.prefill_s[0] / (handle.predict_prefill_latency(1, 2000) * 1e-3) < 1.0
    assert found.ranks[0] == 8.0
    assert found.stall_s[0] / found.prefill_work_s[0] == pytest.approx(ours.stall_s[0] / ours.prefill_work_s[0])


@pytest.mark.usefixtures("tables")
def test_a_fraction_of_a_sequence_costs_as_much_as_one_and_fractions_interpolate() -> None:
    decode = times(LLAMA_8B, configuration(), batches=(0.05, 1.0, 2.0, 2.5, 3.0)).decode_s[0]
    assert decode[0] == decode[1]
    assert decode[3] == pytest.approx((decode[2] + decode[4]) / 2)


@pytest.mark.usefixtures("tables")
def test_a_batch_beyond_the_tables_still_grows() -> None:
    decode = times(LLAMA_8B, configuration(), batches=(4096.0, 8192.0)).decode_s[0]
    assert decode[1] == pytest.approx(2 * decode[0], rel=0.2)


@pytest.mark.usefixtures("tables")
def test_a_cached_prefix_saves_prefill_but_its_attention_remains() -> None:
    row = configuration()
    whole = times(LLAMA_8B, row)
    half = times(LLAMA_8B, row, Traffic(input_tokens=2000, output_tokens=500, cached_tokens=1000))
    alone = times(LLAMA_8B, row, Traffic(input_tokens=1000, output_tokens=500))
    for name in ("prefill_s", "prefill_work_s"):
        assert getattr(alone, name)[0] < getattr(half, name)[0] < getattr(whole, name)[0]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("model", "row"), COVERED, ids=lambda value: getattr(value, "label", value))
def test_even_a_single_prompt_token_costs_something(model: str, row: Configuration) -> None:
    for cached in (0.0, 99.0):
        result = times(model, row, Traffic(input_tokens=cached + 1, output_tokens=1, cached_tokens=cached))
        assert 0 < result.prefill_work_s[0] < result.prefill_s[0]


@pytest.mark.usefixtures("tables")
def test_a_prompt_beyond_the_token_budget_is_prefilled_in_chunks() -> None:
    row = configuration("l40s", "vllm")  # 2,048 tokens per step below 70 GiB
    one, four = (times(LLAMA_8B, row, Traffic(input_tokens=n, output_tokens=500)) for n in (2000, 8000))
    assert four.prefill_s[0] > 4 * one.prefill_s[0]
    assert four.prefill_work_s[0] > 4 * one.prefill_work_s[0]
