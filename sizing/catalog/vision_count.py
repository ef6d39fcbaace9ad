"""Parameters of the vision or audio encoder beside a language model, as far as a configuration tells its size.

A standard ViT: per layer 4 h² of attention and 2 or 3 matrices h x i, the patch embedding, and the projector onto the
width of the language model (Dosovitskiy et al. 2021; modelling code of transformers 5.24). Nothing is taken from
defaults: encoders of one family differ in size.
"""

from collections.abc import Mapping
from typing import Any

from sizing.catalog.config_fields import ConfigFields, checked_whole
from sizing.catalog.model_families import family, model_families

_SECTIONS = (
    "vision_config",
    "vision_tower_config",
    "vision_tower_cfg",
    "vision",
    "vit_config",
    "visual_tokenizer_config",
    "audio_config",
    "audio_encoder_config",
    "visual",
)
_UNSIZED = ("img_processor", "audio_processor", "embd_layer")
"""Encoders of which Phi-3 and Phi-4 name the class, not the size; the first LLaVA names a checkpoint."""
_WIDTHS = ("embed_dim", "width", "hidden_size", "d_model")
_DEPTHS = ("depth", "num_hidden_layers", "layers", "encoder_layers", "num_layers")
_INNER = ("intermediate_size", "mlp_dim", "encoder_ffn_dim", "ffn_dim")
_GATED = ("qwen2_5_vl", "pixtral", "glm4v", "aimv2")
_MLP_AS_OUTPUT = ("glm4v",)
"""Encoders whose MLP is as wide as their output, and whose ``intermediate_size`` is that of the MLP behind them."""


def vision_params(fields: ConfigFields, hidden: int) -> float:
    """Parameters of all encoders whose width and depth the file says; 0 where it says them of none."""
    around = [section for section in fields.sections if section is not fields.inner] or [fields.inner]
    sections = (section.get(key) for section in around for key in _SECTIONS)
    counted = sum(_encoder(section, hidden) for section in sections if isinstance(section, Mapping))
    if not counted:
        return 0.0
    if family(fields) in model_families().visual_experts:  # its projector ends in an MLP as a layer has it
        counted += 3.0 * hidden * (fields.whole("intermediate_size") or 0)
    return counted + sum(_beside(section, hidden) for section in around)


def _beside(section: Mapping[str, Any], hidden: int) -> float:
    """What stands between encoder and language model, in a section of the whole model: tables of visual words (Ovis),
    an adapter that pools by attention (Molmo 2), an MLP over pixels put together (InternVL, Command A Vision)."""
    tokenizer, vit, adapter = (section.get(key) for key in ("visual_tokenizer_config", "vit_config", "adapter_config"))
    words, encoder = _number(section, ("visual_vocab_size",)), vit
    if isinstance(tokenizer, Mapping):
        words, encoder = _number(tokenizer, ("vocab_size",)), tokenizer.get("backbone_config")
    if words and isinstance(encoder, Mapping):
        stride = _number(tokenizer if isinstance(tokenizer, Mapping) else encoder, ("hidden_stride",)) or 1
        return float(words * ((_number(encoder, _WIDTHS) or 0) * stride**2 + hidden))
    if not isinstance(adapter, Mapping) or not isinstance(adapter.get("vit_layers"), list):
        return _shuffled(section, hidden)
    width, inner = _number(adapter, _WIDTHS) or 0, _number(adapter, _INNER) or 0
    pooled = width * (3 * len(adapter["vit_layers"]) * width + width)
    return float(pooled + inner * (2 * width + (_number(adapter, ("text_hidden_size",)) or hidden)))


def _shuffled(section: Mapping[str, Any], hidden: int) -> float:
    """Two matrices behind neighbouring patches side by side: InternVLChatModel, Cohere2VisionMultiModalProjector."""
    vision, ratio = section.get("vision_config"), section.get("downsample_ratio")
    side = _number(section, ("downsample_factor",)) or 1
    if isinstance(ratio, int | float) and 0 < ratio < 1:
        side = round(1 / ratio)
    if side < 2 or side > 100 or not isinstance(vision, Mapping):
        return 0.0
    merged, inner = (_number(vision, _WIDTHS) or 0) * side**2, _number(section, ("alignment_intermediate_size",))
    return merged * inner + inner / 2 * hidden if inner else float(merged * hidden + hidden * hidden)


def has_encoder(fields: ConfigFields) -> bool:
    """Whether the file describes an encoder of another modality."""
    keys = (*_SECTIONS, *_UNSIZED)
    named = any(isinstance(fields.outer.get(key), str) for key in ("mm_vision_tower", "vision_tower"))
    return named or any(isinstance(section.get(key), Mapping) for section in fields.sections for key in keys)


def _encoder(section: Mapping[str, Any], hidden: int) -> float:
    inside = section.get("backbone_config")
    section = inside if isinstance(inside, Mapping) else section
    width, depth = _number(section, _WIDTHS), _number(section, _DEPTHS)
    if not width or not depth or depth > 1000:
        return 0.0
    ratio = section.get("mlp_ratio")
    inner = _number(section, _INNER) or int(
        width * (ratio if isinstance(ratio, int | float) and 0 < ratio < 100 else 4)
    )
    kind = str(section.get("model_type", "")).lower()
    matrices = 3 if kind.startswith(_GATED) or str(section.get("hidden_act", "")).lower() in ("silu", "swiglu") else 2
    output = _number(section, ("out_hidden_size",)) or hidden
    of_layer = output if kind.startswith(_MLP_AS_OUTPUT) else inner
    layers = depth * (4.0 * width * width + matrices * width * of_layer)
    patch, channels = (
        _number(section, ("patch_size", "image_patch_size")) or 0,
        _number(section, ("num_channels", "in_channels", "in_chans")) or 3,
    )
    frames = _number(section, ("temporal_patch_size",)) or 1
    return layers + float(patch * patch * channels * frames * width) + _projector(section, width, inner, output)


def _projector(section: Mapping[str, Any], width: int, inner: int, output: int) -> float:
    """Weights that lead from merged patches to the language model: one or two matrices, as often as the encoder hands
    over (DeepStack of Qwen3-VL); in GLM-4V a square one and a gated MLP behind the first."""
    merged = (_number(section, ("spatial_merge_size",)) or 1) ** 2 * width
    if str(section.get("model_type", "")).lower().startswith(_MLP_AS_OUTPUT):
        return float(merged * output + output * output + 3 * output * inner)
    deep = section.get("deepstack_visual_indexes")
    times = 1 + (len(deep) if isinstance(deep, list) else 0)
    return float(times * (merged * merged + merged * output if merged != width else width * output))


def _number(section: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    key = next((name for name in names if isinstance(section.get(name), int | float)), None)
    return None if key is None else checked_whole(key, section[key], 0, 10**6)
