"""What a model family does where its config.json is silent; the facts are in ``model_families.yaml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sizing.catalog.config_fields import ConfigFields
from sizing.catalog.files import read_yaml


@dataclass(frozen=True, kw_only=True)
class ModelFamilies:
    """Sets of ``model_type`` values by habit; see the data file for what each means."""

    ungated_mlp: frozenset[str]
    tied_by_default: frozenset[str]
    learned_positions: frozenset[str]
    gated_output: frozenset[str]
    multi_query: frozenset[str]
    parallel_blocks: frozenset[str]
    always_sliding: frozenset[str]
    attention_free: frozenset[str]
    parallel_mamba: frozenset[str]
    visual_experts: frozenset[str]
    shared_blocks: frozenset[str]
    doubled_layers: frozenset[str]
    decoder_decoder: frozenset[str]
    last_full: frozenset[str]
    sliding_pattern: Mapping[str, int]
    full_interval: Mapping[str, int]
    full_first: Mapping[str, int]
    global_head_dim: Mapping[str, int]
    encoders: frozenset[str]
    encoder_decoders: frozenset[str]
    gated_encoders: frozenset[str]
    rotary_encoders: frozenset[str]
    not_counted: frozenset[str]
    no_language: frozenset[str]
    diffusion: frozenset[str]
    known: frozenset[str]


@cache
def model_families() -> ModelFamilies:
    """The habits of every family, read once."""
    raw = read_yaml("model_families.yaml")
    rules: dict[str, Any] = {
        key: raw[key] for key in ("sliding_pattern", "full_interval", "full_first", "global_head_dim")
    }
    sets: dict[str, Any] = {
        key: frozenset(names) for key, names in raw.items() if key != "like_llama" and key not in rules
    }
    described = (names for key, names in sets.items() if key not in ("no_language", "not_counted", "diffusion"))
    known = frozenset().union(*described, raw["like_llama"], *rules.values())
    return ModelFamilies(known=known, **rules, **sets)


def family(fields: ConfigFields) -> str:
    """The ``model_type`` of the language model, in lower case ("" when the file does not say)."""
    inner = fields.inner.get("model_type")
    return (inner.lower() if isinstance(inner, str) else fields.text("model_type")) or _of_class(fields)


_CLASS_ENDING = re.compile(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel|Model)$")


def _of_class(fields: ConfigFields) -> str:
    """The known type that the first class in ``architectures`` is called after; "" where there is none."""
    classes = fields.items("architectures")
    name = classes[0] if classes and isinstance(classes[0], str) else ""
    return _by_letters().get(_CLASS_ENDING.sub("", name).lower(), "")


@cache
def _by_letters() -> Mapping[str, str]:
    """Known types by their letters and digits alone, as names of classes have them."""
    families = model_families()
    return {re.sub(r"[^a-z0-9]", "", kind): kind for kind in sorted(families.known | families.not_counted)}
