"""The deployment that the analytic screen chooses, to be simulated."""

from __future__ import annotations

from sizing.batch_limits import with_batch_limits
from sizing.disaggregated.search import best_pools
from sizing.disaggregated.simulate import planned_pools
from sizing.question import Question
from sizing.screen import all_configurations, evaluate
from sizing.serving import order_of_all, sized_aggregated
from sizing.simulation.planned import Planned, replica_at


def planned(question: Question) -> Planned | None:
    """What the plan would choose by the analytic screen; None when nothing meets the limits."""
    base = evaluate(question, all_configurations(question))
    evaluated, pools = with_batch_limits(question, base), best_pools(question, base)
    aggregated = sized_aggregated(question, evaluated)
    ranked = order_of_all(question, evaluated, aggregated, pools)
    if not len(ranked):
        return None
    best = int(ranked[0])
    if pools is not None and best >= len(aggregated.index):
        return planned_pools(question, pools, best - len(aggregated.index))
    index = int(aggregated.index[best])
    working = int(aggregated.instances[best]) - question.scenario.deployment.spare_instances
    return Planned(
        row=evaluated.candidates.rows[index], working=working, replica=replica_at(question, evaluated, index)
    )
