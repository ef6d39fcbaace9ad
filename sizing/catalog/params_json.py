"""``params.json``, in which Mistral and Meta describe the checkpoints of their own code, in the words of a config.json.

Sources: mistral_inference.args and vLLM's transformers_utils/configs/mistral.py; llama.model.ModelArgs of Meta.
"""

from collections.abc import Mapping
from typing import Any

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import checked_number, checked_whole, reject

_SAME = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "max_seq_len": "max_position_embeddings",
    "tied_embeddings": "tie_word_embeddings",
    "tie_embeddings": "tie_word_embeddings",
    "vision_encoder": "vision_config",
    "expert_hidden_dim": "moe_intermediate_size",
    "num_experts": "num_local_experts",
    "inter_dim": "intermediate_size",
    "moe_inter_dim": "moe_intermediate_size",
    "n_dense_layers": "first_k_dense_replace",
    "n_activated_experts": "num_experts_per_tok",
}
"""Names of params.json, those of its section ``moe`` and of DeepSeek's own code among them, and of config.json."""

_LLAMA_2_VOCABULARY = 32_000
"""What Meta's code puts in place of -1: the size of the tokenizer beside the checkpoint, that of Llama 1 and 2;
Llama 3 says its 128,256."""
_WIDEST = 10**6


def as_config(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A params.json in the words of a config.json, and what was assumed; anything else as it is."""
    if "dim" not in config:
        return dict(config), []
    if "model_type" in config and str(config["model_type"]).lower() != "mamba":
        # DistilBERT: `hidden_dim` beside `dim` is the width of the MLP here, too.
        width = {"intermediate_size": config["hidden_dim"]} if "hidden_dim" in config else {}
        return width | dict(config), []
    translated: dict[str, Any] = {_SAME.get(key, key): value for key, value in config.items() if key != "moe"}
    translated |= _routed(config)
    notes = ["read as the params.json of Mistral's, Meta's or DeepSeek's own code"]
    if "model_type" in config:
        return translated | {"model_type": "mamba2"}, notes
    if "moe_args" in config:
        raise InvalidModelConfig("params.json has moe_args, which is not understood: use the config.json of the model.")
    translated["model_type"] = "mixtral" if isinstance(config.get("moe"), Mapping) else "ministral3"
    translated |= _crossing(config)
    if not {"hidden_dim", "inter_dim"} & config.keys():
        translated["intermediate_size"] = _llama_width(config)
        translated["model_type"] = "llama"
        if config.get("use_scaled_rope") is True and config["dim"] <= 3072:
            translated.setdefault("tie_word_embeddings", True)
            notes.append("input and output embeddings are shared, as in Llama 3.2 1B and 3B")
    if config.get("vocab_size") == -1:
        translated["vocab_size"] = _LLAMA_2_VOCABULARY
        notes.append(f"vocab_size is -1 in the file: {_LLAMA_2_VOCABULARY:,} tokens as in Llama 2")
    quantised = config.get("quantization")
    if isinstance(quantised, Mapping):
        translated["quantization_config"] = {
            "quant_method": str(quantised.get("qformat_weight", "fp8")).partition("_")[0]
        }
    if isinstance(config.get("multimodal"), Mapping):
        translated["audio_config"] = config["multimodal"]
    return translated, notes


def _crossing(config: Mapping[str, Any]) -> dict[str, Any]:
    """Llama 3.2 Vision: layers of cross-attention beside those that ``n_layers`` counts; their place is no matter."""
    key = "vision_num_cross_attention_layers"
    if config.get(key) is None:
        return {}
    own, crossing = checked_whole("n_layers", config.get("n_layers"), 1, 2000), checked_whole(key, config[key], 0, 2000)
    return {"num_hidden_layers": own + crossing, "cross_attention_layers": list(range(own, own + crossing))}


def _routed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``moe``; its experts are as wide as the MLP unless it says otherwise."""
    section = config.get("moe")
    entries = section.items() if isinstance(section, Mapping) else ()
    return {_SAME.get(str(key), str(key)): value for key, value in entries}


def _llama_width(config: Mapping[str, Any]) -> int:
    """Width of the MLP of Meta's code: two thirds of four times the width, times ``ffn_dim_multiplier``, rounded up to
    ``multiple_of`` (llama.model.FeedForward)."""
    dim = checked_whole("dim", config["dim"], 16, _WIDEST)
    if "multiple_of" not in config:
        reject("hidden_dim", None, "the width of the MLP (looked for: hidden_dim, or multiple_of of Meta's code)")
    multiple = checked_whole("multiple_of", config["multiple_of"], 1, _WIDEST)
    factor = config.get("ffn_dim_multiplier")
    width = int(2 * 4 * dim / 3)
    if factor is not None:
        width = int(checked_number("ffn_dim_multiplier", factor, 0.01, 100) * width)
    return -(-width // multiple) * multiple
