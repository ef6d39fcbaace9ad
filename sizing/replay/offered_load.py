"""The traffic that a simulation offers a deployment: that of a scenario, or of a trace."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.errors import InvalidScenario
from sizing.base.units import HOURS_PER_DAY, S_PER_HOUR
from sizing.planning.rules import about_model
from sizing.question.understand import Question
from sizing.scenario.trace import SHORTEST_TRACE_S, Trace
from sizing.scenario.traces import SHORTEST_S
from sizing.scenario.traffic import TraceArrivals
from sizing.search.replicas import arrivals_of, lengths_of
from sizing.simulator.arrivals import CHUNK, requests
from sizing.simulator.request_lengths import ObservedLengths, RequestLengths

FEWEST_REQUESTS = 20_000
"""Requests simulated at least, unless a duration is given. Chosen: because some 20 of them lie beyond p99.9."""

MOST_REQUESTS = 50_000_000
"""Requests simulated at most. Chosen: because they take some minutes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OfferedLoad:
    """What arrives: the stream itself, how many requests to expect over what time, and their lengths."""

    stream: Iterable[Floats]
    expected: int
    duration_s: float
    lengths: RequestLengths
    stationary: bool
    notes: tuple[str, ...]

    @property
    def rps(self) -> float:
        """Mean offered load over the whole duration, requests/s."""
        return self.expected / self.duration_s


def load_of(question: Question, hours: float | None, seed: int) -> OfferedLoad:
    """The traffic a scenario describes."""
    arrivals, lengths = arrivals_of(question), lengths_of(question)
    if hours is not None:
        duration = hours * S_PER_HOUR
    elif arrivals.profile:
        duration = HOURS_PER_DAY * S_PER_HOUR
    else:
        duration = max(S_PER_HOUR, FEWEST_REQUESTS / arrivals.rate_rps)
    expected = arrivals.expected(duration)
    if expected > MOST_REQUESTS:
        raise InvalidScenario(
            [f"{expected:,.0f} requests are more than the {MOST_REQUESTS:,} simulated at once: ask for fewer hours."]
        )
    return OfferedLoad(
        stream=arrivals.stream(lengths, duration, seed),
        expected=max(round(expected), 1),
        duration_s=duration,
        lengths=lengths,
        stationary=not arrivals.profile,
        notes=tuple(w.message for w in about_model(question) if w.severity == "error"),
    )


def at_asked_peak(trace: Trace, question: Question) -> Trace:
    """The trace that a scenario carries, faster or slower if it asks for another peak; any other trace as it is."""
    arrivals = question.scenario.workload.arrivals
    if not isinstance(arrivals, TraceArrivals) or arrivals.trace != trace.name:
        return trace
    return trace.at_speed(question.demand.sustained_rps / max(arrivals.rps))


def load_of_trace(trace: Trace, hours: float | None) -> OfferedLoad:
    """The traffic of a trace, or of its first hours. Raises InvalidScenario for one too short for a rate."""
    if trace.duration_s < SHORTEST_S:
        raise InvalidScenario([f"{trace.name} covers less than a second: too short for a rate."])
    kept = trace.until(hours * S_PER_HOUR) if hours is not None else trace
    return OfferedLoad(
        stream=requests_of(kept),
        expected=len(kept),
        duration_s=max(kept.duration_s, SHORTEST_TRACE_S),
        lengths=ObservedLengths(kept.tokens.astype(float)),
        stationary=False,
        notes=(f"{len(kept):,} requests of {kept.name} in {kept.duration_s:,.0f} s.", *kept.notes),
    )


def requests_of(trace: Trace) -> Iterator[Floats]:
    """The requests of a trace in chunks (9, M), rows as the simulator takes them; no request shares a prefix."""
    for start in range(0, len(trace), CHUNK):
        time, tokens = trace.time_s[start : start + CHUNK], trace.tokens[:, start : start + CHUNK]
        yield requests(time, np.vstack([tokens, np.full((1, len(time)), -1.0)]))
