"""How many instances a simulation says are needed: the fewest at which every limit holds at its percentile.

Common random numbers: every count is tried with the same requests. A run stops growing once the Monte-Carlo interval of
every asked percentile is clear of its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sizing.capacity import AskedLimits
from sizing.simulation.arrivals import Arrivals
from sizing.simulation.drive import Outcome, drive
from sizing.simulation.fleet import Fleet, Replica, Routing
from sizing.simulation.layout import E2E, ITL, TTFT
from sizing.simulation.pool import Measurement
from sizing.simulation.quantiles import sampled_quantile
from sizing.simulation.request_lengths import RequestLengths
from sizing.simulation.stability import largest_stable_rps

FIRST_REQUESTS, MOST_REQUESTS, GROWTH = 3_000, 12_000, 4
"""Requests of the first run at a count, and how far it grows (each time by the factor) while the finding is unclear."""

TAIL_REQUESTS = 40.0
"""Requests beyond the asked percentile that are simulated before a count is given up as unclear."""

IN_FLIGHT_ROUNDS = 20.0
"""Requests simulated at least per request in flight: an engine with 500 sequences needs longer to settle."""

BURST_ROUNDS = 40.0
"""On and off periods simulated at least, as far as :data:`MOST_SETTLING` requests reach."""

MOST_SETTLING = 48_000
WARM_UP_SHARE = 0.15
FARTHEST, FARTHER = 2, 4
"""A count beyond so many times the first guess (plus 4) is not looked at: the limit is broken without load."""

STEP_SHARE = 0.04
"""First step away from the guess, as a share of it."""

RESOLUTION = 0.01
"""Share of a count below which no smaller one is looked for: less than the Monte-Carlo error in terms of load."""

HEAVIEST = 0.97
"""Share of the stability limit up to which a load is simulated: nearer, a queue takes very long to reach its
percentiles, and the least growth in load makes it endless."""

IN_TURN: tuple[Routing, ...] = ("round_robin", "weighted")
BY_LOAD: tuple[Routing, ...] = ("least_requests", "least_tokens", "prefix_aware")
MOST_TOGETHER = 8
"""Instances simulated together where the front end looks at their load."""

Finding = Literal["met", "broken", "unclear"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One candidate under the whole load: what is simulated and what it must meet.

    ``in_flight`` is the expected number of requests in one instance, which decides how long it takes to settle.
    """

    replica: Replica
    arrivals: Arrivals
    lengths: RequestLengths
    limits: AskedLimits
    max_utilization: float
    in_flight: float
    seed: int = 0
    routing: Routing = "random"


@dataclass(frozen=True, kw_only=True, eq=False)
class Needed:
    """The fewest instances that met every limit, with what was counted at that number.

    ``broken_rps``: the smallest load of one instance that was found to break a limit, inf if none; ``stable_rps``: what
    one instance carries for ever.
    """

    instances: int
    met_rps: float
    broken_rps: float
    stable_rps: float
    outcome: Outcome

    @property
    def requests(self) -> int:
        """Requests simulated at the chosen count, per instance."""
        return self.outcome.finished // self.outcome.replicas


def share_of(arrivals: Arrivals, part: float, *, in_turn: bool = False) -> Arrivals:
    """The arrivals at a share ``part`` of all equal instances, such as 1 / n: one of them.

    At random: rate x p and cv^2 = 1 + p (cv^2 - 1): a thinned renewal process tends to Poisson (exact for Poisson
    arrivals and for bursts, which all instances see; thinning of renewal processes, Renyi, 1956). In turn: every n-th
    request, whose gaps are sums of n gaps: cv^2 = p cv^2, exact for gamma gaps.
    """
    spread = part * arrivals.cv**2 if in_turn else max(1.0 + part * (arrivals.cv**2 - 1.0), 0.0)
    return replace(arrivals, rate_rps=arrivals.rate_rps * part, cv=math.sqrt(spread), profile=())


