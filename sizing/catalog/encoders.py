"""Models that read and generate nothing, or transcribe: embedders, rerankers, guards and speech recognition.

They are stages beside a language model. Each row of ``encoders.yaml`` is a published config.json, counted as any other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from commandline.foreign_text import shown
from sizing.base.errors import LONGEST_NAME, InvalidScenario, UnknownName, nearest_names
from sizing.base.units import BILLION
from sizing.catalog.config_json import model_from_config
from sizing.catalog.files import read_yaml
from sizing.catalog.model import Model
from sizing.catalog.resolve import known_model

EncoderUse = Literal["embed", "rerank", "guard", "speech"]

USES: Mapping[EncoderUse, str] = MappingProxyType(
    {"embed": "an embedder", "rerank": "a reranker", "guard": "a guard", "speech": "a speech recogniser"}
)
"""What a model is called by its use."""

_WORDS: Mapping[EncoderUse, re.Pattern[str]] = MappingProxyType(
    {
        "rerank": re.compile(r"rerank"),
        "embed": re.compile(r"embed|(bge|gte|e5|colbert|sentence)$"),
        "speech": re.compile(r"(whisper|parakeet|wav2vec2)$"),
    }
)
"""How words of a name begin that say what a model is published for, as those of ``encoders.yaml`` and of their
families on Hugging Face do (2026-11-29). A reranker of a family of embedders is a reranker: the first counts. No guard
is told by its name: many of them are language models."""

_CLOSED = re.compile(
    r"(?:[a-z][a-z0-9]*\.)*(gpt-?(3\.5|4|5)|chatgpt|o[134](-|$)|claude|gemini|nova-(pro|lite|micro|premier)|titan-text|j2-"
    r"|mistral-(large|small)-(instruct-)?2402|(mistral|magistral|devstral)-medium|codestral-25|qwen\d?(\.\d)?-(max|plus|turbo)|sonar)"
)
"""How names begin of models that their makers offer by API alone, behind what Amazon Bedrock puts before them (model
pages of OpenAI, Anthropic, Google, Amazon, AI21, Mistral, Alibaba and Perplexity, 2026-11-29). ``gpt2``, ``gpt-oss``
and Gemma are open and begin otherwise, and a name of the catalogue goes before."""

_WIDTH_TO_DEPTH = 64
"""Width per layer of BERT base (768 / 12); of BERT large it is 43 (Devlin et al. 2019, section 3)."""
_LAYER_WEIGHTS = 12
"""Weights of a classic layer per squared width: 4 of attention, 8 of the MLP (Kaplan et al. 2020, table 1)."""
_HEAD_DIM = 64
"""Width of a head of BERT, XLM-R and Whisper."""


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """A model of a stage: ``use`` is what it is published for, ``published_params`` the count that its card states."""

    model: Model
    use: EncoderUse
    published_params: float


@cache
def encoders() -> Mapping[str, Encoder]:
    """All of them by Hugging Face id, in file order (``sizing/data/encoders.yaml``)."""
    return MappingProxyType(
        {
            name: Encoder(
                model=replace(model_from_config(row["config"]), id=name),
                use=row["use"],
                published_params=row["params_b"] * BILLION,
            )
            for name, row in _rows().items()
        }
    )


@cache
def _rows() -> Mapping[str, Any]:
    return MappingProxyType(read_yaml("encoders.yaml"))


def encoder_named(name: str) -> Encoder | None:
    """The encoder of that id or bare name, capitals ignored; None where there is none."""
    wanted = name.strip().lower()
    known = _ids().get(wanted) or (_ids().get(wanted.rpartition("/")[2]) if "/" in wanted else None)
    return None if known is None else encoders()[known]


def stage_model(name: str) -> Model:
    """The model of a stage: an encoder, or a language model of the catalogue that reads as one (Llama Guard).

    Raises UnknownName with the nearest names.
    """
    if (known := encoder_named(name)) is not None:
        return known.model
    language = known_model(name)
    if language is not None and language.match != "size":
        return language.model
    names = [*encoders(), *(one.rpartition("/")[2] for one in encoders())]
    raise UnknownName("model", name, nearest=nearest_names(name, names, 3))


def encoder_of_size(params_b: float) -> Model:
    """An encoder of which only the size is known, in billions of parameters, all of them multiplied for every token.

    Layers and width follow ``12 x layers x width^2 = parameters`` at 64 of width per layer, as of BERT base.
    """
    total = params_b * BILLION
    layers = max(1, round((total / (_LAYER_WEIGHTS * _WIDTH_TO_DEPTH**2)) ** (1.0 / 3.0)))
    width = max(_HEAD_DIM, round((total / (_LAYER_WEIGHTS * layers)) ** 0.5))
    heads = max(1, round(width / _HEAD_DIM))
    return Model(
        id=f"{params_b:g}B encoder",
        family="",
        developer="",
        params_total=total,
        params_active=total,
        layers=layers,
        kind="encoder",
        hidden_size=width,
        heads=heads,
        kv_heads=heads,
        head_dim=_HEAD_DIM,
        intermediate_size=4 * width,
        vocab_size=0,
        tie_embeddings=True,
        full_layers=layers,
        kv_elements_full=0.0,
    )


def reject_encoder(name: str) -> None:
    """Raise InvalidScenario where the name of a language model is that of an encoder, and say where it belongs; or
    where it is that of a model whose weights nobody can run. Names that the catalogue holds itself are never refused.
    """
    listed, language = encoder_named(name), known_model(name)
    if listed is None and language is not None and language.match == "id":
        return
    use = listed.use if listed else _use_in(name)
    if use is not None:
        called = listed.model.id if listed else f"“{shown(name, LONGEST_NAME)}”"
        size = "" if listed or (language and language.match != "size") else ", by its size as params_b"
        raise InvalidScenario(
            [
                f"{called} is {USES[use]}, not a language model: choose the model that answers here, and ask for this "
                f"one as a stage of the pipeline (stage: {use}{size})."
            ],
            ["model"],
        )
    reject_closed(name)


def is_closed(name: str) -> bool:
    """Whether a name is of a model whose weights nobody can run, and of none of the catalogue, its date included."""
    language = known_model(name)
    return (language is None or bool(language.unknown_words)) and bool(_CLOSED.match(_without_owner(name)))


def about_closed(name: str) -> str:
    """What is said of a model that only its provider can run."""
    return (
        f"The weights of “{shown(name, LONGEST_NAME)}” are not published: only its provider serves it, and no hardware "
        "can be sized for it. Choose an open model of the quality that you need."
    )


def reject_closed(name: str) -> None:
    """Raise InvalidScenario for a model whose weights nobody can run."""
    if is_closed(name):
        raise InvalidScenario([about_closed(name)], ["model"])


def _use_in(name: str) -> EncoderUse | None:
    """What the words of a name say that its model is published for; None where they say nothing of the kind."""
    words = re.split(r"[^a-z0-9]+", _without_owner(name))
    return next((use for use, pattern in _WORDS.items() if any(pattern.match(word) for word in words)), None)


def _without_owner(name: str) -> str:
    """A name in small letters, without who published it: "qwen3-32b" of "Qwen/Qwen3-32B"."""
    return name.strip().lower().rpartition("/")[2]


@cache
def _ids() -> Mapping[str, str]:
    """The id of each name; the models are made once one of them is asked for."""
    bare = {name.rpartition("/")[2].lower(): name for name in _rows()}
    return MappingProxyType(bare | {name.lower(): name for name in _rows()})
