"""The deployment that a plan chooses, to be simulated: nothing is decided here a second time."""

from __future__ import annotations

from sizing.base.result import Plan
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated
from sizing.search.considered import as_considered
from sizing.search.pools_simulated import planned_pools
from sizing.search.replicas import Planned, planned_instances


def planned(question: Question, plan: Plan) -> Planned | None:
    """What ``plan`` deploys, spares not counted; None where it deploys nothing that the question considers."""
    deployment = as_considered(question, plan.deployment) if plan.deployment else None
    if deployment is None:
        return None
    if isinstance(deployment, Aggregated):
        return planned_instances(deployment, 0)
    return planned_pools(deployment, 0)
