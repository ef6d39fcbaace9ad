"""One candidate simulated with a given number of instances: whether every limit holds at its percentile.

Common random numbers: every count is tried with the same requests. A run stops growing once the Monte-Carlo interval of
every asked percentile is clear of its limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sizing.base.arrays import ROUNDING, Counts
from sizing.base.choices import Routing
from sizing.base.units import TWO_SIDED_95
from sizing.question.limits import LatencyLimits
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.kept_runs import KeptRuns
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.quantiles import DECIDING_80, counted, sampled_share
from sizing.simulator.request_lengths import RequestLengths
from sizing.simulator.run_length import HEAVIEST, IN_FLIGHT_ROUNDS, MOST_SETTLING, forgotten
from sizing.simulator.stability import largest_stable_rps
from sizing.simulator.work import Work

FIRST_REQUESTS, MOST_REQUESTS, GROWTH = 3_000, 12_000, 4
"""Requests of the first run at a count, and how far it grows (each time by the factor) while the finding is unclear."""

TAIL_REQUESTS = 40.0
"""Requests beyond the asked percentile that are simulated before the finding at a count is left as unclear."""

BURST_ROUNDS = 40.0
"""On and off periods simulated at least, as far as :data:`MOST_SETTLING` requests reach."""

ENOUGH_SHARE = 0.95
"""Share of an expected number of requests that counts as having come: arrivals are random."""

FAR_FACTOR, FAR_ADDEND = 4, 4
"""Factor and addend of the count, 4 x guess + 4, that is tried once the guess and two steps beyond it have failed."""

NEARLY_IDLE = 64
"""So many times the guess (and 4 times as many more) is tried last: instances are nearly idle then, and a limit that is
broken there is broken without load. Chosen: near what idle instances reach the simulation asks for up to 5 times what
the load model does, and a limit given up earlier looks cheaper than a looser one that is kept."""

MOST_TRIED = 4096
"""Numbers of instances whose price is looked at; of more, as many evenly spaced in their logarithm."""

IN_TURN: tuple[Routing, ...] = ("round_robin", "weighted")
"""Routings under which an instance gets every n-th request."""

BY_LOAD: tuple[Routing, ...] = ("least_loaded", "prefix_aware")
"""Routings that look at the load of every instance."""

MOST_TOGETHER = 8
"""Instances simulated together where the front end looks at their load."""

LARGEST_BELOW = 1.0 - 1e-6
"""A capacity at which a limit was seen to break is stated as just below. Chosen: because no figure shows so much."""

NO_DOUBT = 0.7
"""Share of the heaviest load up to which the analytic stability limit will do: at most 22 % above the simulated one in
docs/LOAD_MODEL.md."""

BEYOND_DOUBT = 1.5
"""Over the heaviest load by the analytic stability limit, from which on that is sure to be exceeded: by simulation at
most 25 % more is carried for ever (:data:`sizing.search.pools_refine.NEVER_MORE`)."""

TrialFinding = Literal["met", "broken", "unclear"]

_RUNS = KeptRuns()
"""The simulated runs that this process keeps, so that none is simulated twice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One candidate under the whole load: what is simulated and what it must meet.

    ``in_flight`` is the expected number of requests in one instance, which decides how long it takes to settle;
    ``stable_rps`` what the analytic load model lets one instance carry for ever.
    """

    replica: Replica
    arrivals: Arrivals
    lengths: RequestLengths
    limits: LatencyLimits
    max_utilization: float
    in_flight: float
    stable_rps: float
    seed: int = 0
    work: Work = field(default_factory=Work)
    """What may still be simulated, of all candidates together."""
    routing: Routing = "random"


def in_flight_of(rps: float, e2e_s: float) -> float:
    """Requests in one instance by Little's law; 1 at least."""
    return max(float(np.nan_to_num(rps * e2e_s, nan=1.0, posinf=1e4)), 1.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """What was counted with some number of instances, and what it says of the limits."""

    outcome: SimulationCounts
    finding: TrialFinding

    @property
    def arrived(self) -> int:
        """Requests that came to the instances simulated together."""
        return self.outcome.arrived

    @property
    def finished(self) -> int:
        """Requests that the instances simulated together have finished."""
        return self.outcome.finished


def share_of(arrivals: Arrivals, part: float, *, in_turn: bool = False) -> Arrivals:
    """The arrivals at a share ``part`` of all equal instances, such as 1 / n: one of them.

    At random: rate x p and cv^2 = 1 + p (cv^2 - 1): a thinned renewal process tends to Poisson (exact for Poisson
    arrivals and for bursts, which all instances see; thinning of renewal processes, Renyi, 1956). In turn: every n-th
    request, whose gaps are sums of n gaps: cv^2 = p cv^2, exact for gamma gaps. Raises ValueError for what is no share,
    such as a number of instances.
    """
    if not 0.0 < part <= 1.0:
        raise ValueError(f"a share of the arrivals lies above 0 and up to 1, not at {part:g}")
    spread = part * arrivals.cv**2 if in_turn else max(1.0 + part * (arrivals.cv**2 - 1.0), 0.0)
    return replace(arrivals, rate_rps=arrivals.rate_rps * part, cv=math.sqrt(spread), profile=())


def looked_at(guess: int) -> Counts:
    """The numbers of instances that are looked at around a first ``guess``, from one on."""
    farthest = FAR_FACTOR * guess + FAR_ADDEND
    if farthest <= MOST_TRIED:
        return np.arange(1, farthest + 1)
    return np.unique(np.geomspace(1, farthest, MOST_TRIED).round().astype(np.int64))


def together(routing: Routing, instances: int) -> int:
    """Instances that have to be simulated together: one, unless the front end looks at the load of all of them.

    Then a part of a large fleet stands for it (:data:`MOST_TOGETHER`); the choice among more would only be smoother.
    """
    return min(instances, MOST_TOGETHER) if routing in BY_LOAD else 1


def finding(outcome: SimulationCounts, limits: LatencyLimits, z: float = TWO_SIDED_95) -> TrialFinding:
    """Whether the share of requests within every limit is surely enough, surely not for one, or neither.

    The share required is the asked percentile. It is surely reached, or surely missed, when the whole Monte-Carlo
    interval of the counted share (``z`` standard errors to either side) lies on one side of it.
    """
    result: TrialFinding = "met"
    for metric, limit in limited(limits):
        if not counted(outcome, metric).any():
            continue
        within, enough = sampled_share(outcome, metric, limit, z), limits.percentile / 100.0
        if within.high < enough:
            return "broken"
        if within.low < enough:
            result = "unclear"
    return result


def limited(limits: LatencyLimits) -> list[tuple[int, float]]:
    """The latency metrics that the scenario limits, each with its limit in seconds."""
    limit_of = ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s))
    return [(metric, limit) for metric, limit in limit_of if math.isfinite(limit)]


