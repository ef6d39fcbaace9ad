"""From where on one way costs less than another: at the systems of the plan, and where each load has the systems that
it needs, over which the cheaper way may change more than once."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sizing.base.units import DAYS_PER_MONTH
from sizing.economics.api import TokenPrices
from sizing.economics.fleet import PricedFleet
from sizing.economics.month import Month
from sizing.economics.results import BreakEvenAt, BreakEvenOutcome, LoadRange
from sizing.economics.views import View
from sizing.economics.ways import Way

LEAST_LOAD, MOST_LOAD = 0.02, 3.0
"""Times the planned load between which ways are compared. Chosen: because an API is cheapest at a few per cent of it,
and three times the load is two years of fast growth."""

MOST_STEPS = 60
"""Loads of each kind at which instances are added that are looked at one by one. Chosen: beyond, one more instance in
so many moves the cost by less than 2 %."""

BESIDE_STEP = 1e-7
"""Share of a load by which it lies beyond a step."""

UNKNOWN = BreakEvenAt(outcome="unknown", requests_per_day=None, utilization=None)
NOT_REACHED = BreakEvenAt(outcome="not_reached", requests_per_day=None, utilization=None)


def cheaper_ranges(one: Way, other: Way, fleet: PricedFleet, month: Month) -> tuple[LoadRange, ...] | None:
    """Requests a day between which ``one`` costs less than ``other``, each load with the systems that it needs.

    Looked at from a fiftieth of the planned load to three times it. Between two loads at which instances are added both
    costs are straight lines, which cross once at most. None where a cost is not known.
    """
    loads = tuple(_loads(fleet))
    more = []
    for load in loads:
        views = one(load), other(load)
        if not (views[0].known and views[1].known):
            return None
        more.append(views[1].usd_per_month.value - views[0].usd_per_month.value)
    day = month.requests_per_day
    joined: list[list[float]] = []
    for low, high in _positive(loads, more):
        if joined and low <= joined[-1][1] * (1.0 + 2.0 * BESIDE_STEP):
            joined[-1][1] = high
        else:
            joined.append([low, high])
    return tuple(
        LoadRange(
            from_requests_per_day=None if low <= LEAST_LOAD else low * day,
            to_requests_per_day=None if high >= MOST_LOAD else high * day,
        )
        for low, high in joined
    )


def _positive(loads: tuple[float, ...], more: list[float]) -> Iterator[tuple[float, float]]:
    """Where the broken line through the points is above 0."""
    for (at, value), (then, next_value) in pairwise(zip(loads, more, strict=True)):
        if value <= 0.0 and next_value <= 0.0:
            continue
        crossing = at if value == next_value else at + (then - at) * value / (value - next_value)
        yield (crossing if value <= 0.0 else at, crossing if next_value <= 0.0 else then)


def _loads(fleet: PricedFleet) -> Iterator[float]:
    """Both ends, the loads at which instances are added, and just beyond each; between far ones some more."""
    steps: set[float] = {LEAST_LOAD, MOST_LOAD, 1.0}
    for kind in fleet.kinds:
        each = kind.max_rps / fleet.peak_rps
        count = int(MOST_LOAD / each)
        steps |= {
            k * each
            for k in np.unique(np.linspace(1, max(count, 1), min(max(count, 1), MOST_STEPS)).astype(int)).tolist()
        }
    for step in sorted(steps):
        if LEAST_LOAD <= step <= MOST_LOAD:
            yield step
            if step * (1.0 + BESIDE_STEP) < MOST_LOAD:
                yield step * (1.0 + BESIDE_STEP)


def against_api(
    view: View, prices: TokenPrices | None, fleet: PricedFleet, month: Month, idle: View | None = None
) -> BreakEvenAt:
    """From how many requests a day what is provisioned costs less than the API.

    ``requests a day = USD per month without any / (USD per request of the API - USD of power per request) / (365 /
    12)``; utilisation: the same over what is provisioned could serve day and night. ``idle``: the same with no
    request, where power follows them. Hardware is that of the plan, whatever the load. On a day of the planned
    shape it serves at most what the instances carry in the busiest time, times the mean share of that.
    """
    if prices is None or not view.known or not view.capacity_requests:
        return UNKNOWN
    fixed = (idle or view).usd_per_month.value
    served = min(month.requests, view.capacity_requests)
    each = prices.of_request(month) - (view.usd_per_month.value - fixed) / served
    if each <= 0.0:
        return NOT_REACHED
    requests = fixed / each
    most = month.share_of_peak(fleet.peak_rps) * fleet.requests_per_month / view.capacity_requests
    return _reached(requests / DAYS_PER_MONTH, requests / view.capacity_requests, most)


def against_renting(own: View, hourly: View) -> BreakEvenAt:
    """From which share of the hours systems of one's own cost less than instances that run only while needed.

    ``share = USD per month of one's own / USD per month on demand``; requests a day: the same share of what they serve
    day and night.
    """
    if not (own.known and hourly.known and own.capacity_requests):
        return UNKNOWN
    rented = hourly.usd_per_month.value
    share = own.usd_per_month.value / rented if rented > 0.0 else float("inf")
    return _reached(share * own.capacity_requests / DAYS_PER_MONTH, share, 1.0)


def _reached(requests_per_day: float, share: float, most_of_the_day: float) -> BreakEvenAt:
    if share > 1.0:
        return NOT_REACHED
    outcome: BreakEvenOutcome = "reached" if share <= most_of_the_day else "reached_on_a_flatter_day"
    return BreakEvenAt(outcome=outcome, requests_per_day=requests_per_day, utilization=share)
