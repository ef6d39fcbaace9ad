"""One way to get the capacity and what it costs a month, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sizing.economics.amount import Amount, total

BaseWay = Literal["on_prem", "cloud", "hybrid", "api"]
"""Bought, rented, a bought or committed base with rented peaks, or paid by the token: ways that follow the load."""

ViewName = Literal[
    "on_prem",
    "cloud",
    "hybrid",
    "api",
    "on_prem_best",
    "cloud_best",
    "cloud_hours",
    "api_cheapest",
    "api_median",
    "blended",
]
"""The ways that follow the load; beside them what would be bought or rented were the hardware chosen anew for that
place (``_best``), instances that run only in the working window of a batch, the API of least and of median price, and
requests split between two."""

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

CAPITAL_PARTS: tuple[PartName, ...] = ("servers", "switches", "storage")
"""Parts that write off a purchase."""

BESIDE: tuple[PartName, ...] = ("switches", "storage", "support", "capital_charge", "licence", "staff")
"""Parts beyond hardware and power."""

Unavailable = Literal["no_price", "not_offered", "no_profile", "no_peaks", "two_places", "no_api_price"]
"""Why a way to get the capacity has no cost."""


EVERYWHERE = "all"
"""Region of instances that a provider rents at one price in all of them."""


def in_place(name: str, place: str) -> str:
    """What is rented, and where: nothing is said twice, and a price of all regions is not of one called "all"."""
    if not place or place in name:
        return name
    *others, last = place.split("+")
    where = "any region" if place == EVERYWHERE else f"{', '.join(others)} or {last}" if others else last
    return f"{name} in {where}"


@dataclass(frozen=True, kw_only=True)
class PriceSource:
    """Where a price comes from; ``dates`` as its sources write them, ``given`` marks a price of the scenario."""

    what: str
    source: str
    dates: tuple[str, ...]
    given: bool = False


@dataclass(frozen=True, kw_only=True)
class BaseOfHybrid:
    """What a hybrid always has: ``instances`` of the model in whole ``systems``; beyond it up to ``burst`` instances,
    ``hours`` of rented systems a month. ``worth_owning``: share of the hours from which on a system is cheaper in the
    base, None where a price is not known."""

    instances: int
    systems: int
    burst: int
    hours: float
    burst_system: str
    worth_owning: float | None


@dataclass(frozen=True, kw_only=True)
class View:
    """What a month costs in one way, in USD, part by part; nothing but ``unavailable`` where that is not known.

    ``systems`` whole servers or instances, ``power_kw`` their power budget, in a hybrid both of the base and the mean
    of the burst; ``mean_kw`` what they draw over the month. ``capacity_requests`` is what it could serve in the month,
    None where nothing bounds it. ``place`` is the region of rented instances; ``base`` of a hybrid what it always has;
    ``fleets`` the same of each fleet, where these are several.
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
    mean_kw: Amount | None = None
    capacity_requests: float | None = None
    base: BaseOfHybrid | None = None
    fleets: tuple[View, ...] = ()
    sources: tuple[PriceSource, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it has a cost."""
        return self.unavailable is None

    @property
    def usd_per_month(self) -> Amount:
        """Cost of all parts together, USD/month."""
        return total(self.parts.values())

    @property
    def hardware_and_power_usd_per_month(self) -> float:
        """Cost without what stands beside hardware, power and the room for it, USD/month."""
        return total(amount for name, amount in self.parts.items() if name not in BESIDE).value


def without_cost(name: ViewName, why: Unavailable, system: str = "") -> View:
    """A way whose cost is not known, and why."""
    return View(name=name, parts={}, unavailable=why, system=system)
