"""From how many requests a day, or from which utilisation, one way is cheaper than another."""

from __future__ import annotations

from sizing.economics.api import TokenPrices
from sizing.economics.fleet import Fleet
from sizing.economics.month import DAYS_PER_MONTH, Month
from sizing.economics.results import BreakEvenAt, BreakEvenOutcome
from sizing.economics.views import View

UNKNOWN = BreakEvenAt(outcome="unknown", requests_per_day=None, utilization=None)
NOT_REACHED = BreakEvenAt(outcome="not_reached", requests_per_day=None, utilization=None)


def against_api(view: View, prices: TokenPrices | None, fleet: Fleet, month: Month) -> BreakEvenAt:
    """From how many requests a day what is provisioned costs less than the API.

    ``requests a day = USD per month / USD per request of the API / (365 / 12)``; utilisation: the same over what is
    provisioned could serve day and night. Hardware is that of the plan, whatever the load. On a day of the planned
    shape it serves at most what the instances carry in the busiest time, times the mean share of that.
    """
    if prices is None or not view.known or not view.capacity_requests:
        return UNKNOWN
    each = prices.of_request(month)
    if each <= 0.0:
        return NOT_REACHED
    requests = view.usd_per_month.value / each
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
