"""Names of quantised and fine-tuned checkpoints lead to their architecture and weight format, and say how."""

import contextlib
import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import InvalidScenario, UnknownName
from sizing.catalog import model_from_config, models, resolve_gpu, resolve_model
from sizing.catalog.checkpoint_names import parse
from sizing.catalog.described import describe
from sizing.catalog.encoders import reject_encoder
from sizing.catalog.finding import find_models, summary
from sizing.catalog.gpu_near import OWN_GPU
from sizing.catalog.precisions import named_precision, precisions, resolve_kv_precision
from sizing.catalog.resolve import _aliases
from sizing.question.named_model import assumed

NAMES = list(csv.DictReader((Path(__file__).parent / "checkpoint_names.csv").read_text(encoding="utf-8").splitlines()))
KNOWN = [row for row in NAMES if row["model"]]
PUBLISHERS = ["nvidia", "RedHatAI", "neuralmagic", "unsloth", "amd", "Intel", "TheBloke", "QuantTrio", "someone"]
FORMATS = {
    "FP8": "fp8",
    "FP8-dynamic": "fp8",
    "FP8-KV": "fp8",
    "NVFP4": "nvfp4",
    "FP4": "nvfp4",
    "FP4-V2": "nvfp4",
    "MXFP4": "mxfp4",
    "AWQ": "int4_awq",
    "AWQ-INT4": "int4_awq",
    "GPTQ-Int4": "int4_gptq",
    "GPTQ-Int8": "int8_wo",
    "int4-AutoRound": "int4_gptq",
    "quantized.w4a16": "int4_wo",
    "quantized.w8a8": "int8_sq",
    "W8A16": "int8_wo",
    "INT8": "int8_sq",
    "bnb-4bit": "int4_wo",
    "MLX-8bit": "int8_wo",
    "Q4_K_M": "q4_k_m",
    "UD-Q4_K_XL": "q4_k_m",
    "Q8_0": "q8_0",
    "W4AFP8": "w4a8_awq",
    "BF16": "bf16",
}
VARIANTS = ["Instruct", "Chat", "it", "hf", "Thinking", "SFT", "abliterated"]


def shape(model):
    return (model.params_total, model.layers, model.hidden_size, model.heads, model.kv_elements_full, model.vocab_size)


def offered_instead(resolve, name):
    """The names that an unknown one is answered with; none where it is known."""
    try:
        resolve(name)
    except UnknownName as unknown:
        return unknown.nearest
    return []


def test_enough_names_are_checked():
    assert len(KNOWN) >= 150
    assert len({row["name"] for row in NAMES}) == len(NAMES)


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row["name"])
def test_a_published_name_leads_to_its_architecture_and_format(row):
    resolved = resolve_model(row["name"])
    assert (resolved.model.id, resolved.weight_format.id) == (row["model"], row["precision"])
    if row["name"] not in models():
        bare = row["name"].rsplit("/", 1)[-1].lower()
        assert assumed(resolved) != resolved.model.assumptions or bare == resolved.model.id.rsplit("/", 1)[-1].lower()


@pytest.mark.parametrize("row", [row for row in NAMES if not row["model"]], ids=lambda row: row["name"])
def test_another_architecture_is_never_taken_for_the_one_in_its_name(row):
    with pytest.raises(UnknownName) as caught:
        resolve_model(row["name"])
    assert len(caught.value.nearest) == 3


@given(
    model_id=st.sampled_from(sorted(models())),
    publisher=st.sampled_from(PUBLISHERS),
    told=st.sampled_from(sorted(FORMATS)),
    variant=st.sampled_from(VARIANTS),
    format_first=st.booleans(),
    capitals=st.sampled_from([str.lower, str.upper, str]),
)
def test_any_descendant_of_a_catalogue_model_is_that_model(model_id, publisher, told, variant, format_first, capitals):
    base = f"{publisher}/{model_id.rsplit('/', 1)[-1]}"
    suffixes = [told, variant] if format_first else [variant, told]
    resolved = resolve_model(capitals("-".join([base, *suffixes])))
    assert shape(resolved.model) == shape(models()[model_id])
    marked = parse(model_id).precision
    expected = precisions()[FORMATS[told]]
    if marked is None or marked.bytes >= expected.bytes:
        assert resolved.weight_format.id == expected.id
    order = resolve_model("-".join([base, *reversed(suffixes)]))
    assert (order.model, order.weight_format) == (resolved.model, resolved.weight_format)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["Qwen3", "Llama", "3.1", "70B", "7B", "8x7B", "FP8", "V2", "AWQ", "Distill", "2507", "(", ")"]
            ),
            st.text(max_size=12),
        ),
        max_size=6,
    ).map("-".join)
)
def test_whatever_is_typed_resolves_or_is_unknown_with_at_most_three_names(name):
    for resolve in (resolve_model, resolve_gpu):
        nearest = offered_instead(resolve, name)
        assert len(set(nearest)) == len(nearest) <= 3


