"""Metadata of GGUF files as three tools write it, against the sizes of published files."""

import json

import pytest

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_json import model_from_config
from sizing.catalog.gguf_metadata import FILE_TYPES
from sizing.catalog.precisions import precisions
from sizing.catalog.weight_schemes import gguf
from sizing.catalog.weights import weight_bytes

LLAMA = {
    "general.architecture": "llama",
    "general.file_type": 15,
    "llama.block_count": 32,
    "llama.context_length": 131072,
    "llama.embedding_length": 4096,
    "llama.feed_forward_length": 14336,
    "llama.attention.head_count": 32,
    "llama.attention.head_count_kv": 8,
    "llama.rope.dimension_count": 128,
    "llama.vocab_size": 128256,
    "tokenizer.ggml.tokens": None,
}
QWEN = {
    "general.architecture": "qwen3moe",
    "general.file_type": 15,
    "qwen3moe.block_count": 48,
    "qwen3moe.embedding_length": 2048,
    "qwen3moe.feed_forward_length": 6144,
    "qwen3moe.attention.head_count": 32,
    "qwen3moe.attention.head_count_kv": 4,
    "qwen3moe.attention.key_length": 128,
    "qwen3moe.expert_count": 128,
    "qwen3moe.expert_used_count": 8,
    "qwen3moe.expert_feed_forward_length": 768,
    "qwen3moe.vocab_size": 151936,
}
DEEPSEEK = {
    "general.architecture": "deepseek2",
    "general.file_type": 15,
    "deepseek2.block_count": 61,
    "deepseek2.embedding_length": 7168,
    "deepseek2.feed_forward_length": 18432,
    "deepseek2.attention.head_count": 128,
    "deepseek2.attention.head_count_kv": 1,
    "deepseek2.attention.key_length": 576,
    "deepseek2.attention.key_length_mla": 192,
    "deepseek2.attention.value_length_mla": 128,
    "deepseek2.attention.q_lora_rank": 1536,
    "deepseek2.attention.kv_lora_rank": 512,
    "deepseek2.rope.dimension_count": 64,
    "deepseek2.expert_count": 256,
    "deepseek2.expert_used_count": 8,
    "deepseek2.expert_shared_count": 1,
    "deepseek2.expert_feed_forward_length": 2048,
    "deepseek2.leading_dense_block_count": 3,
    "deepseek2.vocab_size": 129280,
}
GPT_OSS = {
    "general.architecture": "gpt-oss",
    "general.file_type": 38,
    "gpt-oss.block_count": 24,
    "gpt-oss.embedding_length": 2880,
    "gpt-oss.feed_forward_length": 2880,
    "gpt-oss.expert_feed_forward_length": 2880,
    "gpt-oss.attention.head_count": 64,
    "gpt-oss.attention.head_count_kv": 8,
    "gpt-oss.attention.key_length": 64,
    "gpt-oss.attention.sliding_window": 128,
    "gpt-oss.expert_count": 32,
    "gpt-oss.expert_used_count": 4,
    "gpt-oss.vocab_size": 201088,
}


def stored_gb(config: dict[str, object]) -> float:
    model = model_from_config(json.dumps(config), name="custom model")
    return weight_bytes(model, precisions()[model.native_precision].bytes) / 1e9


@pytest.mark.parametrize(
    ("config", "params_b", "kv_elements"),
    [(LLAMA, 8.03, 65536), (QWEN, 30.53, 49152), (DEEPSEEK, 671.0, 35136), (GPT_OSS, 20.91, 12288)],
    ids=["llama", "experts", "latent", "windows"],
)
def test_architectures_are_those_of_the_models(config: dict[str, object], params_b: float, kv_elements: float) -> None:
    model = model_from_config(config)
    assert model.params_total / 1e9 == pytest.approx(params_b, rel=0.001)
    assert model.kv_elements_full == kv_elements
    assert "read as the metadata of a GGUF file" in model.assumptions


@pytest.mark.parametrize(
    ("config", "file_gb"),
    [
        (LLAMA, 4.92),
        (LLAMA | {"general.file_type": 7}, 8.54),
        (LLAMA | {"general.file_type": 17}, 5.73),
        (LLAMA | {"general.file_type": 18}, 6.60),
        (LLAMA | {"general.file_type": 12}, 4.02),
        (LLAMA | {"general.file_type": 1}, 16.07),
        (QWEN, 18.56),
        (DEEPSEEK, 404.0),
        (GPT_OSS, 12.1),
    ],
)
def test_bytes_are_those_of_published_files(config: dict[str, object], file_gb: float) -> None:
    assert stored_gb(config) == pytest.approx(file_gb, rel=0.02)


