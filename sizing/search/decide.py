"""The deployments of a question in their final order: by the analytic load model, or as a simulation decides.

How much the chosen instances carry is the heaviest load at which a simulation still finds every limit kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Rows
from sizing.base.choices import NotSimulated
from sizing.question.limits import LatencyLimits
from sizing.question.understand import EXPECTED
from sizing.search.all_deployments import AllDeployments
from sizing.search.disaggregated import PoolPairs
from sizing.search.instances import Needed, NotMet, asked_for, confirmed, settled
from sizing.search.pools_refine import refine_pools
from sizing.search.pools_simulated import case_of, decoded, first_tokens
from sizing.search.refine import Refined, Search, refine
from sizing.search.replicas import replica_at
from sizing.search.screen import expected
from sizing.search.serving import Screened
from sizing.search.trials import FIRST_REQUESTS, limited, run
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.quantiles import DECIDING_80, counted, sampled_share
from sizing.simulator.run_length import REPORTED_REQUESTS
from sizing.simulator.work import OutOfWork, Work

STEP = 1.06
"""Factor on the load of a step where nothing says how far it is to the limit."""

RESOLUTION = 1.03
"""Factor between a load that is carried and one that is not, at which the search ends: about the Monte-Carlo error."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Decided:
    """Every deployment, the order of their places, and what was counted of those that were simulated.

    ``ranked``: the order, as far as a shortlist looks at it; ``ahead``: places that come before it. ``outcome``: what
    is counted of the first with steps as long as expected, from enough requests to be reported; ``refined``: what was
    simulated of instances that do both.
    ``fewer``: so many instances fewer may do.
    ``left_out``: deployments before the first by what is not certain, of which the simulation has not decided.
    ``not_simulated``: why nothing was; ``unconfirmed``: what was simulated when none met the limits, best first.
    """

    every: AllDeployments
    ranked: Rows
    ahead: tuple[int, ...] = ()
    outcome: SimulationCounts | None = None
    refined: Refined | None = None
    others_tried: int = 0
    fewer: int = 0
    left_out: int = 0
    not_simulated: NotSimulated | None = None
    unconfirmed: Sequence[tuple[str, NotMet]] = ()

    @property
    def requests(self) -> int:
        """Requests behind the percentiles of the first; 0 where they are analytic."""
        return 0 if self.outcome is None else self.outcome.finished

    def outcome_at(self, place: int) -> SimulationCounts | None:
        """What is counted at the place of an alternative with steps as long as expected; None where it was not
        simulated, or met the limits with no number of instances."""
        if self.refined is None or place >= len(self.refined.deployments):
            return None
        index, search = int(self.refined.deployments.index[place]), self.refined.search
        result = search.results.get(index)
        (working,) = self.refined.deployments.working(place)
        return _counted(search, index, result, working, FIRST_REQUESTS) if isinstance(result, Needed) else None

    def shortlist(self, count: int) -> list[int]:
        """The place that is chosen and at most ``count`` others that are worth showing."""
        others = self.every.shortlist(self.ranked, max(count - len(self.ahead), 0))
        return [*self.ahead, *others][: count + 1]


def estimate(screened: Screened, why: NotSimulated = "estimate") -> Decided:
    """The order of the analytic load model, nothing simulated, and ``why``: offline there is nothing to simulate."""
    if screened.question.scenario.workload.mode == "offline":
        why = "offline"
    return Decided(every=screened.deployments, ranked=screened.deployments.order(), not_simulated=why)


def decide(
    screened: Screened,
    seed: int,
    work: Work | None = None,
    *,
    known: Search | None = None,
    below: float = math.inf,
    counted: bool = True,
) -> Decided:
    """The number of instances of the best few decided by simulation, and with it the order.

    Instances that do both first; then other kinds, where they could come before the best of these. Where no more
    ``work`` is left before anything is decided, the estimate. ``known``: what was simulated of the same candidates
    for a question that differs in systems or prices alone. ``below``: nothing is confirmed that costs as much or
    more, USD/h. ``counted``: whether what is counted of the first is to be reported; else it is only decided.
    """
    question, work = screened.question, work or Work()
    refined = refine(screened.together, seed, work, known)
    best = None if refined.best is None else refined.deployments.take(np.array([refined.position]))
    for pools in screened.pools:
        winner = refine_pools(question, pools, best, seed, work)
        if winner is not None:
            return _pools_first(refined, pools, *winner, seed, counted=counted)
    if refined.best is not None and not refined.deployments.usd_per_hour[refined.position] >= below:
        return _confirmed(screened, refined, refined.best, counted=counted)
    if work.left <= 0:
        return estimate(screened, "work_limit")
    return replace(estimate(screened, "not_confirmed"), unconfirmed=refined.search.not_met())


def _pools_first(
    refined: Refined, pools: PoolPairs, first: PoolPairs, outcome: SimulationCounts, seed: int, *, counted: bool
) -> Decided:
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
        refined=refined,
        outcome=_counted_of_pools(first, outcome, seed) if counted else None,
        left_out=len(_promised(before, place)),
    )


