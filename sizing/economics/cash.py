"""The cost of each month to come, while the load grows: whole systems, added when the load needs them."""

from __future__ import annotations

from sizing.base.errors import InvalidScenario
from sizing.base.units import MONTHS_PER_YEAR
from sizing.economics.amount import Amount
from sizing.economics.ways import Way
from sizing.scenario.bounds import MAX_RPS

MONTHS = 36
"""Months of the look ahead: three years, as long as the longest commitment of a cloud."""


def load_in(month: int, growth_percent_per_year: float) -> float:
    """Load of a month, counted from 0, over that of the first: ``(1 + growth)^(month / 12)``."""
    return float((1.0 + growth_percent_per_year / 100.0) ** (month / MONTHS_PER_YEAR))


def cash(way: Way, peak_rps: float, growth_percent_per_year: float) -> tuple[Amount, ...]:
    """USD in each of 36 months; without growth the same each. Empty where the cost is not known.

    Raises InvalidScenario where the load grows beyond what can be asked for.
    """
    loads = [load_in(month, growth_percent_per_year) for month in range(MONTHS)]
    if peak_rps * loads[-1] > MAX_RPS:
        raise InvalidScenario.at(
            "costs.growth_percent_per_year",
            f"{growth_percent_per_year:g} % a year makes {peak_rps * loads[-1]:,.3g} requests/s of {peak_rps:,.3g} in "
            f"{MONTHS} months; at most {MAX_RPS:,.0f} can be sized.",
        )
    by_load = {load: way(load) for load in dict.fromkeys(loads)}
    if not all(view.known for view in by_load.values()):
        return ()
    return tuple(by_load[load].usd_per_month for load in loads)
