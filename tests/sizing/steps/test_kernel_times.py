"""Decode steps read from NVIDIA's measured kernels beforehand: what they cover, what they say, what lies between."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.arrays import Floats
from sizing.catalog import Model, gpus, models
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.own_gpu import gpu_of
from sizing.question.traffic import Traffic
from sizing.scenario.schema import CustomGpu
from sizing.steps.kernel_times import (
    CONTEXTS,
    LOG_STEP,
    SEQUENCES,
    between,
    covered,
    decoded,
    encoded,
    kernel_decode_s,
    kernel_name,
    measured_as,
    over_sequences,
    shape_key,
    shape_times,
)
from sizing.steps.roofline import roofline

TRAFFIC = Traffic(input_tokens=2000, output_tokens=500)
DENSE, QWEN, DEEPSEEK = "meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-R1"
BATCHES = (1.0, 8.0, 32.0, 64.0, 256.0)


def configuration(
    gpu: str = "h100_sxm", engine: str = "trtllm", precision: str = "bf16", kv: str = "fp16", **parallelism: int
) -> Configuration:
    return Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=precisions()[precision], kv_precision=kv, **parallelism
    )


def decode_s(model: str | Model, row: Configuration, batches: tuple[float, ...] = BATCHES) -> Floats:
    entry = models()[model] if isinstance(model, str) else model
    return kernel_decode_s(entry, table([row]), TRAFFIC.decode_context, np.array([batches]))[0]


COVERED = [
    (QWEN, configuration()),
    (QWEN, configuration("a100_sxm_80g", "vllm", tp=2)),
    (QWEN, configuration("h200_sxm", "nim", "fp8", "fp8", tp=2)),
    (QWEN, configuration("h200_sxm", "vllm", "fp8", "fp16", tp=4, pp=2)),
    (QWEN, configuration("rtx_pro_6000_server", "vllm", "fp8", "fp8", tp=2)),
    ("openai/gpt-oss-120b", configuration("h100_sxm", "vllm", "mxfp4")),
    ("openai/gpt-oss-120b", configuration("gb200", "trtllm", "mxfp4")),
    (DEEPSEEK, configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=8, ep=8)),
    (DEEPSEEK, configuration("b300_sxm", "sglang", "nvfp4", "fp8", tp=1, dp=8, ep=8)),
]


@pytest.mark.parametrize(("model", "row"), COVERED, ids=lambda value: getattr(value, "label", value))
def test_covered_configurations_answer_with_positive_times_that_grow_with_the_batch(
    model: str, row: Configuration
) -> None:
    found = decode_s(model, row)
    assert list(covered(models()[model], table([row]))) == [0]
    assert np.all(np.diff(found) >= 0)
    assert found[0] > 0
    assert kernel_name().startswith("kernel tables (aiconfigurator-core ")


def test_nothing_decodes_faster_than_its_active_weights_can_be_read() -> None:
    """3.35 B active parameters of Qwen3-30B-A3B, less 0.31 B that are looked up, in BF16 at 3.35 TB/s: 1.8 ms."""
    assert 1.8e-3 < decode_s(QWEN, configuration())[0] < 4 * 1.8e-3


NOT_COVERED = {
    "no tables for the GPU": (QWEN, configuration("a10", "vllm")),
    "nor for the engine": (QWEN, configuration(engine="tgi")),
    "nor for the engine on this GPU": (QWEN, configuration("l40s", "sglang", "nvfp4")),
    "nor for the format": (QWEN, configuration(precision="int8_wo")),
    "a degree between powers of two": (QWEN, configuration(tp=6)),
    "a degree beyond those read": (QWEN, configuration(tp=32)),
    "a dense model": (DENSE, configuration()),
    "an architecture of another kind": ("ai21labs/Jamba-v0.1", configuration(tp=4)),
    "a shape that the catalogue has not": (replace(models()[QWEN], layers=49), configuration()),
    "a GPU of one's own under a known id": (
        QWEN,
        replace(
            configuration(),
            gpu=gpu_of(
                CustomGpu(id="h100_sxm", memory_gb=80, bandwidth_gbs=3350, fp16_tflops=989.0, bf16_tflops=989.0)
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", NOT_COVERED)
def test_what_was_not_read_has_no_times_and_does_not_disturb_what_was(name: str) -> None:
    given, row = NOT_COVERED[name]
    model = models()[given] if isinstance(given, str) else given
    found = kernel_decode_s(model, table([row, configuration(tp=2)]), 2000.0, np.ones((2, 3)))
    assert np.isnan(found[0]).all()
    assert not len(covered(model, table([row])))
    if model is models()[QWEN] and not row.gpu.custom:
        assert np.isfinite(found[1]).all()


def test_formats_that_are_multiplied_alike_have_the_same_times() -> None:
    """FP16 as BF16; 4 bits by AWQ or GPTQ as any 4 bits that are widened to 16."""
    np.testing.assert_array_equal(decode_s(QWEN, configuration(precision="fp16")), decode_s(QWEN, configuration()))
    assert [measured_as(name) for name in ("int4_awq", "int4_gptq", "int4_wo", "fp8")] == ["int4_wo"] * 3 + ["fp8"]


def test_a_kv_format_that_was_not_measured_reads_the_bytes_of_16_bit_ones() -> None:
    """vLLM on the B200 has gpt-oss with a 16-bit KV cache alone: one in FP8 of 4,000 tokens has the bytes of 2,000."""
    model, at = models()["openai/gpt-oss-120b"], np.array([BATCHES])
    wide, narrow = (table([configuration("b200_sxm", "vllm", "mxfp4", kv)]) for kv in ("fp16", "fp8"))
    found = kernel_decode_s(model, narrow, 4000.0, at)
    np.testing.assert_array_equal(found, kernel_decode_s(model, wide, 2000.0, at))
    assert np.all(found < kernel_decode_s(model, wide, 4000.0, at))


def test_a_model_of_the_same_shape_has_the_same_times() -> None:
    twin = replace(models()[QWEN], id="example/fine-tune", family="Own")
    np.testing.assert_array_equal(decode_s(twin, configuration()), decode_s(QWEN, configuration()))


def test_pipeline_stages_share_the_batch_and_a_token_passes_all_of_them() -> None:
    one = decode_s(QWEN, configuration("h100_sxm", "trtllm", "fp8", "fp8", tp=2), (32.0,))
    two = decode_s(QWEN, configuration("h100_sxm", "trtllm", "fp8", "fp8", tp=2, pp=2), (64.0,))
    assert two[0] == pytest.approx(one[0])


def test_attention_dp_ranks_share_the_batch() -> None:
    row = configuration("h200_sxm", "trtllm", "fp8", "fp8", tp=1, dp=8, ep=8)
    known = shape_times(shape_key(models()[DEEPSEEK]))
    step = between(known.decode_s[known.rows_of(table([row]))], np.array([TRAFFIC.decode_context]))[0]
    assert decode_s(DEEPSEEK, row)[-1] == pytest.approx(step[list(SEQUENCES).index(32.0)])  # 256 over 8 ranks


def test_a_fraction_of_a_sequence_costs_as_much_as_one_and_fractions_interpolate() -> None:
    decode = decode_s(QWEN, configuration(), (0.05, 1.0, 2.0, 3.0, 4.0))
    assert decode[0] == decode[1]
    assert decode[3] == pytest.approx((decode[2] + decode[4]) / 2)


def test_a_batch_beyond_those_read_goes_on_in_a_straight_line() -> None:
    step = np.array([np.append(np.ones(len(SEQUENCES) - 2), [2.0, 4.0])])
    found = over_sequences(step, np.array([[SEQUENCES[-1] / 2, SEQUENCES[-1], 2 * SEQUENCES[-1]]]))
    np.testing.assert_allclose(found, [[2.0, 4.0, 8.0]])


def test_between_two_contexts_and_beyond_them() -> None:
    """2, 4 and 10 at 256, 4,096 and 65,536 tokens: 3 halfway to the second, 7 to the third, 13 as far beyond it."""
    first, second, third = CONTEXTS
    at = ((first + second) / 2, (second + third) / 2, third + (third - second) / 2)
    steps = np.tile([2.0, 4.0, 10.0], (3, 1))
    np.testing.assert_allclose(between(steps, np.array(at)), [3.0, 7.0, 13.0])


@given(st.lists(st.lists(st.floats(1e-6, 1e3), min_size=3, max_size=3), min_size=1, max_size=4))
def test_times_survive_the_file_to_one_in_a_thousand(seconds: list[list[float]]) -> None:
    np.testing.assert_allclose(decoded(encoded(np.array(seconds))), seconds, rtol=0.51 * LOG_STEP)


def test_kernels_and_roofline_agree_within_a_factor_of_two() -> None:
    for gpu in ("h100_sxm", "h200_sxm", "b200_sxm"):
        row, at = configuration(gpu, "vllm"), np.array([[1.0, 64.0]])
        computed = roofline().times(models()[QWEN], table([row]), TRAFFIC, at)
        assert computed.decode_s[0] == pytest.approx(decode_s(QWEN, row, (1.0, 64.0)), rel=1.0)
