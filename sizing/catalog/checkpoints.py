"""In which weight formats a model can be downloaded: ``checkpoints.csv``, one published checkpoint a row.

A row is kept for a format other than the model's own, by the first of these publishers that has it: the model's vendor,
NVIDIA, Red Hat (Neural Magic until 2025), AMD, Hugging Face, and those whose checkpoint vLLM's recipes name. What
engines convert while they load a checkpoint (16 bit to FP8, BF16 to FP16) is no checkpoint: it belongs to the engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import typed_rows


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Weights of a model of the catalogue in one format (``precision``: id in ``precisions.yaml``), by their name on
    Hugging Face; ``source`` says where that name was read."""

    checkpoint: str
    model: str
    precision: str
    source: str
    date: str


@cache
def checkpoints() -> tuple[Checkpoint, ...]:
    """Published checkpoints in formats beside the models' own, in file order."""
    return typed_rows("checkpoints.csv", Checkpoint)


def published_formats(model_id: str, native: str) -> tuple[str, ...]:
    """Ids of the formats in which a model's weights are published, its own (``native``) first."""
    return (native, *_formats().get(model_id, ()))


@cache
def _formats() -> Mapping[str, tuple[str, ...]]:
    """Formats beside the own one, by model, in file order."""
    formats: defaultdict[str, list[str]] = defaultdict(list)
    for one in checkpoints():
        formats[one.model].append(one.precision)
    return MappingProxyType({model: tuple(ids) for model, ids in formats.items()})
