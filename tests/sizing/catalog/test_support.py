"""What runs where: the tables of support are whole, and the statements that cost most if wrong are there."""

from dataclasses import replace

import pytest

from sizing.base.errors import SizingError
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.execution import execution
from sizing.catalog.files import read_rows
from sizing.catalog.gpu_families import generation_labels, generations
from sizing.catalog.layout_support import LayoutSupport
from sizing.catalog.precisions import precisions
from sizing.catalog.support import GENERIC_CLASS, Support, support
from sizing.catalog.support_rows import ANY_ENGINE, BLOCK_FP8, _known, by_class, by_format, by_generation, rules
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, model_named

TABLES = ("engine_generations.csv", "engine_architectures.csv", "engine_formats.csv", "engine_layouts.csv")


def of(engine: str, gpu: str, model: str, precision: str) -> Support:
    return support(engines()[engine], gpus()[gpu], model_named(model), precisions()[precision])


def laid_out(engine: str, gpu: str, model: str, precision: str, *degrees: int) -> Support:
    base = of(engine, gpu, model, precision)
    layout = LayoutSupport(engines()[engine], gpus()[gpu], model_named(model), precisions()[precision], base)
    tp, pp, ep, dp = degrees
    return layout.of((tp, pp, ep, dp))


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_source_and_a_date(table: str) -> None:
    for row in read_rows(table):
        assert row["source"], row
        assert row["date"].startswith("20"), row


def test_the_tables_speak_of_what_the_catalogue_has() -> None:
    known = {*engines(), ANY_ENGINE}
    assert {engine for engine, _ in by_generation()} <= known
    assert {engine for engine, _, _, _ in by_class()} <= known
    assert {engine for engine, _, _, _ in by_format()} <= known
    assert {name for _, _, name, _ in by_format()} <= {*precisions(), BLOCK_FP8}
    assert {rule.engine for rule in rules()} <= known
    assert {name for rule in rules() for name in rule.formats} <= set(precisions())
    assert set(generation_labels()) == set(generations())
    with pytest.raises(SizingError):
        _known("hopper ", generations())


def test_every_engine_states_every_generation_it_could_be_asked_for() -> None:
    """Silence would let an engine be planned as unknown on hardware of another vendor. Of what its vendor has only
    announced nobody says anything yet but those who run on the other's alone."""
    silent = {(e, g) for e in engines() for g in generations() if (e, g) not in by_generation()}
    assert {g for _, g in silent} <= {"rubin", "cdna5", "custom"}
    assert {e for e, g in silent if g == "cdna5"} == {"vllm", "sglang", "tgi", "llamacpp"}


def test_two_blackwells_are_two_generations() -> None:
    assert gpus()["b200_sxm"].generation != gpus()["rtx_pro_6000_server"].generation
    deepseek = "deepseek-ai/DeepSeek-V3"
    assert of("trtllm", "b200_sxm", deepseek, "fp8").status == "supported"
    assert of("trtllm", "rtx_pro_6000_server", deepseek, "fp8").status == "no"
    assert of("trtllm", "rtx_pro_6000_server", deepseek, "fp8").why.kind == "block_scales"
    assert of("trtllm", "rtx_pro_6000_server", LLAMA_8B, "fp8").status == "supported"  # one scale per tensor


@pytest.mark.parametrize(
    ("engine", "gpu", "precision", "status", "mode"),
    [
        ("vllm", "a100_sxm_80g", "fp8", "supported", "weight_only"),  # Marlin
        ("vllm", "t4", "fp8", "supported", "weight_only"),
        ("sglang", "h100_sxm", "nvfp4", "supported", "weight_only"),
        ("vllm", "h100_sxm", "fp8", "supported", "native"),
        ("vllm", "b200_sxm", "nvfp4", "supported", "native"),
        ("vllm", "b200_sxm", "int8_sq", "no", "native"),
        ("vllm", "mi300x", "int4_wo", "supported", "weight_only"),  # Kimi K2.5
        ("sglang", "mi355x", "int4_wo", "supported", "weight_only"),
        ("trtllm", "b200_sxm", "int4_awq", "no", "weight_only"),
        ("vllm", "b200_sxm", "w4a8_awq", "no", "native"),
        ("vllm", "v100_sxm", "int4_awq", "no", "weight_only"),
        ("vllm", "t4", "bf16", "no", "native"),
        ("tgi", "h100_sxm", "w4a8_awq", "no", "native"),
        ("trtllm", "mi300x", "bf16", "no", "native"),
    ],
)
def test_formats_by_generation(engine: str, gpu: str, precision: str, status: str, mode: str) -> None:
    stated = of(engine, gpu, LLAMA_8B, precision)
    assert (stated.status, stated.mode) == (status, mode)
    assert stated.source
    assert stated.date


