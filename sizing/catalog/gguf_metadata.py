"""Metadata of a GGUF file, in the words of a config.json.

As ``gguf-dump --json`` writes it, as Ollama's ``/api/show`` answers (``model_info``), or as a flat object of its keys.
Sources: gguf-py/gguf/constants.py of llama.cpp (names of keys and architectures), include/llama.h (``llama_ftype``).
"""

from collections.abc import Mapping
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.gguf_hybrids import in_words_of_config, is_hybrid
from sizing.catalog.gguf_types import gguf_types

ARCHITECTURE, FILE_TYPE = "general.architecture", "general.file_type"

_SAME = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
}
"""Keys behind the name of the architecture, and those of config.json."""

_NEEDED = ("embedding_length", "block_count", "attention.head_count")
"""Keys without which a file says nothing about its layers."""

_FAMILIES = {
    **{name: name for name in ("llama", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "olmo2", "granite", "glm4")},
    **{name: name for name in ("starcoder2", "smollm3", "exaone4", "stablelm", "cohere2", "olmo", "olmoe", "dots1")},
    **{
        name: name
        for name in ("bloom", "falcon", "gpt2", "internlm2", "baichuan", "xverse", "orion", "nemotron", "arcee")
    },
    **{name: name for name in ("apertus", "exaone", "minicpm", "ernie4_5", "phimoe", "granitemoe")},
    "bailingmoe": "bailing_moe",
    "bailingmoe2": "bailing_moe_v2",
    "command-r": "cohere",
    "deepseek": "deepseek",
    "deepseek2": "deepseek_v3",
    "ernie4_5-moe": "ernie4_5_moe",
    "gemma3": "gemma3_text",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "gptneox": "gpt_neox",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "llama4": "llama4_text",
    "minimax-m2": "minimax_m2",
    "mistral3": "ministral3",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3",
    "qwen3vlmoe": "qwen3_moe",
    "seed_oss": "seed_oss",
    "starcoder": "gpt_bigcode",
}
"""Architectures of llama.cpp whose layers its keys describe whole, by the ``model_type`` of transformers."""

_EXPERTS = {"deepseek_v3": "n_routed_experts", "glm4_moe": "n_routed_experts"}
_EXPERTS |= {"mixtral": "num_local_experts", "gpt_oss": "num_local_experts", "llama4_text": "num_local_experts"}
"""What config.json calls the number of experts where it is not ``num_experts``."""

FILE_TYPES = {0: "F32", 1: "F16", 32: "BF16", 38: "MXFP4_MOE"} | {
    one.file_type: one.type for one in gguf_types().values()
}
"""``llama_ftype``: how most tensors of a file are stored."""


def from_gguf(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """GGUF metadata in the words of a config.json, and what was assumed; anything else as it is.

    Raises InvalidModelConfig for an architecture whose layers the keys do not describe.
    """
    keys = _keys(config)
    if not isinstance(keys.get(ARCHITECTURE), str):
        return dict(config), []
    name = keys[ARCHITECTURE]
    prefix = f"{name}."
    own = {key.removeprefix(prefix): value for key, value in keys.items() if key.startswith(prefix)}
    kind = _FAMILIES.get(name)
    if kind is None and not is_hybrid(name):
        raise InvalidModelConfig(
            f"This is the metadata of a GGUF file of the architecture “{shown(name)}”, which does not say all of its "
            "layers: use config.json of the model itself."
        )
    missing = [f"{prefix}{key}" for key in _NEEDED if own.get(key) is None]
    if missing:
        raise InvalidModelConfig(
            f"This is the metadata of a GGUF file without {shown(missing[0])}: use config.json of the model itself."
        )
    predicting = own.get("nextn_predict_layers")
    if type(predicting) is int and type(own["block_count"]) is int:  # which block_count includes
        own["block_count"] -= predicting
    own, further = (own, _further(kind, own)) if kind else in_words_of_config(name, own)
    translated = {_SAME[key]: _alike(key, value) for key, value in own.items() if key in _SAME and value is not None}
    translated |= further
    tokens = keys.get("tokenizer.ggml.tokens")
    if "vocab_size" not in translated and isinstance(tokens, list) and tokens:
        translated["vocab_size"] = len(tokens)
    tensors = config.get("tensors")
    if isinstance(tensors, Mapping) and tensors:
        translated["tie_word_embeddings"] = "output.weight" not in tensors
    stored = _stored(config, keys)
    if stored not in (None, "F32", "F16", "BF16"):
        translated["quantization_config"] = {"quant_method": "gguf", "gguf_type": stored}
    return translated, ["read as the metadata of a GGUF file"]


def _further(kind: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """What config.json says in other words than :data:`_SAME` of a model of attention alone."""
    experts = own.get("expert_count")
    kind = "mixtral" if experts and kind == "llama" else kind
    routed = {_EXPERTS.get(kind, "num_experts"): experts} if experts else {}
    return {"model_type": kind} | routed | (_latent(own) if kind == "deepseek_v3" else {})


def _keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """The flat keys, wherever the tool puts them."""
    for section in (config, config.get("model_info"), config.get("metadata")):
        if isinstance(section, Mapping) and ARCHITECTURE in section:
            return {
                str(key): value["value"] if isinstance(value, Mapping) and "value" in value else value
                for key, value in section.items()
            }
    return {}


def _alike(key: str, value: object) -> object:
    """A number of all layers; a list of equal ones is one. Raises InvalidModelConfig where layers differ."""
    if not isinstance(value, list):
        return value
    if len(set(map(str, value))) != 1:
        raise InvalidModelConfig(
            f"The GGUF file has layers of different {shown(key)}: use config.json of the model itself."
        )
    return value[0]


def _latent(own: Mapping[str, Any]) -> dict[str, Any]:
    """Latent attention of DeepSeek: keys hold the part with positions and the part without."""
    rope = own.get("rope.dimension_count")
    key = own.get("attention.key_length_mla", own.get("attention.key_length"))
    value = own.get("attention.value_length_mla", own.get("attention.value_length"))
    heads = own.get("attention.head_count")
    plain = {"qk_nope_head_dim": key - rope} if isinstance(key, int) and isinstance(rope, int) else {}
    latent = {"kv_lora_rank": own.get("attention.kv_lora_rank"), "q_lora_rank": own.get("attention.q_lora_rank")}
    return plain | latent | {"qk_rope_head_dim": rope, "v_head_dim": value, "num_key_value_heads": heads}


def _stored(config: Mapping[str, Any], keys: Mapping[str, Any]) -> str | None:
    """How most tensors are stored, by its name; None where nothing says it."""
    details = config.get("details")
    level = details.get("quantization_level") if isinstance(details, Mapping) else None
    number = keys.get(FILE_TYPE)
    return str(level).upper() if level else FILE_TYPES.get(number) if isinstance(number, int) else None
