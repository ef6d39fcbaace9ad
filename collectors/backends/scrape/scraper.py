"""Reading metrics pages on an interval into the ring.

Whatever goes wrong with one target is that target's failure: it is kept in the ring with its reason, and shown.
"""

import logging
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import urlsplit

from collectors.backends.scrape.store import Ring
from collectors.backends.scrape.text import PageSample, read_page
from collectors.backends.side_by_side import side_by_side
from collectors.backends.veiled import Veil
from collectors.errors import BrokenPage, SourceError, TooLarge, UnusableAnswer
from collectors.prometheus.fetch import Fetcher, Reply, status_problem
from collectors.vocabulary import MetricCandidate, engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.opencost import NAMES as OPENCOST_NAMES
from collectors.vocabulary.schema import spelled_in
from collectors.vocabulary.spellings import respelled, spellings

ACCEPT = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.8, */*;q=0.1"
JOB = "scrape"
CONNECTIONS = 16
"""Targets that are read at once. Chosen: more than the replicas of most deployments, few for one machine."""
REST_S = 300.0
"""How long a target is left alone whose page, or whose list of series, is too large. Chosen: reading it costs most."""

_log = logging.getLogger(__name__)

ALWAYS = ("process_start_time_seconds",)


@dataclass(frozen=True)
class ScrapeTarget:
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
        targets: Sequence[ScrapeTarget],
        ring: Ring,
        fetcher: Fetcher,
        *,
        interval_s: float,
        overrides: Sequence[MetricCandidate] = (),
        clock: Callable[[], float] = time.time,
        at_once: int = CONNECTIONS,
        veil: Veil | None = None,
    ) -> None:
        self.targets, self.interval_s = tuple(targets), interval_s
        self._ring, self._fetcher, self._clock = ring, fetcher, clock
        self._overrides = tuple(overrides)
        self._at_once, self._veil = at_once, veil
        self._resting: dict[str, tuple[float, str]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def scrape(self) -> bool:
        """Read every target once, now; whether one of them answered. Raises sqlite3.Error where the ring cannot."""
        at_s = self._clock()
        read = partial(self._one, at_s=at_s)
        return any(side_by_side(read, self.targets, at_once=self._at_once, name="scrape"))

    def _one(self, target: ScrapeTarget, at_s: float) -> bool:
        """Read one target; whether it answered. Its failure is in the ring."""
        if self._stop.is_set():
            return False
        until_s, problem = self._resting.get(target.url, (0.0, ""))
        if at_s < until_s:
            self._ring.add_failure(target.url, at_s, 0.0, problem)
            return False
        begun, begun_s = self._clock(), time.monotonic()
        try:
            page = page_of(self._fetcher.get(target.url, accept=ACCEPT), target.instance)
            self._ring.add(target.url, at_s, self._clock() - begun, kept(page, self._overrides))
            self._answered(target)
            return True
        except sqlite3.Error:
            raise  # the ring's trouble, not that of the target
        except SourceError as error:
            problem = self._told(target, error, begun_s)
            if isinstance(error, TooLarge):
                self._resting[target.url] = (at_s + REST_S, problem)
        except Exception as error:  # noqa: BLE001 - a fault in reading one page must not end the scraping of all
            problem = f"{target.instance} could not be read: an unexpected {type(error).__name__}."
            _log.error("scraping: %s Raised at %s", problem, _place(error))  # its text may hold a credential
        self._ring.add_failure(target.url, at_s, self._clock() - begun, problem)
        return False

    def _answered(self, target: ScrapeTarget) -> None:
        if self._veil is not None:
            self._veil.lift(target.instance)

    def _told(self, target: ScrapeTarget, error: SourceError, begun_s: float) -> str:
        return str(error if self._veil is None else self._veil.over(target.instance, error, begun_s))

    def start(self) -> None:
        """Scrape in a thread until :meth:`close`."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="scraper", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Begin no further reading; waits for nothing."""
        self._stop.set()

    def close(self) -> None:
        """End every thread and connection: waits for the targets being read, no longer than their time-out."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._fetcher.close()

    @property
    def running(self) -> bool:
        """Whether the thread that scrapes has been started and not stopped."""
        return self._thread is not None

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.scrape()
            except RuntimeError as error:  # no thread can be started: the process ends, or has too many
                _log.debug("scraping: a round failed", exc_info=error)
                if not threading.main_thread().is_alive():
                    return
            except Exception as error:  # noqa: BLE001 - the next round may find a full disk well again
                _log.error("scraping: a round failed with %s, raised at %s", type(error).__name__, _place(error))
            due = max(due + self.interval_s, time.monotonic())
            self._stop.wait(max(0.0, due - time.monotonic()))


def _place(error: BaseException) -> str:
    """File and line at which an exception was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"


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


def names_of(candidate: MetricCandidate) -> set[str]:
    """Every metric a candidate may ask for."""
    names = set(candidate.metrics)
    if candidate.histogram:
        names |= {f"{candidate.histogram}{part}" for part in ("", "_bucket", "_sum", "_count")}
    for text in (candidate.zeros, candidate.expr, candidate.mean):
        names |= set(spelled_in(text or ""))
    return names | ({candidate.beside} if candidate.beside else set())


@cache
def known_names() -> frozenset[str]:
    """Every metric of every vocabulary, in every spelling."""
    names = {*ALWAYS, *OPENCOST_NAMES}
    for vocabulary in engine_vocabularies().values():
        own = {*vocabulary.detect, *vocabulary.weak, *vocabulary.bare, *(vocabulary.hands_over or ())}
        own |= {name for names in vocabulary.variants.values() for name in names}
        own |= {name for concept in vocabulary.concepts.values() for use in concept.use for name in names_of(use)}
        names |= {respelled(name, spelling) for name in own for spelling in spellings(vocabulary)}
    for gpu in gpu_vocabularies().values():
        own = set(gpu.detect)
        own |= {name for concept in gpu.concepts.values() for use in concept.use for name in names_of(use)}
        names |= {respelled(name, spelling) for name in own for spelling in spellings(gpu)}
    return frozenset(names)


def kept(samples: Sequence[PageSample], overrides: Iterable[MetricCandidate] = ()) -> list[PageSample]:
    """The samples of the metrics that a vocabulary or the source itself names; the rest of a page is dropped."""
    known, own = known_names(), {name for candidate in overrides for name in names_of(candidate)}
    return [sample for sample in samples if sample.name in known or sample.name in own]