def test_experts_in_mxfp4_are_widened_on_blackwell_of_compute_capability_12() -> None:
    vllm, mxfp4 = engines()["vllm"], precisions()["mxfp4"]
    assert execution(vllm, gpus()["rtx_pro_6000_server"], mxfp4) == "weight_only"
    assert execution(vllm, gpus()["b200_sxm"], mxfp4) == "native"
    assert execution(vllm, gpus()["mi355x"], mxfp4) == "native"
    assert execution(vllm, gpus()["mi300x"], mxfp4) == "weight_only"


def test_archived_and_dropped_take_naming() -> None:
    assert of("tgi", "h100_sxm", LLAMA_8B, "bf16").unless_named == ("engine",)
    assert of("vllm", "v100_sxm", LLAMA_8B, "fp16").unless_named == ("gpu",)
    assert of("vllm", "inf2", LLAMA_8B, "bf16").unless_named == ("gpu",)
    assert of("vllm", "trn2", LLAMA_8B, "bf16").unless_named == ()


def test_nim_runs_what_the_engine_inside_runs() -> None:
    assert engines()["nim"].built_on == "vllm"
    assert of("nim", "a100_sxm_80g", LLAMA_8B, "fp8").mode == "weight_only"
    assert of("nim", "mi300x", LLAMA_8B, "bf16").status == "no"
    assert of("nim", "h100_sxm", "microsoft/Phi-3-small-8k-instruct", "bf16").status == "no"


def test_sparse_latent_attention_needs_hopper() -> None:
    for engine in ("vllm", "sglang"):
        stated = of(engine, "a100_sxm_80g", "deepseek-ai/DeepSeek-V3.2", "fp8")
        assert (stated.status, stated.why.kind) == ("no", "attention")
        assert of(engine, "h200_sxm", "deepseek-ai/DeepSeek-V3.2", "fp8").status == "supported"


@pytest.mark.parametrize(
    ("engine", "gpu", "model", "precision", "runs"),
    [
        ("vllm", "t4", "google/gemma-3-12b-it", "fp16", False),
        ("vllm", "t4", "google/gemma-2-9b", "int4_awq", False),
        ("vllm", "h100_sxm", "google/gemma-3-27b-it", "fp16", False),
        ("vllm", "a10", "zai-org/GLM-4-32B-0414", "fp16", False),
        ("nim", "h100_sxm", "google/gemma-3-27b-it", "fp16", False),
        ("vllm", "a10", "google/gemma-3-12b-it", "bf16", True),
        ("vllm", "a10", "google/gemma-2-9b", "int4_awq", True),
        ("vllm", "t4", "meta-llama/Meta-Llama-3.1-8B", "fp16", True),
    ],
)
def test_models_that_overflow_in_fp16_need_bf16(engine: str, gpu: str, model: str, precision: str, runs: bool) -> None:
    assert (of(engine, gpu, model, precision).status != "no") is runs


def test_a_class_that_is_not_stated_is_never_more_than_unknown() -> None:
    known = model_named(LLAMA_8B)
    unnamed = replace(known, hf_architecture="")
    stated = support(engines()["vllm"], gpus()["h100_sxm"], unnamed, precisions()["bf16"])
    assert (stated.status, stated.why.kind, stated.why.subject) == ("unknown", "class_unknown", GENERIC_CLASS[False])
    new = replace(known, hf_architecture="NeverHeardOfForCausalLM")
    assert support(engines()["vllm"], gpus()["h100_sxm"], new, precisions()["bf16"]).status == "unknown"


