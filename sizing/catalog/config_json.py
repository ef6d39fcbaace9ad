"""Any model from its Hugging Face config.json: dense, MoE, MLA, sliding window, hybrid with linear or Mamba layers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.base.format import percent
from sizing.base.units import BILLION
from sizing.catalog.checkpoint_names import changes_architecture, parse
from sizing.catalog.config_architecture import architecture
from sizing.catalog.config_fields import ConfigFields, checked_whole, load_config
from sizing.catalog.config_kind import (
    about_kind,
    class_name,
    has_output_head,
    model_kind,
    reject_other_files,
    scores_or_embeds,
)
from sizing.catalog.encoder_count import as_encoder, encoder_decoder, halves, of_halves
from sizing.catalog.engine_configs import in_words_of_transformers
from sizing.catalog.gguf_metadata import from_gguf
from sizing.catalog.model import AttentionKind, Model, ModelKind
from sizing.catalog.model_families import family, model_families
from sizing.catalog.parameter_count import (
    Architecture,
    active_params,
    convolution_elements,
    kv_elements_full,
    kv_elements_sliding,
    lookup_params,
    sparse_attention,
    state_elements,
    state_layers,
    total_params,
)
from sizing.catalog.params_json import as_config
from sizing.catalog.precisions import precisions
from sizing.catalog.quantization_methods import quantisation
from sizing.catalog.stored_weights import stored_weights
from sizing.catalog.vision_count import has_encoder, vision_params
from sizing.catalog.weight_schemes import MXFP4

MAX_PARAMS = 2e13
"""Twenty trillion parameters: seven times the largest catalogue model; more is a typing error."""

NAME_FACTOR = 1.5
"""Factor between the size in a name and the parameters counted from which the file is asked about. Chosen: because
names of published models are at most 1.3 from their parameters (Gemma 2B has 2.5 billion, of which 0.5 embeddings)."""


def model_from_config(config: Mapping[str, Any] | str | bytes, *, name: str = "custom model") -> Model:
    """The model that a config.json (or params.json of Mistral or Meta) describes, parameters counted tensor by tensor.

    Raises InvalidModelConfig, one sentence saying what to change, for anything that is not the configuration of a
    language model: over 1 MB, malformed, not an object, missing or absurd fields, another size than ``name`` says.
    """
    described, gguf_notes = from_gguf(load_config(config))
    worded, engine_notes = in_words_of_transformers(described)
    loaded, notes = as_config(worded)
    reject_other_files(loaded)
    fields = ConfigFields(loaded)
    kind = model_kind(fields)
    if kind == "encoder_decoder":
        model = _encoder_decoder(fields, name)
    else:
        shape = architecture(fields)
        shape = replace(shape, tied=shape.tied or not has_output_head(fields))
        shape = as_encoder(fields, shape) if kind == "encoder" else shape
        model = _model(fields, shape, name, kind)
    if model.params_total > MAX_PARAMS:
        raise InvalidModelConfig(
            f"config.json describes {model.params_total / BILLION:,.0f} billion parameters: check its width, "
            "layers and experts."
        )
    model = replace(model, params_vision=vision_params(fields, model.hidden_size))
    _hold_against_name(model, name, has_more=has_encoder(fields) and not model.params_vision)
    taken = fields.taken_from_class()
    assumptions = (*model.assumptions, *gguf_notes, *engine_notes, *notes, *([taken] if taken else []))
    return replace(model, assumptions=assumptions)


def generating(model: Model) -> Model:
    """The same model, if it generates token by token. Raises InvalidModelConfig for encoders and encoder-decoders."""
    scoring = model.kind == "decoder" and scores_or_embeds(model.hf_architecture)
    if model.kind == "decoder" and not scoring:
        return model
    kind, why = {
        "decoder": ("a reranker, reward model or embedder", "it generates nothing"),
        "encoder": ("an encoder", "it generates nothing"),
        "encoder_decoder": ("an encoder-decoder model", "its two halves are served otherwise"),
    }[model.kind]
    named = f" ({shown(model.hf_architecture)})" if model.hf_architecture else ""
    raise InvalidModelConfig(
        f"This is {kind}{named}: {why}; choose a decoder model here, and ask for this one as a "
        "stage of the pipeline, by its name or size."
    )


def _hold_against_name(model: Model, name: str, *, has_more: bool = False) -> None:
    """Raise InvalidModelConfig where no count of parameters (total, active, with encoders, without embeddings) is what
    the name says. A model that ``has_more`` than is counted may be smaller than its name.
    """
    words = parse(name)
    sizes = [_billions(text) for text in words.texts("size")]
    if not sizes or any(changes_architecture(word) for word in words.texts("model")):
        return
    embeddings = model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2)
    counted = [model.params_total, model.params_active, model.params_total + model.params_vision]
    counted += [model.params_per_token, max(model.params_per_token - embeddings, 1.0)]
    near = (max(size / n, n / size) <= NAME_FACTOR for size in sizes for n in (c / BILLION for c in counted))
    if not any(near) and not (has_more and min(sizes) > model.params_total / BILLION):
        raise InvalidModelConfig(
            f"config.json describes {model.params_total / BILLION:.3g} billion parameters, but “{shown(name)}” says "
            f"{' and '.join(f'{size:g}' for size in sizes)} billion: check width, layers, MLP width and experts, or "
            "that it is the file of this model."
        )


def _billions(size: str) -> float:
    """Billions of parameters of a size in a name: 7b, 8x22b, a22b, e4b, 270m."""
    experts, _, each = size.rpartition("x")
    value = float(each[:-1].lstrip("ae")) * (float(experts) if experts else 1.0)
    return max(value / 1000 if size.endswith("m") else value, 1e-6)


def _encoder_decoder(fields: ConfigFields, name: str) -> Model:
    """An encoder-decoder, which is described and not planned."""
    sections = halves(fields.outer)
    if sections:
        encoder, decoder = (architecture(ConfigFields(section)) for section in sections)
        kept = kv_elements_full(decoder) + kv_elements_sliding(decoder)
        counted = of_halves(encoder, decoder, kept, one_table=family(fields).startswith("t5gemma2"))
    else:
        counted = encoder_decoder(fields)
    stored = _stored(fields, name, None)
    return Model(
        id=name,
        family=family(fields) or "unknown",
        developer="",
        kind="encoder_decoder",
        params_total=counted.params,
        params_active=counted.params,
        layers=counted.layers,
        hidden_size=counted.hidden,
        heads=counted.heads,
        kv_heads=counted.heads,
        head_dim=counted.head_dim,
        intermediate_size=counted.intermediate,
        vocab_size=counted.vocab,
        tie_embeddings=counted.tied,
        attention="mha",
        full_layers=counted.layers,
        kv_elements_full=counted.kv_elements,
        max_context=fields.whole("max_context", high=10**8),
        native_precision=stored.precision,
        published_formats=(stored.precision,),
        hf_architecture=class_name(fields),
        source="config.json",
        assumptions=(_COUNTED, *about_kind(fields, "encoder_decoder"), *stored.notes),
    )


_COUNTED = "parameters are counted from the tensors that the configuration implies; norms and biases are left out"
_ENCODER_COUNTED = (
    "the vision or audio encoder is counted apart from the language model: 16 bit, and whole on every GPU"
)


def _model(fields: ConfigFields, a: Architecture, name: str, kind: ModelKind) -> Model:
    total, active = total_params(a), active_params(a)
    moe_layers = sum(layer.mlp == "moe" for layer in a.plan)
    kv_heads, head_dim = _main_heads(fields, a)
    stored = _stored(fields, name, a)
    return Model(
        id=name,
        kind=kind,
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
        **_kept(fields, a, kind, kv_heads),
        norm_collectives=_norm_collectives(fields, a),
        parallel_blocks=_parallel_blocks(fields),
        sparse=sparse_attention(a),
        **(_experts(fields, a, moe_layers) if moe_layers else {}),
        max_context=fields.whole("max_context", high=10**8),
        native_precision=stored.precision,
        published_formats=(stored.precision,),
        stored_bytes=stored.bytes,
        hf_architecture=class_name(fields),
        source="config.json",
        assumptions=(*_assumptions(fields, a), *about_kind(fields, kind), *stored.notes),
    )


def _kept(fields: ConfigFields, a: Architecture, kind: ModelKind, kv_heads: int) -> dict[str, Any]:
    """Layers by what they keep per token or sequence, and how much, under the names of :class:`Model`."""
    sliding = kv_elements_sliding(a)
    cached = (0.0, 0.0) if kind == "encoder" else (kv_elements_full(a), sliding)
    return {
        "full_layers": sum(layer.mixer == "full" for layer in a.plan),
        "sliding_layers": sum(layer.mixer == "sliding" for layer in a.plan),
        "linear_layers": state_layers(a),
        "sliding_window": _window(fields) if sliding else None,
        "kv_elements_full": cached[0],
        "kv_elements_sliding": cached[1],
        "state_elements": state_elements(a),
        "convolution_elements": convolution_elements(a),
        "full_kv_heads": _full_kv_heads(a, kv_heads) if sliding else None,
    }


def _full_kv_heads(a: Architecture, kv_heads: int) -> int | None:
    """KV heads of layers that attend to everything, where they are others than those of sliding layers."""
    full = max((layer.kv_heads or a.kv_heads for layer in a.plan if layer.mixer == "full"), default=kv_heads)
    return full if full != kv_heads else None


def _parallel_blocks(fields: ConfigFields) -> bool:
    return family(fields) in model_families().parallel_blocks and fields.flag("parallel_attn", default=True)


def _norm_collectives(fields: ConfigFields, a: Architecture) -> int:
    """Collectives for query and key norms over all heads: one a layer in MiniMax (both mean squares at once), two in
    OLMo 2 and 3. Source: vLLM, MiniMaxText01RMSNormTP.forward_qk and Olmo2Attention._apply_qk_norm."""
    layers = sum(layer.mixer in ("full", "sliding") for layer in a.plan)
    if fields.flag("use_qk_norm") and fields.text("qk_norm_type") == "per_layer":
        return layers
    return 2 * layers if fields.text("model_type") in ("olmo2", "olmo3") else 0


def _main_heads(fields: ConfigFields, a: Architecture) -> tuple[int, int]:
    """KV heads and head width that decide tensor parallelism: of the many sliding layers where full ones differ."""
    if a.latent:
        return a.kv_heads, a.latent.nope_dim + a.latent.rope_dim
    if a.swa_head_dim != a.head_dim:
        return a.swa_kv_heads, a.swa_head_dim
    if _differ(a):
        return a.swa_kv_heads, a.head_dim
    own = [layer.kv_heads for layer in a.plan if layer.mixer in ("full", "sliding")]
    return (max(filter(None, own)) if own and all(own) else a.kv_heads), a.head_dim


def _differ(a: Architecture) -> bool:
    """Whether sliding layers have another number of KV heads than those that attend to everything."""
    return a.swa_kv_heads != a.kv_heads and {"full", "sliding"} <= {layer.mixer for layer in a.plan}


def _attention(a: Architecture, kv_heads: int) -> AttentionKind:
    if a.latent:
        return "mla"
    if kv_heads == 1:
        return "mqa"
    return "mha" if kv_heads == a.heads else "gqa"


def _experts(fields: ConfigFields, a: Architecture, layers: int) -> dict[str, Any]:
    """What only a mixture of experts has, under the names of :class:`Model`."""
    return {
        "experts": a.experts,
        "experts_per_token": a.experts_per_token,
        "shared_experts": _shared_experts(fields, a),
        "moe_intermediate_size": a.moe_intermediate,
        "moe_layers": layers,
    }


def _shared_experts(fields: ConfigFields, a: Architecture) -> int:
    return fields.whole("shared_experts", low=0, high=10**5) or (1 if a.shared_intermediate else 0)


def _window(fields: ConfigFields) -> int:
    """Tokens of the window; of windows that differ by layer the largest, so that memory is not too small."""
    listed = [size for size in fields.items("sliding_window") if size is not None]
    if listed:
        return max(checked_whole("sliding_window", size, 1, 10**8) for size in listed)
    window = fields.whole("sliding_window", high=10**8) or fields.whole("attention_chunk_size", high=10**8)
    if window is None:
        raise InvalidModelConfig("config.json has sliding-window layers but no sliding_window: add it, in tokens.")
    return window


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """Format of the published weights, the bytes of all of them where the file tells, and what was assumed."""

    precision: str
    bytes: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()


def _stored(fields: ConfigFields, name: str, a: Architecture | None) -> _Stored:
    """In what the checkpoint stores its weights.

    ModelOpt keeps it in a file of its own (hf_quant_config.json): then the name of the checkpoint tells.
    """
    keys = ("quantization_config", "compression_config", "quantization")
    section: Mapping[str, Any] = next((stated for key in keys if (stated := fields.section(key))), {})
    if any(fields.raw(key) and not fields.section(key) for key in keys[:2]):
        raise InvalidModelConfig(
            "quantization_config is not an object, so nobody knows in what the weights are stored: use the unchanged "
            "config.json."
        )
    quantised = quantisation(section)
    if quantised is None:
        named = None if section else parse(name).precision
        dtype = fields.text("torch_dtype") or fields.text("dtype")
        wide = "fp16" if dtype in ("float16", "fp16", "half") else "bf16"
        notes = ("weights in 32 bit, which engines load in 16",) if dtype in ("float32", "fp32") and not named else ()
        own = named.id if named else "fp8" if dtype.startswith(("fp8", "float8")) else wide
        return _Stored(precision=own, notes=notes)
    if fields.text("expert_dtype") == "fp4" and quantised.main.precision == "fp8":
        quantised = replace(quantised, listed=(("*experts.*", MXFP4), *quantised.listed))
    if a is None:
        return _Stored(precision=quantised.main.precision, notes=quantised.notes)
    stored = stored_weights(a, quantised)
    parts = [f"{_share(share)} {precisions()[each].plain_label}" for each, share in stored.shares if share > 0]
    alike = stored.shares[0][0] == stored.precision and stored.shares[0][1] > 0.99
    mixed = () if len(parts) < 2 or alike else (f"mixed formats: of the weights in layers {', '.join(parts)}",)
    untried = (f"{stored.untried} patterns of modules were too intricate to be tried",) if stored.untried else ()
    return _Stored(
        precision=stored.precision,
        bytes=((stored.precision, stored.bytes),),
        notes=(*quantised.notes, *mixed, *untried),
    )


def _share(share: float) -> str:
    return "less than 1 %" if share < 0.01 else percent(share)


def _ignores_window(fields: ConfigFields, a: Architecture) -> bool:
    """Whether a window shorter than the context, which the file does not turn off, is that of no layer."""
    window, context = fields.raw("sliding_window"), fields.whole("max_context", high=10**8)
    shorter = type(window) is int and 0 < window < (context or 10**8)
    turned_off = fields.raw("use_sliding_window") is False or bool(fields.items("layer_types"))
    return shorter and not turned_off and all(layer.mixer != "sliding" for layer in a.plan)


def _assumptions(fields: ConfigFields, a: Architecture) -> tuple[str, ...]:
    """What the numbers rest on beyond the file itself."""
    assumptions = [_COUNTED]
    kind = family(fields)
    if kind not in model_families().known:
        shown = kind[:40] or "not given"
        assumptions.append(f"model type “{shown}” is not known: sized like Llama (gated MLP, standard attention)")
    if _ignores_window(fields, a):
        assumptions.append(
            "sliding_window of the file is not used: all layers are taken to attend to the whole context"
        )
    if has_encoder(fields):
        counted = vision_params(fields, a.hidden) > 0
        assumptions.append(_ENCODER_COUNTED if counted else "the vision or audio encoder is not counted")
    if any(layer.mixer == "cross" for layer in a.plan):
        assumptions.append("cross-attention layers keep keys and values per image, which are not counted")
    if fields.items("hybrid_layer_ids") and fields.items("layers_block_type"):
        assumptions.append("layers with attention are those of hybrid_layer_ids")
    if fields.raw("cross_hidden_size"):
        assumptions.append("the second encoder, of high resolution, and its cross-attention are not counted")
    if a.visual_experts:
        assumptions.append("attention and MLP of every layer are there twice: text uses one of each, images the other")
    if any(layer.reuses_kv for layer in a.plan):
        assumptions.append("layers that reuse the keys and values of an earlier layer are counted without a KV cache")
    if any(layer.shared_weights for layer in a.plan) and a.recurrent:
        assumptions.append("blocks that several layers share are counted once, their KV cache for every layer")
    if a.recurrent:
        what = "convolutions of queries and keys" if kind == "zaya" else "linear-attention and Mamba layers"
        assumptions.append(f"{what} keep a constant state per sequence")
    if a.indexer_dim:
        assumptions.append("the key cache of the sparse-attention indexer is counted with the KV cache")
    if any(layer.compress_ratio is not None for layer in a.plan):
        assumptions.append("KV cache derived from the compression ratios; the state of the compressor is neglected")
    return tuple(assumptions)
