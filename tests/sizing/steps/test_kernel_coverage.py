"""What NVIDIA's measured kernels do not cover, and what reading them must not touch."""

import json
import logging
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sizing.catalog import gpu_from_spec, models
from sizing.deployments.candidates import table
from sizing.steps.kernel import KernelTables
from sizing.steps.kernel_configs import checkpoint
from sizing.steps.roofline import roofline
from tests.sizing.steps.test_kernel import LLAMA_8B, LLAMA_70B, OF_70B, TRAFFIC, configuration, times


def test_without_a_kind_of_table_the_row_is_empty_and_the_reason_says_which(tables: KernelTables) -> None:
    model = models()[LLAMA_8B]
    cases = {
        "no kernel tables for A10 24GB": configuration("a10", "vllm"),
        "no kernel tables for Hugging Face TGI": configuration(engine="tgi"),
        "no kernel tables for TensorRT-LLM on Arc Pro B60 24GB": configuration("b60", "trtllm"),
        "precision INT4 AWQ (W4A16) is not in the kernel tables for this GPU, engine and kind of model": configuration(
            precision="int4_awq"
        ),
    }
    result = tables.times(model, table([*cases.values(), configuration()]), TRAFFIC, np.ones((5, 3)))
    assert [tables.reason(model, row) for row in cases.values()] == list(cases)
    assert np.isnan(result.decode_s[:4]).all()
    assert np.isnan(result.prefill_s[:4]).all()
    assert np.isnan(result.prefill_work_s[:4]).all()
    assert np.isfinite(result.decode_s[4]).all()


def test_a_custom_gpu_is_not_taken_for_the_one_whose_id_it_has(tables: KernelTables) -> None:
    spec = {"id": "h100_sxm", "memory_gb": 80, "bandwidth_gbs": 3350, "fp16_tflops": 989.0, "bf16_tflops": 989.0}
    row = replace(configuration(), gpu=gpu_from_spec(spec))
    assert tables.reason(models()[LLAMA_8B], row).startswith("no kernel tables for")


@pytest.mark.parametrize(
    "model", ["google/gemma-3-27b-it", "tiiuae/falcon-40b", "zai-org/GLM-4.5", "ai21labs/Jamba-v0.1"]
)
def test_architectures_of_another_shape_are_refused(tables: KernelTables, model: str) -> None:
    row = configuration(tp=4)
    assert tables.reason(models()[model], row) == f"architecture of {model} is not in the kernel tables"
    assert np.isnan(times(model, row).decode_s).all()


def test_experts_without_measurements_are_named_as_the_reason(tables: KernelTables) -> None:
    model, row = models()["openai/gpt-oss-120b"], configuration(precision="mxfp4")
    reason = "this model and parallelism are not in the kernel tables: MoE data missing"
    assert tables.reason(model, row).startswith(reason)


def test_vllm_s_block_scaled_gemm_whose_measurement_holds_the_kernel_launch_is_not_used(tables: KernelTables) -> None:
    """MiniMax M2.5 on 4 B300, 4 in flight: 7.9 ms per token measured (InferenceX, 2026); block-scaled GEMM: 39 ms."""
    row = configuration("b300_sxm", "vllm", "fp8", "fp8", tp=4)
    assert 4e-3 < times("MiniMaxAI/MiniMax-M2.5", row, batches=(4.0,)).decode_s[0, 0] < 12e-3
    deepseek = configuration("b200_sxm", "vllm", "fp8", "fp8", tp=8)
    assert tables.reason(models()["deepseek-ai/DeepSeek-R1"], deepseek).startswith("precision FP8 (W8A8) is not in")


@pytest.mark.usefixtures("tables")
def test_a_llama_shaped_model_is_relabelled_and_the_source_says_so() -> None:
    assert times("microsoft/phi-4", configuration()).source.endswith(", relabelled as Llama")
    assert "relabelled" not in times(LLAMA_8B, configuration()).source
    assert "relabelled" not in times("Qwen/Qwen2.5-7B-Instruct", configuration()).source


