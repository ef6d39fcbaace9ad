"""How far the load curve of a deployment may lie from its estimate: the same curve at both ends of the step times."""

from typing import Annotated

from sizing.base.quantity import Result, quantity
from sizing.base.result import LoadPoint
from sizing.planning.answered import Answer
from sizing.planning.compose import as_planned
from sizing.planning.spread import ENDS
from sizing.search.all_deployments import Place
from sizing.search.considered import as_considered


class LoadBand(Result):
    """The load curve of one instance at both ends of the 80 % interval of its step times; empty when unknown.

    Not an :class:`sizing.base.quantity.Estimate` of each load: either end goes on to another load.
    """

    fast: Annotated[tuple[LoadPoint, ...], quantity("Fast end", help="If the engine is faster than estimated.")]
    slow: Annotated[tuple[LoadPoint, ...], quantity("Slow end", help="If the engine is slower than estimated.")]


def load_band(answer: Answer) -> LoadBand:
    """Both ends of the load curve of the planned deployment, at the percentile of the limits.

    Empty where nothing is deployed, and for a measured record, which says nothing about other loads.
    """
    deployed = answer.plan.deployment
    kind = as_considered(answer.question.as_expected(), deployed, answer.chosen, capped=True) if deployed else None
    if kind is None:
        return LoadBand(fast=(), slow=())
    fast, slow = (as_planned(Place(kind, 0)).with_steps_at(end).load_curve() for end in ENDS)
    return LoadBand(fast=fast, slow=slow)
