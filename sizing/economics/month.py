"""What is served in a month: requests and their tokens, on a day like the planned one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sizing.base.result import Plan
from sizing.base.units import DAYS_PER_MONTH, HOURS_PER_MONTH, S_PER_HOUR
from sizing.question.understand import Question


@dataclass(frozen=True, kw_only=True)
class Month:
    """Requests of a month and the mean tokens of one: prompt, what of it is found in the prefix cache, answer.

    ``documents``: what a batch is counted by, None where somebody waits; ``window_hours``: hours of the month in which
    it may run, in so many ``windows``, None where no window is stated.
    """

    requests: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    documents: float | None = None
    window_hours: float | None = None
    windows: float = 0.0

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


def month_of(plan: Plan, question: Question) -> Month:
    """The month of a plan: ``requests a day x 365 / 12``, as the plan states them in business terms."""
    traffic, workload = question.traffic, question.scenario.workload
    requests, batch = plan.business.requests_per_day * DAYS_PER_MONTH, workload.batch
    each = 1.0 if batch is None else batch.requests_per_document
    return Month(
        requests=requests,
        documents=requests / each if workload.mode == "offline" else None,
        window_hours=None if batch is None else batch.hours_per_month,
        windows=0.0 if batch is None else batch.days_worked,
        input_tokens=traffic.input_tokens,
        cached_tokens=traffic.cached_tokens,
        output_tokens=traffic.output_tokens,
    )
