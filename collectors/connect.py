"""From a source to the backend that answers for it, and from there to an observation."""

from __future__ import annotations

import time
from collections.abc import Callable

import requests

from collectors.backend import Backend, PrometheusBackend
from collectors.observation import Observation
from collectors.prometheus import Clock, Fetcher, Limits, PrometheusClient
from collectors.reading import read_from
from collectors.source import PrometheusSource, Source


def prometheus_backend(
    source: Source, asked: PrometheusSource, *, session: requests.Session | None = None, clock: Clock | None = None
) -> PrometheusBackend:
    """The backend of a Prometheus source; ``session`` and ``clock`` are for tests."""
    fetcher = Fetcher(
        access=asked.access(source.folder),
        limits=Limits(timeout_s=asked.timeout_s),
        session=session,
        clock=clock,
        allow_link_local=asked.allow_link_local,
    )
    client = PrometheusClient(asked.url, fetcher=fetcher, params=asked.params, allow_link_local=asked.allow_link_local)
    return PrometheusBackend(client)


def open_backend(source: Source) -> Backend:
    """The backend of a source."""
    assert source.prometheus is not None
    return prometheus_backend(source, source.prometheus)


def read(
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> Observation:
    """One observation of a source. A source that cannot be reached is an answer, not an error."""
    return read_from(backend or open_backend(source), source, at_s=at_s, window_s=window_s, clock=clock)
