"""What the chapters of a report draw from: a scenario with its plan and cost, as far as they are released."""

from dataclasses import dataclass, replace
from functools import cached_property

from sharing.report.content import Released
from sharing.report.money import Dollars, ReportCurrency
from sharing.report.prices import as_released, without_money
from sizing.base.result import Plan
from sizing.economics.cost import cost
from sizing.economics.curves import over_months
from sizing.economics.mix import ways_of_answer
from sizing.economics.results import CostAnswer
from sizing.economics.views import ViewName
from sizing.planning.answered import Answer, Planner
from sizing.question.understand import Question
from sizing.scenario.schema import Scenario


@dataclass(frozen=True, kw_only=True)
class ReportSubject:
    """An answer with no more money in it than is released.

    ``sized``: the answer as it was planned, whose prices are not to be shown. ``money``: how amounts are written.
    """

    answer: Answer
    sized: Answer
    released: Released
    money: ReportCurrency

    @property
    def scenario(self) -> Scenario:
        """What was asked, as far as it is released."""
        return self.answer.scenario

    @property
    def plan(self) -> Plan:
        """What was answered, as far as it is released."""
        return self.answer.plan

    @property
    def shows_money(self) -> bool:
        """Whether any amount may be shown."""
        return self.released is not Released.NOTHING

    @property
    def question(self) -> Question:
        """The scenario with every name resolved."""
        return self.answer.question

    @cached_property
    def cost(self) -> CostAnswer | None:
        """What the plan costs, in the currency of the report; None where nothing serves it or no money is shown."""
        if not self.shows_money or not self.plan.feasible or self.plan.deployment is None:
            return None
        return self.money.converted(cost(self.answer))

    @cached_property
    def months(self) -> dict[ViewName, tuple[float, ...]]:
        """The cost of each of 36 months in every way whose price is known, in the currency of the report."""
        if self.cost is None:
            return {}
        months = over_months(ways_of_answer(self.answer))
        return {name: tuple(self.money.of(amount) for amount in each) for name, each in months.items()}

    @property
    def at(self) -> str:
        """The percentile that latencies are promised at: "p95"."""
        return f"p{self.scenario.limits.percentile:g}"

    def written(self, usd_amount: float | None) -> str:
        """An amount of the plan, which is in USD, in the currency of the report."""
        return self.money.written(None if usd_amount is None else self.money.of(usd_amount))


def subject_of(
    answer: Answer, released: Released, *, money: ReportCurrency | None = None, planner: Planner | None = None
) -> ReportSubject:
    """What of an answer is released. Raises InvalidScenario as :func:`as_released`."""
    shown = as_released(answer, released, planner)
    sized = shown if released is not Released.NOTHING else replace(answer, plan=without_money(answer.plan))
    return ReportSubject(answer=shown, sized=sized, released=released, money=money or Dollars())
