"""Parts of a GPU as GPU types of their own: MIG slices by the product's table, and even fractions (MPS, time-slicing).

A slice has its part of memory, bandwidth and SMs, no link to others, and stands in the systems of its card. What it
serves is a prior: no trustworthy measurement of a language model on slices is known.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from sizing.base.errors import UnknownName
from sizing.catalog.files import typed_rows
from sizing.catalog.gpu import Gpu

MOST_PARTS = 8
"""Even parts of a card at most. Chosen: because less than an eighth of the largest holds no model worth serving."""

BETWEEN = "__"
"""Between the id of a card and its slice in the id of the slice."""

_FRACTION = re.compile(r"1/(\d{1,2})")
_MIG = re.compile(r"(\d)g\.(\d{1,3})gb")


@dataclass(frozen=True, kw_only=True)
class MigProfile:
    """One way to cut a card: so many of its compute slices and of ``memory_of`` memory slices, ``instances`` at most;
    ``compute_share`` of its SMs."""

    gpu_id: str
    profile: str
    compute_slices: int
    memory_slices: int
    memory_of: int
    compute_share: float
    instances: int
    source: str
    date: str


@cache
def mig_profiles() -> tuple[MigProfile, ...]:
    """Every slice of every card, in file order."""
    return typed_rows("mig_profiles.csv", MigProfile)


@cache
def profiles_of(gpu_id: str) -> Mapping[str, MigProfile]:
    """The slices of one card by name."""
    return MappingProxyType({one.profile: one for one in mig_profiles() if one.gpu_id == gpu_id})


def parts(name: str) -> int | None:
    """Into how many even parts "1/4" cuts a card; None for the name of a MIG slice. Raises UnknownName beyond 8."""
    fraction = _FRACTION.fullmatch(name.strip())
    if fraction is None:
        return None
    if not 2 <= int(fraction[1]) <= MOST_PARTS:
        raise UnknownName("slice", name, nearest=["1/2", "1/4", f"1/{MOST_PARTS}"])
    return int(fraction[1])


def has_slice(card: Gpu, name: str) -> bool:
    """Whether a card can be cut so; fractions need MPS or time-slicing, which NVIDIA's drivers have."""
    if parts(name) is not None:
        return card.vendor == "NVIDIA" and not card.slice_of
    return name.strip().lower() in profiles_of(card.id)


def slice_of(card: Gpu, name: str) -> Gpu:
    """The slice as a GPU. Raises UnknownName, with the nearest that exist, where the card cannot be cut so."""
    even = parts(name)
    if even is not None and has_slice(card, name):
        return _cut(card, f"1/{even}", 1.0 / even, 1.0 / even, even)
    known = profiles_of(card.id).get(name.strip().lower())
    if known is None:
        raise UnknownName(f"slice of {card.name}", name, nearest=nearest_slices(card, name))
    return _cut(card, known.profile, known.compute_share, known.memory_slices / known.memory_of, known.instances)


def nearest_slices(card: Gpu, name: str) -> list[str]:
    """The slices of a card by how near memory and compute are to what is named; even parts where it has none."""
    known = list(profiles_of(card.id))
    wanted = _MIG.fullmatch(name.strip().lower())
    if not known:
        return ["1/2", "1/4"] if card.vendor == "NVIDIA" else []
    if wanted is None:
        return known[:3]

    def distance(profile: str) -> float:
        sizes = _MIG.fullmatch(profile)
        assert sizes is not None
        return abs(int(sizes[1]) - int(wanted[1])) + abs(int(sizes[2]) - int(wanted[2])) / 10.0

    return sorted(known, key=distance)[:3]


def _cut(card: Gpu, name: str, compute: float, memory: float, instances: int) -> Gpu:
    """The part of a card; matrix rates by SMs, bandwidth by memory slices, as the L2 and its controllers are cut."""

    def rate(of_card: float | None) -> float | None:
        return None if of_card is None else of_card * compute

    return replace(
        card,
        id=f"{card.id}{BETWEEN}{name.replace('.', '_').replace('/', '_of_')}",
        name=f"{card.name} slice {name}",
        memory_gb=round(card.memory_gb * memory, 1),
        memory_bytes=card.memory_bytes * memory,
        visible_bytes=card.program_bytes * memory,
        memory_bandwidth=card.memory_bandwidth * memory,
        fp16_flops=rate(card.fp16_flops),
        bf16_flops=rate(card.bf16_flops),
        fp8_flops=rate(card.fp8_flops),
        int8_ops=rate(card.int8_ops),
        fp4_flops=rate(card.fp4_flops),
        link_name="none",
        link_bytes_per_s=None,
        domain_gpus=1,
        tdp_w=rate(card.tdp_w),
        module_w=None,
        named_only=True,
        kernel_tables="",
        aliases=(),
        slice_of=card.id,
        slice_name=name,
        slices_per_card=instances,
    )


def slice_by_id(gpu_id: str, cards: Mapping[str, Gpu]) -> Gpu | None:
    """The slice that an id names, None where it names none."""
    card, between, name = gpu_id.partition(BETWEEN)
    if not between or card not in cards:
        return None
    spelled = name.replace("_of_", "/") if "_of_" in name else name.replace("_", ".", 1)
    return slice_of(cards[card], spelled) if has_slice(cards[card], spelled) else None