@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3-9B", "Llama-3-80B", "mistral-small", "deepseek-r3", "GLM-9", "meta-llama/Lama-3.3-70B", "Quen3-72B"],
)
def test_a_mistyped_name_is_answered_with_three(name):
    with pytest.raises(UnknownName) as caught:
        resolve_model(name)
    assert len(caught.value.nearest) == 3


def test_a_name_of_which_only_the_size_is_known_says_so():
    resolved = resolve_model("acme/Foo-7B-Instruct-AWQ")
    assert resolved.match == "size"
    assert resolved.model.params_total == 7e9
    assert resolved.weight_format.id == "int4_awq"
    assert "Nothing is known of this model but the size" in assumed(resolved)[0]
    assert any("dense transformer" in text for text in assumed(resolved))


@pytest.mark.parametrize(
    "name", ["acme/Foo-30B-A3B", "acme/Foo-8x7B", "acme/Foo-Instruct", "acme/Qwen4-7B", "acme/Foo-MoE-7B"]
)
def test_experts_and_known_families_are_never_guessed_from_a_size(name):
    with pytest.raises(UnknownName):
        resolve_model(name)


def test_a_format_in_the_name_is_an_assumption():
    resolved = resolve_model("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic")
    assert resolved.precision is precisions()["fp8"]
    assert any("FP8 (W8A8)" in text for text in assumed(resolved))
    assert resolve_model("openai/gpt-oss-20b-mxfp4").precision is None  # as the catalogue has it


def test_a_config_without_its_format_takes_it_from_the_name():
    config = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 128256}
    config |= {"intermediate_size": 14336, "model_type": "llama", "torch_dtype": "bfloat16"}
    assert model_from_config(config, name="nvidia/Foo-8B-NVFP4").native_precision == "nvfp4"
    assert model_from_config(config, name="Foo 8B").native_precision == "bf16"


@pytest.mark.parametrize("alias", sorted(_aliases()))
def test_every_alias_leads_to_a_model_of_the_catalogue(alias):
    assert _aliases()[alias][0] in models()
    assert resolve_model(alias).model.id == _aliases()[alias][0]


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("fp8", "fp8"),
        ("FP8", "fp8"),
        ("fp8_e4m3", "fp8"),
        ("FP8-dynamic", "fp8"),
        ("fp8 (sliding-window layers bf16)", "fp8"),
        ("NVFP4 (experts only)", "nvfp4"),
        ("bfloat16", "bf16"),
        ("BF16", "bf16"),
        ("w4a16", "int4_wo"),
        ("W8A8", "int8_sq"),
        ("int4", "int4_awq"),
        ("GPTQ-Int4", "int4_gptq"),
        ("w4afp8", "w4a8_awq"),
        ("mxfp4", "mxfp4"),
    ],
)
def test_a_weight_format_is_known_by_its_common_names(name, precision):
    named = named_precision(name)
    assert named.precision.id == precision
    assert named.remark == (name.split("(")[1].rstrip(")") if "(" in name else "")


def test_kv_formats_are_known_by_their_common_names():
    assert {resolve_kv_precision(name) for name in ("fp8", "fp8_e5m2", "FP8 (e4m3)", "int8")} == {"fp8"}
    assert {resolve_kv_precision(name) for name in ("fp16", "bfloat16", "auto", "bf16 (default)")} == {"fp16"}


