"""Finds the backend that answers for a source, and reads an observation from it."""

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from collectors.backends.backend import Backend, PrometheusBackend
from collectors.backends.cache import CachingBackend
from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.scraper import CONNECTIONS, Scraper, ScrapeTarget
from collectors.backends.scrape.store import MOST_CHURN_BYTES, Ring
from collectors.backends.veiled import Veil, VeiledBackend
from collectors.prometheus import Clock, Fetcher, FetchLimits, PrometheusClient
from collectors.reading import read_from
from collectors.reading.observation import Observation, State, without_data
from collectors.reading.remarks import RemarkKind, remark
from collectors.source import PrometheusSource, ScrapeSource, Source
from collectors.units import MIB

T = TypeVar("T")
SILENT = (State.UNREACHABLE, State.NO_DATA, State.STALE)
"""States of a source that has nothing more to say."""
FIRST_SCRAPES = 4
"""Before the first answer: what a rate needs in its window."""
LONGEST_PAUSE_S = 5.0
"""Between the first scrapes. Chosen: three pauses are what somebody waits for."""


@dataclass(frozen=True, kw_only=True)
class SourceBounds:
    """What one source may take. Those of a file are what whoever wrote it wants.

    ``answer_bytes`` of one answer; ``at_once`` targets read side by side; ``churn_bytes`` of lists of series that are
    new within an hour; ``ring_bytes`` of a ring that is kept in memory alone, None: in its file, as the source says;
    ``veiled``: see :mod:`collectors.backends.veiled`.
    """

    answer_bytes: int = FetchLimits.max_bytes
    at_once: int = CONNECTIONS
    churn_bytes: float = MOST_CHURN_BYTES
    ring_bytes: int | None = None
    veiled: bool = False


OF_A_FILE = SourceBounds()


def prometheus_backend(
    source: Source, settings: PrometheusSource, *, clock: Clock | None = None, bounds: SourceBounds = OF_A_FILE
) -> CachingBackend:
    """The backend of a Prometheus source, with its memory; ``clock`` is for tests."""
    fetcher = Fetcher(
        access=settings.access(source.folder),
        limits=FetchLimits(timeout_s=settings.timeout_s, max_bytes=bounds.answer_bytes),
        clock=clock,
        allow_link_local=settings.allow_link_local,
        use_environment_proxy=settings.use_environment_proxy,
    )
    client = PrometheusClient(
        settings.url, fetcher=fetcher, params=settings.params, allow_link_local=settings.allow_link_local
    )
    backend = PrometheusBackend(client)
    return CachingBackend(VeiledBackend(backend, Veil()) if bounds.veiled else backend)


@dataclass(frozen=True, kw_only=True)
class Scraping:
    """A ring, what fills it and what answers from it."""

    ring: Ring
    scraper: Scraper
    backend: RingBackend

    def catch_up(
        self, *, window_s: float, now_s: Callable[[], float] = time.time, wait: Callable[[float], None]
    ) -> None:
        """Scrape until the window holds enough for rates: at most 15 s, at once where a target never answers."""
        if self.scraper.running:
            return
        pause = min(self.scraper.interval_s, LONGEST_PAUSE_S, max(0.5, window_s / FIRST_SCRAPES))
        answered = self.scraper.scrape()
        while answered and len(self.ring.times(now_s() - window_s, now_s())) < FIRST_SCRAPES:
            wait(pause)
            answered = self.scraper.scrape()


def scraping(
    source: Source, settings: ScrapeSource, *, clock: Callable[[], float] = time.time, bounds: SourceBounds = OF_A_FILE
) -> Scraping:
    """The ring of a scrape source."""
    targets = [ScrapeTarget(url) for url in settings.targets]
    ring = _ring(source, settings, bounds)
    fetcher = Fetcher(
        access=settings.access(source.folder),
        limits=FetchLimits(timeout_s=settings.timeout_s, attempts=1, max_bytes=bounds.answer_bytes),
        allow_link_local=settings.allow_link_local,
        use_environment_proxy=settings.use_environment_proxy,
    )
    scraper = Scraper(
        targets,
        ring,
        fetcher,
        interval_s=settings.interval_s,
        overrides=tuple(source.metrics.values()),
        clock=clock,
        at_once=bounds.at_once,
        veil=Veil() if bounds.veiled else None,
    )
    return Scraping(ring=ring, scraper=scraper, backend=RingBackend(ring, targets, clock=clock))


