"""config.json: real ones against the catalogue, hand-written families, and everything that is not one."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.model_row import row
from sizing.base.errors import InvalidModelConfig, UnknownName
from sizing.catalog import model_from_config, models, resolve_model
from sizing.catalog.config_fields import FIELDS, MAX_CONFIG_BYTES
from sizing.catalog.model_rows import model_of_row

LLAMA_3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def real_configs() -> list[Path]:
    try:
        import aiconfigurator_core
    except ImportError:
        return []
    folder = Path(aiconfigurator_core.__file__).parent / "model_configs"
    found = sorted(path for path in folder.glob("*_config.json") if not path.name.endswith("hf_quant_config.json"))
    return [path for path in found if path.stat().st_size <= MAX_CONFIG_BYTES]


def test_real_configurations_are_at_hand():
    pytest.importorskip("aiconfigurator_core")
    assert len(real_configs()) > 80


@pytest.mark.parametrize("path", real_configs(), ids=lambda path: path.name.removesuffix("_config.json"))
def test_a_row_of_the_catalogue_made_from_a_configuration_is_the_same_model(path):
    config, name = path.read_bytes(), path.name.removesuffix("_config.json").replace("--", "/")
    read = model_from_config(config, name=name)
    shipped = model_of_row(row(config, name, "a file", "2026-11-22"))
    told_otherwise = {"family": read.family, "developer": read.developer, "source": read.source, "notes": read.notes}
    counts = {"params_total": pytest.approx(read.params_total), "params_active": pytest.approx(read.params_active)}
    assert vars(shipped) | told_otherwise == vars(read) | counts


@pytest.mark.parametrize("path", real_configs(), ids=lambda path: path.name.removesuffix("_config.json"))
def test_real_configurations_give_the_parameters_and_kv_cache_of_the_catalogue(path):
    """Parameters within 0.5 %, cached values and state exactly; a model beyond the catalogue must at least be read."""
    name = path.name.removesuffix("_config.json").replace("--", "/")
    model = model_from_config(path.read_bytes(), name=name)
    assert model.id == name
    try:
        known, _ = resolve_model(name)
    except UnknownName:
        assert 1e8 < model.params_active <= model.params_total < 5e12
        return
    assert model.params_total == pytest.approx(known.params_total, rel=0.005)
    assert model.params_active == pytest.approx(known.params_active, rel=0.005)
    for fact in (
        "layers",
        "hidden_size",
        "heads",
        "kv_heads",
        "head_dim",
        "attention",
        "full_layers",
        "sliding_layers",
        "linear_layers",
        "sliding_window",
        "kv_elements_full",
        "kv_elements_sliding",
        "state_elements",
        "experts",
        "norm_collectives",
        "parallel_blocks",
        "experts_per_token",
        "shared_experts",
        "moe_layers",
        "tie_embeddings",
    ):
        assert getattr(model, fact) == getattr(known, fact), fact


@pytest.mark.parametrize(
    ("config", "model_id"),
    [
        (LLAMA_3_8B, "meta-llama/Meta-Llama-3-8B"),
        (
            {
                "model_type": "mistral",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 32000,
                "sliding_window": 4096,
                "max_position_embeddings": 32768,
                "tie_word_embeddings": False,
            },
            "mistralai/Mistral-7B-v0.1",
        ),
        (
            {
                "model_type": "mistral",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 32768,
                "sliding_window": None,
            },
            "mistralai/Mistral-7B-Instruct-v0.3",
        ),
        (
            {
                "model_type": "mixtral",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "vocab_size": 32000,
                "num_local_experts": 8,
                "num_experts_per_tok": 2,
                "sliding_window": None,
            },
            "mistralai/Mixtral-8x7B-v0.1",
        ),
        (
            {
                "model_type": "qwen2",
                "hidden_size": 3584,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "intermediate_size": 18944,
                "vocab_size": 152064,
                "use_sliding_window": False,
                "sliding_window": 131072,
                "max_window_layers": 28,
                "tie_word_embeddings": False,
            },
            "Qwen/Qwen2.5-7B-Instruct",
        ),
        (
            {
                "model_type": "qwen2_moe",
                "hidden_size": 2048,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "num_key_value_heads": 16,
                "intermediate_size": 5632,
                "moe_intermediate_size": 1408,
                "num_experts": 60,
                "num_experts_per_tok": 4,
                "shared_expert_intermediate_size": 5632,
                "decoder_sparse_step": 1,
                "vocab_size": 151936,
            },
            "Qwen/Qwen1.5-MoE-A2.7B",
        ),
        (
            {
                "model_type": "gemma2",
                "hidden_size": 3584,
                "num_hidden_layers": 42,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "head_dim": 256,
                "intermediate_size": 14336,
                "vocab_size": 256000,
                "sliding_window": 4096,
            },
            "google/gemma-2-9b",
        ),
        (
            {
                "model_type": "gemma3",
                "text_config": {
                    "model_type": "gemma3_text",
                    "hidden_size": 5376,
                    "num_hidden_layers": 62,
                    "num_attention_heads": 32,
                    "num_key_value_heads": 16,
                    "head_dim": 128,
                    "intermediate_size": 21504,
                    "sliding_window": 1024,
                    "vocab_size": 262144,
                },
                "vision_config": {"hidden_size": 1152},
            },
            "google/gemma-3-27b-it",
        ),
        (
            {
                "model_type": "phi3",
                "hidden_size": 3072,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 32,
                "intermediate_size": 8192,
                "vocab_size": 32064,
                "sliding_window": None,
            },
            "microsoft/Phi-3-mini-4k-instruct",
        ),
        (
            {
                "model_type": "phi",
                "hidden_size": 2560,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "intermediate_size": 10240,
                "vocab_size": 51200,
            },
            "microsoft/phi-2",
        ),
        (
            {
                "model_type": "falcon",
                "hidden_size": 4544,
                "num_hidden_layers": 32,
                "num_attention_heads": 71,
                "multi_query": True,
                "new_decoder_architecture": False,
                "vocab_size": 65024,
            },
            "tiiuae/falcon-7b",
        ),
        (
            {
                "model_type": "falcon",
                "hidden_size": 8192,
                "num_hidden_layers": 60,
                "num_attention_heads": 128,
                "num_kv_heads": 8,
                "new_decoder_architecture": True,
                "vocab_size": 65024,
            },
            "tiiuae/falcon-40b",
        ),
        (
            {
                "model_type": "gpt_neox",
                "hidden_size": 6144,
                "num_hidden_layers": 44,
                "num_attention_heads": 64,
                "intermediate_size": 24576,
                "vocab_size": 50432,
                "tie_word_embeddings": False,
            },
            "EleutherAI/gpt-neox-20b",
        ),
        (
            {
                "model_type": "gptj",
                "n_embd": 4096,
                "n_layer": 28,
                "n_head": 16,
                "n_inner": None,
                "vocab_size": 50400,
                "n_positions": 2048,
                "tie_word_embeddings": False,
            },
            "EleutherAI/gpt-j-6b",
        ),
        (
            {
                "model_type": "opt",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "ffn_dim": 16384,
                "vocab_size": 50272,
                "max_position_embeddings": 2048,
            },
            "facebook/opt-6.7b",
        ),
        (
            {
                "model_type": "bloom",
                "n_embed": 4096,
                "hidden_size": 4096,
                "n_layer": 30,
                "num_attention_heads": 32,
                "vocab_size": 250880,
            },
            "bigscience/bloom-7b1",
        ),
        (
            {
                "model_type": "gpt_bigcode",
                "n_embd": 6144,
                "n_layer": 40,
                "n_head": 48,
                "n_inner": 24576,
                "multi_query": True,
                "n_positions": 8192,
                "vocab_size": 49152,
            },
            "bigcode/starcoder",
        ),
        (
            {
                "model_type": "mpt",
                "d_model": 4096,
                "n_layers": 32,
                "n_heads": 32,
                "expansion_ratio": 4,
                "max_seq_len": 2048,
                "attn_config": {"attn_type": "multihead_attention"},
                "vocab_size": 50432,
            },
            "mosaicml/mpt-7b",
        ),
        (
            {
                "model_type": "dbrx",
                "d_model": 6144,
                "n_layers": 40,
                "n_heads": 48,
                "attn_config": {"kv_n_heads": 8},
                "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
                "max_seq_len": 32768,
                "vocab_size": 100352,
                "tie_word_embeddings": False,
            },
            "databricks/dbrx-instruct",
        ),
        (
            {
                "model_type": "chatglm",
                "hidden_size": 4096,
                "num_layers": 28,
                "num_attention_heads": 32,
                "multi_query_attention": True,
                "multi_query_group_num": 2,
                "kv_channels": 128,
                "ffn_hidden_size": 13696,
                "padded_vocab_size": 65024,
                "seq_length": 8192,
            },
            "THUDM/chatglm3-6b",
        ),
        (
            {
                "model_type": "deepseek_v2",
                "hidden_size": 2048,
                "num_hidden_layers": 27,
                "num_attention_heads": 16,
                "num_key_value_heads": 16,
                "kv_lora_rank": 512,
                "q_lora_rank": None,
                "qk_nope_head_dim": 128,
                "qk_rope_head_dim": 64,
                "v_head_dim": 128,
                "intermediate_size": 10944,
                "moe_intermediate_size": 1408,
                "n_routed_experts": 64,
                "n_shared_experts": 2,
                "num_experts_per_tok": 6,
                "first_k_dense_replace": 1,
                "moe_layer_freq": 1,
                "vocab_size": 102400,
            },
            "deepseek-ai/DeepSeek-V2-Lite",
        ),
        (
            {
                "model_type": "glm4_moe",
                "hidden_size": 4096,
                "num_hidden_layers": 46,
                "num_attention_heads": 96,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 10944,
                "moe_intermediate_size": 1408,
                "n_routed_experts": 128,
                "n_shared_experts": 1,
                "num_experts_per_tok": 8,
                "first_k_dense_replace": 1,
                "vocab_size": 151552,
                "tie_word_embeddings": False,
            },
            "zai-org/GLM-4.5-Air",
        ),
        (
            {
                "model_type": "jamba",
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "intermediate_size": 14336,
                "num_experts": 16,
                "num_experts_per_tok": 2,
                "attn_layer_period": 8,
                "attn_layer_offset": 4,
                "expert_layer_period": 2,
                "expert_layer_offset": 1,
                "mamba_d_state": 16,
                "mamba_d_conv": 4,
                "mamba_expand": 2,
                "mamba_dt_rank": 256,
                "vocab_size": 65536,
                "tie_word_embeddings": False,
            },
            "ai21labs/Jamba-v0.1",
        ),
        (
            {
                "model_type": "qwen3_next",
                "hidden_size": 2048,
                "num_hidden_layers": 48,
                "num_attention_heads": 16,
                "num_key_value_heads": 2,
                "head_dim": 256,
                "full_attention_interval": 4,
                "linear_num_value_heads": 32,
                "linear_num_key_heads": 16,
                "linear_key_head_dim": 128,
                "linear_value_head_dim": 128,
                "linear_conv_kernel_dim": 4,
                "intermediate_size": 5632,
                "moe_intermediate_size": 512,
                "num_experts": 512,
                "num_experts_per_tok": 10,
                "shared_expert_intermediate_size": 512,
                "decoder_sparse_step": 1,
                "mlp_only_layers": [],
                "vocab_size": 151936,
            },
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_families_by_hand_give_the_catalogue_model(config, model_id):
    model, known = model_from_config(config), models()[model_id]
    assert model.params_total == pytest.approx(known.params_total, rel=0.02)
    assert model.params_active == pytest.approx(known.params_active, rel=0.03)
    assert model.kv_elements_full == known.kv_elements_full
    assert model.kv_elements_sliding == known.kv_elements_sliding
    assert model.sliding_window == known.sliding_window
    assert model.state_elements == known.state_elements
    assert model.moe_layers == known.moe_layers


def test_the_form_of_the_input_does_not_matter():
    text = json.dumps(LLAMA_3_8B)
    assert model_from_config(LLAMA_3_8B) == model_from_config(text) == model_from_config(text.encode())
    assert model_from_config(text.encode("utf-8-sig")).params_total == model_from_config(text).params_total


def test_llama_3_8b_has_8_billion_parameters_and_65536_kv_values():
    model = model_from_config(LLAMA_3_8B, name="mine")
    assert (model.id, model.attention, model.head_dim, model.max_context) == ("mine", "gqa", 128, 8192)
    assert model.params_total == pytest.approx(8.03e9, rel=0.001)
    assert model.kv_elements_full == 2 * 32 * 8 * 128


@pytest.mark.parametrize(
    ("change", "precision"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"torch_dtype": "float32"}, "bf16"),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "int4_awq"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "int4_gptq"),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {
                        "group_0": {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8}}
                    },
                }
            },
            "int8_sq",
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
                }
            },
            "fp8",
        ),
        ({"quantization_config": "fp8"}, "bf16"),
    ],
)
def test_the_format_of_the_checkpoint_is_read(change, precision):
    assert model_from_config({**LLAMA_3_8B, **change}).native_precision == precision


def test_an_unknown_family_is_sized_like_llama_and_says_so():
    model = model_from_config({**LLAMA_3_8B, "model_type": "brandnew"})
    assert model.params_total == model_from_config(LLAMA_3_8B).params_total
    assert any("brandnew" in said for said in model.assumptions)


def test_the_vision_encoder_is_left_out_and_said_so():
    model = model_from_config({"text_config": LLAMA_3_8B, "vision_config": {"hidden_size": 1024}})
    assert any("vision" in said for said in model.assumptions)


MALFORMED = {
    "empty": b"",
    "not json": "hello",
    "html": "<html></html>",
    "truncated": json.dumps(LLAMA_3_8B)[:-5],
    "list": "[1, 2]",
    "number": "3",
    "null": "null",
    "empty object": "{}",
    "binary": bytes(range(256)),
    "deeply nested": "[" * 100_000,
    "deeply nested object": '{"a":' * 20_000,
    "too large": b" " * (MAX_CONFIG_BYTES + 1),
    "50 MB": b"x" * 50_000_000,
    "lora adapter": {"peft_type": "LORA", "r": 8},
    "tokenizer": {"tokenizer_class": "LlamaTokenizer"},
    "encoder-decoder": {"model_type": "t5", "is_encoder_decoder": True, "d_model": 512},
    "diffusion pipeline": {"_class_name": "StableDiffusionPipeline"},
    "mamba without attention": {"model_type": "mamba", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 50},
    "huge integer": '{"hidden_size": ' + "9" * 10_000 + "}",
}


@pytest.mark.parametrize("config", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_a_config_is_refused_in_one_sentence(config):
    with pytest.raises(InvalidModelConfig) as caught:
        model_from_config(config)
    message = str(caught.value)
    assert "\n" not in message
    assert 20 < len(message) < 300
    assert caught.value.__cause__ is None


def test_a_large_file_is_refused_with_the_reason():
    with pytest.raises(InvalidModelConfig, match=r"^config\.json is larger than 1 MB: that is not a config\.json$"):
        model_from_config(b"x" * 50_000_000)


@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize(
    "value", [0, -1, 1e12, 1.5, float("nan"), float("inf"), "many", True, [], {}, None, 10**400, "4096"]
)
def test_absurd_values_are_refused_and_name_the_field(field, value):
    with pytest.raises(InvalidModelConfig) as caught:
        model_from_config({**LLAMA_3_8B, field: value})
    assert field in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"num_key_value_heads": 64}, "cannot be more KV heads"),
        ({"num_attention_heads": 8192, "num_key_value_heads": 8}, "lower the number of heads"),
        ({"num_local_experts": 8}, "num_experts_per_tok"),
        ({"num_local_experts": 8, "num_experts_per_tok": 9}, "lower num_experts_per_tok"),
        ({"layer_types": ["full_attention"] * 31}, "31 layer types for 32 layers"),
        ({"layer_types": ["telepathy"] * 32}, "telepathy"),
        ({"layer_types": ["sliding_attention"] * 32}, "no sliding_window"),
        ({"hybrid_override_pattern": "MX*"}, "letters M"),
        ({"hidden_size": 500_000, "num_hidden_layers": 2000}, "billion parameters"),
        ({"block_configs": [1, 2]}, "block_configs"),
        ({"compress_ratios": ["x"]}, "compress_ratios"),
        ({"intermediate_size": -3}, "intermediate_size"),
    ],
)
def test_contradictions_are_refused_with_what_to_change(change, match):
    with pytest.raises(InvalidModelConfig, match=match):
        model_from_config({**LLAMA_3_8B, **change})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
KEYS = sorted(
    {name for names in FIELDS.values() for name in names}
    | {
        "layer_types",
        "hybrid_override_pattern",
        "block_configs",
        "compress_ratios",
        "linear_attn_config",
        "kv_lora_rank",
        "q_lora_rank",
        "quantization_config",
        "text_config",
        "ffn_config",
        "attn_config",
        "moe_layer_freq",
        "model_type",
        "sparse_attention_config",
        "sliding_window_pattern",
        "full_attention_interval",
        "attn_layer_period",
        "mlp_only_layers",
        "index_head_dim",
        "attn_type_list",
        "hybrid_layer_pattern",
        "layers_block_type",
        "first_k_dense_replace",
        "mamba_d_state",
    }
)


@given(st.text() | st.binary() | JSON.map(lambda value: json.dumps(value)))
def test_any_text_is_a_model_or_refused(config):
    with contextlib.suppress(InvalidModelConfig):
        model_from_config(config)


@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.integers(0, 5000), max_size=8))
def test_any_change_to_a_real_configuration_is_a_model_or_refused(change):
    try:
        model = model_from_config({**LLAMA_3_8B, **change})
    except InvalidModelConfig:
        return
    assert 0 < model.params_active <= model.params_total < 3e13
    assert model.kv_elements_full >= 0
    assert model.kv_elements_sliding >= 0