@pytest.mark.parametrize(
    ("model", "degrees", "kind"),
    [
        ("MiniMaxAI/MiniMax-M2.7", (8, 1, 1, 1), "blocks"),  # 1,536 / 8 = 192
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", (8, 1, 8, 1), "blocks"),  # TP cuts the shared expert of 512
        ("tiiuae/falcon-7b", (2, 1, 1, 1), "heads"),
        (LLAMA_70B, (1, 1, 8, 8), "dense"),
        ("MiniMaxAI/MiniMax-M2.7", (8, 1, 4, 1), "experts_split"),
    ],
)
def test_layouts_that_do_not_divide(model: str, degrees: tuple[int, int, int, int], kind: str) -> None:
    stated = laid_out("vllm", "h200_sxm", model, "fp8", *degrees)
    assert (stated.status, stated.why.kind) == ("no", kind)


@pytest.mark.parametrize(
    ("gpu", "tp", "status"), [("tpu_v5e", 8, "supported"), ("tpu_v5e", 16, "unknown"), ("h100_sxm", 16, "supported")]
)
def test_a_tpu_slice_of_several_hosts_is_not_known_to_run_one_instance(gpu: str, tp: int, status: str) -> None:
    stated = laid_out("vllm", gpu, LLAMA_70B, "bf16", tp, 1, 1, 1)
    assert stated.status == status
    assert stated.status == "supported" or stated.why.kind == "hosts"


@pytest.mark.parametrize(
    ("model", "degrees"),
    [
        ("MiniMaxAI/MiniMax-M2.7", (8, 1, 8, 1)),
        ("MiniMaxAI/MiniMax-M2.7", (4, 1, 1, 1)),
        ("MiniMaxAI/MiniMax-M2.7", (1, 1, 8, 8)),
        ("deepseek-ai/DeepSeek-V3", (16, 1, 1, 1)),
        (LLAMA_70B, (16, 1, 1, 1)),  # 8 KV heads are copied
        ("mistralai/Mistral-Large-3-675B-Instruct-2512", (2, 6, 1, 1)),
        ("deepseek-ai/DeepSeek-V3", (1, 1, 48, 48)),  # with redundant experts
    ],
)
def test_layouts_that_run(model: str, degrees: tuple[int, int, int, int]) -> None:
    assert laid_out("vllm", "h200_sxm", model, "fp8", *degrees).status == "supported"


def test_pipeline_stages_are_a_matter_of_engine_and_class() -> None:
    assert laid_out("sglang", "h200_sxm", "deepseek-ai/DeepSeek-V3", "fp8", 8, 2, 1, 1).status == "supported"
    assert laid_out("sglang", "h200_sxm", "google/gemma-2-27b", "bf16", 2, 2, 1, 1).status == "no"
    assert laid_out("tgi", "h100_sxm", LLAMA_70B, "bf16", 2, 2, 1, 1).status == "no"
    assert laid_out("nim", "h100_sxm", LLAMA_70B, "bf16", 2, 2, 1, 1).status == "unknown"


def test_llama_cpp_splits_by_layer_and_its_tensor_split_is_experimental() -> None:
    assert laid_out("llamacpp", "rtx_3090", LLAMA_70B, "q8_0", 1, 4, 1, 1).status == "supported"
    split = laid_out("llamacpp", "rtx_3090", LLAMA_70B, "q8_0", 4, 1, 1, 1)
    assert (split.status, split.why.kind) == ("unknown", "tensor")
    assert laid_out("llamacpp", "h200_sxm", "deepseek-ai/DeepSeek-V3", "q8_0", 8, 1, 1, 1).status == "no"
    assert laid_out("llamacpp", "b60", LLAMA_8B, "q8_0", 2, 1, 1, 1).status == "no"
    assert laid_out("vllm", "rtx_3090", LLAMA_70B, "bf16", 4, 1, 1, 1).status == "supported"  # others say nothing of TP


def test_sglang_has_no_int8_on_blackwell() -> None:
    assert {gpu: of("sglang", gpu, LLAMA_8B, "int8_sq").status for gpu in ("a100_sxm_80g", "b200_sxm", "rtx_5090")} == {
        "a100_sxm_80g": "supported",
        "b200_sxm": "no",
        "rtx_5090": "no",
    }
