"""The deployment that a plan chooses, to be simulated: nothing is decided here a second time."""

from __future__ import annotations

from dataclasses import replace

from sizing.base.result import Plan
from sizing.deployments.candidates import table
from sizing.explore.operating_point import configuration_of
from sizing.explore.pools_operating_points import pools_of
from sizing.question.understand import Question
from sizing.search.disaggregated import disaggregated
from sizing.search.pools_simulated import planned_pools
from sizing.search.replicas import Planned, replica_at
from sizing.search.screen import evaluate


def planned(question: Question, plan: Plan) -> Planned | None:
    """What ``plan`` deploys, spares not counted; None where it deploys nothing that the question considers."""
    deployed = plan.deployment
    if deployed is None:
        return None
    if deployed.prefill is not None and deployed.decode is not None:
        pools = pools_of(question, deployed, deployed.prefill, deployed.decode)
        return None if pools is None else planned_pools(question, disaggregated(question, pools), 0)
    row = configuration_of(question, deployed)
    if row is None:
        return None
    row = replace(row, batch_limit=deployed.batch_limit)
    return Planned(
        row=row,
        working=deployed.instances - deployed.spare_instances,
        replica=replica_at(question, evaluate(question, table([row])), 0),
    )
