"""What is not a config.json of a transformer is refused in one sentence."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import InvalidModelConfig
from sizing.catalog import model_from_config
from sizing.catalog.config_fields import MAX_CONFIG_BYTES, field_names
from sizing.catalog.precisions import precisions
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

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
    "diffusion transformer": {"_class_name": "FluxTransformer2DModel", "num_layers": 19, "attention_head_dim": 128},
    "quantised by a word": LLAMA_3_8B | {"quantization_config": "fp8"},
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
    with pytest.raises(InvalidModelConfig, match=r"^config\.json is larger than 1 MB: use the one"):
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
        ({"num_key_value_heads": 64}, "lower num_key_value_heads"),
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


QUANTISATION_KEYS = (
    *("bits", "group_size", "config_groups", "quantized_layers", "quant_algo", "ignore", "dynamic", "quant_config"),
    *("quant_type", "global_quant_config", "layer_quant_config", "extra_config", "head_bits", "weights", "lm_head"),
    *("modules_to_not_convert", "exclude_modules", "quantization", "data_type"),
)
METHODS = (
    *("gptq", "awq", "auto-round", "bitsandbytes", "hqq", "aqlm", "exl3", "modelopt", "compressed-tensors", "quark"),
    *("torchao", "quanto", "bitnet", "fp8", "mxfp4", "brandnew"),
)
QUANTISATION = st.fixed_dictionaries(
    {"quant_method": st.sampled_from(METHODS)},
    optional={key: st.deferred(lambda: JSON | st.integers(-5, 300)) for key in QUANTISATION_KEYS},
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


KEYS = sorted(
    {name for names in field_names().values() for name in names}
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
        "architectures",
        "is_encoder_decoder",
        "encoder",
        "decoder",
        "params",
        "dim",
        "multiple_of",
        "ffn_dim_multiplier",
        "moe",
        "ssm_cfg",
        "vision_config",
        "block_types",
        "attention_types",
        "attn_layer_indices",
        "full_attn_idxs",
        "hybrid_layer_ids",
        "layer_group_size",
        "cross_attention_layers",
        "cla_share_factor",
        "use_cla",
        "num_key_value_heads_per_layer",
        "ffn_multipliers",
        "mamba_step",
        "lru_width",
        "conv_L_cache",
        "adapter_rank",
        "num_mem_blocks",
        "moe_layers_enum",
        "tie_word_embeddings",
        "embedding_size",
        "pad_vocab_size_multiple",
        "time_step_rank",
        "state_size",
        "expand",
    }
)


@given(st.text() | st.binary() | JSON.map(lambda value: json.dumps(value)))
def test_any_text_is_a_model_or_refused(config):
    with contextlib.suppress(InvalidModelConfig):
        model_from_config(config)


TYPES = (
    "zamba",
    "zamba2",
    "mamba",
    "mamba2",
    "lfm2",
    "recurrent_gemma",
    "bert",
    "albert",
    "t5",
    "whisper",
    "mllama_text_model",
)
TYPES += (
    "falcon_h1",
    "openelm",
    "plamo2",
    "rwkv6",
    "granitemoehybrid",
    "gemma3_text",
    "deberta-v2",
    "nemotron_h",
    "hunyuan",
)


@given(QUANTISATION)
def test_any_quantisation_is_a_format_or_refused(section):
    with contextlib.suppress(InvalidModelConfig):
        model = model_from_config({**LLAMA_3_8B, "quantization_config": section})
        assert model.native_precision in precisions()
        assert all(stored > 0 for _, stored in model.stored_bytes)


@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON | st.integers(0, 5000), max_size=8))
def test_any_file_of_a_known_type_is_a_model_or_refused(model_type, change):
    with contextlib.suppress(InvalidModelConfig):
        model = model_from_config({**LLAMA_3_8B, "model_type": model_type, **change})
        assert model.params_total > 0


@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.integers(0, 5000), max_size=8))
def test_any_change_to_a_real_configuration_is_a_model_or_refused(change):
    try:
        model = model_from_config({**LLAMA_3_8B, **change})
    except InvalidModelConfig:
        return
    assert 0 < model.params_active <= model.params_total < 3e13
    assert model.kv_elements_full >= 0
    assert model.kv_elements_sliding >= 0
