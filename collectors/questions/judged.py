"""A window judged by its minutes: what can be judged is read, only the saturated minutes are left out.

While a queue grows, latency depends on how long one watches. One such minute says nothing about the others.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from collectors.backends.backend import Backend
from collectors.connect import SILENT, read_and
from collectors.errors import SourceError
from collectors.queries.query import Query, Subject
from collectors.questions.deployments import ObservedDeployment, read_deployed
from collectors.reading import read_from
from collectors.reading.discovery import discover
from collectors.reading.engine_values import judged_step_s, saturated_steps
from collectors.reading.observation import Observation, State
from collectors.reading.remarks import Ago, RemarkKind, remark
from collectors.reading.topology import find_topology
from collectors.source import Source

SHORTEST_S = 300.0
"""The shortest stretch that is read apart. Chosen: the window of a reading by default."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of a window without saturated minutes, in Unix seconds."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Seconds from start to end."""
        return self.end_s - self.start_s


def read_judged(
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> tuple[Observation, ObservedDeployment]:
    """One observation and what is deployed, at the same moment. A source that cannot be reached is an answer.

    Where only some minutes of the window are saturated, over the longest stretch without them.
    """

    def more(own: Backend, observed: Observation) -> tuple[Observation, ObservedDeployment]:
        deployed = read_deployed(own, source, at_s=observed.at_s, window_s=observed.window_s, clock=clock)
        try:
            stretch = calm_stretch(own, source, observed, clock=clock)
        except SourceError:  # the reading as a whole stands
            return observed, deployed
        if stretch is None:
            return observed, deployed
        again = read_from(own, source, at_s=stretch.end_s, window_s=stretch.length_s, clock=clock)
        if again.state in (*SILENT, State.SATURATED):
            return observed, deployed
        note = remark(RemarkKind.CALM_STRETCH, judged=Ago(again.window_s), asked=Ago(observed.window_s))
        again = again.model_copy(update={"remarks": (note, *again.remarks)})
        return again, read_deployed(own, source, at_s=again.at_s, window_s=again.window_s, clock=clock)

    observed, both = read_and(more, source, at_s=at_s, window_s=window_s, backend=backend, clock=clock, wait=wait)
    return both or (observed, ObservedDeployment())


def calm_stretch(
    backend: Backend, source: Source, observed: Observation, *, clock: Callable[[], float] = time.time
) -> Stretch | None:
    """The longest stretch of an observation's window without saturated minutes; None where none or all are saturated,
    or where it is short. Raises SourceError."""
    share = observed.number("saturated_ratio")
    if share is None or not 0 < share < 1:
        return None
    discovery = discover(backend, source, observed.at_s, clock)
    if discovery.engine is None:
        return None
    topology = find_topology(backend, source, discovery, discovery.engine, observed.window_s)
    step_s = judged_step_s(topology.scope)
    saturated = saturated_steps(topology.choices, topology.scope, step_s=step_s)
    if saturated is None:
        return None
    query = Query(expression=saturated, subject=Subject("saturated"), unit="ratio")
    start_s = observed.at_s - observed.window_s + step_s
    answer = backend.ranges([query], start_s=start_s, end_s=observed.at_s, step_s=step_s)
    series = answer.of(query.subject)
    if not series:
        return None
    times, values = series[0].on_grid(answer.start_s, answer.end_s, answer.step_s)
    best: Stretch | None = None
    begun: float | None = None
    for moment, value in zip(times, values, strict=True):
        begun = None if value != 0 else (moment - answer.step_s if begun is None else begun)
        if begun is not None and (best is None or moment - begun > best.length_s):
            best = Stretch(start_s=begun, end_s=moment)
    return best if best is not None and best.length_s >= SHORTEST_S else None
