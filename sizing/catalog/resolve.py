"""From the name a person types to the catalogue entry, without ever landing on another size.

A model name is compared in stages, each ignoring more of it: capitals and organisation; precision (``-FP8``); variant
(``-Instruct``); release date (``-0528``). A stage decides only when every candidate has the same architecture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from sizing.base.errors import UnknownName
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.model import Model
from sizing.catalog.model_rows import models
from sizing.catalog.precisions import precisions

_PRECISION = re.compile(
    r"^(mxfp4|bf16|fp16|int8|int4|4bit|8bit|w\d+a\d+|gguf|bnb|kv|dynamic|static|pertensor|quantized|q[2-8](_\w+)?|nvfp4a16)$"
)
_VARIANT = re.compile(r"^(instruct|chat|it|hf|base|text|preview|turbo)$")
_RELEASE = re.compile(r"^\d{4}$")
_PUBLISHERS = ("meta-", "nvidia-", "mistralai-")
"""Prefixes that some publishers repeat in front of the model's own name: Meta-Llama-3-8B is Llama-3-8B."""


def resolve_model(name: str) -> tuple[Model, str]:
    """The catalogue model for a Hugging Face id or common name, and a note ("" when the id is the catalogue's own).

    The note says when the name is another checkpoint of the same architecture, or only a similar one.
    Raises UnknownName, with the nearest ids, when nothing or more than one architecture matches.
    """
    wanted = name.strip()
    exact = _by_stage(0).get(wanted.lower())
    if exact:
        return models()[exact[0]], ""
    alias = _model_aliases().get(wanted.lower())
    if alias:
        return models()[alias[0]], alias[1]
    for stage in (1, 2, 3, 4):
        model = _one_architecture(_by_stage(min(stage, 3)).get(_key(wanted, stage), ()))
        if model:
            return model, _note(wanted, model, stage)
        alias = _alias_by_stage(min(stage, 3)).get(_key(wanted, stage))
        if alias:
            return models()[alias[0]], alias[1]
    # Ids and bare names, so that a typo in either is answered with something that can be typed.
    raise UnknownName("model", name, [*models(), *(model_id.rsplit("/", 1)[-1] for model_id in models())])


def resolve_gpu(name: str) -> Gpu:
    """The accelerator for an id, an alias or a product name, ignoring case, spaces and punctuation.

    Raises UnknownName with the nearest names.
    """
    gpu_id = _gpu_names().get(_squeeze(name))
    if gpu_id is None:
        aliases = [alias for gpu in gpus().values() for alias in gpu.aliases]
        raise UnknownName("GPU", name, [*gpus(), *(gpu.name for gpu in gpus().values()), *aliases])
    return gpus()[gpu_id]


def _tokens(name: str) -> list[str]:
    """The parts of a name after the organisation, in lower case; a remark in parentheses is dropped."""
    base = re.sub(r"\([^)]*\)", "", name.lower()).strip().rsplit("/", 1)[-1]
    base = re.sub(r"[\s_]+", "-", base.strip()).replace("quantized.w", "quantized-w")
    for prefix in _PUBLISHERS:
        base = base.removeprefix(prefix)
    return [token for token in base.split("-") if token]


def _key(name: str, stage: int) -> str:
    """What stage ``stage`` compares: 0 the id, 1 the name, 2 without precision, 3 without variant, 4 without date."""
    if stage == 0:
        return name.lower()
    tokens = _tokens(name)
    if stage >= 2:
        marks = {mark for precision in precisions().values() for mark in precision.checkpoint_marks}
        tokens = [token for token in tokens if token not in marks and not _PRECISION.match(token)]
    if stage >= 3:
        tokens = [token for token in tokens if not _VARIANT.match(token)]
    if stage >= 4 and len(tokens) > 1 and _RELEASE.match(tokens[-1]):
        tokens = tokens[:-1]
    return "-".join(tokens)


@cache
def _by_stage(stage: int) -> Mapping[str, tuple[str, ...]]:
    """Catalogue ids by their key; the catalogue keeps its dates (stage 4 only shortens what was typed)."""
    index: dict[str, tuple[str, ...]] = {}
    for model_id in models():
        key = _key(model_id, stage)
        index[key] = (*index.get(key, ()), model_id)
    return MappingProxyType(index)


def _one_architecture(ids: Iterable[str]) -> Model | None:
    """The first of the candidates when all have the same shape, else None: a size is never guessed."""
    candidates = [models()[model_id] for model_id in ids]
    shapes = {(m.params_total, m.layers, m.hidden_size, m.heads, m.kv_elements_full, m.vocab_size) for m in candidates}
    return candidates[0] if len(shapes) == 1 else None


def _note(name: str, model: Model, stage: int) -> str:
    """What the reader should know about the match, or "" when only capitals or a repeated publisher differ."""
    if stage == 1 and name.lower().rsplit("/", 1)[-1] == model.id.lower().rsplit("/", 1)[-1]:
        return f"Sized as {model.id}." if "/" in name else ""
    note = f"Sized as {model.id}, which has the same architecture."
    if stage == 4:
        note += " The context window of that release may differ."
    return note


@cache
def _model_aliases() -> Mapping[str, tuple[str, str]]:
    """Aliases of the data file: lower-case name -> (catalogue id, note)."""
    entries = read_yaml("model_aliases.yaml")
    return MappingProxyType({name.lower(): (entry["model"], entry["note"]) for name, entry in entries.items()})


@cache
def _alias_by_stage(stage: int) -> Mapping[str, tuple[str, str]]:
    return MappingProxyType({_key(name, stage): target for name, target in _model_aliases().items()})


def _squeeze(name: str) -> str:
    text = re.sub(r"[^a-z0-9]", "", name.lower())
    return text.removeprefix("nvidia").removeprefix("amd").removeprefix("instinct").removeprefix("intel")


@cache
def _gpu_names() -> Mapping[str, str]:
    """Every accepted spelling of an accelerator, squeezed, and the id it stands for."""
    known = gpus()
    named = {_squeeze(gpu.name): gpu_id for gpu_id, gpu in known.items()}
    named |= {_squeeze(alias): gpu_id for gpu_id, gpu in known.items() for alias in gpu.aliases}
    named |= {_squeeze(gpu_id): gpu_id for gpu_id in known}
    return MappingProxyType(named)
