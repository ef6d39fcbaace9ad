"""Servers, racks and cloud instances that GPUs come in."""

from __future__ import annotations

from dataclasses import dataclass

from sizing.base.choices import PriceCovers


@dataclass(frozen=True, kw_only=True)
class System:
    """A server or rack one can buy. ``price_*_usd`` are for what ``price_covers`` says; None: unknown."""

    id: str
    name: str
    vendor: str
    gpu_id: str
    gpus: int
    domain_gpus: int
    interconnect: str
    max_power_kw: float | None
    rack_units: float | None
    price_low_usd: float | None
    price_high_usd: float | None
    price_source: str
    price_date: str
    price_covers: PriceCovers
    source: str
    source_date: str
    notes: str = ""
    assumed: bool = False


@dataclass(frozen=True, kw_only=True)
class CloudInstance:
    """A cloud instance type in one region with its list prices in USD per hour; None means not offered or unknown."""

    provider: str
    instance_type: str
    gpu_id: str
    gpus: int
    region: str
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    reserved_1y_usd_per_hour: float | None
    reserved_3y_usd_per_hour: float | None
    date: str
    source: str
    license: str
    notes: str = ""
