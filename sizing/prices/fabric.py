"""Whether several systems or cloud instances may hold one instance of a model: only where a fabric joins them.

A fabric is a network by which GPUs of different systems reach each other's memory without the CPUs: InfiniBand, RoCE,
EFA, GPUDirect-TCPX. Over plain Ethernet every step of a pipeline or tensor-parallel group would wait for it, and no
provider or engine recommends it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from sizing.catalog import cloud_fabrics, server_hosts
from sizing.catalog.system import System

ASSUMED_FABRIC = "assumed"
"""Of servers that are bought: network cards are part of their price, switches and cables are asked for with them."""

SERVER_GPUS = 8
"""GPUs from which on an instance that is not in the catalogue is taken for a whole server of a cluster."""


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
