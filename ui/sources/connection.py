"""Open connections: one per server for all viewers. The demo makes its own past, a scrape its own ring."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from streamlit.runtime import exists, get_instance

from collectors.backends.backend import Backend, Ranges, Vectors
from collectors.connect import OF_A_FILE, SourceBounds, prometheus_backend, scraping
from collectors.demo.feed import DemoFeed
from collectors.errors import SourceError
from collectors.queries.query import Query
from collectors.source import Source
from sizing.base.units import S_PER_HOUR
from ui.sources.known import KnownSource, Origin

IDLE_S = 600.0
"""After this long without a question, a typed source is closed, though its sessions are still open."""

LOOK_S = 15.0
"""Between two looks for sessions that have ended. Chosen: as long as a page takes between two questions."""

MOST_TYPED_OPEN = 12
"""Typed sources that are open at a time, of all sessions. Chosen: those of a team; each takes 100 MB at worst."""

TYPED = SourceBounds(answer_bytes=1 << 20, at_once=4, churn_bytes=8 << 20, ring_bytes=16 << 20)
"""What a typed source may take. Chosen: ten times the page of an engine, and an hour of 32 of them. Its ring is in
memory: one in a file would be that of everybody who reads the same addresses, by whatever credentials."""

DEMO_OPENS_AT_S = 14.25 * S_PER_HOUR
"""Time of the demo's day at which it opens: what went wrong since 09:00 is in its past, the slow GPU still ahead."""

DEMO_FIRST_HOURS, DEMO_HOURS = 1.0, 6.0
"""Hours of its past that are made before the first answer, and beside the pages; one hour takes some 2 s of a core."""

DEMO_SEED = 3
"""Chosen: one whose last hour, a lost replica in it, can be judged; others queue for most of it."""

DEMO_BLOCK_S, DEMO_REST_S = 300.0, 15.0
"""The earlier hours are made in blocks, and begun when the first viewer has had time to get the last hour."""


class Connection(Protocol):
    """Something that answers until it is closed."""

    @property
    def backend(self) -> Backend:
        """The backend that answers the queries of this connection."""

    @property
    def generation(self) -> int:
        """Grows when there is more of the past than before: what was read of it is out of date."""

    def close(self) -> None:
        """Stop what runs in the background."""


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A connection with a way to end it."""

    backend: Backend
    end: Callable[[], None]
    generation: int = 0

    def close(self) -> None:
        """End the connection in the way that it was given."""
        self.end()


class DemoConnection:
    """The demo: its last hour at once, the hours before in the background, beside the pages."""

    dedicated = True

    def __init__(self, *, clock: Callable[[], float] = time.time, past: bool = True) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._begun_s = clock()
        self._feed = DemoFeed(hours=DEMO_FIRST_HOURS, clock=clock, second_of_day=DEMO_OPENS_AT_S, seed=DEMO_SEED)
        self._closed = threading.Event()
        self.backend: Backend = self
        self.where = "The demo deployment"
        self.generation = 0 if past else 1
        if past:
            threading.Thread(target=self._make_the_past, name="demo", daemon=True).start()

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """The demo's answers at a moment, once its feed has caught up."""
        return self._caught_up().backend.vectors(queries, at_s=at_s)

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """The demo's answers over a time, once its feed has caught up."""
        return self._caught_up().backend.ranges(queries, start_s=start_s, end_s=end_s, step_s=step_s)

    def close(self) -> None:
        """Stop the thread that makes the earlier hours."""
        self._closed.set()

    def _caught_up(self) -> DemoFeed:
        with self._lock:
            self._feed.catch_up()
            return self._feed

    def _make_the_past(self) -> None:
        """A feed with all its hours takes the place of the first one. Half of the time is left to the pages."""
        self._closed.wait(DEMO_REST_S)
        moment = [self._begun_s - DEMO_HOURS * S_PER_HOUR]
        opens_at_s = DEMO_OPENS_AT_S - DEMO_HOURS * S_PER_HOUR
        feed = DemoFeed(hours=0.0, clock=lambda: moment[0], second_of_day=opens_at_s, seed=DEMO_SEED)
        while self._clock() - moment[0] > DEMO_BLOCK_S and not self._closed.is_set():
            begun = time.monotonic()
            moment[0] += DEMO_BLOCK_S
            feed.catch_up()
            self._closed.wait(time.monotonic() - begun)
        feed.follow(self._clock)
        with self._lock:
            self._feed = feed
            self.generation = 1


