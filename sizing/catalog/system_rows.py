"""Servers, racks, what they are built of, and cloud instances, as in the files of facts; the assumed 8-GPU server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from sizing.base.choices import FormFactor
from sizing.base.errors import UnknownName
from sizing.catalog.files import DATA_DATE, typed_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.system import CloudInstance, ServerHost, System

GPUS_PER_ASSUMED_SERVER = 8
"""Results are always normalised to 8-GPU servers, PCIe cards too (NVIDIA LLM sizing deck; seed_facts row 6)."""


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
    )
    return MappingProxyType({row.id: row for row in rows})


@cache
def server_hosts() -> Mapping[str, ServerHost]:
    """What a server costs and draws beside its GPUs, by id, in file order."""
    return MappingProxyType({row.id: row for row in typed_rows("server_hosts.csv", ServerHost)})


def host_for(form_factor: FormFactor, gpus: int) -> ServerHost | None:
    """The smallest host for so many GPUs of this form factor, the first of several; None where none holds them."""
    fitting = [h for h in server_hosts().values() if h.form_factor == form_factor and h.max_gpus >= gpus]
    return min(fitting, key=lambda host: host.max_gpus, default=None)


@cache
def cloud_instances() -> tuple[CloudInstance, ...]:
    """Every cloud instance, in file order; a row whose accelerator is not in the catalogue keeps its ``gpu_id``."""
    return typed_rows("cloud_instances.csv", CloudInstance, gpus="gpu_count")


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
    """Catalogue systems with this accelerator, or one assumed 8-GPU server when the catalogue has none."""
    listed = () if gpu.custom else tuple(system for system in systems().values() if system.gpu_id == gpu.id)
    return listed or (generic_system(gpu),)


def generic_system(gpu: Gpu) -> System:
    """The assumed server of a catalogue or custom accelerator: eight of them, its price and power by rule."""
    host = host_for(gpu.form_factor, GPUS_PER_ASSUMED_SERVER)
    return System(
        id=f"server_8x_{gpu.id}",
        name=f"8x {gpu.name} server (assumed)",
        vendor="",
        gpu_id=gpu.id,
        gpus=GPUS_PER_ASSUMED_SERVER,
        host=host.id if host else "",
        domain_gpus=min(gpu.domain_gpus, GPUS_PER_ASSUMED_SERVER),
        interconnect=gpu.link_name,
        max_power_kw=None,
        rack_units=None,
        price_low_usd=None,
        price_high_usd=None,
        price_source="",
        price_date="",
        source="assumed: results are normalised to 8-GPU servers (NVIDIA LLM sizing deck)",
        source_date=DATA_DATE,
        notes="No server with this accelerator is in the catalogue.",
        assumed=True,
    )
