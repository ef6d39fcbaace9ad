"""What does not run: the reason that binds, with its source, and the nearest that does; what is unknown is said."""

import re
from typing import Any

import pytest

from sizing import Plan, Scenario, plan
from sizing.catalog.support import ReasonKind
from sizing.planning.analytic import analytic_plan
from sizing.planning.rules_support import STATEMENTS
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

OPEN: dict[str, Any] = {"ttft_ms": None, "itl_ms": None, "e2e_ms": None}


def asked(model: Any, **deployment: Any) -> Plan:
    found = raw(
        model,
        limits=OPEN,
        workload={"input_tokens": 500, "output_tokens": 100, "peak_rps": 0.01},
        deployment={"location": "cloud", **deployment},
    )
    return analytic_plan(Scenario.model_validate(found))


@pytest.mark.parametrize(
    ("model", "deployment", "reason", "relaxation"),
    [
        (
            "huggyllama/llama-30b",
            {"gpus": ["a100_sxm_40g"], "engines": ["vllm"], "precisions": ["fp16"], "tp": [8]},
            "TP does not divide the 52 attention heads",
            "TP 1 or 2 or 4",
        ),
        (
            "MiniMaxAI/MiniMax-M2.7",
            {"gpus": ["h200_sxm"], "engines": ["vllm"], "tp": [8], "ep": [1], "dp": [1]},
            "vLLM 0.33.0 cannot cut a width of 1536 into whole FP8 blocks of 128",
            "TP 1 or 2 or 4",
        ),
        (
            "zai-org/GLM-5.1",
            {"gpus": ["a800_sxm_80g"], "engines": ["vllm"], "precisions": ["int4_awq"]},
            "vLLM 0.33.0 does not run the attention of GlmMoeDsaForCausalLM on A800",
            "Choose another GPU",
        ),
        (
            "deepseek-ai/DeepSeek-V3",
            {"gpus": ["h200_sxm"], "engines": ["vllm"], "tp": [8], "ep": [4], "dp": [1]},
            "vLLM 0.33.0 has no expert parallelism over fewer GPUs",
            "EP 1 or 8",
        ),
        (
            LLAMA_70B,
            {"gpus": ["h100_sxm"], "engines": ["tgi"], "pp": [2]},
            "Hugging Face TGI 3.3.7 is not declared to cut this model into pipeline stages",
            "PP 1",
        ),
        (
            LLAMA_70B,
            {"gpus": ["h100_sxm"], "engines": ["trtllm"], "precisions": ["nvfp4"]},
            "TensorRT-LLM 1.3 / 1.4 rc is not declared to run NVFP4 (W4A4) on H100",
            "Allow weight precision",
        ),
        (
            LLAMA_70B,
            {"gpus": ["mi300x"], "engines": ["trtllm"]},
            "TensorRT-LLM 1.3 / 1.4 rc is not declared to run on Instinct MI300X",
            "Allow engine SGLang or vLLM",
        ),
        (
            LLAMA_70B,
            {"gpus": ["a100_sxm_80g"], "engines": ["sglang"], "kv_precisions": ["fp8"]},
            "SGLang 0.5.23 is not known to keep the KV cache in the chosen format on A100 SXM4 80GB",
            "Allow KV precision FP16",
        ),
    ],
)
def test_the_reason_names_what_binds_and_the_nearest_that_works(
    model: str, deployment: dict[str, Any], reason: str, relaxation: str
) -> None:
    found = asked(model, **deployment)
    assert not found.feasible
    (entry,) = found.excluded
    assert entry.reason.startswith(reason)
    assert relaxation in entry.relaxation
    of_the_model = "of the model" in reason or "attention heads" in reason
    assert entry.reason.endswith("model." if of_the_model else ").")  # where that is stated, but for plain division


def test_a_fix_that_is_offered_runs() -> None:
    found = asked("huggyllama/llama-30b", gpus=["a100_sxm_40g"], engines=["vllm"], precisions=["fp16"], tp=[8])
    fix = found.excluded[0].fix
    assert asked(
        "huggyllama/llama-30b", gpus=["a100_sxm_40g"], engines=["vllm"], precisions=["fp16"], tp=fix.value
    ).feasible


