"""The deployments of a question in their final order: by the analytic load model, or as a simulation decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sizing.base.arrays import Rows
from sizing.base.choices import NotSimulated
from sizing.search.all_deployments import AllDeployments
from sizing.search.disaggregated import Disaggregated
from sizing.search.heaviest import heaviest_rps
from sizing.search.instances import Needed, NotMet, settled
from sizing.search.pools_refine import refine_pools
from sizing.search.refine import Refined, refine
from sizing.search.serving import Screened
from sizing.simulator.outcome import Outcome
from sizing.simulator.run_length import REPORTED_REQUESTS
from sizing.simulator.work import Work


@dataclass(frozen=True, kw_only=True, eq=False)
class Decided:
    """Every deployment, the order of their places, and what was counted of those that were simulated.

    ``ranked``: the order, as far as a shortlist looks at it; ``ahead``: places that come before it. ``tried``: what was
    counted at each place that was simulated; ``outcome``: the same of the first, from enough requests to be reported.
    ``fewer``: so many instances fewer may do.
    ``left_out``: deployments before the first by what is not certain, of which the simulation has not decided.
    ``not_simulated``: why nothing was; ``unconfirmed``: what was simulated when none met the limits, best first.
    """

    every: AllDeployments
    ranked: Rows
    ahead: tuple[int, ...] = ()
    tried: Mapping[int, Outcome] = field(default_factory=dict)
    outcome: Outcome | None = None
    others_tried: int = 0
    fewer: int = 0
    left_out: int = 0
    not_simulated: NotSimulated | None = None
    unconfirmed: Sequence[tuple[str, NotMet]] = ()

    @property
    def requests(self) -> int:
        """Requests behind the percentiles of the first, per instance; 0 where they are analytic."""
        return 0 if self.outcome is None else self.outcome.finished // self.outcome.replicas

    def shortlist(self, count: int) -> list[int]:
        """The place that is chosen and at most ``count`` others that are worth showing."""
        others = self.every.shortlist(self.ranked, max(count - len(self.ahead), 0))
        return [*self.ahead, *others][: count + 1]


def estimate(screened: Screened, why: NotSimulated = "estimate") -> Decided:
    """The order of the analytic load model, nothing simulated, and ``why``: offline there is nothing to simulate."""
    if screened.question.scenario.workload.mode == "offline":
        why = "offline"
    return Decided(every=screened.deployments, ranked=screened.deployments.order(), not_simulated=why)


def decide(screened: Screened, seed: int, work: Work | None = None) -> Decided:
    """The number of instances of the best few decided by simulation, and with it the order.

    Instances that do both first; then other kinds, where they could come before the best of these. Where no more
    ``work`` is left before anything is decided, the estimate.
    """
    question, work = screened.question, work or Work()
    refined = refine(screened.together, seed, work)
    best = None if refined.best is None else refined.deployments.take(np.array([refined.position]))
    for pools in screened.pools:
        winner = refine_pools(question, pools, best, seed, work)
        if winner is not None:
            return _pools_first(refined, pools, *winner)
    if refined.best is not None:
        return _confirmed(screened, refined, refined.best)
    if work.left <= 0:
        return estimate(screened, "work_limit")
    return replace(estimate(screened, "not_confirmed"), unconfirmed=refined.search.not_met())


def _pools_first(refined: Refined, pools: Disaggregated, first: Disaggregated, outcome: Outcome) -> Decided:
    """Pools that were simulated come before the instances that do both, and before the other pairs of ``pools``."""
    every, place = AllDeployments((refined.deployments, first, pools)), len(refined.deployments)
    alike = (pools.pools.prefill == first.pools.prefill) & (pools.pools.decode == first.pools.decode)
    before = every.before(place)
    unsure = before[:0] if refined.first is None else _promised(every.before(refined.position), place)
    left = np.concatenate([[place], place + 1 + np.flatnonzero(alike), unsure])
    return Decided(
        every=every,
        ranked=every.contenders(without=np.concatenate([before, left])),
        ahead=(place,),
        tried=_tried(refined),
        outcome=outcome,
        left_out=len(_promised(before, place)),
    )


def _promised(before: Rows, together: int) -> Rows:
    """Instances that do both, the places below ``together``, of those that come ``before`` what is certain.

    What is compared is decided the same way: what promises less by an estimate, or by a run after which no work was
    left to confirm it, is not listed beside what is certain, as those like it did not keep what theirs promised.
    """
    return before[before < together]


def _tried(refined: Refined) -> dict[int, Outcome]:
    """What was counted of the instances that do both, where they met the limits, by place."""
    results = refined.search.results
    places = np.flatnonzero(np.isin(refined.deployments.index, list(results)))
    tried = ((int(place), results[int(refined.deployments.index[place])]) for place in places)
    return {place: one.outcome for place, one in tried if isinstance(one, Needed)}


def _confirmed(screened: Screened, refined: Refined, best: Needed) -> Decided:
    """Instances that do both come first; of the others, those that the screen puts before it did not hold.

    The capacity of what comes first is what it carries by simulation. The 80 % range of GPUs moves with it, so the
    screen's is kept beside it.
    """
    screened_rps, capacity = refined.search.evaluated.capacity.rps, refined.deployments.evaluated.capacity
    rps = capacity.rps.copy()
    rps[refined.winner] = heaviest_rps(best, float(screened_rps[refined.winner]), REPORTED_REQUESTS)
    evaluated = replace(refined.deployments.evaluated, capacity=replace(capacity, rps=rps), screened_rps=screened_rps)
    together = replace(refined.deployments, evaluated=evaluated)
    every = AllDeployments((together, *screened.pools))
    before = every.before(refined.position)
    return Decided(
        every=every,
        ranked=every.contenders(without=before),
        tried=_tried(refined),
        outcome=settled(refined.search.case(refined.winner), best, REPORTED_REQUESTS),
        others_tried=len(refined.search.results) - 1,
        fewer=best.instances - best.perhaps,
        left_out=len(_promised(before, len(together))),
    )
