"""How many instances a simulation says are needed: the fewest at which every limit holds at its percentile.

Where a waiting line decides, few runs suffice: what requests wait grows with the busy share u of an instance about as
u / (1 - u) (Pollaczek-Khinchine formula, M/G/1 queue), which is a straight line in u / (1 - u), so that two runs tell
about where it crosses the limit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sizing.search.trials import (
    FAR_ADDEND,
    FAR_FACTOR,
    FIRST_REQUESTS,
    GROWTH,
    NEARLY_IDLE,
    Case,
    Tries,
    decided,
    most_requests,
    run,
)
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.run_length import SPARE_SHARE
from sizing.simulator.work import Work

STEP_SHARE = 0.04
"""First step away from the guess, as a share of it."""

RESOLUTION = 0.01
"""Share of a count below which no smaller one is looked for: less than the Monte-Carlo error in terms of load."""

MOST_GUESSED = 5
"""Runs after which what is left between two counts is halved. Chosen: because the line nearly always leads there in
three."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Needed:
    """The fewest instances that met every limit, with what was counted at that number.

    ``fewest_possible``: the fewest instances that may meet them as well, because the counts from there on could not be
    told apart from the limit. ``met_rps``: the load of one instance at the chosen count, requests/s. ``broken_rps``:
    the smallest load of one instance that was seen to break a limit, inf if none. ``stable_rps``: the load that one
    instance carries without a growing queue by simulation, None where that was not simulated.
    """

    instances: int
    fewest_possible: int
    met_rps: float
    broken_rps: float
    stable_rps: float | None
    outcome: SimulationCounts
    tries: Tries

    @property
    def requests(self) -> int:
        """Requests that were simulated at the chosen number of instances."""
        return self.outcome.finished


@dataclass(frozen=True, kw_only=True, eq=False)
class NotMet:
    """No number of instances met every limit; ``bounded``: more than these were not looked for.

    ``broken_rps``: the smallest load of one instance that did not meet them. ``outcome``: counted at ``instances``, the
    most that were simulated; of more it may be known that they do not carry the load. ``fewest_possible``: as in
    :class:`Needed`, None where every count surely broke a limit.
    """

    instances: int
    fewest_possible: int | None
    bounded: bool
    broken_rps: float
    outcome: SimulationCounts


def bounds(one: Needed | NotMet) -> bool:
    """Whether the load that broke a limit says how much of its capacity a candidate really has."""
    return isinstance(one, Needed) or one.bounded


def not_at_all(one: Needed | NotMet) -> bool:
    """Whether a limit was broken however many instances there were."""
    return isinstance(one, NotMet) and not one.bounded


def needed(case: Case, guess: int, most: int | None = None, first: int = FIRST_REQUESTS) -> Needed | NotMet:
    """The fewest instances that meet every limit, searched from ``guess`` and up to ``most``.

    instances = min(n: share of requests within each limit >= percentile / 100)

    Never fewer than the stability limit times the utilisation cap (:data:`HEAVIEST` at most) asks for. Without ``most``
    the search ends at nearly idle instances (:data:`sizing.search.trials.NEARLY_IDLE`): limits that are broken there
    are broken without load. ``first``: see :class:`Tries`.
    """
    tries = Tries(case, first)
    smallest = fewest(tries.met, guess=guess, most=most)
    return _not_met(tries, bounded=most is not None) if smallest is None else _needed(tries, smallest)


def _needed(tries: Tries, smallest: int, stable_rps: float | None = None) -> Needed:
    """What is known once ``smallest`` is the fewest that met."""
    broken = [tries.load(n) for n in (*tries.trials, *tries.overloaded) if not tries.met(n)]
    if stable_rps is not None:
        broken.append(stable_rps * tries.highest_share)
    return Needed(
        instances=smallest,
        fewest_possible=min((n for n in tries.unclear(smallest) if tries.carried(n)), default=smallest),
        met_rps=tries.load(smallest),
        broken_rps=min(broken, default=math.inf),
        stable_rps=stable_rps,
        outcome=tries.trials[smallest].outcome,
        tries=tries,
    )


def _not_met(tries: Tries, *, bounded: bool) -> NotMet:
    """What is known once no number of instances met every limit."""
    largest = max(tries.trials)
    broken_rps = tries.load(max({largest, *tries.overloaded}))
    return NotMet(
        instances=largest,
        fewest_possible=min((n for n in tries.unclear(largest + 1) if tries.carried(n)), default=None),
        bounded=bounded,
        broken_rps=broken_rps,
        outcome=tries.trials[largest].outcome,
    )


def sharpened(result: Needed, requests: int) -> Needed | NotMet:
    """The same with four times the requests at the counts that could not be told from the limit, and the stability
    limit; confirmed with at least ``requests`` requests, so that what is reported keeps the limits too."""
    tries, instances = result.tries, result.instances
    tries.certain = True
    if result.fewest_possible < instances:
        tries.first = GROWTH * most_requests(tries.case.limits)
        bad = max((n for n in tries.trials if n < result.fewest_possible), default=0)
        for n in tries.unclear(instances):
            del tries.trials[n]
        instances = between(tries.met, bad, instances, guess=result.fewest_possible)
    smallest = fewest(lambda n: confirmed(tries, n, requests), guess=instances, least=instances)
    return _not_met(tries, bounded=False) if smallest is None else _needed(tries, smallest, tries.stable_rps)