def _ring(source: Source, settings: ScrapeSource, bounds: SourceBounds) -> Ring:
    """The ring in its file; in memory where that cannot be used, or where the bounds say so."""
    if bounds.ring_bytes is not None:
        return Ring(None, keep_s=settings.keep_s, max_bytes=bounds.ring_bytes, most_churn=bounds.churn_bytes)
    max_bytes = int(settings.max_mb * MIB)
    try:
        return Ring(store_path(source, settings), keep_s=settings.keep_s, max_bytes=max_bytes)
    except (OSError, sqlite3.Error):
        return Ring(None, keep_s=settings.keep_s, max_bytes=max_bytes)


def store_path(source: Source, settings: ScrapeSource) -> Path:
    """The file of a ring: as asked, relative to the source file, else one per set of targets in the user's cache."""
    if settings.store is not None:
        return source.folder / settings.store
    digest = hashlib.sha256("\n".join(sorted(settings.targets)).encode()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(cache) / "inference-sizing" / "live" / f"{digest}.sqlite"


@contextlib.contextmanager
def answering(
    source: Source,
    *,
    window_s: float | None = None,
    keep_scraping: bool = False,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[Backend]:
    """The backend of a source; of one that scrapes, its ring, caught up and closed afterwards.

    ``keep_scraping``: for many readings, the ring is filled in the background until then. Raises sqlite3.Error where
    the ring cannot be used.
    """
    if source.prometheus is not None:
        yield prometheus_backend(source, source.prometheus)
        return
    assert source.scrape is not None
    session = scraping(source, source.scrape, clock=clock)
    with contextlib.ExitStack() as ends:
        ends.callback(session.ring.close)
        ends.callback(session.scraper.close)
        try:
            session.catch_up(window_s=window_s or source.window_s, now_s=clock, wait=wait)
            if keep_scraping:
                session.scraper.start()
            yield session.backend
        except KeyboardInterrupt:  # the process ends, and its threads with it: a target that hangs is not waited for
            session.scraper.stop()
            ends.pop_all()
            raise


def read(
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> Observation:
    """One observation of a source. A source that cannot be reached is an answer, not an error."""
    observed, _ = read_and(
        lambda own, observed: None, source, at_s=at_s, window_s=window_s, backend=backend, clock=clock, wait=wait
    )
    return observed


def read_and(
    more: Callable[[Backend, Observation], T],
    source: Source,
    *,
    at_s: float | None,
    window_s: float | None,
    backend: Backend | None,
    clock: Callable[[], float],
    wait: Callable[[float], None],
) -> tuple[Observation, T | None]:
    """One observation of a source, and ``more`` that is read at the same moment; None where there is no data.

    ``backend`` is left open; without it, one of our own answers.
    """
    given = None if backend is None else contextlib.nullcontext(backend)
    try:
        with given or answering(source, window_s=window_s, clock=clock, wait=wait) as own:
            observed = read_from(own, source, at_s=at_s, window_s=window_s, clock=clock)
            return observed, None if observed.state in SILENT else more(own, observed)
    except sqlite3.Error as error:
        return without_ring(source, error, at_s=clock(), window_s=window_s or source.window_s), None


def without_ring(source: Source, error: sqlite3.Error, *, at_s: float, window_s: float) -> Observation:
    """The observation of a source whose ring of scrapes cannot be used."""
    return without_data(
        name=source.name,
        state=State.UNREACHABLE,
        cause=remark(RemarkKind.RING_UNUSABLE, error=error),
        at_s=at_s,
        window_s=window_s,
        engine=source.engine,
    )