def test_three_tools_say_the_same() -> None:
    dumped = {"metadata": {key: {"type": "STRING", "value": value} for key, value in LLAMA.items()}, "tensors": {}}
    shown = {"model_info": LLAMA, "details": {"format": "gguf", "quantization_level": "Q4_K_M"}}
    models = [model_from_config(config) for config in (LLAMA, dumped, shown)]
    assert models[0] == models[1] == models[2]
    assert models[0].native_precision == "q4_k_m"


def test_a_file_without_an_output_head_shares_it() -> None:
    shared = model_from_config({"metadata": LLAMA, "tensors": {"token_embd.weight": {}}})
    own = model_from_config({"metadata": LLAMA, "tensors": {"token_embd.weight": {}, "output.weight": {}}})
    assert own.params_total - shared.params_total == 4096 * 128256


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"general.architecture": "gemma3n"}, "architecture “gemma3n”"),
        ({"llama.attention.head_count_kv": [8, 4] * 16}, "layers of different attention.head_count_kv"),
        ({"llama.embedding_length": None}, "without llama.embedding_length"),
    ],
)
def test_what_the_keys_do_not_say_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidModelConfig, match=said):
        model_from_config(LLAMA | change)


def test_every_file_type_has_its_bits() -> None:
    for name in FILE_TYPES.values():
        if name not in ("F32", "F16", "BF16"):
            assert 0.15 < gguf({"gguf_type": name}).main.bytes < 1.1, name
    with pytest.raises(InvalidModelConfig, match="Q9_Z"):
        gguf({"gguf_type": "Q9_Z"})


@pytest.mark.parametrize(("mode", "precision"), [("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"), ("affine", "int4_wo")])
def test_modes_of_mlx_are_formats(mode: str, precision: str) -> None:
    config = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32}
    config |= {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    model = model_from_config(config | {"quantization": {"group_size": 32, "bits": 4, "mode": mode}})
    assert model.native_precision == precision


def of_published(architecture: str, **keys: object) -> dict[str, object]:
    """Keys of a file: layers, width, MLP, heads, KV heads and vocabulary in this order, others by name."""
    names = ("block_count", "embedding_length", "feed_forward_length", "attention.head_count")
    names += ("attention.head_count_kv", "vocab_size")
    listed = dict(zip(names, keys.pop("sizes"), strict=True))
    others = {key.replace("__", "."): value for key, value in keys.items()}
    return {"general.architecture": architecture} | {f"{architecture}.{key}": n for key, n in (listed | others).items()}


@pytest.mark.parametrize(
    ("architecture", "keys", "billions", "active", "kv"),
    [
        (
            "ernie4_5-moe",
            {
                "sizes": (28, 2560, 12288, 20, 4, 103424),
                "attention__key_length": 128,
                "expert_count": 64,
                "expert_used_count": 6,
                "expert_shared_count": 2,
                "expert_feed_forward_length": 1536,
                "leading_dense_block_count": 1,
            },
            21.8,
            3.35,
            28_672,
        ),
        (
            "glm4moe",
            {
                "sizes": (47, 4096, 10944, 96, 8, 151552),
                "nextn_predict_layers": 1,
                "attention__key_length": 128,
                "expert_count": 128,
                "expert_used_count": 8,
                "expert_shared_count": 1,
                "expert_feed_forward_length": 1408,
                "leading_dense_block_count": 1,
            },
            106.9,
            13.4,
            94_208,
        ),
        (
            "bailingmoe2",
            {
                "sizes": (21, 2048, 5120, 16, 4, 157184),
                "nextn_predict_layers": 1,
                "attention__key_length": 128,
                "expert_count": 256,
                "expert_used_count": 8,
                "expert_shared_count": 1,
                "expert_feed_forward_length": 512,
                "leading_dense_block_count": 1,
            },
            16.3,
            1.43,
            20_480,
        ),
        ("gptneox", {"sizes": (36, 5120, 20480, 40, 40, 50688)}, 11.85, 11.85, 368_640),
        ("falcon", {"sizes": (32, 4544, 18176, 71, 1, 65024)}, 6.92, 6.92, 4_096),
        ("internlm2", {"sizes": (48, 6144, 16384, 48, 8, 92544)}, 19.9, 19.9, 98_304),
        (
            "olmoe",
            {"sizes": (16, 2048, 1024, 16, 16, 50304), "expert_count": 64, "expert_used_count": 8},
            6.92,
            1.28,
            65_536,
        ),
        ("starcoder", {"sizes": (40, 6144, 24576, 48, 1, 49152), "context_length": 8192}, 15.5, 15.5, 10_240),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_architectures_of_plain_layers_are_read(architecture, keys, billions, active, kv):
    model = model_from_config(of_published(architecture, **keys))
    assert model.params_total == pytest.approx(billions * 1e9, rel=0.02)
    assert model.params_active == pytest.approx(active * 1e9, rel=0.03)
    assert model.kv_elements_full == kv