def run(case: Case, instances: int, requests: int) -> SimulationCounts:
    """One of so many instances, or some of them, under their share of the load: about ``requests`` requests in all.

    Where some are simulated together, each has as many at least as it takes to settle; the queue that they share
    forgets its past in as many requests as that of one (join the shortest queue becomes one queue under heavy load:
    Foschini and Salz, 1978). Raises OutOfWork when that takes more than may be simulated.
    """
    count = together(case.routing, instances)
    requests = max(math.ceil(requests / count), min(requests, _settling(case, instances)))
    arrivals = share_of(case.arrivals, count / instances, in_turn=case.routing in IN_TURN)
    fleet = Fleet(replicas=(case.replica,) * count, routing=case.routing)
    outcome = _RUNS.run(fleet, arrivals, case.lengths, requests, case.seed, most_events=max(case.work.left, 0))
    case.work.spend_on(outcome)
    return outcome


def decided(case: Case, instances: int, first: int) -> Trial:
    """What was counted with so many instances, from ``first`` requests on, and what it says.

    A 95 % interval decides as long as more requests could be simulated, then an 80 % interval, as everywhere in a plan;
    unclear when that holds the limit.
    """
    settling = _settling(case, instances)
    requests, most = max(first, settling), max(most_requests(case.limits), settling, first)
    while True:
        outcome = run(case, instances, requests)
        last = requests >= most
        result = finding(outcome, case.limits, DECIDING_80 if last else TWO_SIDED_95)
        if result != "unclear" or last:
            return Trial(outcome, result)
        requests = min(requests * GROWTH, most)


