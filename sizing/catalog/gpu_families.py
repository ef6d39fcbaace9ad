"""Families of accelerators: what is the same for every GPU of one generation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.catalog.files import read_yaml


@dataclass(frozen=True, kw_only=True)
class GpuFamily:
    """``label``: its name; ``older_network``: sold with the slower network between systems; ``colour``: place in the
    figures' palette; ``reference``: the GPU that its others are compared to in watts per FLOP/s, "" for none;
    ``launched``: decimal year of its first GPU."""

    label: str
    older_network: bool = False
    colour: int | None = None
    reference: str = ""
    launched: float = math.inf


@cache
def gpu_families() -> Mapping[str, GpuFamily]:
    """Every family by the id that ``Gpu.family`` names."""
    return MappingProxyType({name: GpuFamily(**row) for name, row in read_yaml("gpu_families.yaml").items()})
