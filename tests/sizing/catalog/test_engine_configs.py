"""Configurations of engines and reference codes, and models that write no token at a time."""

import json

import pytest

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_json import model_from_config
from sizing.catalog.weights import weight_bytes

LLAMA = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
TRTLLM = LLAMA | {
    "producer": {"name": "modelopt"},
    "architecture": "LlamaForCausalLM",
    "dtype": "bfloat16",
    "head_size": 128,
    "share_embedding_table": False,
    "max_position_embeddings": 131072,
    "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    "mapping": {"world_size": 2, "tp_size": 2, "pp_size": 1},
}
WIDE = {"quantization": {"quant_algo": None}}
GPT_OSS = {
    "num_hidden_layers": 36,
    "num_experts": 128,
    "experts_per_token": 4,
    "vocab_size": 201088,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "swiglu_limit": 7.0,
    "head_dim": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "sliding_window": 128,
    "initial_context_length": 4096,
    "rope_theta": 150000,
    "rope_scaling_factor": 32.0,
}


@pytest.mark.parametrize(
    ("config", "params_b", "precision"),
    [
        (TRTLLM, 8.03, "fp8"),
        ({"version": "1.2", "pretrained_config": TRTLLM, "build_config": {"max_batch_size": 64}}, 8.03, "fp8"),
        (TRTLLM | {"quantization": {"quant_algo": "W4A16_AWQ", "group_size": 128}}, 8.03, "int4_awq"),
        (TRTLLM | WIDE, 8.03, "bf16"),
        (TRTLLM | WIDE | {"share_embedding_table": True}, 7.50, "bf16"),
        (
            TRTLLM
            | WIDE
            | {"architecture": "MixtralForCausalLM", "vocab_size": 32000, "moe": {"num_experts": 8, "top_k": 2}},
            46.7,
            "bf16",
        ),
    ],
)
def test_checkpoints_of_tensorrt_llm_are_models(config: dict[str, object], params_b: float, precision: str) -> None:
    model = model_from_config(json.dumps(config))
    assert model.params_total / 1e9 == pytest.approx(params_b, rel=0.002)
    assert (model.kv_elements_full, model.native_precision) == (65536, precision)
    assert "TensorRT-LLM" in model.assumptions[-1]


def test_the_own_code_of_gpt_oss_has_windows_and_mxfp4() -> None:
    model = model_from_config(json.dumps(GPT_OSS))
    assert (model.kv_elements_full, model.kv_elements_sliding, model.max_context) == (18432, 18432, 131072)
    assert model.params_total / 1e9 == pytest.approx(116.8, rel=0.001)
    assert model.params_active / 1e9 == pytest.approx(5.7, rel=0.01)
    assert model.native_precision == "mxfp4"
    assert weight_bytes(model, model.published_format) / 1e9 == pytest.approx(65.2, rel=0.01)


@pytest.mark.parametrize(
    "said",
    [
        {"architectures": ["LLaDAModelLM"], "model_type": "llada", "d_model": 4096, "embedding_size": 126464},
        {"architectures": ["DreamModel"], "model_type": "Dream"},
        {"architectures": ["SDARMoeForCausalLM"], "model_type": "sdar_moe", "num_experts": 128},
        {"architectures": ["LLaDA2MoeModelLM"]},
    ],
)
def test_diffusion_language_models_are_refused(said: dict[str, object]) -> None:
    with pytest.raises(InvalidModelConfig, match="diffusion language model"):
        model_from_config(json.dumps(LLAMA | said))


def test_cogagent_has_visual_experts_and_says_what_is_not_counted() -> None:
    vision = {"hidden_size": 1792, "num_hidden_layers": 63, "intermediate_size": 15360, "num_heads": 16}
    said = {"architectures": ["CogAgentForCausalLM"], "cross_hidden_size": 1024, "vocab_size": 32000}
    config = LLAMA | said | {"num_key_value_heads": 32, "intermediate_size": 11008}
    model = model_from_config(json.dumps(config | {"vision_config": vision | {"image_size": 224, "patch_size": 14}}))
    assert model.params_total / 1e9 == pytest.approx(6.74 + 6.48, rel=0.005)  # 18 with both encoders, as published
    assert any("second encoder" in one for one in model.assumptions)


def test_rows_of_an_embedding_are_not_its_width() -> None:
    config = LLAMA | {"model_type": "some_olmo", "embedding_size": 128512, "tie_word_embeddings": False}
    assert model_from_config(json.dumps(config)).params_total / 1e9 == pytest.approx(8.03, rel=0.005)
