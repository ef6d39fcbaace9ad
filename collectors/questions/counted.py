"""Exact counts between two moments: what counters stood at then and now, without the extrapolation of a rate.

A rate over a bracketed run exceeds the true count by some percent: PromQL extends it to the edges of the window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.backends.backend import Backend
from collectors.prometheus.answers import Sample
from collectors.reading.discovery import look_around
from collectors.reading.topology import find_topology
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import selected

COUNTED = ("first_tokens", "finished", "prompt_tokens", "generation_tokens", "preemptions")
EXACTLY = "counted/"
"""These keys are nobody else's: what is counted is never believed from a moment before."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Events between two moments by concept. ``restarted`` names counters that began anew: those are lower bounds."""

    counts: Mapping[str, float]
    restarted: tuple[str, ...] = field(default=())


def counted_between(
    backend: Backend, source: Source, *, start_s: float, end_s: float, clock: Callable[[], float] = time.time
) -> Counted:
    """Counts of the deployment from start to end. Raises SourceError; empty when no engine is seen at the end."""
    look = look_around(backend, source, end_s, clock)
    engine = detect_engine(look.names, wanted=source.engine)
    if engine is None:
        return Counted(counts={})
    topology = find_topology(backend, source, look, engine, max(1.0, end_s - start_s))
    asked = {}
    for key in COUNTED:
        choice = topology.choices.get(key)
        if choice and choice.candidate and choice.candidate.counter:
            asked[f"{EXACTLY}{key}"] = selected(choice.candidate, choice.candidate.counter, topology.scope)
    before, after = (backend.vectors(asked, at_s=moment) for moment in (start_s, end_s))
    counts, restarted = {}, []
    for key in asked:
        concept = key.removeprefix(EXACTLY)
        then = {_series(sample): sample.value for sample in before.of(key)}
        now = {_series(sample): sample.value for sample in after.of(key)}
        if not now:
            continue
        if any(value < then.get(series, 0.0) for series, value in now.items()) or set(then) - set(now):
            restarted.append(concept)
        rises = [v - then[s] if s in then and v >= then[s] else v for s, v in now.items()]
        counts[concept] = sum(rises)
    return Counted(counts=counts, restarted=tuple(restarted))


def _series(sample: Sample) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, v) for k, v in sample.labels.items() if k != "__name__"))
