"""Rents in ``cloud_instances.csv`` renewed from the catalogues that gpuhunt collects (``requirements-prices.txt``)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from calibration.prices.refused import PriceRefusal, RefusedRow
from sizing.base.errors import UnknownName
from sizing.base.units import GIB
from sizing.catalog import resolve_gpu
from sizing.catalog.files import Row
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_names import MEMORY_TOLERANCE

OUR_PROVIDERS = {"lambdalabs": "lambda"}
"""Providers that gpuhunt calls otherwise than our file."""

MOST_USD_PER_GPU_HOUR = 100.0
"""USD an hour for one GPU from which a rent is an error of units. Chosen: five times the dearest that is listed."""


@dataclass(frozen=True, kw_only=True)
class HuntedOffer:
    """An instance type in a region as gpuhunt gives it: USD an hour, GiB of memory of one GPU, day of the catalogue."""

    provider: str
    instance: str
    region: str
    gpu: str
    gpus: int
    gpu_memory_gib: float
    usd_per_hour: float
    spot: bool
    day: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the row that it renews."""
        return OUR_PROVIDERS.get(self.provider, self.provider), self.instance, self.region


def renewed(rows: Sequence[Row], offers: Iterable[HuntedOffer], on: date) -> tuple[list[Row], list[RefusedRow]]:
    """The rows with the rents of today, and the offers refused. Instances that are not listed yet are left to a person,
    who says which edition of a GPU they have."""
    sound: dict[tuple[str, str, str], list[HuntedOffer]] = {}
    refused: list[RefusedRow] = []
    listed = {_key(row): row for row in rows}
    for offer in offers:
        if offer.key not in listed:
            continue
        fault = _fault(offer, listed[offer.key], on)
        if fault is None:
            sound.setdefault(offer.key, []).append(offer)
        else:
            refused.append(RefusedRow(row=" ".join(offer.key), reason=fault))
    return [_renewed(row, sound.get(_key(row), [])) for row in rows], refused


def _key(row: Row) -> tuple[str, str, str]:
    return row["provider"], row["instance_type"], row["region"]


def _fault(offer: HuntedOffer, row: Mapping[str, str], on: date) -> PriceRefusal | None:
    if not math.isfinite(offer.usd_per_hour):
        return "no_number"
    if offer.usd_per_hour <= 0:
        return "negative_price"
    if offer.usd_per_hour > MOST_USD_PER_GPU_HOUR * max(offer.gpus, 1):
        return "price_out_of_range"
    try:
        if date.fromisoformat(offer.day) > on:
            return "future"
    except ValueError:
        return "no_date"
    gpu = edition(offer.gpu, offer.gpu_memory_gib, row["gpu_id"])
    return None if gpu is not None and offer.gpus == int(row["gpu_count"]) else "unknown_edition"


def edition(name: str, memory_gib: float, listed: str = "") -> Gpu | None:
    """The GPU of a name and a memory; ``listed`` is asked first, since names leave out the form factor."""
    for wanted in (listed, f"{name} {memory_gib:g}GB", name):
        try:
            gpu = resolve_gpu(wanted)
        except UnknownName:
            continue
        if abs(gpu.memory_bytes / (memory_gib * GIB) - 1.0) <= MEMORY_TOLERANCE:
            return gpu
    return None


def _renewed(row: Row, offers: Sequence[HuntedOffer]) -> Row:
    """The row with the least rent of each kind; what is no longer offered keeps its old one."""
    on_demand = [offer.usd_per_hour for offer in offers if not offer.spot]
    spot = [offer.usd_per_hour for offer in offers if offer.spot]
    if not on_demand:
        return row
    return row | {
        "on_demand_usd_per_hour": f"{min(on_demand):.9g}",
        "spot_usd_per_hour": f"{min(spot):.9g}" if spot else row["spot_usd_per_hour"],
        "usd_per_gpu_hour": f"{min(on_demand) / int(row['gpu_count']):.9g}",
        "date": max(offer.day for offer in offers),
        "source": "gpuhunt catalogue of the provider (dstack, MPL-2.0)",
        "license": "MPL-2.0",
    }
