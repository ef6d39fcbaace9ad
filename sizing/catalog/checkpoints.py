"""In which weight formats a model can be downloaded: ``checkpoints.csv``, one published checkpoint a row.

A row is kept for a format other than the model's own, by the first of these publishers that has it: the model's vendor,
NVIDIA, Red Hat (Neural Magic until 2025), AMD, Hugging Face, and those whose checkpoint vLLM's recipes name. What
engines convert while they load a checkpoint (16 bit to FP8, BF16 to FP16) is no checkpoint: it belongs to the engine.

A narrow format keeps some modules in 16 bit, other ones in each checkpoint. Where the sizes of the files are published,
or counted module by module from the checkpoint's own configuration, a row says them; a model's own narrow format has a
row for that alone.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.base.units import BILLION
from sizing.catalog.files import typed_rows


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Weights of a model of the catalogue in one format (``precision``: id in ``precisions.yaml``), by their name on
    Hugging Face; ``source`` says where that name was read.

    ``gigabytes`` (10^9 bytes) are those of all weight files; ``language_gigabytes`` those that engines load without
    being told to: the language model without its modules for speculative decoding and without encoders of pictures.
    """

    checkpoint: str
    model: str
    precision: str
    source: str
    date: str
    gigabytes: float | None = None
    language_gigabytes: float | None = None
    gigabytes_source: str = ""


@cache
def checkpoints() -> tuple[Checkpoint, ...]:
    """Published checkpoints, in file order."""
    return typed_rows("checkpoints.csv", Checkpoint)


def published_formats(model_id: str, native: str) -> tuple[str, ...]:
    """Ids of the formats in which a model's weights are published, its own (``native``) first."""
    return (native, *(one for one in _formats().get(model_id, ()) if one != native))


def stored_bytes(model_id: str) -> tuple[tuple[str, float], ...]:
    """Bytes of a model's weights by format, as engines load them, where they are known."""
    return _sizes().get(model_id, ())


def publishers_of_sizes(model_id: str, precision: str) -> tuple[str, ...]:
    """Who published the checkpoints of which :func:`stored_bytes` are known, in lower case."""
    return tuple(
        one.checkpoint.partition("/")[0].lower()
        for one in checkpoints()
        if (one.model, one.precision) == (model_id, precision) and one.language_gigabytes is not None
    )


@cache
def _sizes() -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Formats with known bytes, by model, in file order."""
    sizes: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for one in checkpoints():
        if one.language_gigabytes is not None:
            sizes[one.model].append((one.precision, one.language_gigabytes * BILLION))
    return MappingProxyType({model: tuple(known) for model, known in sizes.items()})


@cache
def _formats() -> Mapping[str, tuple[str, ...]]:
    """Formats of the checkpoints, by model, in file order."""
    formats: defaultdict[str, list[str]] = defaultdict(list)
    for one in checkpoints():
        formats[one.model].append(one.precision)
    return MappingProxyType({model: tuple(ids) for model, ids in formats.items()})
