"""One way to get the capacity and what it costs a month, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sizing.economics.amount import Amount, total

ViewName = Literal["on_prem", "cloud", "hybrid", "api", "blended"]
"""Bought, rented, a bought or committed base with rented peaks, paid by the token, or requests split between two."""

PartName = Literal[
    "servers",
    "switches",
    "storage",
    "support",
    "capital_charge",
    "power",
    "colocation",
    "licence",
    "staff",
    "instances",
    "interruptions",
    "burst",
    "api_input",
    "api_cached_input",
    "api_output",
    "this_model",
    "routed",
]
"""What a cost is for."""

Unavailable = Literal["no_price", "not_offered", "no_profile", "no_api_price"]
"""Why a way to get the capacity has no cost."""


@dataclass(frozen=True, kw_only=True)
class PriceSource:
    """Where a price comes from; ``dates`` as its sources write them, ``given`` marks a price of the scenario."""

    what: str
    source: str
    dates: tuple[str, ...]
    given: bool = False


@dataclass(frozen=True, kw_only=True)
class View:
    """What a month costs in one way, in USD, part by part; nothing but ``unavailable`` where that is not known.

    ``systems`` whole servers or instances, ``power_kw`` their power budget, in a hybrid both of the base and the mean
    of the burst. ``capacity_requests`` is what it could serve in the month, None where nothing bounds it. ``place`` is
    the region of rented instances.
    """

    name: ViewName
    parts: Mapping[PartName, Amount]
    unavailable: Unavailable | None = None
    system: str = ""
    place: str = ""
    provider: str = ""
    systems: Amount | None = None
    gpus_per_system: int = 0
    power_kw: Amount | None = None
    capacity_requests: float | None = None
    sources: tuple[PriceSource, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it has a cost."""
        return self.unavailable is None

    @property
    def usd_per_month(self) -> Amount:
        """Cost of all parts together, USD/month."""
        return total(self.parts.values())


def without_cost(name: ViewName, why: Unavailable, system: str = "") -> View:
    """A way whose cost is not known, and why."""
    return View(name=name, parts={}, unavailable=why, system=system)
