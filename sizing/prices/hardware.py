"""What GPUs come in: servers and racks to buy, cloud instances to rent, with price and power.

A price for a complete system and a price for its GPUs alone are different things: every option says which it has
(``price_covers``, and in words in ``basis``), and options are preferred by what their price covers before by price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from sizing.base.checks import number_between
from sizing.base.choices import Location, PriceCovers
from sizing.base.units import HOURS_PER_YEAR, W_PER_KW
from sizing.catalog import cloud_instances, generic_system, gpus, street_prices, systems_for
from sizing.catalog.gpu import Gpu
from sizing.catalog.system import CloudInstance, System
from sizing.scenario.bounds import MAX_USD
from sizing.scenario.schema import Prices

PREFERENCE: tuple[PriceCovers, ...] = ("complete", "gpus_only", "unknown")
"""Order in which prices are trusted: never compare a complete system with bare GPUs by their price."""


class Price(NamedTuple):
    """USD per system, None where unknown, what it covers, its basis in words, and its source."""

    usd: float | None
    covers: PriceCovers
    basis: str
    source: str


@dataclass(frozen=True, kw_only=True)
class HardwareOption:
    """One thing to buy or rent that holds ``gpus`` GPUs of one type.

    ``usd_per_hour`` is per system or instance: list price by the hour, or purchase price over the hours of its
    depreciation. ``basis`` says in words what price and power cover; None means unknown. ``assumed`` marks a server
    that is not in the catalogue.
    """

    id: str
    name: str
    gpu_id: str
    gpus: int
    domain_gpus: int
    usd_per_hour: float | None
    system_usd: float | None
    power_kw: float | None
    basis: str
    source: str
    assumed: bool
    kind: Literal["system", "instance"]
    price_covers: PriceCovers
    region: str = ""

    @property
    def price_rank(self) -> int:
        """0 for a complete price, 1 for GPUs only, 2 for unknown: the index into PREFERENCE."""
        return PREFERENCE.index(self.price_covers)


@lru_cache(maxsize=1024)
def options(
    gpu: Gpu, location: Location, prices: Prices, custom_price_usd: float | None = None
) -> tuple[HardwareOption, ...]:
    """Every way to get this GPU at this location, best-founded price first; never empty.

    On premises: ``USD/h = price / (depreciation years x 8760)``; price = asked, else the middle of the listed range,
    else street price x GPUs ("GPUs only"), else unknown. Cloud: on-demand list price of the cheapest region, or asked
    USD per GPU and hour. Hybrid is priced as on premises. ``custom_price_usd`` is the price of one accelerator. Raises
    SizingError for a price that is negative or not finite. Sources: systems.csv, gpu_street_prices.csv,
    cloud_instances.csv.
    """
    if custom_price_usd is not None:
        number_between("Price of the accelerator in USD", custom_price_usd, 0.0, MAX_USD)
    if location == "cloud":
        return _cloud(gpu, prices)
    known = not gpu.custom and gpu.id in gpus()
    systems = systems_for(gpu.id) if known else (generic_system(gpu),)
    return preferred_onprem_order([_on_prem(s, gpu, location, prices, custom_price_usd) for s in systems])


def preferred_onprem_order(offers: Sequence[HardwareOption]) -> tuple[HardwareOption, ...]:
    """The options by what their price covers: complete systems, GPUs only, unknown; otherwise in the given order."""
    return tuple(sorted(offers, key=lambda option: option.price_rank))


def _on_prem(
    system: System, gpu: Gpu, location: Location, prices: Prices, custom_price_usd: float | None
) -> HardwareOption:
    """One system with its price by the hour of depreciation."""
    price = _system_price(system, prices, custom_price_usd)
    years = prices.depreciation_years
    power, power_basis = _power(system.max_power_kw, gpu, system.gpus)
    spread = f", spread over {years:g} years of 8760 h" if price.usd is not None else ""
    base = " Hybrid: priced as on-premises base; cloud bursts are not priced yet." if location == "hybrid" else ""
    assumed = " Assumed 8-GPU server: none with this GPU is in the catalogue." if system.assumed else ""
    return HardwareOption(
        id=system.id,
        name=system.name,
        gpu_id=gpu.id,
        gpus=system.gpus,
        domain_gpus=system.domain_gpus,
        usd_per_hour=None if price.usd is None else price.usd / (years * HOURS_PER_YEAR),
        system_usd=price.usd,
        power_kw=power,
        basis=f"{price.basis}{spread}. {power_basis}{assumed}{base}",
        source=price.source or system.source,
        assumed=system.assumed,
        kind="system",
        price_covers=price.covers,
    )


def _system_price(system: System, prices: Prices, custom_price_usd: float | None) -> Price:
    """Price of one system: asked, listed, made up of GPU prices, or unknown."""
    if prices.system_usd is not None:
        return Price(prices.system_usd, "complete", "Price per system as asked", "scenario: prices.system_usd")
    if custom_price_usd is not None:
        basis = f"GPUs only: {system.gpus} x {custom_price_usd:,.0f} USD as asked, without server and network"
        return Price(system.gpus * custom_price_usd, "gpus_only", basis, "scenario: price of the custom accelerator")
    listed = _middle([system.price_low_usd, system.price_high_usd])
    if listed is not None:
        source = f"{system.price_source} ({system.price_date})"
        if system.price_covers == "gpus_only":
            basis = f"GPUs only, without server and network: {listed:,.0f} USD list price"
            return Price(listed, "gpus_only", basis, source)
        return Price(listed, "complete", f"Complete system: {listed:,.0f} USD list price", source)
    each, kinds, source = street_price(system.gpu_id)
    if each is None:
        return Price(None, "unknown", "No price known", "")
    basis = f"GPUs only, without server and network: {system.gpus} x {each:,.0f} USD ({kinds})"
    return Price(system.gpus * each, "gpus_only", basis, source)


def street_price(gpu_id: str) -> tuple[float | None, str, str]:
    """Price of one accelerator in USD (middle of the range of all price points), its kinds, its sources.

    ``(lowest + highest) / 2``; a price per superchip (two GPUs and a Grace CPU) counts for two GPUs, a price of used
    cards or without a date for none: it is not what a new deployment pays. (None, "", "") when nothing is known.
    Source: gpu_street_prices.csv.
    """
    rows = [row for row in street_prices() if row.gpu_id == gpu_id and row.kind != "used" and row.date != "undated"]
    points = [
        price / row.gpus_per_price
        for row in rows
        for price in (row.price_usd_low, row.price_usd_high)
        if price is not None
    ]
    kinds = ", ".join(dict.fromkeys(row.kind for row in rows))
    return _middle(points), kinds, "; ".join(dict.fromkeys(f"{row.source} ({row.date})" for row in rows))


def _cloud(gpu: Gpu, prices: Prices) -> tuple[HardwareOption, ...]:
    """Instance types with this GPU, each in its cheapest region; unpriced ones only when nothing else is there."""
    rows = [] if gpu.custom else [row for row in cloud_instances() if row.gpu_id == gpu.id and row.gpus > 0]
    cheapest: dict[tuple[str, str], CloudInstance] = {}
    for row in sorted(rows, key=lambda row: row.on_demand_usd_per_hour or float("inf")):
        cheapest.setdefault((row.provider, row.instance_type), row)
    kept = [cheapest[key] for key in dict.fromkeys((row.provider, row.instance_type) for row in rows)]
    priced = [row for row in kept if row.on_demand_usd_per_hour or prices.gpu_hour_usd is not None]
    return tuple(_instance(row, gpu, prices) for row in priced or kept) or (_generic_instance(gpu, prices),)


def _instance(row: CloudInstance, gpu: Gpu, prices: Prices) -> HardwareOption:
    """One instance type at its on-demand list price, or at the asked price per GPU and hour."""
    usd, basis, source = row.on_demand_usd_per_hour, "No on-demand price known", row.source
    if prices.gpu_hour_usd is not None:
        usd, source = row.gpus * prices.gpu_hour_usd, "scenario: prices.gpu_hour_usd"
        basis = f"{row.gpus} x {prices.gpu_hour_usd:g} USD per GPU and hour as asked"
    elif usd:
        basis, source = f"On-demand list price in {row.region}: {usd:,.2f} USD per hour", f"{row.source} ({row.date})"
    power, power_basis = _power(None, gpu, row.gpus)
    return HardwareOption(
        id=f"{row.provider}:{row.instance_type}",
        name=f"{row.provider} {row.instance_type}",
        gpu_id=gpu.id,
        gpus=row.gpus,
        domain_gpus=min(gpu.domain_gpus, row.gpus),
        usd_per_hour=usd,
        system_usd=None,
        power_kw=power,
        basis=f"{basis}. {power_basis}",
        source=source,
        assumed=False,
        kind="instance",
        price_covers="unknown" if usd is None else "complete",
        region=row.region,
    )


def _generic_instance(gpu: Gpu, prices: Prices) -> HardwareOption:
    """An assumed 8-GPU instance where no provider of the catalogue offers the GPU."""
    system = generic_system(gpu)
    each = prices.gpu_hour_usd
    power, power_basis = _power(None, gpu, system.gpus)
    basis = "No cloud price known" if each is None else f"{system.gpus} x {each:g} USD per GPU and hour as asked"
    return HardwareOption(
        id=f"instance_8x_{gpu.id}",
        name=f"8x {gpu.name} instance (assumed)",
        gpu_id=gpu.id,
        gpus=system.gpus,
        domain_gpus=system.domain_gpus,
        usd_per_hour=None if each is None else system.gpus * each,
        system_usd=None,
        power_kw=power,
        basis=f"{basis}. {power_basis} Assumed: no provider in the catalogue offers this GPU.",
        source=system.source if each is None else "scenario: prices.gpu_hour_usd",
        assumed=True,
        kind="instance",
        price_covers="unknown" if each is None else "complete",
    )


def _power(max_power_kw: float | None, gpu: Gpu, count: int) -> tuple[float | None, str]:
    """Power budget of one system in kW, and what it covers: ``maximum, or GPUs x TDP``."""
    if max_power_kw is not None:
        return max_power_kw, f"Power: {max_power_kw:g} kW per system as listed."
    if gpu.tdp_w is None:
        return None, "Power unknown."
    power = count * gpu.tdp_w / W_PER_KW
    return power, f"Power: GPUs only, {count} x {gpu.tdp_w:g} W = {power:g} kW."


def _middle(values: Sequence[float | None]) -> float | None:
    """Middle of the range of the known values, or None."""
    known = [value for value in values if value is not None]
    return (min(known) + max(known)) / 2.0 if known else None
