"""The answer by the analytic load model alone: an estimate in milliseconds, for thousands of questions at once.

It stands for :func:`sizing.plan` where so many answers are needed that simulating each would take too long (sweeps,
maps, inverse questions), and where there is nothing to simulate (offline use). What shows it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from sizing.base.result import Plan
from sizing.deployments.candidates import Candidates
from sizing.planning.answered import answered, infeasible
from sizing.planning.exclusion import excluded
from sizing.planning.measured import measured_plan
from sizing.question.understand import Question, understand
from sizing.scenario.schema import Scenario
from sizing.search.batch_limits import with_batch_limits
from sizing.search.pools import SizedPools
from sizing.search.pools_search import best_pools, served_by_pools
from sizing.search.screen import Evaluated, all_configurations, evaluate
from sizing.search.serving import order_of_all, shortlist_of_all, sized_aggregated

ALTERNATIVES = 24


@dataclass(frozen=True, kw_only=True)
class Screened:
    """All that the analytic screen knows of a question: every configuration, those that fit, and the best pools."""

    question: Question
    everything: Candidates
    base: Evaluated
    evaluated: Evaluated
    pools: SizedPools | None


def screened(question: Question) -> Screened:
    """Every configuration that is considered, evaluated by the analytic load model; caps on the batch where useful."""
    everything = all_configurations(question)
    base = evaluate(question, everything)
    return Screened(
        question=question,
        everything=everything,
        base=base,
        evaluated=with_batch_limits(question, base),
        pools=best_pools(question, base),
    )


def analytic_plan(scenario: Scenario, *, alternatives: int = ALTERNATIVES) -> Plan:
    """The estimate of a scenario's plan, nothing simulated. Raises InvalidScenario as :func:`sizing.plan` does."""
    question = understand(scenario)
    if scenario.measured is not None:
        return measured_plan(question)
    return estimate(screened(question), alternatives)


def estimate(seen: Screened, alternatives: int) -> Plan:
    """The plan of what was screened, its instances by the analytic capacity."""
    question, evaluated, pools = seen.question, seen.evaluated, seen.pools
    sized = sized_aggregated(question, evaluated)
    ranked = order_of_all(question, evaluated, sized, pools)
    out = excluded(question, seen.base, seen.everything, served_by_pools(pools))
    if not len(ranked):
        return infeasible(question, out)
    chosen = shortlist_of_all(evaluated, sized, pools, ranked, alternatives)
    return answered(question, evaluated, sized, pools, chosen, out)
