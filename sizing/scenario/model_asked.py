"""How a scenario names its model: by name, by its size, or by its config.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from sizing.catalog.config_fields import MAX_CONFIG_BYTES
from sizing.scenario import bounds
from sizing.scenario.part import ScenarioPart

TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of the text around them, and so can make a name read as another."""


def _unturned(text: str) -> str:
    if TURNING & set(text):
        raise ValueError("must not hold characters that turn the direction of text: type it anew")
    return text


Name = Annotated[str, AfterValidator(_unturned)]


class ModelSize(ScenarioPart):
    """A model without public architecture: its size, and whatever else is known of it."""

    name: Name = Field(min_length=1, max_length=bounds.LONGEST_MODEL_NAME)
    params_b: Annotated[float, Field(ge=0.05, le=20_000, allow_inf_nan=False)]
    layers: int | None = Field(default=None, ge=1, le=1000)
    hidden_size: int | None = Field(default=None, ge=64, le=200_000)
    heads: int | None = Field(default=None, ge=1, le=2048)
    kv_heads: int | None = Field(default=None, ge=1, le=2048)
    head_dim: int | None = Field(default=None, ge=8, le=2048)
    max_context: int | None = Field(default=None, ge=1, le=100_000_000)


class ModelConfig(ScenarioPart):
    """A model described by its Hugging Face config.json, given inline (a file path is read by the file loader)."""

    config: dict[str, Any]
    name: Name = Field(default="custom model", max_length=bounds.LONGEST_MODEL_NAME)

    @model_validator(mode="after")
    def _is_json(self) -> ModelConfig:
        size = 0
        try:
            for part in json.JSONEncoder(ensure_ascii=False).iterencode(self.config):  # YAML may repeat parts endlessly
                size += len(part.encode())
                if size > MAX_CONFIG_BYTES:
                    break
        except (TypeError, ValueError, RecursionError):
            raise ValueError("config must hold what a JSON file can: text, numbers, lists and groups of keys") from None
        if size > MAX_CONFIG_BYTES:
            raise ValueError("config is larger than 1 MB: that is not a config.json")
        return self


def _model_form(value: object) -> str | None:
    if isinstance(value, str):
        return "[name]"
    if isinstance(value, ModelConfig) or (isinstance(value, Mapping) and "config" in value):
        return "[config]"
    return "[size]" if isinstance(value, Mapping | ModelSize) else None


ModelAsked = Annotated[
    Annotated[str, Tag("[name]")] | Annotated[ModelSize, Tag("[size]")] | Annotated[ModelConfig, Tag("[config]")],
    Discriminator(
        _model_form,
        custom_error_type="unknown_form",
        custom_error_message="must be a model name, {name: ..., params_b: ...} or {config: ...}",
    ),
]
