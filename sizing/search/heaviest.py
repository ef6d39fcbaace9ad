"""How much the chosen instances carry: the heaviest load at which a simulation still finds every limit kept."""

from __future__ import annotations

import math

from sizing.question.limits import LatencyLimits
from sizing.search.instances import Needed, confirmed
from sizing.search.trials import limited
from sizing.simulator.outcome import Outcome
from sizing.simulator.quantiles import DECIDING_80, counted, sampled_share
from sizing.simulator.work import OutOfWork

STEP = 1.06
"""Factor on the load of a step where nothing says how far it is to the limit."""

RESOLUTION = 1.03
"""Factor between a load that is carried and one that is not, at which the search ends: about the Monte-Carlo error."""


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


def room_within(outcome: Outcome, limits: LatencyLimits) -> float:
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
