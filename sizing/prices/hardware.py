"""What GPUs come in: complete servers and racks to buy, cloud instances to rent, with price and power.

Prices are of complete systems, powers those of whole systems at their maximum, whatever the GPU and whichever GPUs are
considered: known, or by rule with its range (:mod:`sizing.prices.system_price`).

Several systems or cloud instances may hold one instance of a model only where a fabric joins them: a network by which
GPUs of different systems reach each other's memory without the CPUs (InfiniBand, RoCE, EFA, GPUDirect-TCPX). Over plain
Ethernet every step of a pipeline or tensor-parallel group would wait for it, and no provider or engine recommends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from sizing.base.checks import number_between
from sizing.base.choices import Location, PowerFrom, PriceBasis, PricedBy, Purchase, is_rented
from sizing.base.format import count
from sizing.base.units import HOURS_PER_YEAR, PERCENT
from sizing.catalog import cloud_fabrics, cloud_instances, generic_system, gpus, server_hosts, systems_for
from sizing.catalog.gpu import Gpu
from sizing.catalog.payment_terms import TERMS, usual_discount_percent
from sizing.catalog.system import CloudInstance, System
from sizing.prices.system_price import (
    ASKED_OF_ANYBODY,
    BASIS_WORDS,
    asked_over_asp,
    dates_of,
    instance_power,
    source_of,
    system_power,
    system_price,
)
from sizing.question.understand import Question
from sizing.scenario.bounds import MAX_USD
from sizing.scenario.costs import Rent
from sizing.scenario.prices import GpuHourPrice, Prices

FOUNDED: tuple[PricedBy, ...] = ("asked", "listed", "rule", "unknown")
"""Order in which prices are shown; they are compared by their amount, because each is of a complete system."""

ASSUMED_FABRIC = "assumed"
"""Of servers that are bought: network cards are part of their price, switches and cables are asked for with them."""

ANYHOW = Rent()
"""Rented from anybody, on demand."""

SERVER_GPUS = 8
"""GPUs from which on an instance that is not in the catalogue is taken for a whole server of a cluster."""


@dataclass(frozen=True, kw_only=True)
class HardwareOption:
    """One thing to buy or rent that holds ``gpus`` GPUs of one type.

    ``usd_per_hour`` is per system or instance: list price by the hour, or purchase price over the hours of its
    depreciation; ``_low`` and ``_high`` are the ends of what the sources of a price give. ``basis`` says in words how
    price and power come about; None means unknown. ``price_basis`` is what the price is, or that of its GPUs where it
    is by rule; None where it is asked or unknown. ``assumed`` marks a server that is not in the catalogue, ``racked``
    one that stands in a rack, as everything does but workstations. ``dates`` are those of the prices in it, in words.
    """

    id: str
    name: str
    gpu_id: str
    gpus: int
    domain_gpus: int
    usd_per_hour: float | None
    usd_per_hour_low: float | None
    usd_per_hour_high: float | None
    system_usd: float | None
    system_usd_low: float | None
    system_usd_high: float | None
    power_kw: float | None
    power_from: PowerFrom
    basis: str
    source: str
    assumed: bool
    kind: Literal["system", "instance"]
    priced_by: PricedBy
    region: str = ""
    price_basis: PriceBasis | None = None
    racked: bool = True
    dates: tuple[str, ...] = ()
    payment: Purchase | None = None
    """How it is paid for where its price is that of a commitment or of spot; None where it is bought or on demand."""
    hosts: int = 1
    """Machines of which it consists: several only of a TPU slice, which is rented as one, and which one instance of a
    model takes whole, because the hosts of a slice are one program."""
    fabric: str = ""
    """The RDMA network between several of these, empty where none is known: then nothing spans two of them."""

    @property
    def priced(self) -> bool:
        """Whether its price is known."""
        return self.priced_by != "unknown"


@lru_cache(maxsize=1024)
def options(
    gpu: Gpu, location: Location, prices: Prices, custom_price_usd: float | None = None, rent: Rent = ANYHOW
) -> tuple[HardwareOption, ...]:
    """Every way to get this GPU at this location, best-founded price first; never empty.

    On premises: ``USD/h = price / (depreciation years x 8760)``, the price as in
    :func:`sizing.prices.system_price.system_price`. Cloud: list price of the cheapest region by the way to pay of
    ``rent``, at the provider and in the region that it names, or asked USD per GPU and hour. Hybrid is priced as on
    premises. ``custom_price_usd`` is the price of one accelerator. Raises SizingError for a price that is negative or
    not finite. Source: cloud_instances.csv.
    """
    if gpu.slice_of:
        whole = options(gpus()[gpu.slice_of], location, prices, custom_price_usd, rent)
        return tuple(_cut(one, gpu) for one in whole)
    if custom_price_usd is not None:
        number_between("Price of the accelerator in USD", custom_price_usd, 0.0, MAX_USD)
    if is_rented(location):
        return _cloud(gpu, prices, rent)
    return best_founded_first([_on_prem(s, gpu, location, prices, custom_price_usd) for s in _to_compare(gpu, prices)])


def offers_of(question: Question, gpu: Gpu) -> tuple[HardwareOption, ...]:
    """What a GPU can be had in where and how the scenario wants it (:func:`options`)."""
    scenario = question.scenario
    own = question.gpu_prices.get(gpu.id)
    return options(gpu, scenario.deployment.location, question.prices, own, scenario.costs.rent)


def rented_there(gpu: Gpu, prices: Prices, rent: Rent) -> bool:
    """Whether a provider rents this GPU where the scenario asks for it, everywhere where it does not say."""
    if not rent.somewhere:
        return True
    whole = gpus()[gpu.slice_of] if gpu.slice_of else gpu
    own = prices.of_gpu_hour(whole.id)
    if own is not None and own.gpus is not None:
        return rent.provider in (None, own.provider)
    return bool(_cheapest_regions(whole, rent))


def doubt_of_price(option: HardwareOption) -> float:
    """How much more than stated it may cost by its basis alone: 1 where customers are asked the price or enter it."""
    if option.price_basis in (None, *ASKED_OF_ANYBODY):
        return 1.0
    if option.price_basis == "asp":
        over = asked_over_asp()
        return over.high / over.ratio
    if option.usd_per_hour is None or option.usd_per_hour_high is None:
        return 1.0
    return option.usd_per_hour_high / option.usd_per_hour


def _cut(whole: HardwareOption, part: Gpu) -> HardwareOption:
    """What holds whole cards, all cut into slices of one kind: so many times as many of them, for the same price."""
    return replace(whole, gpu_id=part.id, gpus=whole.gpus * part.slices_per_card, domain_gpus=1)


def _to_compare(gpu: Gpu, prices: Prices) -> tuple[System, ...]:
    """What the GPU is bought in: servers and racks, workstations only where there is nothing else or their price is
    given, because a rack is what prices are compared for."""
    systems = systems_for(gpu)
    return tuple(s for s in systems if prices.of_system(s.id) or _racked(s)) or systems


def _racked(system: System) -> bool:
    """Whether it stands in a rack, as everything does but workstations."""
    host = server_hosts().get(system.host)
    return host is None or host.racked


def best_founded_first(offers: Sequence[HardwareOption]) -> tuple[HardwareOption, ...]:
    """The options by where their price comes from: asked, listed, by rule, unknown; otherwise in the given order."""
    return tuple(sorted(offers, key=lambda option: FOUNDED.index(option.priced_by)))


def _on_prem(
    system: System, gpu: Gpu, location: Location, prices: Prices, custom_price_usd: float | None
) -> HardwareOption:
    """One system with its price by the hour of depreciation."""
    price, power = system_price(system, prices, custom_price_usd), system_power(system, gpu)
    hours = prices.depreciation_years * HOURS_PER_YEAR
    money = price.usd
    spread = f", spread over {prices.depreciation_years:g} years of {count(HOURS_PER_YEAR)} h" if money else ""
    base = " Hybrid: here as if all were owned; cost over years has base and burst." if location == "hybrid" else ""
    assumed = f" Assumed: {system.notes}" if system.assumed else ""
    return HardwareOption(
        id=system.id,
        name=system.name,
        gpu_id=gpu.id,
        gpus=system.gpus,
        domain_gpus=system.domain_gpus,
        usd_per_hour=money.typical / hours if money else None,
        usd_per_hour_low=money.low / hours if money else None,
        usd_per_hour_high=money.high / hours if money else None,
        system_usd=money.typical if money else None,
        system_usd_low=money.low if money else None,
        system_usd_high=money.high if money else None,
        power_kw=power.kw,
        power_from=power.by,
        basis=f"{price.basis}{spread}. {power.basis}{assumed}{base}",
        source=price.source or system.source,
        assumed=system.assumed,
        kind="system",
        priced_by=price.by,
        price_basis=price.basis_of_price,
        racked=_racked(system),
        dates=price.dates,
        fabric=fabric_of_system(system),
    )


def _cloud(gpu: Gpu, prices: Prices, rent: Rent) -> tuple[HardwareOption, ...]:
    """Instance types with this GPU, each in its cheapest region; unpriced ones only when nothing else is there.

    By the provider's own list; what others reported or one customer was quoted only where no list has it.
    Other terms (capacity blocks, queues, clusters, marketplaces) are no price of a service that runs on.
    """
    own = prices.of_gpu_hour(gpu.id)
    if own is not None and own.gpus is not None:
        return (_assumed_instance(gpu, own, own.gpus),)
    kept = _cheapest_regions(gpu, rent)
    priced = kept if own is not None else by_own_list([row for row in kept if _hourly(row, rent)])
    return tuple(_instance(row, gpu, own, rent) for row in priced or kept) or (_assumed_instance(gpu, own),)


def _hourly(row: CloudInstance, rent: Rent) -> float | None:
    """USD per hour by one way to pay; a commitment without a listed price is the price on demand less the discount."""
    term, on_demand = TERMS[rent.purchase], row.on_demand_usd_per_hour
    if (listed := term.listed(row)) or not term.discount or not on_demand:
        return listed
    return on_demand * (1.0 - _discount_percent(rent) / PERCENT)


def _discount_percent(rent: Rent) -> float:
    """What a commitment takes off the price on demand where a provider does not list it."""
    return usual_discount_percent(rent.purchase) if rent.discount_percent is None else rent.discount_percent


def _cheapest_regions(gpu: Gpu, rent: Rent) -> list[CloudInstance]:
    """Every instance type with this GPU where it is asked for, in its region of least price by that way to pay."""
    rows = [
        row
        for row in (() if gpu.custom else cloud_instances())
        if row.gpu_id == gpu.id
        and row.gpus > 0
        and rent.provider in (None, row.provider)
        and rent.region in (None, row.region)
    ]
    cheapest: dict[tuple[str, str], CloudInstance] = {}
    for row in sorted(rows, key=lambda row: _hourly(row, rent) or float("inf")):
        cheapest.setdefault((row.provider, row.instance_type), row)
    return [cheapest[key] for key in dict.fromkeys((row.provider, row.instance_type) for row in rows)]


def by_own_list(rows: Sequence[CloudInstance]) -> Sequence[CloudInstance]:
    """Offers whose provider lists the price itself, all of them where none does."""
    return [row for row in rows if row.price_basis == "list"] or rows


def instances(gpu: Gpu) -> tuple[HardwareOption, ...]:
    """Every instance type with this GPU, with a price on demand or without: some are only reserved or spare."""
    if gpu.slice_of:
        return tuple(_cut(one, gpu) for one in instances(gpus()[gpu.slice_of]))
    return tuple(_instance(row, gpu, None, ANYHOW) for row in _cheapest_regions(gpu, ANYHOW))


def _instance(row: CloudInstance, gpu: Gpu, own: GpuHourPrice | None, rent: Rent) -> HardwareOption:
    """One instance type at its list price by the way to pay, or at the asked price per GPU and hour."""
    usd, source = _hourly(row, rent), row.source
    basis = f"No price {TERMS[rent.purchase].words} known{_how_it_is_had(row)}"
    if own is not None:
        usd, source = row.gpus * own.usd, source_of(own)
        basis = f"{row.gpus} x {own.usd:g} USD per GPU and hour as asked"
    elif usd:
        basis = f"{_how_it_is_paid(row, rent)}: {usd:,.2f} USD per hour"
        source = f"{row.source} ({row.date})"
    power = instance_power(gpu, row.gpus)
    return HardwareOption(
        id=f"{row.provider}:{row.instance_type}",
        name=f"{row.provider} {row.instance_type}",
        gpu_id=gpu.id,
        gpus=row.gpus,
        domain_gpus=min(gpu.domain_gpus, row.gpus),
        usd_per_hour=usd,
        usd_per_hour_low=usd,
        usd_per_hour_high=usd,
        system_usd=None,
        system_usd_low=None,
        system_usd_high=None,
        power_kw=power.kw,
        power_from=power.by,
        basis=f"{basis}. {power.basis}",
        source=source,
        assumed=False,
        kind="instance",
        priced_by="unknown" if usd is None else "listed" if own is None else "asked",
        region=row.region,
        price_basis=row.price_basis if usd is not None and own is None else None,
        dates=() if usd is None else (row.date,) if own is None else dates_of(own),
        payment=None if own is not None or rent.purchase == "on_demand" else rent.purchase,
        hosts=-(-row.gpus // (gpu.host_gpus or row.gpus)),
        fabric=fabric_of_instance(row.provider, row.instance_type),
    )


def _how_it_is_paid(row: CloudInstance, rent: Rent) -> str:
    """What the price of an instance is by this way to pay, and where."""
    term, what = TERMS[rent.purchase], BASIS_WORDS[row.price_basis]
    if not term.listed(row):
        return f"On-demand {what} in {row.region} less {_discount_percent(rent):g} %, {term.words}"
    if rent.purchase == "on_demand":
        return f"On-demand {what} in {row.region}"
    return f"{what[0].upper()}{what[1:]} {term.words} in {row.region}"


def _how_it_is_had(row: CloudInstance) -> str:
    """How an instance without a price on demand is to be had, as far as that is known."""
    return f" ({row.availability})" if row.availability else ""


def _assumed_instance(gpu: Gpu, own: GpuHourPrice | None, gpus: int | None = None) -> HardwareOption:
    """An instance that is not in the catalogue: as the price says, else of as many GPUs as a server has."""
    system = generic_system(gpu)
    size = gpus or system.gpus
    power = instance_power(gpu, size)
    usd = None if own is None else size * own.usd
    basis = "No cloud price known" if own is None else f"{size} x {own.usd:g} USD per GPU and hour as asked"
    named = "" if own is None else " ".join(text for text in (own.provider, own.region) if text)
    assumed = " Assumed: no provider in the catalogue offers this GPU." if gpus is None else ""
    return HardwareOption(
        id=f"{named or 'instance'}:{size}x_{gpu.id}" if gpus else f"instance_{size}x_{gpu.id}",
        name=f"{named} {size}x {gpu.name}".strip() if gpus else f"{size}x {gpu.name} instance (assumed)",
        gpu_id=gpu.id,
        gpus=size,
        domain_gpus=min(gpu.domain_gpus, size) if gpus else system.domain_gpus,
        usd_per_hour=usd,
        usd_per_hour_low=usd,
        usd_per_hour_high=usd,
        system_usd=None,
        system_usd_low=None,
        system_usd_high=None,
        power_kw=power.kw,
        power_from=power.by,
        basis=f"{basis}. {power.basis}{assumed}",
        source=system.source if own is None else source_of(own),
        assumed=gpus is None,
        kind="instance",
        priced_by="unknown" if own is None else "asked",
        region="" if own is None else own.region,
        dates=() if own is None else dates_of(own),
        fabric=ASSUMED_FABRIC if size >= SERVER_GPUS else "",
    )


def fabric_of_instance(provider: str, instance_type: str) -> str:
    """The fabric between cloud instances of one type; empty where none is known. Source: cloud_fabrics.csv."""
    for row in cloud_fabrics():
        if row.provider == provider and fnmatchcase(instance_type, row.instance_types):
            return row.fabric
    return ""


def fabric_of_system(system: System) -> str:
    """The fabric between bought systems: assumed, but for workstations."""
    host = server_hosts().get(system.host)
    return "" if host is not None and not host.racked else ASSUMED_FABRIC
