"""Second tiers for the KV cache: how fast they are and what they cost, as published."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sizing.base.choices import KvTier
from sizing.catalog.files import typed_rows


@dataclass(frozen=True, kw_only=True)
class Tier:
    """One kind of second tier: GB/s at which one GPU loads from it, ms until it begins, USD per GiB; None: unknown."""

    tier: KvTier
    gbs_per_gpu: float | None
    latency_ms: float
    usd_per_gib: float | None
    source: str
    date: str
    notes: str = ""


@cache
def kv_tiers() -> Mapping[KvTier, Tier]:
    """Every kind of second tier."""
    return MappingProxyType({row.tier: row for row in typed_rows("kv_tiers.csv", Tier)})
