"""How far the load curve of a deployment may lie from its estimate: the same curve at both ends of the step times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sizing.base.deployed import Deployed, Pool
from sizing.base.quantity import Result, quantity
from sizing.base.result import LoadPoint
from sizing.deployments.candidates import table
from sizing.explore.operating_point import configuration_of
from sizing.explore.pools_operating_points import pools_of
from sizing.planning.aggregated import load_curve_of
from sizing.planning.disaggregated import load_curve_of as pools_curve
from sizing.planning.spread import interval_of, with_slower_steps
from sizing.question.understand import Question, understand
from sizing.scenario.schema import Scenario
from sizing.search.batch_limits import limited
from sizing.search.disaggregated import disaggregated
from sizing.search.screen import evaluate


class LoadBand(Result):
    """The load curve of one instance at both ends of the 80 % interval of its step times; empty when unknown.

    Not an :class:`sizing.base.quantity.Estimate` of each load: either end goes on to another load.
    """

    fast: tuple[LoadPoint, ...] = quantity("Fast end", help="If the engine is faster than estimated.")
    slow: tuple[LoadPoint, ...] = quantity("Slow end", help="If the engine is slower than estimated.")


def load_band(scenario: Scenario, deployed: Deployed) -> LoadBand:
    """Both ends of the load curve of ``deployed``, at the percentile of the limits.

    Empty when it is none of the considered configurations.
    """
    question = understand(scenario)
    if deployed.prefill is not None and deployed.decode is not None:
        return _of_pools(question, deployed, deployed.prefill, deployed.decode)
    row = configuration_of(question, deployed)
    evaluated = evaluate(question, table([row] if row else []))
    if row is None or not len(evaluated):
        return LoadBand(fast=(), slow=())
    if deployed.batch_limit is not None:
        evaluated = limited(question, evaluated, np.zeros(1, dtype=np.intp), np.array([float(deployed.batch_limit)]))
    first = np.zeros(1, dtype=np.intp)
    decode, prefill = (interval_of(question, what, row) for what in ("decode", "prefill"))
    ends = (
        with_slower_steps(question, evaluated, first, np.array([d]), np.array([p]))
        for d, p in ((decode.low_factor, prefill.low_factor), (decode.high_factor, prefill.high_factor))
    )
    fast, slow = (load_curve_of(question, end, 0) for end in ends)
    return LoadBand(fast=fast, slow=slow)


def _of_pools(question: Question, deployed: Deployed, prefill: Pool, decode: Pool) -> LoadBand:
    """Both ends of the load curve of a decode instance with its share of the prefill instances."""
    pools = pools_of(question, deployed, prefill, decode)
    if pools is None:
        return LoadBand(fast=(), slow=())
    rows = pools.evaluated.candidates.rows
    slower = [[interval_of(question, what, row) for row in rows] for what in ("decode", "prefill")]
    curves = []
    for end in ("low_factor", "high_factor"):
        factors = (np.array([getattr(interval, end) for interval in kind]) for kind in slower)
        times = pools.evaluated.times.scaled(*factors)
        there = replace(pools, evaluated=replace(pools.evaluated, times=times))
        curves.append(pools_curve(disaggregated(question, there), 0))
    return LoadBand(fast=curves[0], slow=curves[1])
