"""From typed names to catalogue entries: every name of the evidence, common checkpoints, and never another size."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import UnknownName
from sizing.catalog import gpus, models, resolve_gpu, resolve_model
from sizing.question.named_model import assumed

EVIDENCE_MODELS = [
    "BAAI/Aquila-7B",
    "Deci/DeciLM-7B",
    "EleutherAI/gpt-j-6b",
    "MiniMaxAI/MiniMax-M2.5",
    "Qwen/Qwen1.5-7B",
    "Qwen/Qwen2-72B",
    "Qwen/Qwen2-7B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen/Qwen3-32B",
    "amd/Llama-3.1-405B-Instruct-FP8-KV",
    "bigscience/bloom",
    "bigscience/bloom-7b1",
    "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-R1-0528",
    "facebook/opt-6.7b",
    "huggyllama/llama-7b",
    "meta-llama/Llama-2-70b-chat-hf",
    "meta-llama/Llama-2-70b-hf",
    "meta-llama/Llama-2-7b-hf",
    "meta-llama/Llama-3.1-405B",
    "meta-llama/Llama-3.1-405B-FP8",
    "meta-llama/Llama-3.1-405B-Instruct",
    "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "meta-llama/Meta-Llama-3-70B",
    "meta-llama/Meta-Llama-3-8B",
    "mistralai/Mistral-7B-v0.1",
    "mistralai/Mixtral-8x22B-v0.1",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "mistralai/Mixtral-8x7B-v0.1",
    "moonshotai/Kimi-K2.5",
    "nvidia/DeepSeek-R1-NVFP4",
    "nvidia/DeepSeek-V3.1-NVFP4",
    "nvidia/Llama-3.1-405B-Instruct-FP4",
    "nvidia/Llama-3.1-405B-Instruct-FP8",
    "nvidia/Llama-3.1-8B-Instruct-FP8",
    "nvidia/Llama-3.3-70B-Instruct-FP4",
    "nvidia/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "nvidia/Nemotron-Nano-30B (FP8)",
    "nvidia/Nemotron-Super-49B (FP8)",
    "nvidia/Qwen3-32B-NVFP4",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
    "tiiuae/falcon-180B",
]
EVIDENCE_GPUS = [
    "h100_sxm",
    "mi300x",
    "h200_sxm",
    "b200_sxm",
    "a100_sxm_40g",
    "mi250",
    "gh200",
    "gb200",
    "a100_sxm_80g",
    "l40s",
    "b300_sxm",
    "mi355x",
    "mi325x",
    "gh200_120gb",
    "h100_nvl",
    "h200_nvl",
    "h100_pcie",
    "gh200_480gb",
    "gb300",
]
SIMILAR_ONLY = {"BAAI/Aquila-7B", "Deci/DeciLM-7B"}


def size_in(name: str) -> str | None:
    """The last size such as 8B, 8x7B or 405b that a name gives."""
    found = re.findall(r"(?<![a-z\d.])(\d+x)?(\d+(?:\.\d+)?)b(?![a-z])", name.lower())
    return "".join(found[0]) if found else None


@pytest.mark.parametrize("name", EVIDENCE_MODELS)
def test_every_model_of_the_evidence_resolves_to_its_size(name):
    resolved = resolve_model(name)
    assert size_in(name) in (None, size_in(resolved.model.id)) or name == "nvidia/Nemotron-Nano-30B (FP8)"
    assert ("similar, not equal" in resolved.note) == (name in SIMILAR_ONLY)
    assert (resolved.match == "id") == (name in models())


@pytest.mark.parametrize("name", EVIDENCE_GPUS)
def test_every_gpu_of_the_evidence_resolves(name):
    assert resolve_gpu(name).id in (name, name.split("_")[0], f"{name}x")


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama/Meta-Llama-3-8B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B"),
        ("NousResearch/Meta-Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B"),
        ("llama 3 8b instruct", "meta-llama/Meta-Llama-3-8B"),
        ("QWEN/qwen3-32b", "Qwen/Qwen3-32B"),
        ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen3-32B-FP8", "Qwen/Qwen3-32B"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen/Qwen3-30B-A3B-Instruct-2507"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-ai/DeepSeek-R1"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "Qwen/Qwen2.5-32B-Instruct"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "Qwen/Qwen3-8B"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistralai/Mistral-7B-v0.1"),
        ("TheBloke/Llama-2-70B-Chat-AWQ", "meta-llama/Llama-2-70b-hf"),
        ("RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16", "meta-llama/Llama-3.3-70B-Instruct"),
        ("unsloth/gemma-3-27b-it-bnb-4bit", "google/gemma-3-27b-it"),
        ("Mixtral 8x7B", "mistralai/Mixtral-8x7B-v0.1"),
    ],
)
def test_common_names_resolve(name, model_id):
    assert resolve_model(name).model.id == model_id


@pytest.mark.parametrize("model_id", list(models()))
def test_a_catalogue_id_is_itself_in_any_capitals_without_a_note(model_id):
    assert resolve_model(model_id).match == "id"
    assert resolve_model(model_id).model is models()[model_id]
    assert assumed(resolve_model(model_id)) == models()[model_id].assumptions
    assert resolve_model(model_id.upper()).model is models()[model_id]


@pytest.mark.parametrize("model_id", list(models()))
def test_a_bare_name_keeps_its_size(model_id):
    found = resolve_model(model_id.rsplit("/", 1)[-1]).model
    assert found.params_total == models()[model_id].params_total


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "Llama 70B",
        "Llama-3-80B",
        "mistral-small",
        "mistralai/Mistral-Small-Instruct-2604",
        "NeMo 43B GPT",
        "Qwen/Qwen3-9B",
        "x" * 100_000,
        "../../etc/passwd",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen",
    ],
)
def test_a_name_that_fits_nothing_or_several_is_unknown(name):
    with pytest.raises(UnknownName) as caught:
        resolve_model(name)
    assert len(str(caught.value)) < 400


def test_an_unknown_name_offers_the_nearest_ones():
    with pytest.raises(UnknownName, match=r"Did you mean .*Meta-Llama-3-8B"):
        resolve_model("Llama-3-80B")
    with pytest.raises(UnknownName, match="Did you mean"):
        resolve_gpu("DGX H100")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("h100_sxm:1g.10gb", "gpus: [h100_sxm], and slice: 1g.10gb."),
        ("A100 SXM 80GB MIG 3g.40gb", "gpus: [a100_sxm_80g], and slice: 3g.40gb."),
        ("l40s/1/4", "gpus: [l40s], and slice: 1/4."),
    ],
)
def test_a_slice_named_as_a_gpu_says_how_it_is_asked_for(name, hint):
    with pytest.raises(UnknownName) as caught:
        resolve_gpu(name)
    assert str(caught.value).endswith(hint)


@given(st.text(max_size=60))
def test_any_text_resolves_or_is_unknown(name):
    for resolve in (resolve_model, resolve_gpu):
        with contextlib.suppress(UnknownName):
            resolve(name)


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("H100", "h100_sxm"),
        ("h100 sxm", "h100_sxm"),
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA H100 PCIe", "h100_pcie"),
        ("NVIDIA H100 NVL", "h100_nvl"),
        ("NVIDIA A100-SXM4-40GB", "a100_sxm_40g"),
        ("NVIDIA A100 80GB PCIe", "a100_pcie_80g"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("AMD Instinct MI300X OAM", "mi300x"),
        ("Tesla V100-SXM2-32GB", "v100_sxm"),
        ("RTX PRO 6000", "rtx_pro_6000_server"),
        ("mi250", "mi250x"),
        ("Trainium2", "trn2"),
    ],
)
def test_product_and_driver_names_of_gpus_resolve(name, gpu_id):
    assert resolve_gpu(name).id == gpu_id


@pytest.mark.parametrize("gpu_id", list(gpus()))
def test_a_gpu_is_found_by_id_and_by_name(gpu_id):
    assert resolve_gpu(gpu_id.upper()).id == gpu_id
    assert resolve_gpu(gpus()[gpu_id].name).id == gpu_id
