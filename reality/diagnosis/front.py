"""What a request takes before the engine has it, beyond the plan: a front end that is slow, or one that requests queue
for, so that it takes longer the more of them arrive.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy.optimize import brentq

from collectors.reading.observation import Observation
from reality.diagnosis.limits import percentile_ms
from reality.diagnosis.worlds import Circumstances, Ran, RequestIntake
from sizing.base.units import MS_PER_S
from sizing.simulator.layout import QUEUE

LEAST_SHARE = 0.25
"""Share of all other parts of the mean TTFT from which a time before the engine counts. Chosen: prompts are known no
better, and the engine's own steps lie between its clocks."""
LEAST_MS = 5.0
"""Milliseconds below which it does not: what the network and a tokenizer take."""
MOST_QUEUE = 2.0
"""Times as long as that time that the engine's own queue may be: requests that begin and those that end, which are
counted apart, saw other queues."""
BUSIEST = 0.995
"""Share of the time that a front end works at most."""


@dataclass(frozen=True, kw_only=True)
class BeforeEngine:
    """The time before the engine beyond the plan, in the mean, that of the plan, and the front end that explains it."""

    beyond_ms: float
    planned_ms: float
    intake: RequestIntake


def before_engine(
    observed: Observation, now: Circumstances, percentile: float, run: Callable[[Circumstances], Ran]
) -> BeforeEngine | None:
    """What requests wait for before the engine has them; None where it is not seen, or as planned. ``now``: as
    measured, with step times that explain the gaps between tokens."""
    ttft, queue = (observed.distribution(name).mean for name in ("ttft_ms", "queue_ms"))
    if ttft is None or queue is None:
        return None
    ran = run(now)
    inside = ran.mean_ms("ttft_ms") - ran.means[QUEUE] * MS_PER_S  # prefill, and the plan's time before the engine
    planned = inside - run(replace(now, front=0.0)).mean_ms("ttft_ms") + ran.means[QUEUE] * MS_PER_S
    prefill = observed.distribution("prefill_ms").mean
    rest = inside if prefill is None else prefill + max(planned, 0.0)
    beyond = ttft - queue - rest
    if beyond < max(LEAST_SHARE * rest, LEAST_MS) or queue > MOST_QUEUE * beyond or ran.growing:
        return None
    steady = RequestIntake(seconds=beyond / MS_PER_S, queues=False)
    queueing = RequestIntake(seconds=_service_s(beyond / MS_PER_S, now), queues=True)

    def missed(one: RequestIntake) -> float:
        then = run(replace(now, intake=one))
        measured = percentile_ms(observed.distribution("ttft_ms"), percentile / 100.0, "ttft_ms", then)
        return abs(math.log(then.percentile_ms("ttft_ms", percentile) / measured)) if measured else 0.0

    return BeforeEngine(beyond_ms=beyond, planned_ms=max(planned, 0.0), intake=min((steady, queueing), key=missed))


def _service_s(mean_s: float, one: Circumstances) -> float:
    """What each request takes at a front end of every replica, so that all of it and the queue are ``mean_s``."""

    def missing(seconds: float) -> float:
        return RequestIntake(seconds=seconds, queues=True).mean_s(one.rps / one.replicas, one.cv) - mean_s

    most = BUSIEST * one.replicas / one.rps
    return most if missing(most) < 0.0 else float(brentq(missing, 0.0, most))
