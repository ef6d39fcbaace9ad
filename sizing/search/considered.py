"""The deployment that an answer states, once more as the search knows it: nothing is decided a second time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sizing.base.deployed import Deployed, Drafts, Pool
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.speculation import published
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, aggregated
from sizing.search.batch_limits import limited
from sizing.search.disaggregated import Disaggregated, disaggregated
from sizing.search.pools import Pools
from sizing.search.screen import all_configurations, evaluate


def configuration_of(
    question: Question, deployed: Deployed, kind: Deployed | Pool | None = None
) -> Configuration | None:
    """The considered configuration that a deployment has; None when it is none of them (a measured record).

    ``kind``: one of its kinds of instances, where its parallelism is meant.
    """
    kind = kind or deployed
    pinned = (deployed.gpu, deployed.engine, deployed.weight_precision, deployed.kv_precision)
    parallelism = (kind.tp, kind.pp, kind.ep, kind.dp)
    row = next(
        (
            r
            for r in all_configurations(question).rows
            if (r.tp, r.pp, r.ep, r.dp) == parallelism
            and (r.gpu.id, r.engine.id, r.precision.id, r.kv_precision) == pinned
        ),
        None,
    )
    drafts = None if kind is deployed.prefill else deployed.speculation
    return row if row is None or drafts is None else _drafting(question, row, drafts)


def _drafting(question: Question, row: Configuration, drafts: Drafts) -> Configuration | None:
    """The configuration with the drafts that a deployment names: those that all take, as asked, or published ones."""
    kinds = (row.speculation,) if row.speculation.draft_tokens else published(question.model)
    named = (drafts.method, drafts.draft_tokens)
    return next(
        (replace(row, speculation=k) for k in kinds if (k.draft.method if k.draft else "", k.draft_tokens) == named),
        None,
    )


def as_considered(question: Question, deployed: Deployed, *, capped: bool = False) -> Aggregated | Disaggregated | None:
    """What ``deployed`` states, spares aside, under the peak of ``question``; None where that considers no such thing.

    Its configuration names a cap on the batch; ``capped``: the states under load end there, too.
    """
    rows = [configuration_of(question, deployed, kind) for kind in deployed.kinds]
    known = [row for row in rows if row is not None]
    if not deployed.pools:
        known = [replace(row, batch_limit=deployed.batch_limit) for row in known]
    evaluated = evaluate(question, table(known))
    if len(evaluated) < len(rows):
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
