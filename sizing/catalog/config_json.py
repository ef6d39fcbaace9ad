"""Any model from its Hugging Face config.json: dense, MoE, MLA, sliding window, hybrid with linear or Mamba layers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sizing.base.errors import InvalidModelConfig
from sizing.base.units import BILLION
from sizing.catalog.checkpoint_names import parse
from sizing.catalog.config_architecture import architecture
from sizing.catalog.config_fields import Fields, load_config
from sizing.catalog.model import AttentionKind, Model
from sizing.catalog.model_families import family, model_families
from sizing.catalog.parameter_count import (
    Architecture,
    active_params,
    kv_elements_full,
    kv_elements_sliding,
    lookup_params,
    sparse_attention,
    state_elements,
    total_params,
)
from sizing.catalog.precisions import precisions

_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
"""A Python class; a hundred characters are twice the longest that vLLM 0.33.0 registers."""

MAX_PARAMS = 2e13
"""Twenty trillion parameters: seven times the largest catalogue model; more is a typing error."""


def model_from_config(config: Mapping[str, Any] | str | bytes, *, name: str = "custom model") -> Model:
    """The model that a config.json describes, parameters counted tensor by tensor.

    Raises InvalidModelConfig, one sentence saying what to change, for anything that is not the configuration of a
    decoder language model: over 1 MB, malformed, not an object, missing or absurd fields.
    """
    loaded = load_config(config)
    _reject_other_files(loaded)
    fields = Fields(loaded)
    shape = architecture(fields)
    total, active = total_params(shape), active_params(shape)
    if total > MAX_PARAMS:
        raise InvalidModelConfig(
            f"config.json describes {total / BILLION:,.0f} billion parameters: check its width, layers and experts."
        )
    return _model(fields, shape, name, total, active)


def _reject_other_files(config: Mapping[str, Any]) -> None:
    """Recognise the files people confuse with a model's config.json."""
    if not config:
        raise InvalidModelConfig("config.json is empty: paste or upload the whole file of the model.")
    if "peft_type" in config:
        raise InvalidModelConfig("This is the configuration of a LoRA adapter: use config.json of its base model.")
    if config.get("is_encoder_decoder") is True:
        raise InvalidModelConfig("This is an encoder-decoder model: choose a decoder model, others are not sized.")
    if (Fields(config).whole("loop_num_passes") or 1) > 1:
        raise InvalidModelConfig(
            "This model runs some layers several times (loop_num_passes): such models are not sized yet."
        )
    if "tokenizer_class" in config and "model_type" not in config and "hidden_size" not in config:
        raise InvalidModelConfig("This is a tokenizer configuration: use config.json of the model.")


def _model(fields: Fields, a: Architecture, name: str, total: float, active: float) -> Model:
    moe_layers = sum(layer.mlp == "moe" for layer in a.plan)
    sliding = kv_elements_sliding(a)
    kv_heads, head_dim = _main_heads(fields, a)
    precision = native_precision(fields, name)
    return Model(
        id=name,
        family=family(fields) or "unknown",
        developer="",
        params_total=total,
        params_active=active if moe_layers else total,
        params_lookup=lookup_params(a),
        layers=len(a.plan),
        hidden_size=a.hidden,
        heads=a.heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate_size=max((layer.mlp_width or a.intermediate for layer in a.plan), default=a.intermediate),
        vocab_size=a.vocab,
        tie_embeddings=a.tied,
        attention=_attention(a, kv_heads),
        latent=a.latent,
        full_kv_heads=a.kv_heads if a.kv_heads != kv_heads and _differ(a) else None,
        full_layers=sum(layer.mixer == "full" for layer in a.plan),
        sliding_layers=sum(layer.mixer == "sliding" for layer in a.plan),
        linear_layers=sum(layer.mixer in ("linear", "mamba") for layer in a.plan),
        sliding_window=_window(fields) if sliding else None,
        kv_elements_full=kv_elements_full(a),
        kv_elements_sliding=sliding,
        state_elements=state_elements(a),
        norm_collectives=_norm_collectives(fields, a),
        parallel_blocks=_parallel_blocks(fields),
        sparse=sparse_attention(a),
        **(_experts(fields, a, moe_layers) if moe_layers else {}),
        max_context=fields.whole("max_context", high=10**8),
        native_precision=precision,
        published_formats=(precision,),
        hf_architecture=_class_name(fields),
        source="config.json",
        assumptions=_assumptions(fields, a),
    )


def _class_name(fields: Fields) -> str:
    """The class that loads the whole checkpoint, encoders included; "" where the file names none that could be one."""
    listed = fields.outer.get("architectures")
    first = listed[0] if isinstance(listed, list) and listed else ""
    return first if isinstance(first, str) and _CLASS_NAME.fullmatch(first) else ""


def _parallel_blocks(fields: Fields) -> bool:
    return family(fields) in model_families().parallel_blocks and fields.flag("parallel_attn", default=True)


