"""Reading the vocabulary files that ship with the product."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import yaml

from collectors.vocabulary.schema import EngineVocabulary, GpuVocabulary

FOLDER = Path(__file__).parent


@cache
def engine_vocabularies() -> Mapping[str, EngineVocabulary]:
    """Every engine's vocabulary by id, in the order of detection."""
    files = sorted((FOLDER / "engines").glob("*.yaml"))
    read = [EngineVocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]
    return MappingProxyType({v.id: v for v in sorted(read, key=lambda v: (v.priority, v.id))})


@cache
def gpu_vocabularies() -> Mapping[str, GpuVocabulary]:
    """Every GPU exporter's vocabulary by id, the most telling first."""
    files = sorted((FOLDER / "gpus").glob("*.yaml"))
    read = [GpuVocabulary.model_validate(yaml.safe_load(file.read_text(encoding="utf-8"))) for file in files]
    return MappingProxyType({v.id: v for v in sorted(read, key=lambda v: (v.priority, v.id))})


def engine_vocabulary(name: str) -> EngineVocabulary | None:
    """The vocabulary called ``name`` (id, label or alias, any case); None when there is none."""
    key = name.strip().lower()
    for vocabulary in engine_vocabularies().values():
        if key in (vocabulary.id, vocabulary.label.lower(), *vocabulary.aliases):
            return vocabulary
    return None
