"""Rented instances of an answer about money: spot instances through interruptions, and the burst above a base."""

from sizing.base.units import HOURS_PER_MONTH, PERCENT, S_PER_HOUR, S_PER_MINUTE
from sizing.economics.cloud import cheapest
from sizing.economics.fleet_results import BaseAndBurst, SpotFleet
from sizing.economics.spot import HELD, START_UP, WITHOUT_CAPACITY, on_demand_usd, spread_of, taken_back
from sizing.economics.views import View
from sizing.economics.ways import Ways


def spot_of(ways: Ways) -> SpotFleet | None:
    """How many spot instances keep the limits, and what they save.

    None where the scenario pays otherwise, nobody offers them, and where it states itself what interruptions cost.
    """
    costs, assumed = ways.money.costs, ways.money.assumptions
    if costs.purchase != "spot" or costs.spot_interruption_percent is not None or not ways.as_asked:
        return None
    one = cheapest(ways.as_asked, ways.fleet)
    needed = ways.fleet.systems(one.option.gpus)
    spread, known = spread_of(one, needed, assumed), taken_back(one, assumed)
    usd = needed * one.usd_per_hour.value * (1.0 + one.on_top.value) * HOURS_PER_MONTH
    otherwise = on_demand_usd(one, ways.fleet, ways.in_place_of_spot) * HOURS_PER_MONTH
    return SpotFleet(
        system=one.option.name,
        needed=needed,
        instances=spread.number,
        zones=spread.zones,
        zones_lost=spread.many,
        interrupted_percent_per_month=known.percent,
        rate_from=known.rate_from,
        start_up_minutes=assumed.amount(START_UP).value,
        short_minutes_per_month=spread.short * HOURS_PER_MONTH * S_PER_HOUR / S_PER_MINUTE,
        held=spread.held(assumed.share(HELD).value),
        without_capacity_percent=assumed.share(WITHOUT_CAPACITY).value * PERCENT,
        capacity_from="scenario" if assumed[WITHOUT_CAPACITY].basis == "scenario" else "published",
        on_demand_known=bool(ways.in_place_of_spot),
        usd_per_month=usd,
        on_demand_usd_per_month=otherwise,
        saved_share=1.0 - usd / otherwise if otherwise else 0.0,
        validated=False,
        source=known.source,
        date=known.date,
    )


def burst_of(ways: Ways, view: View) -> BaseAndBurst | None:
    """What a hybrid owns and rents; None for another way, and where it has no cost."""
    base = view.base
    if base is None:
        return None
    return BaseAndBurst(
        base_instances=base.instances,
        base_systems=base.systems,
        burst_instances=base.burst,
        burst_system=base.burst_system,
        burst_hours=base.hours,
        start_up_minutes=ways.money.assumptions.amount(START_UP).value,
        worth_owning_share=base.worth_owning,
    )
