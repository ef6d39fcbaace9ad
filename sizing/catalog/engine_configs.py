"""Configurations that engines and reference codes write of a checkpoint, in the words of a config.json.

Sources: TensorRT-LLM, docs/source/legacy/architecture/checkpoint.md and tensorrt_llm/models/modeling_utils.py
(``PretrainedConfig``; that of an engine holds it as ``pretrained_config``); openai/gpt-oss, gpt_oss/torch/model.py
(``ModelConfig``; its checkpoint ``original/`` keeps experts in MXFP4). Read 2026-11-30.
"""

from collections.abc import Mapping
from typing import Any

_SAME = {"head_size": "head_dim", "share_embedding_table": "tie_word_embeddings"}
_OF_TRTLLM = {"quantization", "mapping", "position_embedding_type", "producer"}
"""Keys of which a checkpoint of TensorRT-LLM has one beside ``architecture``."""
_OF_GPT_OSS = {"swiglu_limit", "initial_context_length", "experts_per_token", "rope_scaling_factor"}
_UNQUANTISED = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]
"""What gpt-oss keeps in 16 bit (config.json of openai/gpt-oss-120b, ``modules_to_not_convert``)."""


def in_words_of_transformers(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Such a file in the words of a config.json, and what it was read as; anything else as it is."""
    inner = config.get("pretrained_config")
    checkpoint = inner if isinstance(inner, Mapping) else config
    if isinstance(checkpoint.get("architecture"), str) and _OF_TRTLLM & checkpoint.keys():
        return _of_trtllm(checkpoint), ["read as the configuration of a checkpoint of TensorRT-LLM"]
    if config.keys() >= _OF_GPT_OSS and "model_type" not in config:
        return _of_gpt_oss(config), ["read as the configuration of gpt-oss's own code"]
    return dict(config), []


def _of_trtllm(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """A section ``quantization`` without an algorithm says that nothing is quantised."""
    translated = {_SAME.get(key, key): value for key, value in checkpoint.items() if key not in ("quantization", "moe")}
    translated["architectures"] = [checkpoint["architecture"]]
    quantised, experts = checkpoint.get("quantization"), checkpoint.get("moe")
    if isinstance(quantised, Mapping) and quantised.get("quant_algo"):
        translated["quantization_config"] = {"quant_method": "modelopt", **quantised}
    if isinstance(experts, Mapping) and experts.get("num_experts"):
        translated |= {"num_local_experts": experts["num_experts"], "num_experts_per_tok": experts.get("top_k")}
    return translated


def _of_gpt_oss(config: Mapping[str, Any]) -> dict[str, Any]:
    window, factor = config["initial_context_length"], config["rope_scaling_factor"]
    context = {"max_position_embeddings": int(window * factor)} if _are_numbers(window, factor) else {}
    routed = {"num_local_experts": config.get("num_experts"), "num_experts_per_tok": config["experts_per_token"]}
    quantised = {"quant_method": "mxfp4", "modules_to_not_convert": _UNQUANTISED}
    return dict(config) | context | routed | {"model_type": "gpt_oss", "quantization_config": quantised}


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) and 0 < value < 1e9 for value in values)