def _promised(before: Rows, together: int) -> Rows:
    """Instances that do both, the places below ``together``, of those that come ``before`` what is certain.

    What is compared is decided the same way: what promises less by an estimate, or by a run after which no work was
    left to confirm it, is not listed beside what is certain, as those like it did not keep what theirs promised.
    """
    return before[before < together]


def _counted(search: Search, index: int, result: Needed, working: int, requests: int) -> SimulationCounts:
    """What is counted of a candidate with so many instances and steps as long as expected."""
    question, case = search.question, search.case(index)
    if question.confidence == EXPECTED:
        return settled(case, result, requests, working)
    there = expected(question, search.evaluated.take(np.array([index])))
    as_expected = replace(case, replica=replica_at(question, there, 0), work=Work())  # decided: to be stated anyhow
    return run(as_expected, working, asked_for(requests))


def _counted_of_pools(first: PoolPairs, outcome: SimulationCounts, seed: int) -> SimulationCounts:
    """The same of the one pair of pools ``first``, whose ``outcome`` was counted with the caution it is sized with."""
    if first.question.confidence == EXPECTED:
        return outcome
    there = first.as_expected(np.zeros(1, dtype=np.intp))
    (prefill, decode), case = there.working(0), case_of(there.question, there, 0, seed)
    return decoded(case, first_tokens(case, prefill), decode)


def _confirmed(screened: Screened, refined: Refined, best: Needed, *, counted: bool) -> Decided:
    """Instances that do both come first; of the others, those that the screen puts before it did not hold.

    The capacity of what comes first is what it carries by simulation. The 80 % range of GPUs moves with it, so the
    screen's is kept beside it.
    """
    screened_rps, capacity = refined.search.evaluated.capacity.rps, refined.deployments.evaluated.capacity
    rps, known = capacity.rps.copy(), refined.search.heaviest
    if best not in known:
        known[best] = heaviest_rps(best, float(screened_rps[refined.winner]), REPORTED_REQUESTS)
    rps[refined.winner] = known[best]
    evaluated = replace(refined.deployments.evaluated, capacity=replace(capacity, rps=rps), screened_rps=screened_rps)
    together = replace(refined.deployments, evaluated=evaluated)
    (working,) = together.working(refined.position)
    every = AllDeployments((together, *screened.pools))
    before = every.before(refined.position)
    return Decided(
        every=every,
        ranked=every.contenders(without=before),
        refined=refined,
        outcome=_counted(refined.search, refined.winner, best, working, REPORTED_REQUESTS) if counted else None,
        others_tried=len(refined.search.results) - 1,
        fewer=best.instances - best.fewest_possible if working == best.instances else 0,
        left_out=len(_promised(before, len(together))),
    )


def heaviest_rps(result: Needed, guess: float, requests: int) -> float:
    """Requests/s of one instance at which every limit holds with the chosen number of instances, within 3 %.

    Searched from the ``guess`` of the load model, between what was met and what was seen to break a limit, confirmed
    with at least ``requests`` requests as the number of instances is; what is known when no more may be simulated is
    taken.
    """
    limits, instances = result.tries.case.limits, result.instances
    good, bad = result.met_rps, result.broken_rps
    room, lack = room_within(result.outcome, limits), math.nan
    at = min(max(guess, good * RESOLUTION), bad / RESOLUTION)
    try:
        while bad > good * RESOLUTION:
            heavier = result.tries.under(at / result.met_rps)
            up = confirmed(heavier, instances, requests)
            margin = room_within(heavier.trials[instances].outcome, limits)
            good, room, bad, lack = (at, margin, bad, lack) if up else (good, room, at, margin)
            at = _next(good, room, bad, lack)
    except OutOfWork:
        pass
    return good


def room_within(outcome: SimulationCounts, limits: LatencyLimits) -> float:
    """By how much more than enough requests stay within the limit that the fewest keep, surely: positive where all
    limits are met. In logits of the share, which are nearly straight lines over the load."""
    enough = limits.percentile / 100.0
    seen = [(metric, limit) for metric, limit in limited(limits) if counted(outcome, metric).any()]
    shares = [sampled_share(outcome, metric, limit, DECIDING_80).low for metric, limit in seen]
    return _logit(min(shares, default=1.0)) - _logit(enough)


def _logit(share: float) -> float:
    """log(p / (1 - p)); infinite at the ends, which an interval may reach."""
    return math.log(share / (1.0 - share)) if 0.0 < share < 1.0 else math.copysign(math.inf, share - 0.5)


def _next(good: float, room: float, bad: float, lack: float) -> float:
    """The load to try: where a straight line meets the limit, or a step further where there is none."""
    if math.isfinite(room) and math.isfinite(lack) and room > lack:
        share = min(max(room / (room - lack), 0.0), 1.0)
        at = good * math.pow(bad / good, share)
    else:
        at = min(good * STEP, math.sqrt(good * bad)) if math.isnan(lack) else math.sqrt(good * bad)
    return max(min(at, bad / RESOLUTION), good * RESOLUTION)