def together(routing: Routing, instances: int) -> int:
    """Instances that have to be simulated together: one, unless the front end looks at the load of all of them.

    Then a part of a large fleet stands for it (:data:`MOST_TOGETHER`); the choice among more would only be smoother.
    """
    return min(instances, MOST_TOGETHER) if routing in BY_LOAD else 1


def finding(outcome: Outcome, limits: AskedLimits) -> Finding:
    """Whether the Monte-Carlo interval of every asked percentile lies within its limit, or one lies beyond it."""
    found: Finding = "met"
    for metric, limit in ((TTFT, limits.ttft_s), (ITL, limits.itl_s), (E2E, limits.e2e_s)):
        if math.isinf(limit) or not outcome.histogram[:, metric].any():
            continue
        at = sampled_quantile(outcome, metric, limits.percentile)
        if at.low > limit:
            return "broken"
        if at.high > limit:
            found = "unclear"
    return found


def run(case: Case, instances: int, requests: int) -> Outcome:
    """One of so many instances, or some of them, under their share of the load: about ``requests`` requests each."""
    count = together(case.routing, instances)
    arrivals = share_of(case.arrivals, count / instances, in_turn=case.routing in IN_TURN)
    expected = requests * count
    duration = expected / arrivals.rate_rps
    measurement = Measurement(expected=expected, horizon_s=duration, warm_up=int(WARM_UP_SHARE * expected))
    stream = arrivals.stream(case.lengths, duration, case.seed)
    return drive(Fleet(replicas=(case.replica,) * count, routing=case.routing), stream, measurement)


def decided(case: Case, instances: int) -> tuple[Outcome, bool]:
    """What was counted with so many instances, and whether every limit is met; what stays unclear is not met."""
    bursts = case.arrivals.bursts
    cycle = (bursts.on_s + bursts.off_s) * case.arrivals.rate_rps / instances if bursts else 0.0
    settling = min(int(max(IN_FLIGHT_ROUNDS * case.in_flight, BURST_ROUNDS * cycle)), MOST_SETTLING)
    tail = int(TAIL_REQUESTS / (1.0 - case.limits.percentile / 100.0))
    requests, most = max(FIRST_REQUESTS, settling), max(MOST_REQUESTS, settling, tail)
    while True:
        outcome = run(case, instances, requests)
        found = finding(outcome, case.limits)
        if found != "unclear" or requests >= most:
            return outcome, found == "met"
        requests = min(requests * GROWTH, most)


def needed(case: Case, guess: int) -> Needed | None:
    """The fewest instances that meet every limit, searched from ``guess``; None when even many do not.

    Never fewer than the stability limit times the utilisation cap (:data:`HEAVIEST` at most) asks for.
    """
    rate = case.arrivals.rate_rps
    stable = largest_stable_rps(Fleet(replicas=(case.replica,)), case.lengths, case.seed)
    if stable <= 0.0:
        return None
    highest = stable * min(case.max_utilization, HEAVIEST)
    tried: dict[int, tuple[Outcome, bool]] = {}

    def met(instances: int) -> bool:
        if instances not in tried:
            tried[instances] = decided(case, instances)
        return tried[instances][1]

    found = fewest(met, least=max(math.ceil(rate / highest - 1e-9), 1), guess=guess)
    if found is None:
        return None
    broken = [rate / n for n, (_, good) in tried.items() if not good]
    return Needed(
        instances=found, met_rps=rate / found, broken_rps=min([*broken, highest]), stable_rps=stable,
        outcome=tried[found][0],
    )


def fewest(met: Callable[[int], bool], *, least: int, guess: int) -> int | None:
    """The smallest count from ``least`` on for which ``met`` holds: growing steps from ``guess``, then bisection.

    ``met`` must hold for every larger count once it holds. None when it does not hold up to 2 x guess + 4.
    """
    guess = max(guess, least)
    most = FARTHEST * guess + FARTHER
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
        bad, good = guess, 0
        while not good:
            if bad >= most:
                return None
            trial = min(bad + step, most)
            if met(trial):
                good = trial
            else:
                bad, step = trial, step * 2
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
