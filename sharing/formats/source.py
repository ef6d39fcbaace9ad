"""What a file of a report is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sharing.formats.brand import Brand, configured_brand
from sharing.report.build import build_report
from sharing.report.content import Released, Report
from sharing.report.money import Dollars, Money
from sharing.report.prices import Planner, as_released
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
    progress: Callable[[int, int], None] | None = None,
    brand: Brand | None = None,
) -> ReportSource:
    """The report of a scenario and everything that its files are made from, as :func:`build_report` takes it.

    ``brand``: that of the configuration if left out. Raises InvalidScenario, and BadBrand for its file.
    """
    shown = as_released(scenario, plan, released, planner)
    sized = shown.scenario if released is Released.LIST_PRICES else scenario
    report = build_report(
        sized,
        shown.plan,
        released=released,
        made_at=made_at,
        author=author,
        customer=customer,
        money=money,
        answers=answers,
        progress=progress,
    )
    return ReportSource(
        scenario=shown.scenario,
        plan=shown.plan,
        report=report,
        brand=configured_brand() if brand is None else brand,
        money=money or Dollars(),
    )
