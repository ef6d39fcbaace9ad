"""Open connections: one per server for all viewers. The demo makes its own past, a scrape its own ring."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from collectors.backend import Backend, Ranges, Vectors
from collectors.connect import prometheus_backend, scraping
from collectors.demo.day import DAY_S
from collectors.demo.feed import DemoFeed
from collectors.source import Source
from ui.sources.known import Known, Origin

IDLE_S = 1800.0
"""After this long without a viewer, a typed source is no longer scraped."""

DEMO_FIRST_HOURS = 1.0
DEMO_BLOCK_S = 300.0


class Connection(Protocol):
    """Something that answers until it is closed."""

    backend: Backend

    def close(self) -> None:
        """Stop what runs in the background."""


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A connection with a way to end it."""

    backend: Backend
    end: Callable[[], None]

    def close(self) -> None:
        """See Connection."""
        self.end()


class DemoConnection:
    """The demo: its last hour at once, the rest of its day made in the background, beside the pages."""

    dedicated = True

    def __init__(self, *, clock: Callable[[], float] = time.time, whole_day: bool = True) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._feed = DemoFeed(hours=DEMO_FIRST_HOURS, clock=clock)
        self._closed = threading.Event()
        self.backend: Backend = self
        self.where = "the demo deployment"
        if whole_day:
            threading.Thread(target=self._make_the_day, name="demo", daemon=True).start()

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        """See Backend."""
        return self._caught_up().backend.vectors(expressions, at_s=at_s)

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """See Backend."""
        return self._caught_up().backend.ranges(expressions, start_s=start_s, end_s=end_s, step_s=step_s)

    def close(self) -> None:
        """See Connection."""
        self._closed.set()

    def _caught_up(self) -> DemoFeed:
        with self._lock:
            self._feed.catch_up()
            return self._feed

    def _make_the_day(self) -> None:
        """A feed of the whole day takes the place of the first one. Half of the time is left to the pages."""
        moment = [self._clock() - DAY_S + DEMO_BLOCK_S]
        feed = DemoFeed(hours=0.0, clock=lambda: moment[0])
        while moment[0] < self._clock() and not self._closed.is_set():
            begun = time.monotonic()
            moment[0] = min(moment[0] + DEMO_BLOCK_S, self._clock())
            feed.catch_up()
            self._closed.wait(time.monotonic() - begun)
        feed.follow(self._clock)
        with self._lock:
            self._feed = feed


class Connections:
    """What is open, by the key of the connection."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Connection] = {}
        self._used: dict[str, tuple[float, Origin]] = {}

    def backend(self, known: Known) -> Backend:
        """The backend of a source, opened by the first who asks. Raises SourceError. May take seconds."""
        key = known.connection_key
        with self._lock:
            self._used[key] = (self._clock(), known.origin)
            self._close_idle()
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            if key not in self._open:
                self._open[key] = _opened(known)
            return self._open[key].backend

    def close(self) -> None:
        """Close everything."""
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()

    def _close_idle(self) -> None:
        for key, (used_s, origin) in list(self._used.items()):
            if origin is Origin.TYPED and self._clock() - used_s > IDLE_S and key in self._open:
                del self._used[key]
                self._open.pop(key).close()


def _opened(known: Known) -> Connection:
    if known.origin is Origin.DEMO:
        return DemoConnection()
    source = known.source
    if source.prometheus is not None:
        return Plain(backend=prometheus_backend(source, source.prometheus), end=lambda: None)
    return _scraped(source)


def _scraped(source: Source) -> Connection:
    """A scrape that goes on in the background, once its ring holds enough for a rate."""
    assert source.scrape is not None
    session = scraping(source, source.scrape)
    session.catch_up(window_s=source.window_s, wait=time.sleep)
    session.scraper.start()

    def end() -> None:
        session.scraper.stop()
        session.ring.close()

    return Plain(backend=session.backend, end=lambda: threading.Thread(target=end, daemon=True).start())