def _settling(case: Case, instances: int) -> int:
    """Requests of one of so many instances until the engine is as full as it stays, and through enough bursts."""
    bursts = case.arrivals.bursts
    cycle = (bursts.on_s + bursts.off_s) * case.arrivals.rate_rps / instances if bursts else 0.0
    return min(int(max(IN_FLIGHT_ROUNDS * case.in_flight, BURST_ROUNDS * cycle)), MOST_SETTLING)


def most_requests(limits: LatencyLimits) -> int:
    """Requests after which a count is given up as unclear."""
    return max(MOST_REQUESTS, int(TAIL_REQUESTS / (1.0 - limits.percentile / 100.0)))


class Tries:
    """What is known about one case so far, by number of instances. What stays unclear is not met.

    ``first``: requests of the first run at a count. Once those have left a count unclear, later ones start with more.
    ``certain``: whether even a load without doubt is held against the stability limit of the simulation.
    ``overloaded``: counts that were not simulated, because it is known that they do not carry the load for ever.
    """

    def __init__(self, case: Case, first: int = FIRST_REQUESTS) -> None:
        self.case, self.first, self.trials, self.overloaded = case, first, dict[int, Trial](), set[int]()
        self.certain = False

    @cached_property
    def stable_rps(self) -> float:
        """What one instance carries for ever, by simulation; asked for only when it matters, as it takes its time."""
        case = self.case
        return largest_stable_rps(Fleet(replicas=(case.replica,)), case.lengths, case.seed, work=case.work)

    def under(self, factor: float) -> Tries:
        """The candidate under so many times the load; what it carries for ever stays known."""
        arrivals = replace(self.case.arrivals, rate_rps=self.case.arrivals.rate_rps * factor)
        heavier = Tries(replace(self.case, arrivals=arrivals), self.first)
        if "stable_rps" in vars(self):
            heavier.stable_rps = self.stable_rps
        return heavier

    @property
    def highest_share(self) -> float:
        """The heaviest load that counts as met, as a share of what is carried for ever."""
        return min(self.case.max_utilization, HEAVIEST)

    def load(self, instances: int) -> float:
        """Requests/s of one of so many instances."""
        return self.case.arrivals.rate_rps / instances

    def utilization(self, instances: int) -> float:
        """Load over what is carried for ever: by simulation, unless the load model leaves no doubt."""
        analytic = self.load(instances) / self.case.stable_rps
        if analytic < NO_DOUBT * self.highest_share and not self.certain:
            return analytic
        return self.load(instances) / self.stable_rps if self.stable_rps > 0 else math.inf

    def carried(self, instances: int) -> bool:
        """Whether so many instances carry the load for ever, within the utilisation cap."""
        return self.utilization(instances) <= self.highest_share * (1.0 + ROUNDING)

    def _surely_overloaded(self, instances: int) -> bool:
        """Whether it is known without simulating more that so many instances do not carry the load."""
        if "stable_rps" in vars(self):
            return not self.carried(instances)
        return self.load(instances) > self.highest_share * self.case.stable_rps * BEYOND_DOUBT

    def met(self, instances: int, first: int = FIRST_REQUESTS) -> bool:
        """Whether so many instances meet every limit, for ever; simulated from ``first`` requests on at least."""
        if instances not in self.trials:
            if self.trials and self._surely_overloaded(instances):  # one is simulated anyway: there is an outcome
                self.overloaded.add(instances)
                return False
            begins_with = max(first, self.first)
            self.trials[instances] = trial = decided(self.case, instances, begins_with)
            if trial.arrived > GROWTH * ENOUGH_SHARE * begins_with:
                self.first = max(self.first, most_requests(self.case.limits))
        if self.trials[instances].finding != "met" or not self.carried(instances):
            return False
        enough = forgotten(self.utilization(instances))
        if self.trials[instances].arrived < ENOUGH_SHARE * enough:
            self.trials[instances] = decided(self.case, instances, enough)
        return self.trials[instances].finding == "met"

    def unclear(self, below: int) -> list[int]:
        """Counts below a number of instances that could not be told from the limit."""
        return [n for n, trial in self.trials.items() if trial.finding == "unclear" and n < below]
