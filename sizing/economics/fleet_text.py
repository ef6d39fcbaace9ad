"""Spot instances, and base and burst, in sentences."""

from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

from sizing.base.format import count, counted, percent, significant
from sizing.economics.fleet_results import BaseAndBurst, CapacityFrom, MixedCost, RateFrom, SpotFleet

Money = Callable[[float | None], str]
"""Writes an amount of money."""

RATES: Mapping[RateFrom, str] = {
    "type": "published of this type",
    "other_types": "published of other types",
    "scenario": "as stated",
}
CAPACITIES: Mapping[CapacityFrom, str] = {
    "published": "; that time was measured on V100 in 2023 and on no newer GPU",
    "scenario": "",
}


def spot_sentences(one: SpotFleet, money: Money) -> Iterator[str]:
    """How many instances keep the limits through interruptions, what that costs, and how far it is known."""
    zones = "one zone" if one.zones == 1 else f"{count(one.zones)} zones"
    lose = "none of which may be lost" if not one.zones_lost else f"{_zones(one.zones_lost)} of which may be lost"
    short = f"in {significant(one.short_minutes_per_month, 2)} minutes of a month too few run"
    yield (
        f"Spot: {counted(one.instances, 'instance')} in {zones}, {lose}, for the {count(one.needed)} that are needed; "
        f"{short} "
        f"({significant(one.interrupted_percent_per_month)} % are taken back in a month, {RATES[one.rate_from]}; what "
        f"takes their place serves after {significant(one.start_up_minutes)} minutes)."
    )
    if not one.held:
        yield "That is more often than asked: no spread over so many zones holds."
    without = significant(one.without_capacity_percent)
    if one.on_demand_known:
        less = "less" if one.saved_share >= 0 else "more"
        yield (
            f"With {without} % of the time on demand, because a zone has no capacity, their rent is "
            f"{money(one.usd_per_month)} a month, {percent(abs(one.saved_share))} {less} than on demand"
            f"{CAPACITIES[one.capacity_from]}."
        )
    else:
        yield f"Nobody rents the same on demand: in {without} % of the time a zone may have no capacity at all."


def spot_of_fleets(one: MixedCost, money: Money) -> Iterator[str]:
    """The same of every fleet of a mix that is rented so, under the name of its GPU."""
    for fleet in one.fleets:
        if fleet.spot is not None:
            first, *others = spot_sentences(fleet.spot, money)
            yield f"{fleet.name}, {first[0].lower()}{first[1:]}"
            yield from others


def _zones(number: int) -> str:
    return "one" if number == 1 else count(number)


def burst_sentence(one: BaseAndBurst) -> str:
    """What is owned and what is rented when, with the share of the hours from which on owning pays."""
    base = f"{counted(one.base_instances, 'instance')} of the model always run"
    owned = f"Base and burst: {base} ({counted(one.base_systems, 'system')})"
    beyond = ", which is enough at every hour"
    if one.burst_instances:
        verb = "is" if one.burst_instances == 1 else "are"
        beyond = (
            f", up to {count(one.burst_instances)} more {verb} rented ({one.burst_system}, {count(one.burst_hours)} "
            f"hours a month), ordered {significant(one.start_up_minutes)} minutes ahead"
        )
    share = one.worth_owning_share
    if share is None:
        return f"{owned}{beyond}."
    if share >= 1.0:
        return f"{owned}{beyond}; renting by the hour is cheaper even for all hours."
    return f"{owned}{beyond}; what is needed in more than {percent(share)} of the hours is cheaper in the base."


def mix_sentence(one: MixedCost, money: Money) -> str:
    """Which fleets are priced, and what one fleet for all costs beside them."""
    each = [f"{count(fleet.gpus)} x {fleet.name} ({money(fleet.usd_per_month)})" for fleet in one.fleets]
    match one.by:
        case "prompts":
            what = f"Priced is the mixed fleet: {', '.join(each[:-1])} and {each[-1]}"
        case "phase":
            what = f"Priced are prefill on {each[0]} and decode on {each[1]}"
        case unknown:
            assert_never(unknown)
    priced = f"{what} a month, staff apart"
    if one.one_fleet_usd_per_month is None:
        return f"{priced}; the price of one fleet for all is not known."
    over = ""
    if one.usd_over_months is not None and one.one_fleet_usd_over_months is not None:
        over = f", {money(one.one_fleet_usd_over_months)} over 36 months against {money(one.usd_over_months)}"
    return f"{priced}; one fleet for all costs {money(one.one_fleet_usd_per_month)} a month{over}."
