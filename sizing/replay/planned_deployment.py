"""The deployment that a plan chooses, to be simulated: nothing is decided here a second time."""

from __future__ import annotations

from sizing.base.result import Plan
from sizing.planning.compose import as_planned
from sizing.question.understand import Question
from sizing.search.all_deployments import Place
from sizing.search.considered import as_considered
from sizing.search.replicas import Planned


def planned(question: Question, plan: Plan) -> Planned | None:
    """What ``plan`` deploys, spares not counted, with steps as long as expected; None where it deploys nothing that the
    question considers."""
    return as_sized(question.as_expected(), plan)


def as_sized(question: Question, plan: Plan) -> Planned | None:
    """The same with steps as long as they were taken to be when its instances were counted: how many of something else
    would do is only comparable with that."""
    deployment = as_considered(question, plan.deployment) if plan.deployment else None
    return None if deployment is None else as_planned(Place(deployment, 0)).to_simulate()
