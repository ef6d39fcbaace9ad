"""Servers, racks, what they are built of, and cloud instances, as in the files of facts; the assumed 8-GPU server."""

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from sizing.base.choices import FormFactor
from sizing.base.errors import UnknownName
from sizing.catalog.files import DATA_DATE, typed_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.system import CloudFabric, CloudInstance, ServerHost, System

GPUS_PER_ASSUMED_SERVER = 8
"""Results are always normalised to 8-GPU servers, PCIe cards too (NVIDIA LLM sizing deck; seed_facts row 6)."""

WORKSTATION_SIZES = (1, 2, 4)
"""Cards for players and for workstations that one machine holds: a workstation has up to four double-width slots
(``server_hosts.csv``, workstation); a server of eight takes cards that its own fans cool."""


ASSUMED_FROM: Mapping[str, str] = MappingProxyType(
    {
        "server": "assumed: results are normalised to 8-GPU servers (NVIDIA LLM sizing deck)",
        "workstation": "assumed: a workstation holds up to four double-width cards (server_hosts.csv)",
    }
)
"""Why a system is assumed, by its kind."""


@cache
def systems() -> Mapping[str, System]:
    """Every server and rack of the catalogue by id, in file order."""
    rows = typed_rows(
        "systems.csv",
        System,
        gpus="gpus_per_system",
        domain_gpus="scaleup_domain_gpus",
        price_low_usd="price_usd_low",
        price_high_usd="price_usd_high",
        price_typical_usd="price_usd_typical",
    )
    return MappingProxyType({row.id: row for row in rows})


@cache
def server_hosts() -> Mapping[str, ServerHost]:
    """What a server costs and draws beside its GPUs, by id, in file order."""
    return MappingProxyType({row.id: row for row in typed_rows("server_hosts.csv", ServerHost)})


def host_for(form_factor: FormFactor, gpus: int) -> ServerHost | None:
    """The smallest host in a rack for so many GPUs of this form factor, the first of several; None where none holds
    them."""
    racked = (host for host in server_hosts().values() if host.racked)
    fitting = [host for host in racked if host.form_factor == form_factor and host.max_gpus >= gpus]
    return min(fitting, key=lambda host: host.max_gpus, default=None)


@cache
def cloud_instances() -> tuple[CloudInstance, ...]:
    """Every cloud instance, in file order; a row whose accelerator is not in the catalogue keeps its ``gpu_id``."""
    return typed_rows("cloud_instances.csv", CloudInstance, gpus="gpu_count")


@cache
def cloud_fabrics() -> tuple[CloudFabric, ...]:
    """The fabrics between cloud instances, in file order; a type that none names has none."""
    return typed_rows("cloud_fabrics.csv", CloudFabric)


def resolve_system(name: str) -> System:
    """The system with this id or name. Raises UnknownName."""
    known = systems()
    text = name.strip()
    system = known.get(text) or next((s for s in known.values() if s.name.lower() == text.lower()), None)
    if system is None:
        raise UnknownName("system", name, [*known, *(s.name for s in known.values())])
    return system


@lru_cache(maxsize=256)
def systems_for(gpu: Gpu) -> tuple[System, ...]:
    """Catalogue systems with this accelerator, and assumed ones of sizes that the catalogue does not have."""
    listed = () if gpu.custom else tuple(system for system in systems().values() if system.gpu_id == gpu.id)
    if not in_workstations(gpu):
        return listed or (generic_system(gpu),)
    sizes = {system.gpus for system in listed}
    assumed = (_assumed(gpu, size) for size in WORKSTATION_SIZES if size not in sizes)
    return tuple(sorted((*listed, *assumed), key=lambda system: system.gpus))


def in_workstations(gpu: Gpu) -> bool:
    """Whether it is a card for players or for workstations, of which no server of eight is assumed."""
    return gpu.form_factor == "card" and gpu.market != "datacenter"


def generic_system(gpu: Gpu) -> System:
    """The largest assumed system of a catalogue or custom accelerator, its price and power by rule.

    A server of eight; of as many modules as their links join, where that are fewer (MI250X: 4); one superchip that
    nothing joins to others (GH200, GB10), one machine that computes without a GPU; the largest workstation for cards
    that belong into one.
    """
    if in_workstations(gpu):
        return _assumed(gpu, WORKSTATION_SIZES[-1])
    if gpu.form_factor in ("superchip", "machine") and gpu.domain_gpus == 1:
        return _assumed(gpu, 1)
    joined = gpu.form_factor == "module" and not gpu.custom and 1 < gpu.domain_gpus < GPUS_PER_ASSUMED_SERVER
    return _assumed(gpu, gpu.domain_gpus if joined else GPUS_PER_ASSUMED_SERVER)


def _assumed(gpu: Gpu, gpus: int) -> System:
    """An assumed server or workstation of so many accelerators."""
    kind = "workstation" if in_workstations(gpu) else "server"
    host = server_hosts()[kind] if kind == "workstation" else host_for(gpu.form_factor, gpus)
    if gpu.form_factor == "machine":
        host = server_hosts()["machine" if gpu.market == "datacenter" else "desk_machine"]
    return System(
        id=f"{kind}_{gpus}x_{gpu.id}",
        name=gpu.name if gpu.form_factor == "machine" else f"{gpus}x {gpu.name} {kind} (assumed)",
        vendor="",
        gpu_id=gpu.id,
        gpus=gpus,
        host=host.id if host else "",
        domain_gpus=min(gpu.domain_gpus, gpus),
        interconnect=gpu.link_name,
        max_power_kw=None,
        rack_units=None,
        price_low_usd=None,
        price_high_usd=None,
        price_source="",
        price_date="",
        source=ASSUMED_FROM[kind],
        source_date=DATA_DATE,
        notes=f"No {kind} with so many of this accelerator is in the catalogue.",
        assumed=True,
    )
