"""Families of accelerators: what is the same for every GPU of one generation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import read_yaml


@dataclass(frozen=True, kw_only=True)
class GpuFamily:
    """``label``: its name; ``older_network``: sold with the slower network between systems; ``colour``: place in the
    figures' palette; ``reference``: the GPU that its others are compared to in watts per FLOP/s, "" for none;
    ``launched``: decimal year of its first GPU; ``generations``: of a family that engines tell apart, the generation by
    major compute capability or by architecture; ``processor``: machines whose memory is that of a CPU, or shared with
    one (``processors.csv``)."""

    label: str
    older_network: bool = False
    colour: int | None = None
    reference: str = ""
    launched: float = math.inf
    processor: bool = False
    generations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@cache
def gpu_families() -> Mapping[str, GpuFamily]:
    """Every family by the id that ``Gpu.family`` names."""
    return MappingProxyType({name: GpuFamily(**row) for name, row in read_yaml("gpu_families.yaml").items()})


def generation_of(family: str, compute_capability: str, architecture: str) -> str:
    """The generation by which engines decide what runs on a GPU: that of its major compute capability, else of its
    architecture, else the family, which has one alone. The first generation listed is that of a GPU which neither
    tells."""
    known = gpu_families().get(family)
    if known is None or not known.generations:
        return family
    by = known.generations
    return by.get(compute_capability.partition(".")[0]) or by.get(architecture) or next(iter(by.values()))


@cache
def generation_labels() -> Mapping[str, str]:
    """Generation -> its name: the family's, with the compute capability where it has several, else architectures."""
    labels: dict[str, str] = {}
    for name, family in gpu_families().items():
        if not family.generations:
            labels[name] = family.label
        for key, generation in family.generations.items():
            known = labels.get(generation)
            own = f"{family.label} {key}.x" if key.isdecimal() else key
            labels[generation] = f"{known}, {own}" if known else own
    return MappingProxyType(labels)


@cache
def generations() -> tuple[str, ...]:
    """Every generation of the catalogue, family by family."""
    each = ((name, *family.generations.values()) for name, family in gpu_families().items())
    return tuple(dict.fromkeys(g for name, *several in each for g in (several or [name])))
