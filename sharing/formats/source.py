"""What a file of a report is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sharing.formats.brand import Brand, configured_brand
from sharing.report.build import Progress, build_report
from sharing.report.content import Released, Report
from sharing.report.money import Dollars, Money
from sharing.report.prices import Planner
from sharing.report.subject import subject_of
from sizing.base.result import Plan
from sizing.decision.outcome import Answers
from sizing.planning.plan import plan as simulated_plan
from sizing.scenario.schema import Scenario


@dataclass(frozen=True, kw_only=True)
class ReportSource:
    """A report with the scenario and plan behind it, neither with more money in them than is released; ``money``: the
    currency of the report."""

    scenario: Scenario
    plan: Plan
    report: Report
    brand: Brand
    money: Money = field(default_factory=Dollars)


def source_of(
    scenario: Scenario,
    plan: Plan,
    *,
    released: Released,
    made_at: datetime,
    author: str = "",
    customer: str = "",
    money: Money | None = None,
    planner: Planner = simulated_plan,
    answers: Answers | None = None,
    progress: Progress | None = None,
    brand: Brand | None = None,
) -> ReportSource:
    """The report of a scenario and everything that its files are made from; ``answers`` as for :func:`build_report`.

    ``plan`` is the answer to ``scenario``; at list prices it is planned again where that differs. ``brand``: that of
    the configuration if left out. Raises InvalidScenario where the scenario cannot be planned without its own prices,
    BadBrand for its file.
    """
    subject = subject_of(scenario, plan, released, money=money, planner=planner)
    report = build_report(
        subject, made_at=made_at, author=author, customer=customer, answers=answers, progress=progress
    )
    return ReportSource(
        scenario=subject.scenario,
        plan=subject.plan,
        report=report,
        brand=configured_brand() if brand is None else brand,
        money=subject.money,
    )
