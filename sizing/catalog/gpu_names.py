"""Finds the catalogue entry of an accelerator by the name that a person or a driver writes."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from sizing.base.errors import UnknownName
from sizing.base.units import GB
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_near import unknown_gpu
from sizing.catalog.gpu_rows import gpus

MEMORY_TOLERANCE = 0.08
"""By how much a memory size in a name may differ from the catalogue's: names count GB or GiB, with ECC or without."""

_MEMORY = re.compile(r"(?<![a-z0-9.])(\d{2,3})\s*g(i?b)?(?![a-z0-9])")

_SLICE = re.compile(r"(?<![a-z0-9])(\d+g\.\d+gb|1/\d)$", re.IGNORECASE)
"""What of a name is a MIG slice or a fraction of a card."""

_BETWEEN = " :/_-"
"""What may stand between a card and its slice."""


def resolve_gpu(name: str) -> Gpu:
    """The accelerator for an id, an alias or a product name, ignoring case, spaces and punctuation.

    A memory size in the name must be that of the accelerator. Raises UnknownName, which says what is nearest; of a
    slice, which a scenario names apart, how it is asked for.
    """
    gpu = gpu_named(name)
    if gpu is not None:
        return gpu
    cut = _SLICE.search(name[:200])
    card = None if cut is None else gpu_named(name[: cut.start()].rstrip(_BETWEEN).removesuffix("MIG").rstrip(_BETWEEN))
    if cut is not None and card is not None:
        instead = f"A slice is asked for beside its card: gpus: [{card.id}], and slice: {cut[0].lower()}."
        raise UnknownName("GPU", name, nearest=[card.id], instead=instead)
    raise unknown_gpu(name)


@lru_cache(maxsize=512)
def gpu_named(name: str) -> Gpu | None:
    """As :func:`resolve_gpu`, None where there is none, which takes a hundredth of looking for near ones."""
    gpu_id = _gpu_names().get(_squeeze(name)) or _of_that_memory(name)
    return None if gpu_id is None else gpus()[gpu_id]


def _of_that_memory(name: str) -> str | None:
    """The one accelerator called so without the memory size in the name, and with that memory (``a100_40g``)."""
    bare, memory = _without_memory(name)
    if memory is None:
        return None
    fitting = {
        gpu_id
        for gpu_id in _bare_names().get(bare, ())
        if any(
            abs(size / (memory * GB) - 1.0) <= MEMORY_TOLERANCE
            for size in (gpus()[gpu_id].memory_bytes, gpus()[gpu_id].memory_gb * GB)
        )
    }
    return fitting.pop() if len(fitting) == 1 else None


def _without_memory(name: str) -> tuple[str, float | None]:
    """The squeezed name without a memory size, and that size in GB."""
    text = re.sub(r"[_-]", " ", name[:200].lower())
    size = _MEMORY.search(text)
    return (_squeeze(_MEMORY.sub(" ", text)), float(size[1])) if size else (_squeeze(text), None)


@cache
def _bare_names() -> Mapping[str, frozenset[str]]:
    """Names without their memory size, and every accelerator called so."""
    index: dict[str, frozenset[str]] = {}
    for gpu_id, gpu in gpus().items():
        for name in (gpu_id, gpu.name, *gpu.aliases):
            bare = _without_memory(name)[0]
            index[bare] = index.get(bare, frozenset()) | {gpu_id}
    return MappingProxyType(index)


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
