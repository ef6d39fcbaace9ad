"""Fleets, systems and constants with round numbers, so that a cost can be worked out by hand."""

from dataclasses import replace
from typing import Any

from sizing.catalog import gpus
from sizing.economics.amount import Amount
from sizing.economics.api import TokenPrices
from sizing.economics.assumptions import assumptions_for
from sizing.economics.cloud import Rented
from sizing.economics.fleet import FleetKind, PricedFleet
from sizing.economics.month import Month
from sizing.economics.on_prem import Money
from sizing.economics.views import PriceSource, View
from sizing.prices.hardware import HardwareOption, options
from sizing.scenario.costs import Costs
from sizing.scenario.prices import Prices

NOWHERE = PriceSource(what="by hand", source="by hand", dates=("2026-11-01",))
PLAIN: dict[str, Any] = {
    "electricity_usd_per_kwh": 0.10,
    "pue": 1.5,
    "power_utilization": 0.7,
    "carbon_g_per_kwh": 400,
    "burst_start_up_minutes": 0,
    "switches_percent": 0,
    "storage_percent": 0,
    "support_percent_per_year": 0,
    "capital_charge_percent_per_year": 0,
    "staff_usd_per_month": 0,
}
"""No ranges: every constant with one is given."""

MONTH = Month(requests=1_000_000, input_tokens=3000, cached_tokens=1000, output_tokens=500)


def money(years: float = 5.0, **costs: Any) -> Money:
    """The constants of the cost model, those given in place of the catalogue's."""
    chosen = Costs.model_validate(PLAIN | costs)
    return Money(costs=chosen, assumptions=assumptions_for(chosen), prices=Prices(depreciation_years=years))


def server(usd: float | None = 400_000.0, count: int = 8, kw: float = 10.0, **facts: Any) -> HardwareOption:
    """A server that costs ``usd`` complete, with ``count`` GPUs and a power budget of ``kw``."""
    known = options(gpus()["h100_sxm"], "on_prem", Prices())[0]
    hourly = None if usd is None else usd / (5 * 8760)
    return replace(
        known,
        gpus=count,
        system_usd=usd,
        system_usd_low=usd,
        system_usd_high=usd,
        usd_per_hour=hourly,
        power_kw=kw,
        name="server",
        **facts,
    )


def instance(usd_per_hour: float, count: int = 8, kw: float = 8.0) -> Rented:
    """An instance with ``count`` GPUs at ``usd_per_hour``."""
    known = options(gpus()["h100_sxm"], "cloud", Prices())[0]
    return Rented(
        option=replace(known, gpus=count, power_kw=kw, name="instance"),
        provider="by_hand",
        region="here",
        usd_per_hour=Amount.exactly(usd_per_hour),
        source=NOWHERE,
    )


def fleet(
    instances: int, gpus_each: int = 8, max_rps: float = 1.0, gpus: tuple[float, float] | None = None
) -> PricedFleet:
    """Instances that all carry as much as they can at the peak; ``gpus``: range of GPUs, exact if left out."""
    every = float(instances * gpus_each)
    low, high = gpus or (every, every)
    kind = FleetKind(gpus=gpus_each, working=instances, spares=0, max_rps=max_rps)
    return PricedFleet(kinds=(kind,), peak_rps=instances * max_rps, gpus_low=low, gpus_high=high)


def token_price(input_usd: float = 1.0, cached_usd: float = 0.25, output_usd: float = 4.0) -> TokenPrices:
    """USD per million tokens of an API."""
    return TokenPrices(
        name="API", input_usd=input_usd, cached_input_usd=cached_usd, output_usd=output_usd, source=NOWHERE
    )


def cents(view: View) -> float:
    """What a month costs, to the cent."""
    return round(view.usd_per_month.value, 2)


def parts(view: View) -> dict[str, float]:
    """What every part costs, to the cent, without those that cost nothing."""
    return {name: round(amount.value, 2) for name, amount in view.parts.items() if amount.value}
