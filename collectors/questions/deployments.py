"""The deployments at a source: one per model and namespace, so that none is mixed with its neighbours by accident."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collectors.backends.backend import Backend
from collectors.reading.discovery import look_around
from collectors.reading.topology import choices_for, presence
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import scope_of

MOST = 200
"""Deployments listed; a source with more needs a selector."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The labels that select a deployment, with the number of series that stand for its replicas."""

    labels: Mapping[str, str]
    series: int

    @property
    def name(self) -> str:
        """Its labels' values: "meta-llama/Llama-3.3-70B, prod"."""
        return ", ".join(self.labels.values())


def find_deployments(
    backend: Backend, source: Source, *, at_s: float | None = None, clock: Callable[[], float] = time.time
) -> tuple[Deployment, ...]:
    """The deployments within the selector of a source, largest first. Raises SourceError; empty without an engine."""
    look = look_around(backend, source, at_s, clock)
    engine = detect_engine(look.names, wanted=source.engine)
    if engine is None:
        return ()
    scope = scope_of(source.labels, engine.vocabulary, window_s=source.window_s, step_s=15.0, spelling=engine.spelling)
    series = presence(choices_for(engine, look.names, source), scope)
    if series is None:
        return ()
    by = (engine.vocabulary.model_label or "job", "namespace")
    found = backend.vectors({"deployments": f"count by ({', '.join(by)}) ({series})"}, at_s=look.at_s)
    deployments = [
        Deployment(labels={label: s.labels[label] for label in by if s.labels.get(label)}, series=int(s.value))
        for s in found.of("deployments")
    ]
    known = [one for one in deployments if one.labels]
    return tuple(sorted(known, key=lambda one: (-one.series, one.name))[:MOST])
