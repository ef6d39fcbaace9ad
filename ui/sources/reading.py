"""Questions to a source, each asked once per refresh for all viewers of a deployment.

Live questions go by slots of ``REFRESH_S``: whoever comes first in a slot asks, the others share the answer. Questions
about a moment in the past are asked until there is a good answer, and then never again.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from collectors.backends.backend import Backend
from collectors.prometheus.promql import step_for
from collectors.questions.deployments import LabelledDeployment, find_deployments
from collectors.questions.devices import COLUMNS, Device, read_devices
from collectors.questions.history import POINTS, History, history, whole_history
from collectors.questions.serving_cost import ServingCost, serving_costs
from collectors.questions.xids import XidEvent, xid_log
from collectors.reading import read_from
from collectors.reading.observation import Observation, State
from collectors.source import Source
from ui.sources.connection import Connections
from ui.sources.known import KnownSource
from ui.sources.latest import Latest, LatestAnswer, always_good

REFRESH_S = 15.0
"""Seconds between two readings of a deployment, for all its viewers together."""

DEPLOYMENTS_EVERY_S = 60.0
"""Seconds between two looks at which deployments there are."""

SERVING_COSTS_EVERY_S = 60.0
"""Seconds between two looks at what OpenCost says. Chosen: half of the two minutes after which it says it anew."""

WAIT_S = 0.5
"""Longest time a page waits for an answer; what takes longer is shown when it is there."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Registry:
    """What all sessions share: open connections, and the answers that came over them."""

    clock: Callable[[], float] = time.time
    connections: Connections = field(default_factory=Connections)
    latest: Latest = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "latest", Latest(clock=self.clock))


@st.cache_resource(show_spinner=False)
def registry() -> Registry:
    """The one registry of this process."""
    return Registry()


def ask(
    known: KnownSource,
    what: str,
    question: Callable[[Backend, Source], T],
    *,
    end_s: float | None = None,
    every_s: float = REFRESH_S,
    wait_s: float = WAIT_S,
    why_bad: Callable[[T], str] = always_good,
) -> LatestAnswer[T]:
    """The answer to any question about a source, shared by all who ask ``what`` of it.

    ``end_s`` is the moment in the past that the question is about; None: it is about now. ``what`` must name
    everything the answer depends on, but for the source and that moment. ``question`` may raise SourceError.
    """
    shared = registry()
    context = get_script_run_ctx()
    shared.connections.hold(known, context.session_id if context else None)
    generation = shared.connections.generation(known)
    slot = math.floor(shared.clock() / every_s) if end_s is None else end_s
    return shared.latest.ask(
        (known.key, what, end_s),
        lambda: question(shared.connections.backend(known), known.source),
        slot=(slot, generation),
        retry=math.floor(shared.clock() / REFRESH_S),
        wait_s=wait_s,
        why_bad=why_bad,
    )


def good_observation(observed: Observation) -> bool:
    """Whether an observation knows values."""
    return observed.state in (State.OK, State.PARTIAL, State.SATURATED)


def observed(
    known: KnownSource, *, window_s: float | None = None, end_s: float | None = None, wait_s: float = WAIT_S
) -> LatestAnswer[Observation]:
    """The deployment over ``window_s`` (None: that of the source) up to ``end_s`` (None: now).

    An observation without values (stale, no data, unreachable) is the newest answer, but not a good one.
    """
    return ask(
        known,
        f"observation {window_s}",
        lambda backend, source: read_from(backend, source, at_s=end_s, window_s=window_s),
        end_s=end_s,
        wait_s=wait_s,
        why_bad=lambda answer: "" if good_observation(answer) else " ".join(answer.reasons),
    )


def over_time(
    known: KnownSource, *, span_s: float, end_s: float | None = None, now_s: float | None = None, wait_s: float = WAIT_S
) -> LatestAnswer[History]:
    """Lines over the ``span_s`` before ``end_s`` (None: now, which is ``now_s`` by the clock of the source).

    A long range is read when its step has passed, not at every refresh: nothing of it would be new. A fleet's is read
    in parts, one at every refresh until it is whole; before a moment in the past, where nothing refreshes, all at once.
    """
    until = end_s if end_s is not None else now_s if now_s is not None else registry().clock()
    what = f"history {span_s}"
    read = history if end_s is None else whole_history
    before = registry().latest.peek((known.key, what, end_s)).good
    whole = before is None or before.since_s is None
    return ask(
        known,
        what,
        lambda backend, source: read(backend, source, start_s=until - span_s, end_s=until),
        end_s=end_s,
        every_s=max(REFRESH_S, step_for(span_s, points=POINTS)) if whole else REFRESH_S,
        wait_s=wait_s,
        why_bad=lambda answer: "" if answer.times_s else "There is no engine with data in this range.",
    )


def per_device(
    known: KnownSource, *, columns: Sequence[str] = COLUMNS, end_s: float | None = None, wait_s: float = WAIT_S
) -> LatestAnswer[tuple[Device, ...]]:
    """Every GPU of the deployment at ``end_s`` (None: now), with the values of ``columns`` only."""
    return ask(
        known,
        f"devices {','.join(columns)}",
        lambda backend, source: read_devices(backend, source, at_s=end_s, columns=columns),
        end_s=end_s,
        wait_s=wait_s,
    )


def xids_of(
    known: KnownSource, *, span_s: float, end_s: float | None = None, now_s: float | None = None, wait_s: float = WAIT_S
) -> LatestAnswer[tuple[XidEvent, ...]]:
    """XID errors within the ``span_s`` before ``end_s`` (None: now, which is ``now_s`` by the clock of the source)."""
    until = end_s if end_s is not None else now_s if now_s is not None else registry().clock()
    return ask(
        known,
        f"xids {span_s}",
        lambda backend, source: xid_log(backend, source, start_s=until - span_s, end_s=until),
        end_s=end_s,
        every_s=max(REFRESH_S, step_for(span_s, points=POINTS)),
        wait_s=wait_s,
    )


def serving_costs_of(
    known: KnownSource, *, end_s: float | None = None, wait_s: float = WAIT_S
) -> LatestAnswer[tuple[ServingCost, ...]]:
    """What the models of the source cost by OpenCost at ``end_s`` (None: now); empty without OpenCost."""
    return ask(
        known,
        "serving costs",
        lambda backend, source: serving_costs(backend, source, at_s=end_s),
        end_s=end_s,
        every_s=SERVING_COSTS_EVERY_S,
        wait_s=wait_s,
    )


def age_of(answer: LatestAnswer[T]) -> float | None:
    """Seconds since the last good answer came; None without one."""
    return None if answer.good_at_s is None else max(0.0, registry().clock() - answer.good_at_s)


def demo_is_whole(known: KnownSource) -> bool:
    """Whether the day of the demo is there, or still being made behind its last hour."""
    return registry().connections.generation(known) > 0


def deployments_of(known: KnownSource, *, wait_s: float = WAIT_S) -> LatestAnswer[tuple[LabelledDeployment, ...]]:
    """The deployments that can be told apart at a source."""
    return ask(known, "deployments", find_deployments, every_s=DEPLOYMENTS_EVERY_S, wait_s=wait_s)
