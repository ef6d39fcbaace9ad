"""From a source to one observation: what speaks there, which replicas, then every number at once.

Rounds of queries, each a module: ``discovery`` (clock and metric names), ``topology`` (replicas and timing by
``layout``, GPUs by ``gpu_join``), ``observe`` (every value: ``engine_values``, ``gpu_values``, ``gpu_sums``; the state
by ``health``), and ``no_data`` where nothing is alive. ``observation`` is what comes out, ``remarks`` what is said of
it, ``alerts`` what an operator should look at.
"""

import time
from collections.abc import Callable

from collectors.backends.backend import Backend
from collectors.errors import SourceError
from collectors.reading.discovery import discover
from collectors.reading.layout import is_stale
from collectors.reading.no_data import silent, stale_or_empty
from collectors.reading.observation import Observation, State, without_data
from collectors.reading.observe import observe
from collectors.reading.remarks import RemarkKind, remark
from collectors.reading.topology import find_topology, refusal
from collectors.source import Source
from collectors.vocabulary.detect import names_of


def read_from(
    backend: Backend,
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    clock: Callable[[], float] = time.time,
) -> Observation:
    """One observation at ``at_s`` (None: now) over ``window_s`` (None: the source's). Never raises SourceError."""
    window = window_s or source.window_s
    try:
        return _read(backend, source, at_s, window, clock)
    except SourceError as error:
        return without_data(
            name=source.name,
            state=State.UNREACHABLE,
            cause=remark(RemarkKind.SOURCE_FAILED, error=error),
            at_s=at_s if at_s is not None else clock(),
            window_s=window,
            engine=source.engine,
        )


def _read(
    backend: Backend, source: Source, at_s: float | None, window_s: float, clock: Callable[[], float]
) -> Observation:
    discovery = discover(backend, source, at_s, clock)
    engine = discovery.engine
    if engine is None or not any(name in discovery.names for name in names_of(engine.vocabulary, engine.spelling)):
        return silent(backend, source, discovery, window_s)
    refused = refusal(engine, source, dedicated=backend.dedicated)
    if refused is not None:
        return without_data(
            name=source.name,
            state=State.NO_DATA,
            cause=refused,
            warnings=discovery.warnings,
            at_s=discovery.at_s,
            window_s=window_s,
            engine=engine.vocabulary.id,
        )
    topology = find_topology(backend, source, discovery, engine, window_s)
    if is_stale(topology.layout, discovery.at_s):
        return stale_or_empty(backend, source, discovery, topology)
    return observe(backend, source, discovery, topology)
