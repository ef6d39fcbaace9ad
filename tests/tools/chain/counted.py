"""Exact counts between two moments: what counters stood at then and now, without the extrapolation of a rate.

A rate over a bracketed run exceeds the true count by some percent: PromQL extends it to the edges of the window.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.backends.backend import Backend
from collectors.prometheus.answers import Sample
from collectors.queries.query import Group, Query, Subject
from collectors.reading.discovery import discover
from collectors.reading.topology import find_topology
from collectors.source import Source
from collectors.vocabulary.expressions import selected

COUNTED = ("first_tokens", "finished", "prompt_tokens", "generation_tokens", "preemptions")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Events between two moments by concept. ``restarted`` names counters that began anew: those are lower bounds."""

    counts: Mapping[str, float]
    restarted: tuple[str, ...] = field(default=())


def counted_between(
    backend: Backend, source: Source, *, start_s: float, end_s: float, clock: Callable[[], float] = time.time
) -> Counted:
    """Counts of the deployment from start to end. Raises SourceError; empty when no engine is seen at the end."""
    discovery = discover(backend, source, end_s, clock)
    engine = discovery.engine
    if engine is None:
        return Counted(counts={})
    topology = find_topology(backend, source, discovery, engine, max(1.0, end_s - start_s))
    queries = []
    for key in COUNTED:
        choice = topology.choices.get(key)
        if choice and choice.candidate and choice.candidate.counter:
            counter = selected(choice.candidate, choice.candidate.counter, topology.scope)
            queries.append(Query(expression=counter, subject=Subject(key, group=Group.SOURCE)))
    before, after = (backend.vectors(queries, at_s=moment) for moment in (start_s, end_s))
    counts, restarted = {}, []
    for query in queries:
        concept = query.subject.quantity
        then = {_series(sample): sample.value for sample in before.of(query.subject)}
        now = {_series(sample): sample.value for sample in after.of(query.subject)}
        if not now:
            continue
        if any(value < then.get(series, 0.0) for series, value in now.items()) or set(then) - set(now):
            restarted.append(concept)
        rises = [v - then[s] if s in then and v >= then[s] else v for s, v in now.items()]
        counts[concept] = sum(rises)
    return Counted(counts=counts, restarted=tuple(restarted))


def _series(sample: Sample) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, v) for k, v in sample.labels.items() if k != "__name__"))
