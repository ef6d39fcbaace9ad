"""What a model family does where its config.json is silent; the facts are in ``model_families.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sizing.catalog.config_fields import Fields
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
    sliding_pattern: Mapping[str, int]
    known: frozenset[str]


@cache
def model_families() -> ModelFamilies:
    """The habits of every family, read once."""
    raw = read_yaml("model_families.yaml")
    sets = {key: frozenset(names) for key, names in raw.items() if key not in ("like_llama", "sliding_pattern")}
    known = frozenset().union(*sets.values(), raw["like_llama"], raw["sliding_pattern"])
    return ModelFamilies(sliding_pattern=raw["sliding_pattern"], known=known, **sets)


def family(fields: Fields) -> str:
    """The ``model_type`` of the language model, in lower case ("" when the file does not say)."""
    inner = fields.inner.get("model_type")
    return inner.lower() if isinstance(inner, str) else fields.text("model_type")
