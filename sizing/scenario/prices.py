"""What a scenario may say about prices: list and negotiated ones apart, each of one system or one rented GPU."""

from __future__ import annotations

import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from sizing.scenario.part import Name, ScenarioPart, Usd

Source = Annotated[str, Field(max_length=300)]


def _day(value: object) -> object:
    """A day as ISO 8601 writes it; a number, which would pass as seconds since 1970, is none."""
    if value is None or isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value).strip())
    except ValueError:
        raise ValueError(f"must be a day such as 2026-11-22 (found {str(value)[:40]!r})") from None


Day = Annotated[datetime.date | None, BeforeValidator(_day)]

MOST_PRICES = 500
"""Prices in one list. Chosen: because the catalogue has a tenth of that to buy and to rent."""


class SystemPrice(ScenarioPart):
    """The price of one complete system, racked, with where and when it was known."""

    system: Name
    usd: Usd
    source: Source = ""
    date: Day = None


class GpuHourPrice(ScenarioPart):
    """The price of one rented GPU for an hour, with who rents it where.

    ``gpus`` of one instance; left out, the instances of the catalogue are rented at this price.
    """

    gpu: Name
    usd: Usd
    provider: Annotated[str, Field(max_length=80)] = ""
    region: Annotated[str, Field(max_length=120)] = ""
    gpus: Annotated[int, Field(ge=1, le=1024)] | None = None
    source: Source = ""
    date: Day = None


class PriceList(ScenarioPart):
    """Prices that take the place of the catalogue's; every other system and GPU keeps its own."""

    systems: Annotated[tuple[SystemPrice, ...], Field(max_length=MOST_PRICES)] = ()
    gpu_hours: Annotated[tuple[GpuHourPrice, ...], Field(max_length=MOST_PRICES)] = ()

    @property
    def prices(self) -> tuple[SystemPrice | GpuHourPrice, ...]:
        """The prices of systems, then those of GPU hours."""
        return (*self.systems, *self.gpu_hours)


class Prices(ScenarioPart):
    """Overrides of list prices, in USD. Each belongs to one system or GPU, named where several could be meant.

    ``system_usd`` and ``gpu_hour_usd`` are one price each. ``listed`` and ``negotiated`` are a price book: public
    prices that are newer or better known than the catalogue's, and what the customer pays, which comes first.
    """

    system: Name | None = None
    system_usd: Usd | None = None
    gpu: Name | None = None
    gpu_hour_usd: Usd | None = None
    depreciation_years: Annotated[float, Field(gt=0, le=20, allow_inf_nan=False)] = 5.0
    listed: PriceList = PriceList()
    negotiated: PriceList = PriceList()

    @property
    def private(self) -> bool:
        """Whether there is a price that no list has: a price of the scenario's own, or a negotiated one."""
        return self.system_usd is not None or self.gpu_hour_usd is not None or bool(self.negotiated.prices)

    def without_private(self) -> Prices:
        """The same with list prices only, for what others may see."""
        return Prices(depreciation_years=self.depreciation_years, listed=self.listed)

    def of_system(self, system: str) -> SystemPrice | None:
        """The price of a system by its id, where one is given: its own, the negotiated, the listed."""
        if self.system_usd is not None and self.system == system:
            return SystemPrice(system=system, usd=self.system_usd, source="scenario: prices.system_usd")
        every = (*self.negotiated.systems, *self.listed.systems)
        return next((price for price in every if price.system == system), None)

    def of_gpu_hour(self, gpu: str) -> GpuHourPrice | None:
        """The price of a rented GPU for an hour by its id, where one is given."""
        if self.gpu_hour_usd is not None and self.gpu == gpu:
            return GpuHourPrice(gpu=gpu, usd=self.gpu_hour_usd, source="scenario: prices.gpu_hour_usd")
        every = (*self.negotiated.gpu_hours, *self.listed.gpu_hours)
        return next((price for price in every if price.gpu == gpu), None)