def _norm_collectives(fields: Fields, a: Architecture) -> int:
    """Collectives for query and key norms over all heads: one a layer in MiniMax (both mean squares at once), two in
    OLMo 2 and 3. Source: vLLM, MiniMaxText01RMSNormTP.forward_qk and Olmo2Attention._apply_qk_norm."""
    layers = sum(layer.mixer in ("full", "sliding") for layer in a.plan)
    if fields.flag("use_qk_norm") and fields.text("qk_norm_type") == "per_layer":
        return layers
    return 2 * layers if fields.text("model_type") in ("olmo2", "olmo3") else 0


def _main_heads(fields: Fields, a: Architecture) -> tuple[int, int]:
    """KV heads and head width that decide tensor parallelism: of the many sliding layers where full ones differ."""
    if a.latent:
        return a.kv_heads, a.latent.nope_dim + a.latent.rope_dim
    if fields.whole("global_head_dim"):
        return a.swa_kv_heads, a.swa_head_dim
    if _differ(a):
        return a.swa_kv_heads, a.head_dim
    return max(
        (layer.kv_heads or a.kv_heads for layer in a.plan if layer.mixer == "full" and layer.kv_heads),
        default=a.kv_heads,
    ), a.head_dim


def _differ(a: Architecture) -> bool:
    """Whether sliding layers have another number of KV heads than those that attend to everything."""
    return a.swa_kv_heads != a.kv_heads and {"full", "sliding"} <= {layer.mixer for layer in a.plan}


def _attention(a: Architecture, kv_heads: int) -> AttentionKind:
    if a.latent:
        return "mla"
    if kv_heads == 1:
        return "mqa"
    return "mha" if kv_heads == a.heads else "gqa"


def _experts(fields: Fields, a: Architecture, layers: int) -> dict[str, Any]:
    """What only a mixture of experts has, under the names of :class:`Model`."""
    return {
        "experts": a.experts,
        "experts_per_token": a.experts_per_token,
        "shared_experts": _shared_experts(fields, a),
        "moe_intermediate_size": a.moe_intermediate,
        "moe_layers": layers,
    }


def _shared_experts(fields: Fields, a: Architecture) -> int:
    return fields.whole("shared_experts", low=0, high=10**5) or (1 if a.shared_intermediate else 0)


def _window(fields: Fields) -> int:
    window = fields.whole("sliding_window", high=10**8) or fields.whole("attention_chunk_size", high=10**8)
    if window is None:
        raise InvalidModelConfig("config.json has sliding-window layers but no sliding_window: add it, in tokens.")
    return window


def native_precision(fields: Fields, name: str = "") -> str:
    """Weight format of the published checkpoint by its id in ``precisions.yaml`` (bf16, fp8, mxfp4, int4_awq).

    ModelOpt keeps it in a file of its own (hf_quant_config.json): then the name of the checkpoint tells.
    """
    quant = fields.section("quantization_config")
    method = str(quant.get("quant_method", "")).lower()
    algorithm = str(quant.get("quant_algo", "")).lower()
    if "nvfp4" in algorithm or "nvfp4" in str(quant.get("format", "")).lower():
        return "nvfp4"
    if "fp8" in algorithm:
        return "fp8"
    if fields.text("expert_dtype") == "fp4":
        return "mxfp4"
    if method == "compressed-tensors":
        return _compressed_tensors(quant)
    by_method = next((p.id for p in precisions().values() if method in p.quant_methods), "")
    if by_method:
        return by_method
    named = None if quant else parse(name).precision
    if named:
        return named.id
    dtype = fields.text("torch_dtype") or fields.text("dtype")
    return "fp16" if dtype in ("float16", "fp16", "half") else "bf16"


def _compressed_tensors(quant: Mapping[str, Any]) -> str:
    """Weight format of a compressed-tensors checkpoint, from the first group of layers."""
    groups = quant.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        return "bf16"
    activations = first.get("input_activations") if isinstance(first, Mapping) else None
    kind, bits = weights.get("type"), weights.get("num_bits")
    if bits == 8:
        return "fp8" if kind == "float" else "int8_sq" if activations else "int8_wo"
    if bits == 4:
        return ("nvfp4" if weights.get("group_size") == 16 else "mxfp4") if kind == "float" else "int4_wo"
    return "bf16"


def _assumptions(fields: Fields, a: Architecture) -> tuple[str, ...]:
    """What the numbers rest on beyond the file itself."""
    assumptions = [
        "parameters are counted from the tensors that the configuration implies; norms and biases are left out"
    ]
    kind = family(fields)
    if kind not in model_families().known:
        shown = kind[:40] or "not given"
        assumptions.append(f"model type “{shown}” is not known: sized like Llama (gated MLP, standard attention)")
    if fields.section("vision_config") or fields.section("audio_config"):
        assumptions.append("the vision or audio encoder is not counted")
    if any(layer.reuses_kv for layer in a.plan):
        assumptions.append("layers that reuse the keys and values of an earlier layer are counted without a KV cache")
    if a.recurrent:
        assumptions.append("linear-attention and Mamba layers keep a constant state per sequence, in float32")
    if a.indexer_dim:
        assumptions.append("the key cache of the sparse-attention indexer is counted with the KV cache")
    if any(layer.compress_ratio is not None for layer in a.plan):
        assumptions.append("KV cache derived from the compression ratios; the state of the compressor is neglected")
    return tuple(assumptions)
