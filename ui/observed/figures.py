"""Figures of this process for Prometheus, in OpenMetrics: page and plan times, sources, refusals, sessions, memory.

Labels hold names of pages and kinds of outcomes, never what somebody typed. deploy/grafana has a board of them.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.asgi import make_asgi_app
from prometheus_client.registry import Collector
from starlette.types import ASGIApp

from sizing.base.version import ENGINE_VERSION

PATH = "/metrics"
"""Where they are read, by whoever may ask about the server (SIZING_PROBES)."""

_BUCKETS_S = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6)
"""Chosen: from a cached page to a search over everything on a busy machine, each twice the last."""

_LOG = logging.getLogger(__name__)
_REGISTRY = CollectorRegistry()
ProcessCollector(registry=_REGISTRY)  # resident memory, CPU seconds, open files; on Linux
_ENGINE = Info("sizing_engine", "The engine that answers here.", registry=_REGISTRY)
_ENGINE.info({"version": ENGINE_VERSION})

PAGE_S = Histogram(
    "sizing_page_seconds",
    "Time of one run of a page, from the first line to the last.",
    ["page"],
    buckets=_BUCKETS_S,
    registry=_REGISTRY,
)
PAGES_FAILED = Counter("sizing_pages_failed", "Runs of a page that ended in a bug.", ["page"], registry=_REGISTRY)
PLAN_S = Histogram(
    "sizing_plan_seconds",
    "Time of one plan that was computed, or of what Explore works out.",
    buckets=_BUCKETS_S,
    registry=_REGISTRY,
)
LONG_S = Histogram(
    "sizing_simulation_seconds",
    "Time of one simulation on Size that was computed.",
    buckets=tuple(8.0 * edge for edge in _BUCKETS_S),
    registry=_REGISTRY,
)
SOURCE_S = Histogram(
    "sizing_source_seconds", "Time of one question to a live source.", buckets=_BUCKETS_S, registry=_REGISTRY
)
SOURCE_ERRORS = Counter(
    "sizing_source_errors", "Questions to live sources that had no answer.", ["kind"], registry=_REGISTRY
)
LOGGED = Counter("sizing_logged", "Warnings and errors in the log.", ["logger", "level"], registry=_REGISTRY)
REFUSED = Counter("sizing_requests_refused", "Requests that the gate refused.", ["status"], registry=_REGISTRY)
_SESSIONS = Gauge("sizing_sessions", "Browsers that are connected.", registry=_REGISTRY)
_UPLOADED = Gauge("sizing_uploaded_bytes", "Bytes of uploaded files that are kept in memory.", registry=_REGISTRY)


def exposed(*, sessions: Callable[[], int], uploaded: Callable[[], Mapping[str, int]]) -> ASGIApp:
    """What answers a scrape; both gauges are asked then."""
    _SESSIONS.set_function(sessions)
    _UPLOADED.set_function(lambda: sum(uploaded().values()))
    return make_asgi_app(registry=_REGISTRY)


def register(collector: Collector) -> None:
    """Have another room of the pages tell figures of its own, asked for at each scrape."""
    _REGISTRY.register(collector)


@contextmanager
def watched(page: str) -> Iterator[None]:
    """Time one run of a page, however it ends: Streamlit stops and begins scripts anew by exceptions of its own."""
    begun = time.perf_counter()
    try:
        yield
    except Exception:
        PAGES_FAILED.labels(page).inc()
        raise
    finally:
        taken_s = time.perf_counter() - begun
        PAGE_S.labels(page).observe(taken_s)
        _LOG.info("page %s", page, extra={"page": page, "seconds": round(taken_s, 3)})
