"""The cost of each month to come, while the load grows: whole systems, added when the load needs them."""

from sizing.base.errors import InvalidScenario
from sizing.base.units import MONTHS_PER_YEAR, PERCENT
from sizing.economics.amount import Amount
from sizing.economics.views import View
from sizing.economics.ways import Way
from sizing.scenario.bounds import MAX_RPS
from sizing.scenario.costs import Costs

MONTHS = 36
"""Months of the look ahead: three years, as long as the longest commitment of a cloud."""


def load_in(month: int, costs: Costs) -> float:
    """Load of a month, counted from 0, over the planned one: ``(1 + growth)^(month / 12) x min(1, (month + 1) /
    ramp-up)``."""
    grown = float((1.0 + costs.growth_percent_per_year / PERCENT) ** (month / MONTHS_PER_YEAR))
    return grown * min(1.0, (month + 1) / costs.ramp_up_months) if costs.ramp_up_months else grown


def views_over_time(way: Way, peak_rps: float, costs: Costs) -> tuple[View, ...]:
    """What each of 36 months costs, ``way`` being one of :attr:`Ways.over_time`; empty where that is not known.

    Raises InvalidScenario where the load grows beyond what can be asked for.
    """
    loads = [load_in(month, costs) for month in range(MONTHS)]
    if peak_rps * loads[-1] > MAX_RPS:
        raise InvalidScenario.at(
            "costs.growth_percent_per_year",
            f"{costs.growth_percent_per_year:g} % a year makes {peak_rps * loads[-1]:,.3g} requests/s of "
            f"{peak_rps:,.3g} in {MONTHS} months; at most {MAX_RPS:,.0f} can be sized.",
        )
    by_load = {load: way(load) for load in dict.fromkeys(loads)}
    if not all(view.known for view in by_load.values()):
        return ()
    return tuple(by_load[load] for load in loads)


def cash(way: Way, peak_rps: float, costs: Costs) -> tuple[Amount, ...]:
    """USD in each of 36 months, a purchase counted by its depreciation; without growth and ramp-up the same each."""
    return tuple(view.usd_per_month for view in views_over_time(way, peak_rps, costs))
