"""The deployment that a plan chooses, to be simulated: nothing is decided here a second time."""

from __future__ import annotations

from sizing.base.result import Plan
from sizing.planning.compose import as_planned
from sizing.question.understand import Question
from sizing.search.all_deployments import Place
from sizing.search.considered import as_considered
from sizing.search.replicas import Planned


def planned(question: Question, plan: Plan) -> Planned | None:
    """What ``plan`` deploys, spares not counted; None where it deploys nothing that the question considers."""
    deployment = as_considered(question.as_expected(), plan.deployment) if plan.deployment else None
    return None if deployment is None else as_planned(Place(deployment, 0)).to_simulate()