@pytest.mark.usefixtures("tables")
def test_a_configuration_written_from_our_numbers_gives_the_times_of_the_packaged_one() -> None:
    packaged = models()[LLAMA_8B]
    written = replace(packaged, id="example/own", family="Own", vocab_size=packaged.vocab_size + 1)
    found = checkpoint(written, "bf16")
    assert found is not None
    assert found.relabelled == "Llama"
    assert json.loads((Path(found.folder) / "config.json").read_text())["architectures"] == ["LlamaForCausalLM"]
    ours, theirs = times(written, configuration()), times(packaged, configuration())
    assert ours.decode_s == pytest.approx(theirs.decode_s, rel=1e-3)
    assert ours.prefill_s == pytest.approx(theirs.prefill_s, rel=1e-3)


@pytest.mark.usefixtures("tables")
def test_the_packaged_configuration_has_the_layers_of_the_catalogue() -> None:
    for model in models().values():
        found = checkpoint(model, "bf16")
        if found is None:
            continue
        config = json.loads((Path(found.folder) / "config.json").read_text().replace("Infinity", "0"))
        config = {**config, **config.get("text_config", {})}
        if "num_hidden_layers" in config:
            assert config["num_hidden_layers"] == model.layers, model.id
        assert config["hidden_size"] == model.hidden_size, model.id
        assert config["num_attention_heads"] == model.heads, model.id


@pytest.mark.usefixtures("tables", "fresh_engines")
def test_threads_that_compile_at_once_get_the_same_bytes() -> None:
    rows = [*OF_70B, configuration("h100_sxm", "vllm", tp=4)]

    def ask(index: int) -> bytes:
        result = times(LLAMA_70B, rows[index % len(rows)])
        return result.decode_s.tobytes() + result.prefill_s.tobytes() + result.prefill_work_s.tobytes()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    assert all(len(set(answers[i :: len(rows)])) == 1 for i in range(len(rows)))
    assert answers[: len(rows)] == [ask(i) for i in range(len(rows))]


@pytest.mark.usefixtures("tables", "fresh_engines")
@pytest.mark.parametrize("model", ["mistralai/Mixtral-8x22B-v0.1", "moonshotai/Kimi-K2-Instruct", "microsoft/phi-4"])
def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """The package asks Hugging Face for these ids, although it ships two of them."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the engine opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    row = configuration("h200_sxm", "vllm", "fp8", "fp8", tp=8)
    assert np.isfinite(times(model, row).decode_s).all(), KernelTables().reason(models()[model], row)


@pytest.mark.usefixtures("tables", "fresh_engines")
def test_compiling_neither_logs_nor_leaves_the_logger_changed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("aiconfigurator_core")
    level = logger.level
    times("deepseek-ai/DeepSeek-R1", configuration("h200_sxm", "sglang", "fp8", "fp8", tp=8))
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    assert logger.level == level


def test_without_the_package_every_row_is_empty_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "aiconfigurator_core"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiconfigurator_core", None)
    tables = KernelTables()
    assert not tables.available()
    assert tables.reason(models()[LLAMA_8B], configuration()) == "kernel tables are not installed on this platform"
    assert np.isnan(times(LLAMA_8B, configuration()).decode_s).all()


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("batch", [1.0, 64.0])
def test_kernels_and_roofline_agree_within_a_factor_of_two_on_a_dense_model(batch: float) -> None:
    for gpu in ("h100_sxm", "h200_sxm", "b200_sxm"):
        row, at = configuration(gpu, "vllm"), np.array([[batch]])
        model = models()[LLAMA_8B]
        measured = KernelTables().times(model, table([row]), TRAFFIC, at)
        computed = roofline().times(model, table([row]), TRAFFIC, at)
        assert computed.decode_s == pytest.approx(measured.decode_s, rel=1.0)
        assert computed.prefill_s == pytest.approx(measured.prefill_s, rel=1.0)


@pytest.mark.usefixtures("tables")
def test_a_mixture_of_experts_with_another_vocabulary_keeps_its_times() -> None:
    packaged = models()["Qwen/Qwen3-30B-A3B"]
    written = replace(packaged, id="example/own", vocab_size=packaged.vocab_size + 1)
    row = configuration("h100_sxm", "vllm", tp=2)
    ours, theirs = times(written, row), times(packaged, row)
    assert ours.source.endswith(", relabelled as Mixtral")
    assert ours.decode_s == pytest.approx(theirs.decode_s, rel=0.05)
    assert ours.prefill_s == pytest.approx(theirs.prefill_s, rel=0.05)