class TooManyTyped(SourceError):
    """Raised where as many typed sources are open as this server allows."""


def is_alive(session: str) -> bool:
    """Whether a browser is there for this session."""
    return not exists() or bool(get_instance().is_active_session(session))


class Connections:
    """What is open, by the key of the connection. A typed source ends with the last session that asked about it."""

    def __init__(self, *, clock: Callable[[], float] = time.time, is_alive: Callable[[str], bool] = is_alive) -> None:
        self._clock, self._is_alive = clock, is_alive
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Connection] = {}
        self._held: dict[str, tuple[float, set[str]]] = {}
        self._typed: set[str] = set()
        self._closed = threading.Event()
        self._looking: threading.Thread | None = None

    def hold(self, known: KnownSource, session: str | None) -> None:
        """A session asks about a source; a typed one stays open for it."""
        if known.origin is not Origin.TYPED:
            return
        with self._lock:
            _, sessions = self._held.get(known.connection_key, (0.0, set[str]()))
            held = sessions | ({session} if session else set())
            self._held[known.connection_key] = (self._clock(), held)

    def backend(self, known: KnownSource) -> Backend:
        """The backend of a source, opened by the first who asks. Raises SourceError. May take seconds."""
        key = known.connection_key
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            if key not in self._open:
                if known.origin is Origin.TYPED:
                    self._make_room(key)
                try:
                    self._open[key] = _opened(known)
                except BaseException:
                    self._typed.discard(key)
                    raise
            return self._open[key].backend

    def _make_room(self, key: str) -> None:
        """A place for a typed source. Raises TooManyTyped where there is none beside those that are open."""
        self.close_ended()
        with self._lock:
            if len(self._typed) >= MOST_TYPED_OPEN:
                raise TooManyTyped("As many typed addresses are read as this server allows: try again later.")
            self._typed.add(key)
            if self._looking is None:
                self._looking = threading.Thread(target=self._look, name="ended", daemon=True)
                self._looking.start()

    def _look(self) -> None:
        while not self._closed.wait(LOOK_S):
            self.close_ended()

    def generation(self, known: KnownSource) -> int:
        """See Connection; 0 for a source that is not open."""
        connection = self._open.get(known.connection_key)
        return connection.generation if connection else 0

    def close(self) -> None:
        """Stop refreshing, and close every open connection."""
        self._closed.set()
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()

    def close_ended(self) -> None:
        """Close the typed sources whose sessions have ended, or have not asked for long."""
        with self._lock:
            ended = [key for key, held in self._held.items() if not self._is_looked_at(*held)]
            for key in ended:
                del self._held[key]
            for key in self._typed - self._held.keys():
                connection = self._open.pop(key, None)
                if connection is None:  # it is being opened, and looked at the next time
                    continue
                self._typed.discard(key)
                # A target that is being read may take its time-out: whoever asks for another source need not wait.
                threading.Thread(target=connection.close, name="closing", daemon=True).start()

    def _is_looked_at(self, used_s: float, sessions: set[str]) -> bool:
        return self._clock() - used_s <= IDLE_S and any(map(self._is_alive, sessions))


def _opened(known: KnownSource) -> Connection:
    if known.origin is Origin.DEMO:
        return DemoConnection()
    source = known.source
    bounds = replace(TYPED, veiled=known.veiled) if known.origin is Origin.TYPED else OF_A_FILE
    if source.prometheus is not None:
        return Plain(backend=prometheus_backend(source, source.prometheus, bounds=bounds), end=lambda: None)
    return _scraped(source, bounds)


def _scraped(source: Source, bounds: SourceBounds) -> Connection:
    """A scrape that goes on in the background, once its ring holds enough for a rate."""
    assert source.scrape is not None
    session = scraping(source, source.scrape, bounds=bounds)
    session.catch_up(window_s=source.window_s, wait=time.sleep)
    session.scraper.start()

    def end() -> None:
        session.scraper.close()
        session.ring.close()

    return Plain(backend=session.backend, end=end)
