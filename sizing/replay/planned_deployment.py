"""The deployment that a plan chooses, to be simulated: nothing is decided here a second time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sizing.base.deployed import Deployed, Pool
from sizing.base.result import Plan
from sizing.deployments.candidates import table
from sizing.explore.operating_point import configuration_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.disaggregated import disaggregated
from sizing.search.pools import Pools
from sizing.search.pools_simulated import planned_pools
from sizing.search.replicas import Planned, replica_at
from sizing.search.screen import evaluate

FIRST = np.zeros(1, dtype=np.intp)
"""Row of the prefill instances in a table of one pair; the decode instances are the next."""


def planned(question: Question, plan: Plan) -> Planned | None:
    """What ``plan`` deploys, spares not counted; None where it deploys nothing that the question considers."""
    deployed = plan.deployment
    if deployed is None:
        return None
    if deployed.prefill is not None and deployed.decode is not None:
        return _pools(question, deployed, deployed.prefill, deployed.decode)
    row = configuration_of(question, deployed)
    if row is None:
        return None
    row = replace(row, batch_limit=deployed.batch_limit)
    return Planned(
        row=row,
        working=deployed.instances - deployed.spare_instances,
        replica=replica_at(question, evaluate(question, table([row])), 0),
    )


def _pools(question: Question, deployed: Deployed, prefill: Pool, decode: Pool) -> Planned | None:
    """Both pools of a plan, with the transfer between them."""
    rows: list[Configuration] = []
    for one in (prefill, decode):
        parallelism = {"tp": one.tp, "pp": one.pp, "ep": one.ep, "dp": one.dp}
        row = configuration_of(question, deployed.model_copy(update=parallelism))
        if row is None:
            return None
        rows.append(row)
    working = [np.array([one.instances - one.spare_instances]) for one in (prefill, decode)]
    pair = Pools(
        evaluated=evaluate(question, table(rows)),
        prefill=FIRST,
        decode=FIRST + 1,
        prefill_instances=working[0],
        decode_instances=working[1],
        prefill_rps=np.array([prefill.max_rps]),
        decode_rps=np.array([decode.max_rps]),
    )
    return planned_pools(question, disaggregated(question, pair), 0)