@pytest.mark.parametrize(
    ("name", "gpu_id"),
    [
        ("gh200_96g", "gh200"),
        ("gh200_144g", "gh200_144g"),
        ("mi350x", "mi350x"),
        ("h20", "h20"),
        ("NVIDIA H20", "h20"),
        ("h20_3e", "h20_3e"),
        ("H20 141GB", "h20_3e"),
        ("NVIDIA H20-3e", "h20_3e"),
        ("h800_sxm", "h800_sxm"),
        ("a800", "a800_sxm_80g"),
        ("arc_b60", "b60"),
        ("Intel Arc Pro B60", "b60"),
        ("a100_40g", "a100_sxm_40g"),
        ("a100_80gb", "a100_sxm_80g"),
        ("h100_80g", "h100_sxm"),
        ("h200_141gb", "h200_sxm"),
        ("b200_180g", "b200_sxm"),
        ("l40s_48g", "l40s"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_server"),
        ("RTX3090", "rtx_3090"),
        ("l20", "l20"),
        ("H800 PCIe", "h800_pcie"),
        ("h100_sxm_64g", "h100_sxm_64g"),
        ("H100 96GB", "h100_sxm_96g"),
        ("AMD Instinct MI210", "mi210"),
        ("NVIDIA GeForce RTX 5080", "rtx_5080"),
        ("RTX 4080", "rtx_4080"),
        ("rtx 3090 ti", "rtx_3090_ti"),
        ("rtx pro 5000", "rtx_pro_5000"),
        ("rtx_pro_4500", "rtx_pro_4500"),
        ("NVIDIA A2", "a2"),
        ("dgx spark", "gb10"),
        ("NVIDIA GB10", "gb10"),
        ("A16", "a16"),
        ("v100_16g", "v100_sxm_16g"),
        ("Tesla V100-PCIE-16GB", "v100_pcie_16g"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_workstation"),
        ("RTX PRO 4500 Server", "rtx_pro_4500_server"),
        ("AMD Instinct MI455X", "mi455x"),
        ("TPU v5p", "tpu_v5p"),
    ],
)
def test_common_names_of_gpus(name, gpu_id):
    assert resolve_gpu(name).id == gpu_id


@pytest.mark.parametrize("name", ["h100_40g", "v100_24g", "b40", "tpu_v3", "l40s_96g"])
def test_another_memory_or_an_unknown_gpu_is_never_guessed(name):
    with pytest.raises(UnknownName) as caught:
        resolve_gpu(name)
    assert caught.value.nearest or OWN_GPU in str(caught.value)
    with contextlib.suppress(UnknownName):
        assert len({resolve_gpu(near).id for near in caught.value.nearest}) == len(caught.value.nearest)


@pytest.mark.parametrize(
    ("name", "words", "context"),
    [
        ("Qwen/Qwen3-235B-A22B-Instruct-2601", ("2601",), None),
        ("GLM-4-9B-0501", ("0501",), None),
        ("mistralai/Mistral-7B-Instruct-v0.4", ("v0.4",), None),
        ("Mistral-Small-24B-Instruct-2503", ("2503",), None),
        ("lmsys/vicuna-13b-v1.3", ("v1.3",), None),
        ("Phi-4-mini-instruct-2512-FP8", ("2512",), None),
        ("granite-3.3-8b-instruct-1m", ("1m",), 1_000_000),
        ("THUDM/chatglm3-6b-32k", ("32k",), 32_768),
        ("moonshotai/Kimi-K2-Instruct-0905", (), 262_144),
        ("nvidia/DeepSeek-R1-0528-FP4-V2", (), 163_840),
        ("Qwen/Qwen3-4B-Instruct-2507-FP8", (), 262_144),
        ("Qwen2.5-14B-1M", (), 1_010_000),
        ("zai-org/GLM-4-9B-0414", (), 32_768),
        ("THUDM/glm-4-9b-chat-1m", (), 1_048_576),
        ("llama3-70b-8192", (), 8_192),
        ("meta.llama2-13b-chat-v1", (), 4_096),
        ("Llama-3.1-8B-128k", (), 131_072),
    ],
)
def test_a_release_that_is_not_known_is_said_and_has_no_context_of_another(name, words, context):
    resolved = resolve_model(name)
    assert (resolved.unknown_words, resolved.model.max_context) == (words, context)
    said = " ".join((*assumed(resolved), *describe(name).assumptions, summary(find_models(name))))
    assert all(said.count(f"“{word}”") == 3 for word in words)
    assert ("known of" in said) == bool(words)


def test_four_kv_groups_of_the_long_glm_are_not_those_of_its_sibling():
    long, short = resolve_model("THUDM/glm-4-9b-chat-1m").model, resolve_model("THUDM/glm-4-9b-chat").model
    assert long.kv_elements_full == 2 * short.kv_elements_full


@pytest.mark.parametrize(
    "name",
    [
        *("gpt-4o-mini", "anthropic.claude-3-5-sonnet-20241022-v2:0", "us.amazon.nova-pro-v1:0", "mistral-medium-2505"),
        *("mistral.mistral-large-2402-v1:0", "Mistral-Large-Instruct-2402", "qwen3-max", "ai21.j2-ultra-v1"),
        *("codestral-2501", "mistralai/Codestral-25.01", "magistral-medium-2509", "devstral-medium-2507"),
    ],
)
def test_what_only_its_provider_runs_is_refused_on_every_door(name):
    for ask in (describe, reject_encoder):
        with pytest.raises(InvalidScenario, match="only its provider serves it"):
            ask(name)
    assert "only its provider serves it" in summary(find_models(name))


@pytest.mark.parametrize("name", ["gpt-oss:20b", "Mistral-Medium-3.5-128B", "qwen3:32b", "mistral-large:123b", "gpt2"])
def test_open_models_of_the_same_makers_are_not(name):
    assert describe(name).params_total > 0
