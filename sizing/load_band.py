"""How far the load curve of a deployment may lie from its estimate: the same curve at both ends of the step times."""

from __future__ import annotations

import numpy as np

from sizing.batch_limits import limited
from sizing.candidates import table
from sizing.compose import load_curve_of
from sizing.operating_point import configuration_of
from sizing.quantity import Result, quantity
from sizing.question import understand
from sizing.result import Deployed, LoadPoint
from sizing.scenario.schema import Scenario
from sizing.screen import evaluate
from sizing.spread import interval_of, with_slower_steps


class LoadBand(Result):
    """The load curve of one instance at both ends of the 80 % interval of its step times; empty when unknown."""

    fast: tuple[LoadPoint, ...] = quantity("Fast end", help="If the engine is faster than estimated.")
    slow: tuple[LoadPoint, ...] = quantity("Slow end", help="If the engine is slower than estimated.")


def load_band(scenario: Scenario, deployed: Deployed) -> LoadBand:
    """Both ends of the load curve of ``deployed``, at the asked percentile.

    Empty when it is none of the considered configurations, or prefill and decode run apart.
    """
    question = understand(scenario)
    row = configuration_of(question, deployed)
    evaluated = evaluate(question, table([row] if row else []))
    if row is None or not len(evaluated) or deployed.serving == "disaggregated":
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
