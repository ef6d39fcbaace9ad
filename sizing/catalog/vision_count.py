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
    "audio_config",
    "audio_encoder_config",
    "visual",
)
_UNSIZED = ("img_processor", "audio_processor", "embd_layer", "visual_tokenizer_config")
"""Encoders of which Phi-3, Phi-4 and Ovis name the class, not the size; the first LLaVA names a checkpoint."""
_WIDTHS = ("embed_dim", "width", "hidden_size", "d_model")
_DEPTHS = ("depth", "num_hidden_layers", "layers", "encoder_layers", "num_layers")
_INNER = ("intermediate_size", "mlp_dim", "encoder_ffn_dim", "ffn_dim")
_GATED = ("qwen2_5_vl", "pixtral")


def vision_params(fields: ConfigFields, hidden: int) -> float:
    """Parameters of all encoders whose width and depth the file says; 0 where it says them of none."""
    around = [section for section in fields.sections if section is not fields.inner] or [fields.inner]
    sections = (section.get(key) for section in around for key in _SECTIONS)
    counted = sum(_encoder(section, hidden) for section in sections if isinstance(section, Mapping))
    if counted and family(fields) in model_families().visual_experts:  # its projector ends in an MLP as a layer has it
        counted += 3.0 * hidden * (fields.whole("intermediate_size") or 0)
    return counted


def has_encoder(fields: ConfigFields) -> bool:
    """Whether the file describes an encoder of another modality."""
    keys = (*_SECTIONS, *_UNSIZED)
    named = any(isinstance(fields.outer.get(key), str) for key in ("mm_vision_tower", "vision_tower"))
    return named or any(isinstance(section.get(key), Mapping) for section in fields.sections for key in keys)


def _encoder(section: Mapping[str, Any], hidden: int) -> float:
    width, depth = _number(section, _WIDTHS), _number(section, _DEPTHS)
    if not width or not depth or depth > 1000:
        return 0.0
    ratio = section.get("mlp_ratio")
    inner = _number(section, _INNER) or int(
        width * (ratio if isinstance(ratio, int | float) and 0 < ratio < 100 else 4)
    )
    kind = str(section.get("model_type", "")).lower()
    matrices = 3 if kind.startswith(_GATED) or str(section.get("hidden_act", "")).lower() in ("silu", "swiglu") else 2
    layers = depth * (4.0 * width * width + matrices * width * inner)
    patch, channels = (
        _number(section, ("patch_size",)) or 0,
        _number(section, ("num_channels", "in_channels", "in_chans")) or 3,
    )
    frames = _number(section, ("temporal_patch_size",)) or 1
    merged = (_number(section, ("spatial_merge_size",)) or 1) ** 2 * width
    projector = merged * merged + merged * hidden if merged != width else width * hidden
    return layers + float(patch * patch * channels * frames * width) + projector


def _number(section: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    key = next((name for name in names if isinstance(section.get(name), int | float)), None)
    return None if key is None else checked_whole(key, section[key], 0, 10**6)