def test_every_kind_of_reason_has_a_statement() -> None:
    assert set(STATEMENTS) == set(ReasonKind.__args__)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize(
    "model", ["google/gemma-2-9b-it", "google/gemma-3-12b-it", "google/gemma-3n-E4B-it", "zai-org/GLM-4-32B-0414"]
)
def test_no_engine_serves_in_fp16_what_overflows_in_it(model: str, engine: str) -> None:
    """Asked for on a GPU with BF16, and the only 16 bits that Turing has, of any weight format."""
    wide = asked(model, gpus=["h100_sxm"], engines=[engine], precisions=["fp16"])
    assert not wide.feasible
    for asked_for in ({}, {"precisions": ["int4_awq"]}):
        assert not asked(model, gpus=["t4"], engines=[engine], **asked_for).feasible


def test_gemma_4_in_fp16_says_that_its_images_fail() -> None:
    found = codes(asked("google/gemma-4-E4B-it", gpus=["t4"]))
    assert "its image encoder overflows in FP16" in found["support_unknown"]


def test_a_dropped_gpu_is_not_refused_in_the_words_of_an_archived_engine() -> None:
    for model in ("Qwen/Qwen3-30B-A3B", "google/gemma-4-31B-it", "Qwen/Qwen3-Coder-480B-A35B-Instruct"):
        found = analytic_plan(Scenario.model_validate(raw(model, deployment={"location": "cloud"})))
        (volta,) = [entry for entry in found.excluded if entry.gpu == "v100_sxm"]
        assert volta.reason.startswith("Today's vLLM no longer runs on Volta")


def test_no_gpu_has_more_usable_memory_than_it_has() -> None:
    found = analytic_plan(
        Scenario.model_validate(raw("Qwen/Qwen3-Coder-480B-A35B-Instruct", workload={"input_tokens": 100_000}))
    )
    told = [re.search(r"at best, ([\d.]+) GiB of the ([\d.]+) GiB of", entry.reason) for entry in found.excluded]
    sizes = [(float(one[1]), float(one[2])) for one in told if one is not None]
    assert len(sizes) >= 3
    assert all(usable <= whole for usable, whole in sizes)


def codes(found: Plan) -> dict[str, str]:
    return {w.code: w.message for w in found.warnings}


def test_what_is_archived_or_dropped_says_so() -> None:
    tgi = codes(asked(LLAMA_8B, gpus=["h100_sxm"], engines=["tgi"]))
    assert tgi["engine_archived"].startswith("Hugging Face TGI is archived")
    volta = codes(asked(LLAMA_8B, gpus=["v100_sxm"]))
    assert volta["gpu_dropped"].startswith("Today's vLLM no longer runs on Volta")
    unnamed = plan(Scenario.model_validate(raw(LLAMA_8B, deployment={"location": "cloud"})), alternatives=200)
    assert unnamed.deployment is not None
    everything = [unnamed.deployment, *(a.deployment for a in unnamed.alternatives)]
    assert {d.engine for d in everything}.isdisjoint({"tgi"})
    assert {d.gpu for d in everything}.isdisjoint({"v100_sxm", "v100_pcie", "inf2"})
    volta_entry = next(e for e in unnamed.excluded if e.gpu == "v100_sxm")
    assert volta_entry.reason.startswith("Today's vLLM no longer runs on Volta")
    assert volta_entry.relaxation.startswith("Name it")


def test_what_is_unknown_says_so_and_what_is_widened() -> None:
    size = codes(asked({"name": "In-house 43B", "params_b": 43}, gpus=["h100_sxm"]))
    assert "The class of the model is not stated" in size["support_unknown"]
    known = codes(asked(LLAMA_8B, gpus=["h100_sxm"], engines=["vllm"]))
    assert "support_unknown" not in known
    marlin = codes(asked(LLAMA_8B, gpus=["a100_sxm_80g"], engines=["vllm"], precisions=["fp8"]))
    assert "multiplies at 16 bit" in marlin["weights_widened"]
    narrow = codes(asked(LLAMA_8B, gpus=["a100_sxm_80g"], engines=["vllm"], kv_precisions=["fp8"]))
    assert "attends at 16 bit" in narrow["kv_widened"]


def test_data_parallel_ranks_of_a_dense_model_are_instances() -> None:
    found = asked(LLAMA_70B, gpus=["h100_sxm"], dp=[4])
    assert found.feasible
    assert (
        "Data-parallel ranks of a dense model are instances of their own, and are counted as such." in found.assumptions
    )
