"""Systems of one's own: purchase written off in a straight line, cost of the capital, and what running them costs."""

import math
from dataclasses import dataclass

from sizing.base.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from sizing.economics.amount import NOTHING, Amount
from sizing.economics.assumptions import ELECTRICITY, Assumptions, licences_each
from sizing.economics.fleet import PricedFleet
from sizing.economics.views import PartName, PriceSource, View, without_cost
from sizing.prices.hardware import HardwareOption
from sizing.scenario.costs import Costs
from sizing.scenario.prices import Prices


@dataclass(frozen=True, kw_only=True)
class Money:
    """What the cost of any way depends on beside the hardware. ``rent``: times the price of everything rented."""

    costs: Costs
    assumptions: Assumptions
    prices: Prices
    rent: float = 1.0

    @property
    def depreciation_years(self) -> float:
        """Years over which a purchase is written off."""
        return self.prices.depreciation_years

    @property
    def residual(self) -> float:
        """Share of a purchase that it is still worth when it is written off."""
        return self.assumptions.share("residual_percent").value


def on_prem(option: HardwareOption, fleet: PricedFleet, money: Money, requests: float = math.inf) -> View:
    """What the fleet costs a month on systems of one's own that serve so many ``requests`` in it, at most all that they
    can: power follows them."""
    if option.system_usd is None:
        return without_cost("on_prem", "no_price", option.name)
    count = fleet.systems_range(option.gpus)
    mean_kw = mean_power_kw(option, count, fleet, requests, money.assumptions)
    return View(
        name="on_prem",
        parts=on_prem_parts(option, count, money, mean_kw),
        system=option.name,
        systems=count,
        gpus_per_system=option.gpus,
        power_kw=None if option.power_kw is None else count * option.power_kw,
        mean_kw=mean_kw,
        capacity_requests=fleet.requests_per_month,
        sources=(price_source(option, money.prices),),
    )


def on_prem_parts(
    option: HardwareOption, count: Amount, money: Money, mean_kw: Amount | None
) -> dict[PartName, Amount]:
    """Every part of the cost of so many systems that draw ``mean_kw``, in USD per month.

    ``purchase = systems x price x (1 + switches + storage)``; servers, switches and storage: ``price x (1 - residual) /
    years / 12``; support: ``purchase x rate / 12``; capital charge: ``purchase x (1 + residual) / 2 x rate / 12``, the
    mean book value of a straight line; power: ``mean kW x PUE x 730 h x USD/kWh``; colocation: ``kW x USD per kW``;
    licence: ``GPUs x USD per year / 12``. Parts that are not asked for or not known are 0.
    """
    assumed, residual = money.assumptions, money.residual
    month = (1.0 - residual) / (money.depreciation_years * MONTHS_PER_YEAR)
    servers = count * price_of(option)
    switches, storage = servers * assumed.share("switches_percent"), servers * assumed.share("storage_percent")
    purchase = servers + switches + storage
    yearly = purchase * (1.0 / MONTHS_PER_YEAR)
    return {
        "servers": servers * month,
        "switches": switches * month,
        "storage": storage * month,
        "support": yearly * assumed.share("support_percent_per_year"),
        "capital_charge": yearly * assumed.share("capital_charge_percent_per_year") * ((1.0 + residual) / 2.0),
        "power": NOTHING if mean_kw is None else energy_kwh(mean_kw, assumed) * assumed.amount(ELECTRICITY),
        "colocation": _colocation(option, count, money),
        "licence": _licence(option, count, money),
        "staff": assumed.amount("staff_usd_per_month"),
    }


def price_of(option: HardwareOption) -> Amount:
    """Price of one system with the ends of what its sources give; 0 where it is not known."""
    if option.system_usd is None or option.system_usd_low is None or option.system_usd_high is None:
        return NOTHING
    return Amount(value=option.system_usd, low=option.system_usd_low, high=option.system_usd_high)


def price_source(option: HardwareOption, prices: Prices) -> PriceSource:
    """Where the price of a system comes from, with its date in the scenario, of its list price or of its parts."""
    given = prices.of_system(option.id) is not None or option.priced_by == "asked"
    return PriceSource(what=option.name, source=option.source, dates=option.dates, given=given)


def mean_power_kw(
    option: HardwareOption, count: Amount, fleet: PricedFleet, requests: float, assumed: Assumptions
) -> Amount | None:
    """What so many systems draw on average in a month of so many requests; None where their power is not known.

    ``kW x (idle share + (share at work - idle share) x busy share)``: the straight line between idle and full load of
    Fan, Weber and Barroso ("Power provisioning for a warehouse-sized computer", ISCA 2007). The high end is at work
    all the time, because an engine's steps draw nearly as much with few sequences as with many.
    """
    if option.power_kw is None:
        return None
    idle, work = assumed.amount("idle_power_share"), assumed.amount("power_utilization")
    busy = fleet.busy(requests, count.value * option.gpus)
    between = [low + max(high - low, 0.0) * busy for low, high in ((idle.value, work.value), (idle.low, work.low))]
    share = Amount(value=between[0], low=between[1], high=max(work.high, between[0]))
    return count * option.power_kw * share


def energy_kwh(mean_kw: Amount, assumed: Assumptions) -> Amount:
    """Electricity of a month, that of cooling and losses included: ``mean kW x PUE x 730 h``."""
    return mean_kw * assumed.amount("pue") * HOURS_PER_MONTH


def _colocation(option: HardwareOption, count: Amount, money: Money) -> Amount:
    if money.costs.facility == "own" or option.power_kw is None:
        return NOTHING
    return count * option.power_kw * money.assumptions.amount("colocation_usd_per_kw_month")


def _licence(option: HardwareOption, count: Amount, money: Money) -> Amount:
    if money.costs.licence == "none":
        return NOTHING
    each = licences_each(option.gpu_id) * (option.gpus / MONTHS_PER_YEAR)
    return count * each * money.assumptions.amount("licence_usd_per_gpu_year")
