"""Questions to a source, each asked once per refresh for all viewers of a deployment.

Live questions go by slots of ``REFRESH_S``: whoever comes first in a slot asks, the others share the answer. Questions
about a moment in the past are asked until there is a good answer, and then never again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import streamlit as st

from collectors.backend import Backend
from collectors.deployments import Deployment, find_deployments
from collectors.devices import Device, read_devices
from collectors.history import DEFAULT, POINTS, History, history
from collectors.observation import Observation, State
from collectors.prometheus.promql import step_for
from collectors.reading import read_from
from collectors.source import Source
from collectors.xids import XidEvent, xid_log
from ui.sources.connection import Connections
from ui.sources.known import Known
from ui.sources.latest import Answer, Latest, always_good

REFRESH_S = 15.0
"""Seconds between two readings of a deployment, for all its viewers together."""

WAIT_S = 3.0
"""Longest time a page waits for a first answer; what takes longer is shown when it is there."""

NEXT_WAIT_S = 0.5
"""Longest wait where there is an older answer to show."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What all sessions share: open connections, and the answers that came over them."""

    connections: Connections = field(default_factory=Connections)
    latest: Latest = field(default_factory=Latest)
    clock: Callable[[], float] = time.time


@st.cache_resource(show_spinner=False)
def desk() -> Desk:
    """The one desk of this process."""
    return Desk()


def asked(
    known: Known,
    what: str,
    question: Callable[[Backend, Source], T],
    *,
    end_s: float | None = None,
    every_s: float = REFRESH_S,
    wait_s: float | None = None,
    why_bad: Callable[[T], str] = always_good,
) -> Answer[T]:
    """The answer to any question about a source, shared by all who ask ``what`` of it.

    ``end_s`` is the moment in the past that the question is about; None: it is about now. ``what`` must name
    everything the answer depends on, but for the source and that moment. ``question`` may raise SourceError.
    """
    shared = desk()
    key = (known.key, what, end_s)
    if wait_s is None:
        wait_s = WAIT_S if shared.latest.peek(key).good is None else NEXT_WAIT_S
    return shared.latest.ask(
        key,
        lambda: question(shared.connections.backend(known), known.source),
        slot=math.floor(shared.clock() / every_s),
        wait_s=wait_s,
        once=end_s is not None,
        why_bad=why_bad,
    )


def good_observation(observed: Observation) -> bool:
    """Whether an observation knows values."""
    return observed.state in (State.OK, State.PARTIAL, State.SATURATED)


def observed(
    known: Known, *, window_s: float | None = None, end_s: float | None = None, wait_s: float | None = None
) -> Answer[Observation]:
    """The deployment over ``window_s`` (None: that of the source) up to ``end_s`` (None: now).

    An observation without values (stale, no data, unreachable) is the newest answer, but not a good one.
    """
    return asked(
        known,
        f"observation {window_s}",
        lambda backend, source: read_from(backend, source, at_s=end_s, window_s=window_s),
        end_s=end_s,
        wait_s=wait_s,
        why_bad=lambda found: "" if good_observation(found) else " ".join(found.reasons),
    )


def over_time(
    known: Known,
    *,
    span_s: float,
    end_s: float | None = None,
    now_s: float | None = None,
    concepts: Sequence[str] = DEFAULT,
    points: int = POINTS,
    wait_s: float | None = None,
) -> Answer[History]:
    """Lines over the ``span_s`` before ``end_s`` (None: now, which is ``now_s`` by the clock of the source).

    A long range is read when its step has passed, not at every refresh: nothing of it would be new.
    """
    until = end_s if end_s is not None else now_s if now_s is not None else desk().clock()
    return asked(
        known,
        f"history {span_s} {points} {','.join(concepts)}",
        lambda backend, source: history(
            backend, source, start_s=until - span_s, end_s=until, concepts=concepts, points=points
        ),
        end_s=end_s,
        every_s=max(REFRESH_S, step_for(span_s, points=points)),
        wait_s=wait_s,
        why_bad=lambda found: "" if found.times_s else "There is no engine with data in this range.",
    )


def per_device(known: Known, *, end_s: float | None = None, wait_s: float | None = None) -> Answer[tuple[Device, ...]]:
    """Every GPU of the deployment at ``end_s`` (None: now)."""
    return asked(
        known, "devices", lambda backend, source: read_devices(backend, source, at_s=end_s), end_s=end_s, wait_s=wait_s
    )


def xids_of(
    known: Known, *, span_s: float, end_s: float | None = None, now_s: float | None = None, wait_s: float | None = None
) -> Answer[tuple[XidEvent, ...]]:
    """XID errors within the ``span_s`` before ``end_s`` (None: now, which is ``now_s`` by the clock of the source)."""
    until = end_s if end_s is not None else now_s if now_s is not None else desk().clock()
    return asked(
        known,
        f"xids {span_s}",
        lambda backend, source: xid_log(backend, source, start_s=until - span_s, end_s=until),
        end_s=end_s,
        every_s=max(REFRESH_S, step_for(span_s, points=POINTS)),
        wait_s=wait_s,
    )


def deployments_of(known: Known, *, wait_s: float | None = None) -> Answer[tuple[Deployment, ...]]:
    """The deployments that can be told apart at a source."""
    return asked(known, "deployments", lambda backend, source: find_deployments(backend, source), wait_s=wait_s)
