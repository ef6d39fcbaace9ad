"""NVIDIA's kernel tables put to the shapes of the catalogue: the adapter, and what is committed against the tables."""

import socket
from dataclasses import replace

import numpy as np
import pytest

from calibration.distil_steps import decode_s, layouts, read, shapes
from calibration.kernel_configs import checkpoint
from calibration.kernel_engines import StepTable, available, compiled
from sizing.catalog import models
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.steps.kernel_times import kernel_decode_s, shape_times
from tests.sizing.steps.test_kernel_times import DEEPSEEK, DENSE, QWEN, configuration

pytestmark = pytest.mark.skipif(not available(), reason="aiconfigurator-core is not installed on this platform")


def steps(model: str, row: Configuration) -> StepTable:
    found = compiled(models()[model], row)
    assert not isinstance(found, str), found
    return found


@pytest.mark.parametrize(
    ("model", "row", "most"),
    [
        (DEEPSEEK, configuration("h200_sxm", "sglang", "fp8", "fp8", tp=8), 0.04),
        (QWEN, configuration("h100_sxm", "vllm", tp=2), 0.04),
        ("openai/gpt-oss-120b", configuration("b200_sxm", "vllm", "mxfp4"), 0.04),
    ],
    ids=["MLA", "BF16", "MXFP4"],
)
def test_what_is_shipped_is_what_the_tables_say_also_between_the_knots(
    model: str, row: Configuration, most: float
) -> None:
    """At batches and contexts that were not read. Median over them: within 4 %."""
    handle, sequences = steps(model, row), np.array([1.0, 3.0, 12.0, 48.0, 192.0])
    off = []
    for context in (850.0, 3250.0, 20_500.0):
        shipped = kernel_decode_s(models()[model], table([row]), context, sequences[None, :])[0]
        off += list(np.abs(shipped / decode_s(handle, sequences, context) - 1.0))
    assert np.median(off) < most
    assert np.max(off) < 0.15


def test_every_shape_that_the_tables_know_is_in_the_file() -> None:
    """Where this fails: run python -m calibration.distil_steps and commit what it writes."""
    asked = shapes()
    missing = [model.id for key, model in asked.items() if not shape_times(key).places and any(_covered(model.id))]
    assert not missing


def _covered(model: str) -> list[bool]:
    """Whether the first layouts of a model on a few GPUs are in the tables."""
    rows = [row for row in layouts(models()[model]) if row.gpu.id in ("h100_sxm", "h200_sxm", "b200_sxm")]
    return [not isinstance(compiled(models()[model], row), str) for row in rows[:2]]


@pytest.mark.parametrize(
    ("reason", "model", "row"),
    [
        ("no kernel tables for A10 24GB", QWEN, configuration("a10", "vllm")),
        ("no kernel tables for Hugging Face TGI", QWEN, configuration(engine="tgi")),
        ("no kernel tables for TensorRT-LLM on Arc Pro B60 24GB", QWEN, configuration("b60", "trtllm")),
        ("precision INT4 AWQ (W4A16) is not in the kernel tables", DENSE, configuration(precision="int4_awq")),
        ("architecture of google/gemma-3-27b-it is not in", "google/gemma-3-27b-it", configuration(tp=4)),
        ("architecture of ai21labs/Jamba-v0.1 is not in", "ai21labs/Jamba-v0.1", configuration(tp=4)),
        (
            "this model and parallelism are not in the kernel tables: MoE data missing",
            "openai/gpt-oss-120b",
            configuration(precision="mxfp4"),
        ),
        ("precision FP8 (W8A8) is not in", DEEPSEEK, configuration("b200_sxm", "vllm", "fp8", "fp8", tp=8)),
    ],
)
def test_what_the_tables_do_not_cover_has_a_reason(reason: str, model: str, row: Configuration) -> None:
    found = compiled(models()[model], row)
    assert isinstance(found, str)
    assert found.startswith(reason)


def test_vllm_s_block_scaled_gemm_whose_measurement_holds_the_kernel_launch_is_not_used() -> None:
    """MiniMax M2.5 on 4 B300, 4 in flight: 7.9 ms per token measured (InferenceX, 2026); block-scaled GEMM: 39 ms."""
    row = configuration("b300_sxm", "vllm", "fp8", "fp8", tp=4)
    assert 4e-3 < decode_s(steps("MiniMaxAI/MiniMax-M2.5", row), np.array([4.0]), 2000.0)[0] < 12e-3


def test_a_shape_that_the_package_has_no_copy_of_is_written_and_relabelled() -> None:
    twin = replace(models()[QWEN], id="example/own", vocab_size=models()[QWEN].vocab_size + 1)
    relabelled = [found.relabelled for model in (models()[QWEN], twin) if (found := checkpoint(model, "bf16"))]
    assert relabelled == ["", "Mixtral"]


@pytest.mark.parametrize("model", ["mistralai/Mixtral-8x22B-v0.1", "moonshotai/Kimi-K2-Instruct"])
def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """The package asks Hugging Face for these ids, although it ships two of them."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the adapter opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    row = configuration("h200_sxm", "vllm", "fp8", "fp8", tp=8)
    assert decode_s(steps(model, row), np.array([8.0]), 2000.0)[0] > 0


def test_equal_times_stand_once_and_every_layout_finds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (configuration("h100_sxm", "vllm"), configuration("h100_sxm", "vllm", tp=2))
    monkeypatch.setattr("calibration.distil_steps.layouts", lambda _: (*rows, rows[0]))
    found = read(models()[QWEN])
    assert found["rows"].tolist() == [0, 1, 0]
    assert found["values"].shape[1] == 2
