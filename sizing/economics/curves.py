"""The cost of every way over the load, and over the months to come: what a chart of them shows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.economics.break_even import LEAST_LOAD, MOST_LOAD
from sizing.economics.cash import cash
from sizing.economics.views import BaseWay
from sizing.economics.ways import Ways

LOADS = 90
"""Number of loads at which the cost is drawn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OverLoad:
    """USD a month (N,) of each way at ``requests_per_day`` (N,), every load with the systems it needs."""

    requests_per_day: Floats
    planned: float
    usd_per_month: Mapping[BaseWay, Floats]


def over_load(ways: Ways) -> OverLoad:
    """The cost of every way whose price is known, from a fiftieth of the planned load to three times it."""
    factors = np.append(np.geomspace(LEAST_LOAD, MOST_LOAD, LOADS), 1.0)
    factors.sort()
    lines: dict[BaseWay, Floats] = {}
    for name, way in ways.by_name.items():
        views = [way(float(factor)) for factor in factors]
        if all(view.known for view in views):
            lines[name] = np.array([view.usd_per_month.value for view in views])
    day = ways.month.requests_per_day
    return OverLoad(requests_per_day=factors * day, planned=day, usd_per_month=lines)


def over_months(ways: Ways) -> Mapping[BaseWay, tuple[float, ...]]:
    """USD in each of 36 months with the scenario's growth and ramp-up, of every way whose price is known."""
    months = {name: cash(way, ways.fleet.peak_rps, ways.money.costs) for name, way in ways.over_time.items()}
    return {name: tuple(month.value for month in each) for name, each in months.items() if each}
