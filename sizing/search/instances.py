"""How many instances a simulation says are needed: the fewest at which every limit holds at its percentile.

Common random numbers: every count is tried with the same requests. A run stops growing once the Monte-Carlo interval of
every asked percentile is clear of its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sizing.base.choices import Routing
from sizing.base.units import TWO_SIDED_95
from sizing.question.limits import LatencyLimits
from sizing.simulator.arrivals import CHUNK, Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
from sizing.simulator.pool import Measurement
from sizing.simulator.quantiles import DECIDING_80, sampled_share
from sizing.simulator.request_lengths import RequestLengths
from sizing.simulator.stability import largest_stable_rps

FIRST_REQUESTS, MOST_REQUESTS, GROWTH = 3_000, 12_000, 4
"""Requests of the first run at a count, and how far it grows (each time by the factor) while the finding is unclear."""

TAIL_REQUESTS = 40.0
"""Requests beyond the asked percentile that are simulated before a count is given up as unclear."""

IN_FLIGHT_ROUNDS = 20.0
"""Requests simulated at least per request in flight: an engine with 500 sequences needs longer to settle."""

BURST_ROUNDS = 40.0
"""On and off periods simulated at least, as far as :data:`MOST_SETTLING` requests reach."""

RELAXATIONS = 20.0
"""Times the memory of the queue that a load is simulated before it counts as met."""

MOST_SETTLING = 48_000
ENOUGH_SHARE = 0.95  # of a number of requests: so many come at least when it is expected
SPARE_DRAWS = 512  # drawn beyond the expected number, so that one chunk nearly always holds a run
WARM_UP_SHARE = 0.15
FARTHEST, FARTHER = 4, 4
"""A count beyond so many times the first guess (plus 4) is not looked at: the limit is broken without load."""

SPARE_SHARE = 0.05
"""Requests asked for beyond a number that is to be finished, as arrivals are random."""

STEP_SHARE = 0.04
"""First step away from the guess, as a share of it."""

RESOLUTION = 0.01
"""Share of a count below which no smaller one is looked for: less than the Monte-Carlo error in terms of load."""

HEAVIEST = 0.97
"""Share of the stability limit up to which a load is simulated: nearer, a queue takes very long to reach its
percentiles, and the least growth in load makes it endless."""

IN_TURN: tuple[Routing, ...] = ("round_robin", "weighted")
BY_LOAD: tuple[Routing, ...] = ("least_loaded", "prefix_aware")
MOST_TOGETHER = 8
"""Instances simulated together where the front end looks at their load."""
NO_DOUBT = 0.7
"""Share of the heaviest load up to which the analytic stability limit will do: at most 22 % above the simulated one in
docs/LOAD_MODEL.md."""

Finding = Literal["met", "broken", "unclear"]


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
    routing: Routing = "random"


@dataclass(frozen=True, kw_only=True, eq=False)
class Needed:
    """The fewest instances that met every limit, with what was counted at that number.

    ``perhaps``: the fewest that may do, too: what lies between could not be told apart from the limit. ``broken_rps``:
    the smallest load of one instance that was found to break a limit, inf if none; ``stable_rps``: what one instance
    carries for ever by simulation, where that was looked at.
    """

    instances: int
    perhaps: int
    met_rps: float
    broken_rps: float
    stable_rps: float | None
    outcome: Outcome
    tries: Tries

    @property
    def requests(self) -> int:
        """Requests simulated at the chosen count, per instance."""
        return self.outcome.finished // self.outcome.replicas


@dataclass(frozen=True, kw_only=True, eq=False)
class NotMet:
    """No number of instances up to ``instances`` met every limit; ``bounded``: more were not looked for.

    ``broken_rps``: the smallest load of one instance that did not meet them. ``outcome``: counted at ``instances``.
    """

    instances: int
    bounded: bool
    broken_rps: float
    outcome: Outcome


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


def together(routing: Routing, instances: int) -> int:
    """Instances that have to be simulated together: one, unless the front end looks at the load of all of them.

    Then a part of a large fleet stands for it (:data:`MOST_TOGETHER`); the choice among more would only be smoother.
    """
    return min(instances, MOST_TOGETHER) if routing in BY_LOAD else 1


def finding(outcome: Outcome, limits: LatencyLimits, z: float = TWO_SIDED_95) -> Finding:
    """Whether the share of requests within every limit is surely enough, surely not for one, or neither.

    Enough is the asked percentile; sure is a Monte-Carlo interval of ``z`` standard errors that does not hold it.
    """
    found: Finding = "met"
    for metric, limit in limited(limits):
        if not outcome.histogram[:, metric].any():
            continue
        within, asked = sampled_share(outcome, metric, limit, z), limits.percentile / 100.0
        if within.high < asked:
            return "broken"
        if within.low < asked:
            found = "unclear"
    return found


def limited(limits: LatencyLimits) -> list[tuple[int, float]]:
    """The latencies that are limited, each with its limit in seconds."""
    asked = ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s))
    return [(metric, limit) for metric, limit in asked if math.isfinite(limit)]


def run(case: Case, instances: int, requests: int) -> Outcome:
    """One of so many instances, or some of them, under their share of the load: about ``requests`` requests each."""
    count = together(case.routing, instances)
    arrivals = share_of(case.arrivals, count / instances, in_turn=case.routing in IN_TURN)
    expected = requests * count
    duration = expected / arrivals.rate_rps
    measurement = Measurement(expected=expected, horizon_s=duration, warm_up=int(WARM_UP_SHARE * expected))
    stream = arrivals.stream(case.lengths, duration, case.seed, chunk=min(expected + SPARE_DRAWS, CHUNK))
    return drive(Fleet(replicas=(case.replica,) * count, routing=case.routing), stream, measurement)


def decided(case: Case, instances: int, first: int) -> tuple[Outcome, Finding]:
    """What was counted with so many instances, from ``first`` requests on, and what it says.

    A 95 % interval decides as long as more requests could be simulated, then an 80 % interval, as everywhere in a plan;
    unclear when that holds the limit.
    """
    bursts = case.arrivals.bursts
    cycle = (bursts.on_s + bursts.off_s) * case.arrivals.rate_rps / instances if bursts else 0.0
    settling = min(int(max(IN_FLIGHT_ROUNDS * case.in_flight, BURST_ROUNDS * cycle)), MOST_SETTLING)
    requests, most = max(first, settling), max(most_requests(case.limits), settling, first)
    while True:
        outcome = run(case, instances, requests)
        last = requests >= most
        found = finding(outcome, case.limits, DECIDING_80 if last else TWO_SIDED_95)
        if found != "unclear" or last:
            return outcome, found
        requests = min(requests * GROWTH, most)


def most_requests(limits: LatencyLimits) -> int:
    """Requests after which a count is given up as unclear."""
    return max(MOST_REQUESTS, int(TAIL_REQUESTS / (1.0 - limits.percentile / 100.0)))


def relaxation(utilization: float) -> float:
    """Requests in which a queue forgets its past: 1 / (1 - sqrt(rho))^2.

    Relaxation time of M/M/1 in service times. Source: Abate and Whitt, Transient behavior of the M/M/1 queue (1987).
    """
    return float((1.0 - math.sqrt(min(utilization, 1.0 - 1e-9))) ** -2)


class Tries:
    """What is known about one case so far, by number of instances. What stays unclear is not met.

    ``first``: requests of the first run at a count. Once those have left a count unclear, later ones start with more.
    """

    def __init__(self, case: Case, first: int = FIRST_REQUESTS) -> None:
        self.case, self.first, self.found = case, first, dict[int, tuple[Outcome, Finding]]()

    @cached_property
    def stable_rps(self) -> float:
        """What one instance carries for ever, by simulation; asked for only when it matters, as it takes its time."""
        return largest_stable_rps(Fleet(replicas=(self.case.replica,)), self.case.lengths, self.case.seed)

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
        return analytic if analytic < NO_DOUBT * self.highest_share else self.load(instances) / self.stable_rps

    def carried(self, instances: int) -> bool:
        """Whether so many instances carry the load for ever, within the utilisation cap."""
        return self.utilization(instances) <= self.highest_share * (1.0 + 1e-9)

    def met(self, instances: int) -> bool:
        """Whether so many instances meet every limit, for ever."""
        if instances not in self.found:
            self.found[instances] = found = decided(self.case, instances, self.first)
            if found[0].arrived // found[0].replicas > GROWTH * ENOUGH_SHARE * self.first:
                self.first = max(self.first, most_requests(self.case.limits))
        if self.found[instances][1] != "met" or not self.carried(instances):
            return False
        enough = min(int(RELAXATIONS * relaxation(self.utilization(instances))), MOST_SETTLING)
        if self.found[instances][0].arrived // self.found[instances][0].replicas < ENOUGH_SHARE * enough:
            self.found[instances] = decided(self.case, instances, enough)
        return self.found[instances][1] == "met"

    def needed(self, found: int, stable_rps: float | None = None) -> Needed:
        """What is known once ``found`` is the fewest that met."""
        broken = [self.load(n) for n in self.found if not self.met(n)]
        if stable_rps is not None:
            broken.append(stable_rps * self.highest_share)
        unclear = [n for n, (_, said) in self.found.items() if said == "unclear" and n < found and self.carried(n)]
        return Needed(
            instances=found,
            perhaps=min(unclear, default=found),
            met_rps=self.load(found),
            broken_rps=min(broken, default=math.inf),
            stable_rps=stable_rps,
            outcome=self.found[found][0],
            tries=self,
        )


def needed(case: Case, guess: int, most: int | None = None, first: int = FIRST_REQUESTS) -> Needed | NotMet:
    """The fewest instances that meet every limit, searched from ``guess`` and up to ``most``.

    Never fewer than the stability limit times the utilisation cap (:data:`HEAVIEST` at most) asks for. Without ``most``
    the search ends at 4 x guess + 4: limits that are broken there are broken without load. ``first``: see
    :class:`Tries`.
    """
    tries = Tries(case, first)
    found = fewest(tries.met, guess=guess, most=most)
    if found is not None:
        return tries.needed(found)
    largest = max(tries.found)
    return NotMet(
        instances=largest, bounded=most is not None, broken_rps=tries.load(largest), outcome=tries.found[largest][0]
    )


def sharpened(found: Needed, requests: int) -> Needed | NotMet:
    """The same with four times the requests at the counts that could not be told from the limit, and the stability
    limit; confirmed with at least ``requests`` requests, so that what is reported keeps the limits too."""
    tries, instances = found.tries, found.instances
    if found.perhaps < instances:
        tries.first = GROWTH * most_requests(tries.case.limits)
        bad = max((n for n in tries.found if n < found.perhaps), default=0)
        for n in [n for n, (_, said) in tries.found.items() if said == "unclear" and n < instances]:
            del tries.found[n]
        instances = bisected(tries.met, bad, instances)
    most, n = FARTHEST * instances + FARTHER, instances
    while n <= most:
        if confirmed(tries, n, requests):
            return tries.needed(n, tries.stable_rps)
        n += max(1, int(RESOLUTION * n))
    largest = max(tries.found)
    return NotMet(instances=largest, bounded=False, broken_rps=tries.load(largest), outcome=tries.found[largest][0])


def confirmed(tries: Tries, instances: int, requests: int) -> bool:
    """Whether so many instances meet every limit with at least ``requests`` requests each."""
    if not tries.met(instances):
        return False
    outcome = tries.found[instances][0]
    if outcome.finished // outcome.replicas < requests:
        tries.found[instances] = decided(tries.case, instances, math.ceil(requests * (1.0 + SPARE_SHARE)))
    return tries.met(instances)


def fewest(met: Callable[[int], bool], *, guess: int, most: int | None = None, least: int = 1) -> int | None:
    """The smallest count from ``least`` on for which ``met`` holds.

    The largest first, growing steps from ``guess``, then bisection.

    ``met`` must hold for every larger count once it holds. None when it does not hold up to ``most``; when that is not
    given, up to 4 x guess + 4, and the largest count is tried after the guess.
    """
    if most is not None and (most < least or not met(most)):
        return None
    guess = max(guess if most is None else min(guess, most), least)
    step = max(round(STEP_SHARE * guess), 1)
    if met(guess):
        good, bad = guess, least - 1
        while good > least:
            trial = max(good - step, least)
            if not met(trial):
                bad = trial
                break
            good, step = trial, step * 2
    else:
        bad, good = guess, most or FARTHEST * guess + FARTHER
        if most is None and not met(good):
            return None
        while bad + step < good:
            if met(bad + step):
                good = bad + step
            else:
                bad, step = bad + step, step * 2
    return bisected(met, bad, good)


def bisected(met: Callable[[int], bool], bad: int, good: int) -> int:
    """The smallest count for which ``met`` holds, between one where it does not and one where it does."""
    while good - bad > max(1, int(RESOLUTION * good)):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if met(middle) else (good, middle)
    return good


def settled(case: Case, found: Needed, requests: int) -> Outcome:
    """The counts at the chosen number from at least ``requests`` requests: those of the search if they suffice."""
    return found.outcome if found.requests >= requests else run(case, found.instances, requests)


def in_flight_of(rps: float, e2e_s: float) -> float:
    """Requests in one instance by Little's law; 1 at least."""
    return max(float(np.nan_to_num(rps * e2e_s, nan=1.0, posinf=1e4)), 1.0)
