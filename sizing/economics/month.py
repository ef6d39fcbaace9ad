"""What is served in a month: requests and their tokens, on a day like the planned one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_DAY, HOURS_PER_MONTH, S_PER_HOUR
from sizing.question.traffic import Traffic

DAYS_PER_MONTH = HOURS_PER_MONTH / HOURS_PER_DAY
"""Every day counts: a twelfth of 365."""


@dataclass(frozen=True, kw_only=True)
class Month:
    """Requests of a month and the mean tokens of one: prompt, what of it is found in the prefix cache, answer."""

    requests: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float

    @property
    def requests_per_day(self) -> float:
        """Requests of a mean day of the month."""
        return self.requests / DAYS_PER_MONTH

    def times(self, load: float) -> Month:
        """The month with so many times the requests."""
        return replace(self, requests=self.requests * load)

    def share_of_peak(self, peak_rps: float) -> float:
        """Mean rate over day and night as a share of the peak."""
        return self.requests / (peak_rps * S_PER_HOUR * HOURS_PER_MONTH)


def month_of(plan: Plan, traffic: Traffic) -> Month:
    """The month of a plan: ``requests a day x 365 / 12``, as the plan states them in business terms."""
    return Month(
        requests=plan.business.requests_per_day * DAYS_PER_MONTH,
        input_tokens=traffic.input_tokens,
        cached_tokens=traffic.cached_tokens,
        output_tokens=traffic.output_tokens,
    )
