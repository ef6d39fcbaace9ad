"""The deployment that an answer states, once more as the search knows it: nothing is decided a second time."""

from collections.abc import Sequence

import numpy as np

from sizing.base.deployed import Deployed
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, aggregated
from sizing.search.batch_limits import limited
from sizing.search.disaggregated import PoolPairs, disaggregated
from sizing.search.pools import Pools
from sizing.search.screen import evaluate


def as_considered(
    question: Question, deployed: Deployed, configurations: Sequence[Configuration], *, capped: bool = False
) -> Aggregated | PoolPairs | None:
    """What ``deployed`` states, spares aside, under the peak of ``question``; None where an instance fits no longer.

    ``configurations``: those of its kinds of instances, as they were chosen; none for a measured record. They name a
    cap on the batch; ``capped``: the states under load end there, too.
    """
    evaluated = evaluate(question, table(list(configurations)))
    if len(evaluated) < len(deployed.kinds):
        return None
    working = [np.array([kind.instances - kind.spare_instances]) for kind in deployed.kinds]
    if not deployed.pools:
        if capped and deployed.batch_limit is not None:
            evaluated = limited(
                question, evaluated, np.zeros(1, dtype=np.intp), np.array([float(deployed.batch_limit)])
            )
        return aggregated(question, evaluated, np.zeros(1, dtype=np.intp), working[0])
    peak = question.demand.sustained_rps
    pools = Pools(
        evaluated=evaluated,
        prefill=np.array([0]),
        decode=np.array([1]),
        prefill_instances=working[0],
        decode_instances=working[1],
        prefill_rps=peak / working[0],
        decode_rps=peak / working[1],
    )
    return disaggregated(question, pools)
