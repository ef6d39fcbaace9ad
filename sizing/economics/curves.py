"""The cost of every way over the load, and over the months to come: what a chart of them shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.economics.cash import cash
from sizing.economics.views import ViewName
from sizing.economics.ways import Ways

LEAST_LOAD, MOST_LOAD, LOADS = 0.02, 3.0, 90
"""Times the planned load between which the cost is drawn, and at how many points. Chosen: because an API is cheapest at
a few per cent of it, and three times the load is two years of fast growth."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OverLoad:
    """USD a month (N,) of each way at ``requests_per_day`` (N,), every load with the systems it needs."""

    requests_per_day: Floats
    planned: float
    usd_per_month: Mapping[ViewName, Floats]


def over_load(ways: Ways) -> OverLoad:
    """The cost of every way whose price is known, from a fiftieth of the planned load to three times it."""
    factors = np.append(np.geomspace(LEAST_LOAD, MOST_LOAD, LOADS), 1.0)
    factors.sort()
    lines: dict[ViewName, Floats] = {}
    for name, way in ways.by_name.items():
        views = [way(float(factor)) for factor in factors]
        if all(view.known for view in views):
            lines[name] = np.array([view.usd_per_month.value for view in views])
    day = ways.month.requests_per_day
    return OverLoad(requests_per_day=factors * day, planned=day, usd_per_month=lines)


def over_months(ways: Ways) -> Mapping[ViewName, tuple[float, ...]]:
    """USD in each of 36 months with the scenario's growth, of every way whose price is known."""
    growth = ways.money.costs.growth_percent_per_year
    months = {name: cash(way, ways.fleet.peak_rps, growth) for name, way in ways.by_name.items()}
    return {name: tuple(month.value for month in each) for name, each in months.items() if each}
