"""The threads that scrape: what one target does wrong is its own failure, and none outlives its end."""

import contextlib
import io
import socketserver
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.scraper import Scraper, ScrapeTarget
from collectors.backends.scrape.store import Ring
from collectors.errors import Unreachable
from collectors.prometheus.fetch import Fetcher, FetchLimits
from collectors.queries.query import of_source
from tests.collectors.servers import Pages, serving
from tests.patience import PATIENCE_S, until

ROOT = Path(__file__).parents[4]
PAGE = "vllm:num_requests_running 1\n"

ENDING = """
import atexit, sys, time
from collectors.connect import scraping
from collectors.source import source_from

source = source_from({"schema_version": 1, "name": "x", "scrape": {"targets": [sys.argv[1]], "store": sys.argv[2]}})
session = scraping(source, source.scrape.model_copy(update={"interval_s": 0.02}))
atexit.register(time.sleep, 1.0)  # the interpreter is ending, and the thread still scrapes
session.scraper.start()
while len(session.ring.times(0.0, time.time() + 1.0)) < 2:
    time.sleep(0.02)
"""


def test_a_process_that_ends_while_it_scrapes_says_nothing(tmp_path: Path) -> None:
    with serving(Pages({"/metrics": "up_total 1\nvllm:num_requests_running 1\n"})) as server:
        done = subprocess.run(
            [sys.executable, "-c", ENDING, f"{server.url}/metrics", str(tmp_path / "ring.sqlite")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class Failing(requests.Session):
    """A session that answers every address but those told to fail, and those with what they are told to raise."""

    def __init__(self, page: str, raised: Mapping[str, Exception]) -> None:
        super().__init__()
        self._page, self._raised = page, raised

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        error = self._raised.get(str(url))
        if error is not None:
            raise error
        found = requests.Response()
        found.status_code = 200
        found.raw = io.BytesIO(self._page.encode())
        return found


def scraper_of(session: requests.Session, *urls: str) -> tuple[Ring, Scraper]:
    ring = Ring(None, keep_s=3600.0, max_bytes=1 << 24)
    targets = [ScrapeTarget(url) for url in urls]
    return ring, Scraper(targets, ring, Fetcher(session=session, limits=FetchLimits(attempts=1)), interval_s=0.01)


@pytest.fixture
def scraping_threads() -> Callable[[], list[str]]:
    """Names of the threads that scrape for this test: a page of an earlier test may still have its own."""
    others = set(threading.enumerate())

    def names() -> list[str]:
        now = set(threading.enumerate()) - others
        return [thread.name for thread in now if thread.name.startswith(("scraper", "scrape_"))]

    return names


UNEXPECTED = (
    RuntimeError("boom"),
    MemoryError(),
    RecursionError(),
    ZeroDivisionError(),
    KeyError("x"),
    StopIteration(),
)


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda error: type(error).__name__)
def test_an_unexpected_exception_is_the_failure_of_its_target_alone(
    error: Exception, caplog: pytest.LogCaptureFixture, scraping_threads: Callable[[], list[str]]
) -> None:
    ring, scraper = scraper_of(Failing(PAGE, {"http://bad:1/": error}), "http://bad:1/", "http://good:1/")
    scraper.start()
    until(lambda: len(ring.times(0.0, time.time() + 1.0)) >= 3)
    scraper.close()
    newest = ring.newest()
    assert newest["http://bad:1/"][1] == f"bad:1 could not be read: an unexpected {type(error).__name__}."
    assert newest["http://good:1/"][1] == ""
    assert type(error).__name__ in caplog.text
    assert "boom" not in caplog.text
    until(lambda: scraping_threads() == [])


def test_a_source_whose_only_target_fails_unexpectedly_is_unreachable_with_a_reason() -> None:
    ring, scraper = scraper_of(Failing(PAGE, {"http://bad:1/": RuntimeError()}), "http://bad:1/")
    assert not scraper.scrape()
    with pytest.raises(Unreachable, match=r"bad:1 could not be read: an unexpected RuntimeError\."):
        RingBackend(ring, scraper.targets).vectors([of_source("up", "up")], at_s=None)


def test_a_round_that_fails_as_a_whole_is_not_the_last(
    monkeypatch: pytest.MonkeyPatch, scraping_threads: Callable[[], list[str]]
) -> None:
    ring, scraper = scraper_of(Failing(PAGE, {}), "http://good:1/")
    failed = threading.Event()
    add = ring.add

    def once(*args: Any) -> None:
        if not failed.is_set():
            failed.set()
            raise sqlite3.OperationalError("database or disk is full")
        add(*args)

    monkeypatch.setattr(ring, "add", once)
    scraper.start()
    until(lambda: len(ring.times(0.0, time.time() + 1.0)) >= 1)
    scraper.close()
    assert failed.is_set()
    until(lambda: scraping_threads() == [])


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"])
def test_no_thread_outlives_closing_whatever_a_target_does(
    head: bytes, scraping_threads: Callable[[], list[str]]
) -> None:
    """A target that sends nothing, or byte by byte for ever, is given up after its time-out as a whole."""
    with dripping(head) as (url, connected):
        ring = Ring(None, keep_s=3600.0, max_bytes=1 << 24)
        fetcher = Fetcher(limits=FetchLimits(timeout_s=1.0, attempts=1))
        scraper = Scraper([ScrapeTarget(url)] * 40, ring, fetcher, interval_s=0.01)
        scraper.start()
        assert connected.wait(PATIENCE_S)
        assert scraping_threads()
        scraper.close()
        until(lambda: scraping_threads() == [])
        assert all(problem for _, problem in ring.newest().values())


@contextlib.contextmanager
def dripping(head: bytes) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends ``head`` and then a byte now and then (nothing where it is empty) until the end."""
    connected, ended = threading.Event(), threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(4096)
            connected.set()
            with contextlib.suppress(OSError):
                self.request.sendall(head)
                while not ended.wait(0.05):
                    self.request.sendall(head[-1:] and b"a")

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics", connected
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
