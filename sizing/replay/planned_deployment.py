"""The deployment that an answer chose, to be simulated: nothing is decided here a second time."""

from sizing.planning.answered import Answer
from sizing.planning.compose import as_planned
from sizing.question.understand import Question
from sizing.search.all_deployments import Place
from sizing.search.considered import as_considered
from sizing.search.replicas import PlannedReplicas


def planned(answer: Answer, under: Question | None = None) -> PlannedReplicas | None:
    """What the plan deploys, spares not counted, with steps as long as expected; None where it deploys nothing that was
    considered. ``under``: a question with other traffic, if not its own."""
    return as_sized(answer, (under or answer.question).as_expected())


def as_sized(answer: Answer, under: Question | None = None) -> PlannedReplicas | None:
    """The same with steps as long as they were taken to be when its instances were counted: how many of something else
    would do is only comparable with that."""
    deployed = answer.plan.deployment
    deployments = as_considered(under or answer.question, deployed, answer.chosen) if deployed else None
    return None if deployments is None else as_planned(Place(deployments, 0)).to_simulate()