def confirmed(tries: Tries, instances: int, requests: int) -> bool:
    """Whether so many instances meet every limit with at least ``requests`` requests each: near a limit fewer would
    leave it unclear, so that they are simulated at once."""
    if not tries.met(instances, asked_for(requests)):
        return False
    if tries.trials[instances].finished < requests:
        tries.trials[instances] = decided(tries.case, instances, asked_for(requests))
    return tries.met(instances)


def asked_for(requests: int) -> int:
    """Requests to simulate, so that ``requests`` are finished: arrivals are random."""
    return math.ceil(requests * (1.0 + SPARE_SHARE))


def fewest(met: Callable[[int], bool], *, guess: int, most: int | None = None, least: int = 1) -> int | None:
    """The smallest count from ``least`` on for which ``met`` holds.

    The guess, then growing steps from it, then bisection.

    ``met`` must hold for every larger count once it holds. None when it does not hold up to ``most``; when that is not
    given, up to nearly idle instances: 4 x guess + 4 is tried once the guess and the next two steps have failed, and
    then 64 x guess + 256.
    """
    if most is not None and most < least:
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
        bad, good = guess, most or FAR_FACTOR * guess + FAR_ADDEND
        near = [n for n in (guess + step, guess + 3 * step) if n < good] if most is None else []  # mostly enough
        for trial in near:
            if met(trial):
                good = trial
                break
            bad = trial
        else:
            if good == guess:
                return None
            if not met(good):
                bad, good = good, NEARLY_IDLE * (guess + FAR_ADDEND)
                if most is not None or not met(good):
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


def between(met: Callable[[int], bool], bad: int, good: int, *, guess: int) -> int:
    """As :func:`bisected`, ``guess`` first: where it does not hold, nothing below needs to be looked at."""
    if not met(guess):
        return bisected(met, guess, good)
    return fewest(met, guess=guess, least=bad + 1) or guess


def settled(case: Case, result: Needed, requests: int, instances: int | None = None) -> SimulationCounts:
    """The counts from at least ``requests`` requests at the chosen number, or with so many ``instances`` where more are
    deployed; those of the search if they suffice."""
    deployed = result.instances if instances is None else instances
    if deployed == result.instances and result.requests >= requests:
        return result.outcome
    return run(replace(case, work=Work()), deployed, requests)  # what was decided is stated in any case


@dataclass(frozen=True, kw_only=True)
class InstanceLatency:
    """A latency with a number of instances in seconds; ``alone_s``: about what it is without any wait."""

    seconds: float
    alone_s: float


@dataclass(frozen=True, kw_only=True)
class InstanceBounds:
    """What a search is for: a latency of ``limit_s`` at most, with ``least`` to ``most`` instances.

    ``busy``: instances that the load would keep busy all the time, fewer than ``least``.
    """

    limit_s: float
    busy: float
    least: int
    most: int


def fewest_waiting(latency: Callable[[int], InstanceLatency], bounds: InstanceBounds, guess: int) -> int | None:
    """The smallest count at which the latency is within its limit, searched from ``guess``; None when not even the
    most will do.

    ``latency`` must not rise with the count. Of large counts as closely as :data:`RESOLUTION`.
    """
    if bounds.most < bounds.least:
        return None
    known: dict[int, InstanceLatency] = {}
    bad, good, trial = bounds.least - 1, None, min(max(guess, bounds.least), bounds.most)
    while good is None or good - bad > max(1, int(RESOLUTION * good)):
        known[trial] = latency(trial)
        if known[trial].seconds <= bounds.limit_s:
            good = trial
        elif trial == bounds.most:
            return None
        else:
            bad = trial
        trial = _next(known, bad, good, bounds)
    return good


def _next(known: Mapping[int, InstanceLatency], bad: int, good: int | None, bounds: InstanceBounds) -> int:
    """The count to look at after those that are ``known``, between ``bad`` and ``good``, or above ``bad``."""
    if good is None:
        farther = bad + (1 << (len(known) - 1))
        return min(max(_crossing(known, [bad], bounds), farther), bounds.most)
    if len(known) >= MOST_GUESSED:
        return (bad + good) // 2
    ends = [count for count in (bad, good) if count in known]
    crossing = _crossing(known, ends, bounds)
    return min(max(crossing, bad + 1), good - 1)


def _crossing(known: Mapping[int, InstanceLatency], ends: Sequence[int], bounds: InstanceBounds) -> int:
    """Where the line through both ends, or through one and no wait at all, meets the limit."""
    points = [(_queue(count, bounds.busy), known[count].seconds) for count in ends]
    (x, y), (other_x, other_y) = points[0], points[1] if len(points) > 1 else (0.0, known[ends[0]].alone_s)
    if y <= other_y:
        return bounds.most
    queue = other_x + (bounds.limit_s - other_y) / (y - other_y) * (x - other_x)
    return math.ceil(min(bounds.busy * (1.0 + 1.0 / queue), bounds.most)) if queue > 0.0 else bounds.most


def _queue(count: int, busy: float) -> float:
    """u / (1 - u) with the busy share u of each of so many."""
    return busy / (count - busy)
