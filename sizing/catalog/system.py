"""Servers, racks and cloud instances that GPUs come in."""

from dataclasses import dataclass

from sizing.base.choices import Cooling, FormFactor, OtherTerms, PriceBasis


@dataclass(frozen=True, kw_only=True)
class System:
    """A server or rack one can buy. ``price_*_usd`` are for all of it, racked, on ``price_basis``; None: not listed.
    ``price_typical_usd`` is given where the source says more than the ends of a range.

    ``host`` is the id of what its GPUs are built into (:class:`ServerHost`), ``cooling`` what carries its heat away.
    """

    id: str
    name: str
    vendor: str
    gpu_id: str
    gpus: int
    host: str
    domain_gpus: int
    interconnect: str
    max_power_kw: float | None
    rack_units: float | None
    price_low_usd: float | None
    price_high_usd: float | None
    price_source: str
    price_date: str
    source: str
    source_date: str
    notes: str = ""
    assumed: bool = False
    price_basis: PriceBasis | None = None
    price_typical_usd: float | None = None
    cooling: Cooling = ""


@dataclass(frozen=True, kw_only=True)
class ServerHost:
    """What GPUs are built into: chassis, CPUs, memory, storage and network of a server, with what they cost and draw.

    Prices in USD. Its power is ``power_kw`` (kW) and ``power_share`` of the TDP of the GPUs, one of which is None;
    ``low`` and ``high`` are the ends of what the sources say. ``racked``: it stands in a rack, unlike a workstation.
    """

    id: str
    name: str
    form_factor: FormFactor
    max_gpus: int
    racked: bool
    price_usd_low: float | None
    price_usd_typical: float | None
    price_usd_high: float | None
    price_source: str
    price_date: str
    power_kw_low: float | None
    power_kw_typical: float | None
    power_kw_high: float | None
    power_share_low: float | None
    power_share_typical: float | None
    power_share_high: float | None
    power_source: str
    power_date: str
    notes: str
    price_basis: PriceBasis | None = None


@dataclass(frozen=True, kw_only=True)
class CloudInstance:
    """A cloud instance type in one region with its prices in USD per hour; None means not offered or unknown.

    ``gpu_memory_gb`` is the memory of each GPU as the provider sells it. ``other_usd_per_hour`` is a price on
    ``other_terms``, on which no service runs month after month: it is told and never taken for one on demand.
    ``availability`` says how it is to be had, such as "contact sales".
    """

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
    gpu_memory_gb: float | None = None
    price_basis: PriceBasis = "list"
    other_terms: OtherTerms = ""
    other_usd_per_hour: float | None = None
    availability: str = ""


@dataclass(frozen=True, kw_only=True)
class CloudFabric:
    """What joins several cloud instances of the types that match ``instance_types``, a pattern with ``*``."""

    provider: str
    instance_types: str
    fabric: str
    date: str
    source: str
