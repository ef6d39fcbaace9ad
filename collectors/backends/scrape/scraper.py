"""Reading metrics pages on an interval into the ring."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from collectors.backends.scrape.kept import kept
from collectors.backends.scrape.store import Ring
from collectors.backends.scrape.text import BrokenPage, PageSample, read_page
from collectors.prometheus.errors import SourceError, UnusableAnswer
from collectors.prometheus.fetch import Fetcher, Reply, status_problem
from collectors.vocabulary import Candidate

ACCEPT = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.8, */*;q=0.1"
JOB = "scrape"
CONNECTIONS = 16


@dataclass(frozen=True)
class Target:
    """One page to read."""

    url: str

    @property
    def instance(self) -> str:
        """host:port, with the path where it is not the usual one."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        return parts.netloc + ("" if path in ("", "/metrics") else path)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels every series of this target carries."""
        return {"job": JOB, "instance": self.instance}


class Scraper:
    """Reads all targets at once, every ``interval_s``; a target that fails does not hold up the others."""

    def __init__(
        self,
        targets: Sequence[Target],
        ring: Ring,
        fetcher: Fetcher,
        *,
        interval_s: float,
        overrides: Sequence[Candidate] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.targets, self.interval_s = tuple(targets), interval_s
        self._ring, self._fetcher, self._clock = ring, fetcher, clock
        self._overrides = tuple(overrides)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def scrape(self) -> bool:
        """Read every target once, now; whether one of them answered."""
        at_s = self._clock()
        with ThreadPoolExecutor(max_workers=min(CONNECTIONS, len(self.targets))) as pool:
            return any(list(pool.map(lambda target: self._one(target, at_s), self.targets)))

    def _one(self, target: Target, at_s: float) -> bool:
        begun = self._clock()
        try:
            samples = page_of(self._fetcher.get(target.url, accept=ACCEPT), target.instance)
        except SourceError as error:
            self._ring.add_failure(target.url, at_s, self._clock() - begun, str(error))
            return False
        self._ring.add(target.url, at_s, self._clock() - begun, kept(samples, self._overrides))
        return True

    def start(self) -> None:
        """Scrape in a thread until :meth:`stop`."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="scraper", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self.interval_s + 30)
            self._thread = None

    @property
    def running(self) -> bool:
        """Whether the thread scrapes."""
        return self._thread is not None

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.scrape()
            except sqlite3.Error:
                pass  # a full or locked disk: the next round may find it well again
            except RuntimeError:
                if threading.main_thread().is_alive():
                    raise
                return  # the process ends: no thread starts any more
            due = max(due + self.interval_s, time.monotonic())
            self._stop.wait(max(0.0, due - time.monotonic()))


def page_of(reply: Reply, where: str) -> list[PageSample]:
    """The samples of a page. Raises SourceError with one sentence for anything that is not one."""
    if reply.status != 200:
        raise status_problem(reply.status, where)
    try:
        text = reply.body.decode("utf-8")
    except UnicodeDecodeError:
        raise UnusableAnswer(f"{where} answers with something that is not text.") from None
    head = text[:200].lstrip().lower()
    if head.startswith(("<!doctype", "<html")):
        raise UnusableAnswer(f"{where} answers with a web page, not metrics: is this the path of the metrics?")
    if head.startswith(("{", "[")):
        raise UnusableAnswer(f"{where} answers with JSON, not metrics: trtllm-serve has them at /prometheus/metrics.")
    try:
        samples = read_page(text)
    except BrokenPage as broken:
        raise UnusableAnswer(f"{where} does not answer with metrics. {broken}") from None
    if not samples:
        raise UnusableAnswer(f"{where} answers with an empty page.")
    return samples
