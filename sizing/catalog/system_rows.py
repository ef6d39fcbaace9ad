"""Servers, racks and cloud instances: ``systems.csv`` and ``cloud_instances.csv``, and the assumed 8-GPU server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import get_args

from sizing.base.choices import PriceCovers
from sizing.base.errors import UnknownName
from sizing.catalog.files import DATA_DATE, typed_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.system import CloudInstance, System

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
    return MappingProxyType({row.id: _checked(row) for row in rows})


@cache
def cloud_instances() -> tuple[CloudInstance, ...]:
    """Every cloud instance, in file order; a row whose accelerator is not in the catalogue keeps its ``gpu_id``."""
    return typed_rows("cloud_instances.csv", CloudInstance, gpus="gpu_count")


@cache
def systems_for(gpu_id: str) -> tuple[System, ...]:
    """Catalogue systems with this accelerator, or one assumed 8-GPU server when the catalogue has none.

    Raises UnknownName for an accelerator that is not in the catalogue; see :func:`generic_system` for a custom one.
    """
    if gpu_id not in gpus():
        raise UnknownName("GPU", gpu_id, gpus())
    listed = tuple(system for system in systems().values() if system.gpu_id == gpu_id)
    return listed or (generic_system(gpus()[gpu_id]),)


def generic_system(gpu: Gpu) -> System:
    """The assumed server of a catalogue or custom accelerator: eight of them, price and power unknown."""
    return System(
        id=f"server_8x_{gpu.id}",
        name=f"8x {gpu.name} server (assumed)",
        vendor="",
        gpu_id=gpu.id,
        gpus=GPUS_PER_ASSUMED_SERVER,
        domain_gpus=min(gpu.domain_gpus, GPUS_PER_ASSUMED_SERVER),
        interconnect=gpu.link_name,
        max_power_kw=None,
        rack_units=None,
        price_low_usd=None,
        price_high_usd=None,
        price_source="",
        price_date="",
        price_covers="unknown",
        source="assumed: results are normalised to 8-GPU servers (NVIDIA LLM sizing deck)",
        source_date=DATA_DATE,
        notes="No server with this accelerator is in the catalogue.",
        assumed=True,
    )


def _checked(system: System) -> System:
    if system.price_covers not in get_args(PriceCovers):
        raise ValueError(f"systems.csv: {system.id} says that its price covers “{system.price_covers}”")
    return system
