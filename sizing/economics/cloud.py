"""Rented instances: on demand, committed to for one or three years, or spot; whole instances, by the hour."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sizing.base.choices import Purchase
from sizing.base.units import HOURS_PER_MONTH
from sizing.catalog import cloud_instances
from sizing.catalog.gpu import Gpu
from sizing.catalog.payment_terms import TERMS
from sizing.catalog.system import CloudInstance
from sizing.economics.amount import NOTHING, Amount
from sizing.economics.assumptions import Assumptions
from sizing.economics.fleet import PricedFleet
from sizing.economics.on_prem import Money, mean_power_kw
from sizing.economics.views import PartName, PriceSource, View, in_place
from sizing.prices.hardware import HardwareOption, by_own_list, instances, options
from sizing.prices.system_price import dates_of
from sizing.scenario.prices import GpuHourPrice, Prices

Place = tuple[str, str]
"""Provider and region of rented instances."""


@dataclass(frozen=True, kw_only=True)
class Rented:
    """An instance type in a region at its price, USD per instance and hour, for one way to pay.

    ``discount`` names the constant by which the price was made from the one on demand, empty where it is listed.
    ``on_top``: what spot instances cost beyond their price, as a share of it (:mod:`sizing.economics.spot`).
    """

    option: HardwareOption
    provider: str
    region: str
    usd_per_hour: Amount
    source: PriceSource
    discount: str = ""
    on_top: Amount = NOTHING

    @property
    def rented_in(self) -> Place:
        """Provider and region that the instances are rented from."""
        return self.provider, self.region


def cloud_on(
    best: Rented,
    fleet: PricedFleet,
    money: Money,
    purchase: Purchase,
    requests: float = math.inf,
    hours: float = HOURS_PER_MONTH,
) -> View:
    """What the fleet costs a month on these instances, which serve so many ``requests`` and are paid so many hours."""
    systems = fleet.systems_range(best.option.gpus)
    mean_kw = mean_power_kw(best.option, systems, fleet, requests * HOURS_PER_MONTH / hours, money.assumptions)
    return View(
        name="cloud",
        parts=cloud_parts(best, systems * hours, money, purchase),
        system=best.option.name,
        provider=best.provider,
        place=best.region,
        systems=systems,
        gpus_per_system=best.option.gpus,
        power_kw=None if best.option.power_kw is None else systems * best.option.power_kw,
        mean_kw=None if mean_kw is None else mean_kw * (hours / HOURS_PER_MONTH),
        capacity_requests=fleet.requests_per_month * hours / HOURS_PER_MONTH,
        sources=(best.source,),
    )


def cloud_parts(one: Rented, hours: Amount, money: Money, purchase: Purchase) -> dict[PartName, Amount]:
    """Every part of the cost of so many instance hours, in USD.

    Instances: ``hours x USD/h``; interruptions of spot instances: the same times what they cost on top; licence:
    ``hours x GPUs x USD per GPU and hour``; staff of rented instances.
    """
    assumed, instances = money.assumptions, hours * one.usd_per_hour
    licence = NOTHING
    if money.costs.licence != "none":
        licence = hours * float(one.option.gpus) * assumed.amount("licence_usd_per_gpu_hour")
    lost = instances * one.on_top if TERMS[purchase].allowance else NOTHING
    return {
        "instances": instances,
        "interruptions": lost,
        "licence": licence,
        "staff": assumed.amount("staff_rented_usd_per_month"),
    }


def cheapest(offered: tuple[Rented, ...], fleet: PricedFleet) -> Rented:
    """The instances of least cost for the fleet; a copy of the model that fits into one is not spread over several."""

    def cost(one: Rented) -> tuple[float, float, int]:
        systems = fleet.systems(one.option.gpus)
        usd = systems * one.usd_per_hour.value * (1.0 + one.on_top.value)
        return -(-fleet.largest // one.option.gpus), usd, systems

    return min(offered, key=cost)


def rented(gpu: Gpu, money: Money, prices: Prices, purchase: Purchase) -> tuple[Rented, ...]:
    """Every instance with the GPU that has a price for this way to pay, where the scenario wants it."""
    each = _priced(gpu, money, prices, purchase)
    return tuple(replace(one, usd_per_hour=one.usd_per_hour * money.rent) for one in each)


def _priced(gpu: Gpu, money: Money, prices: Prices, purchase: Purchase) -> tuple[Rented, ...]:
    own = prices.of_gpu_hour(gpu.id)
    if own is not None:
        each = (_asked(option, own) for option in options(gpu, "cloud", prices) if option.usd_per_hour is not None)
        return tuple(one for one in each if money.costs.cloud_provider in (None, one.provider))
    return tuple(_listed(gpu, money, purchase))


def _listed(gpu: Gpu, money: Money, purchase: Purchase) -> Iterator[Rented]:
    """Instances that have a price for this way to pay, by their providers' own lists where these have one."""
    by_id, costs = {option.id: option for option in instances(gpu)}, money.costs
    rows = [
        row
        for row in cloud_instances()
        if row.gpu_id == gpu.id
        and f"{row.provider}:{row.instance_type}" in by_id
        and costs.cloud_provider in (None, row.provider)
        and costs.cloud_region in (None, row.region)
        and _hourly(row, purchase, money.assumptions)[0] is not None
    ]
    for row in by_own_list(rows):
        option = by_id[f"{row.provider}:{row.instance_type}"]
        usd, discount = _hourly(row, purchase, money.assumptions)
        assert usd is not None
        source = PriceSource(what=in_place(option.name, row.region), source=row.source, dates=(row.date,))
        yield Rented(
            option=replace(option, region=row.region),
            provider=row.provider,
            region=row.region,
            usd_per_hour=usd,
            source=source,
            discount=discount,
        )


def _hourly(row: CloudInstance, purchase: Purchase, assumed: Assumptions) -> tuple[Amount | None, str]:
    """USD per hour, and the constant that made it from the price on demand; a commitment without a listed price is the
    price on demand less the discount."""
    term, on_demand = TERMS[purchase], row.on_demand_usd_per_hour
    if listed := term.listed(row):
        return Amount.exactly(listed), ""
    if not term.discount or not on_demand:
        return None, ""
    return Amount.exactly(on_demand * (1.0 - assumed.share(term.discount).value)), term.discount


def _asked(option: HardwareOption, own: GpuHourPrice) -> Rented:
    """An instance at the price that the scenario gives for a GPU and hour, whatever the way to pay."""
    assert option.usd_per_hour is not None
    return Rented(
        option=option,
        provider=own.provider or option.id.partition(":")[0],
        region=option.region,
        usd_per_hour=Amount.exactly(option.usd_per_hour),
        source=PriceSource(what=option.name, source=option.source, dates=dates_of(own), given=True),
    )
