"""The deployments of a question in their final order: by the analytic load model, or as a simulation decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sizing.base.arrays import Rows
from sizing.search.deployments import AllDeployments
from sizing.search.instances import Needed, NotMet, settled
from sizing.search.pools_refine import refine_pools
from sizing.search.refine import Refined, refine
from sizing.search.serving import Screened
from sizing.simulator.outcome import Outcome
from sizing.simulator.run_length import REPORTED_REQUESTS


@dataclass(frozen=True, kw_only=True, eq=False)
class Decided:
    """Every deployment, the order of their places, and what was counted of those that were simulated.

    ``ahead``: places that come before the order. ``tried``: what was counted at each place that was simulated;
    ``outcome``: the same of the first, from enough requests to be reported. ``fewer``: so many instances fewer may do.
    ``unconfirmed``: what was simulated when none met the limits, best first; None when something was confirmed or
    nothing had to be.
    """

    every: AllDeployments
    ranked: Rows
    ahead: tuple[int, ...] = ()
    tried: Mapping[int, Outcome] = field(default_factory=dict)
    outcome: Outcome | None = None
    others_tried: int = 0
    fewer: int = 0
    unconfirmed: Sequence[tuple[str, NotMet]] | None = None

    @property
    def requests(self) -> int:
        """Requests behind the percentiles of the first, per instance; 0 where they are analytic."""
        return 0 if self.outcome is None else self.outcome.finished // self.outcome.replicas

    def shortlist(self, count: int) -> list[int]:
        """The place that is chosen and at most ``count`` others that are worth showing."""
        others = self.every.shortlist(self.ranked, max(count - len(self.ahead), 0))
        return [*self.ahead, *others][: count + 1]


def estimate(screened: Screened) -> Decided:
    """The order of the analytic load model, nothing simulated."""
    return Decided(every=screened.deployments, ranked=screened.deployments.order())


def decide(screened: Screened, seed: int) -> Decided:
    """The number of instances of the best few decided by simulation, and with it the order.

    Instances that do both first; then other kinds, where they could come before the best of these.
    """
    question = screened.question
    refined = refine(screened.together, seed)
    best = None if refined.best is None else refined.deployments.take(refined.ranked[:1])
    for pools in screened.pools:
        winner = refine_pools(question, pools, best, seed)
        if winner is not None:
            every = AllDeployments((refined.deployments, winner[0]))
            first = len(refined.deployments)
            return Decided(every=every, ranked=refined.ranked, ahead=(first,), tried=_tried(refined), outcome=winner[1])
    if refined.best is None:
        return replace(estimate(screened), unconfirmed=refined.search.not_met())
    return _confirmed(screened, refined, refined.best)


def _tried(refined: Refined) -> dict[int, Outcome]:
    """What was counted of the instances that do both, where they met the limits, by place."""
    results = refined.search.results
    places = np.flatnonzero(np.isin(refined.deployments.index, list(results)))
    tried = ((int(place), results[int(refined.deployments.index[place])]) for place in places)
    return {place: one.outcome for place, one in tried if isinstance(one, Needed)}


def _confirmed(screened: Screened, refined: Refined, best: Needed) -> Decided:
    """Instances that do both come first; of the others, those that the screen puts before it did not hold.

    The 80 % range of GPUs moves with what the simulation made of the capacity, so the screen's is kept beside it.
    """
    evaluated = replace(refined.deployments.evaluated, screened_rps=refined.search.evaluated.capacity.rps)
    every = AllDeployments((replace(refined.deployments, evaluated=evaluated), *screened.pools))
    ranked, others = refined.ranked, np.empty(0, dtype=np.intp)
    if screened.pools:
        order = every.order()
        after = order[int(np.flatnonzero(order == ranked[0])[0]) :]
        others = after[after >= len(refined.deployments)]
    return Decided(
        every=every,
        ranked=np.concatenate([ranked, others]),
        tried=_tried(refined),
        outcome=settled(refined.search.case(refined.winner), best, REPORTED_REQUESTS),
        others_tried=len(refined.search.results) - 1,
        fewer=best.instances - best.perhaps,
    )
