"""The options of every choice of the form, with the words that the page and the link show for them, and as typed."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.read import OWN_GPU
from sizing.base.errors import nearest_names
from sizing.catalog import gpus, models, systems, systems_for
from sizing.catalog.engines import engines
from sizing.catalog.gpu_names import gpu_named
from sizing.catalog.gpu_near import unknown_gpu
from sizing.catalog.precisions import precisions
from sizing.scenario.lengths import languages


@cache
def labels(key: str) -> Mapping[Any, str]:
    """Option -> label, in the order shown."""
    if FIELDS[key].options:
        return FIELDS[key].options
    listed: dict[str, Callable[[], Mapping[str, str]]] = {
        "gpu": lambda: gpu_names() | {OWN_GPU: "Own accelerator"},
        "engine": lambda: {engine.id: engine.label for engine in engines().values()},
        "prec": lambda: {precision.id: precision.label for precision in precisions().values()},
        "m_sys": lambda: {system.id: system.name for system in systems().values()},
        "usd_of": _bought,
        "usd_gpu": gpu_names,
        "model": lambda: {model: model for model in model_ids()},
        "lang": lambda: {name: name for name in languages()},
    }
    return MappingProxyType(dict(listed[key]()))


def label(key: str, option: Any) -> str:
    """The label of an option; one that is not listed stands for itself."""
    return labels(key).get(option, str(option))


def option_of(key: str, text: str) -> Any | None:
    """The option that somebody means, by label or id, case, blanks and punctuation aside; None where none is meant.

    What stands in brackets at the end of a label may be left out; an accelerator has every name of the catalogue.
    """
    option = _written(key).get(text, _spellings(key).get(_squeezed(text)))
    if option is None and key == "gpu":
        gpu = gpu_named(text)
        option = gpu.id if gpu else None
    return option if option in labels(key) else None


def near_options(key: str, text: str) -> list[str]:
    """Labels of the options nearest to what names none, at most three, each once; accelerators as the catalogue finds
    them, with those it suggests for a product that it does not size."""
    if key in ("gpu", "usd_gpu"):
        near = [option_of("gpu", name) for name in unknown_gpu(text).nearest]
        return list(dict.fromkeys(label("gpu", option) for option in near if option is not None))
    by_text = {text: words for option, words in labels(key).items() for text in (str(option), words) if text}
    return list(dict.fromkeys(by_text[name] for name in nearest_names(text, by_text, 3)))


@cache
def _written(key: str) -> Mapping[str, Any]:
    """Options by the words that are shown for them."""
    return MappingProxyType({words: option for option, words in labels(key).items()})


@cache
def _spellings(key: str) -> Mapping[str, Any]:
    """Other ways to write options; one that could mean two of them means none."""
    meant: dict[str, set[Any]] = {}
    for option, words in labels(key).items():
        for text in (words, str(option), re.sub(r" *\(.*\)$", "", words)):
            meant.setdefault(_squeezed(text), set()).add(option)
    return MappingProxyType({text: options.pop() for text, options in meant.items() if text and len(options) == 1})


def _squeezed(text: str) -> str:
    """Letters and digits alone, and the point within a number: 1.3 is not 13."""
    return re.sub(r"(?<!\d)\.|\.(?!\d)|[^a-z0-9.]+", "", text.casefold())


@cache
def model_ids() -> tuple[str, ...]:
    """Every model of the catalogue, by name."""
    return tuple(sorted(models(), key=str.lower))


def _bought() -> dict[str, str]:
    """Names of the systems that accelerators are bought in, assumed ones included, by id."""
    sold = [gpu for gpu in gpus().values() if gpu.sizable and not gpu.rented_only]
    return {system.id: system.name for gpu in sold for system in systems_for(gpu)}


@cache
def gpu_names() -> dict[str, str]:
    """Names of the accelerators that can be sized, by id."""
    return {gpu.id: gpu.name for gpu in gpus().values() if gpu.sizable}
