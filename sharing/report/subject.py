"""What the chapters of a report draw from: a scenario with its plan and cost, as far as they are released."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sharing.report.content import Released
from sharing.report.money import Dollars, Money
from sharing.report.prices import Planner, as_released
from sizing.base.result import Plan
from sizing.economics.cost import cost
from sizing.economics.curves import over_months
from sizing.economics.results import CostAnswer
from sizing.economics.views import ViewName
from sizing.economics.ways import ways_of
from sizing.planning.plan import plan as simulated_plan
from sizing.question.understand import Question, understand
from sizing.scenario.schema import Scenario


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A scenario and its plan with no more money in them than is released.

    ``sized``: the scenario that the plan answers, whose prices are not to be shown. ``money``: how amounts are written.
    """

    scenario: Scenario
    plan: Plan
    sized: Scenario
    released: Released
    money: Money

    @property
    def shows_money(self) -> bool:
        """Whether any amount may be shown."""
        return self.released is not Released.NOTHING

    @cached_property
    def question(self) -> Question:
        """The scenario with every name resolved."""
        return understand(self.scenario)

    @cached_property
    def cost(self) -> CostAnswer | None:
        """What the plan costs, in the currency of the report; None where nothing is deployed or no money is shown."""
        if not self.shows_money or self.plan.deployment is None:
            return None
        return self.money.converted(cost(self.scenario, plan=self.plan))

    @cached_property
    def months(self) -> dict[ViewName, tuple[float, ...]]:
        """The cost of each of 36 months in every way whose price is known, in the currency of the report."""
        if self.cost is None:
            return {}
        months = over_months(ways_of(self.question, self.plan))
        return {name: tuple(self.money.of(amount) for amount in each) for name, each in months.items()}

    @property
    def at(self) -> str:
        """The percentile that latencies are promised at: "p95"."""
        return f"p{self.scenario.limits.percentile:g}"

    def written(self, usd_amount: float | None) -> str:
        """An amount of the plan, which is in USD, in the currency of the report."""
        return self.money.written(None if usd_amount is None else self.money.of(usd_amount))


def subject_of(
    scenario: Scenario, plan: Plan, released: Released, *, money: Money | None = None, planner: Planner = simulated_plan
) -> Subject:
    """What of a scenario and its plan is released. Raises InvalidScenario as :func:`as_released`."""
    shown = as_released(scenario, plan, released, planner)
    sized = shown.scenario if released is not Released.NOTHING else scenario
    return Subject(scenario=shown.scenario, plan=shown.plan, sized=sized, released=released, money=money or Dollars())
