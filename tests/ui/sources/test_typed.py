"""Typed sources: what they may take, when they end, and what a refusal tells whoever typed them."""

import itertools
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from bench.server import free_port
from collectors.backends.backend import PrometheusBackend
from collectors.backends.scrape.scraper import Scraper, ScrapeTarget
from collectors.backends.scrape.store import CHURN_S, Ring
from collectors.backends.scrape.text import PageSample
from collectors.backends.veiled import LEAST_S, Veil, VeiledBackend
from collectors.connect import scraping
from collectors.errors import SourceError, TooLarge
from collectors.prometheus import PrometheusClient
from collectors.prometheus.fetch import Fetcher, FetchLimits
from collectors.queries.query import Query, Subject
from collectors.source import Source, source_from
from tests.collectors.servers import Asked, Server, Told, serving
from tests.patience import until
from ui.sources import connection
from ui.sources.connection import MOST_TYPED_OPEN, TYPED, Connections, TooManyTyped
from ui.sources.known import KnownSource, Origin


def typed(url: str, n: int = 0, *, veiled: bool = False) -> KnownSource:
    raw = {"schema_version": 1, "name": f"s{n}", "scrape": {"targets": [f"{url}/metrics?n={n}".split("?")[0]]}}
    source = source_from(raw).model_copy(update={"folder": source_from(raw).folder / str(n)})
    return KnownSource(name=f"s{n}", origin=Origin.TYPED, source=source, veiled=veiled)


@pytest.fixture
def engine() -> Iterator[Server]:
    page = 'vllm:num_requests_running{engine="0",model_name="m"} 1\n'
    with serving(lambda asked: Told(body=page.encode(), content_type="text/plain")) as server:
        yield server


class Sessions:
    """Which are open."""

    def __init__(self, *names: str) -> None:
        self.open = set(names)

    def __call__(self, session: str) -> bool:
        return session in self.open


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources open without waiting for a rate."""

    class Opened:
        backend = None
        generation = 0

        def __init__(self) -> None:
            self.closed = False

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(connection, "_opened", lambda known: Opened())


@pytest.mark.usefixtures("quick")
def test_a_typed_source_ends_with_the_last_session_that_looks_at_it() -> None:
    sessions = Sessions("a", "b")
    connections = Connections(is_alive=sessions)
    known = typed("http://127.0.0.1:1")
    for session in ("a", "b"):
        connections.hold(known, session)
    connections.backend(known)
    opened = connections._open[known.connection_key]
    sessions.open = {"b"}
    connections.close_ended()
    assert not opened.closed
    sessions.open = set()
    connections.close_ended()
    until(lambda: opened.closed)
    assert not connections._open
    connections.close()


@pytest.mark.usefixtures("quick")
def test_sessions_that_ended_are_looked_for_without_anybody_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOOK_S", 0.02)
    connections = Connections(is_alive=Sessions())
    known = typed("http://127.0.0.1:1")
    connections.hold(known, "gone")
    connections.backend(known)
    until(lambda: not connections._open)
    connections.close()


@pytest.mark.usefixtures("quick")
def test_a_source_that_nobody_asks_about_is_closed() -> None:
    now = [0.0]
    connections = Connections(clock=lambda: now[0], is_alive=Sessions("a"))
    known = typed("http://127.0.0.1:1")
    connections.hold(known, "a")
    connections.backend(known)
    now[0] = connection.IDLE_S + 1.0
    connections.close_ended()
    assert not connections._open
    connections.close()


@pytest.mark.usefixtures("quick")
def test_so_many_typed_sources_are_open_at_a_time() -> None:
    sessions = Sessions("a")
    connections = Connections(is_alive=sessions)
    for n in range(MOST_TYPED_OPEN):
        connections.hold(typed("http://127.0.0.1:1", n), "a")
        connections.backend(typed("http://127.0.0.1:1", n))
    one_more = typed("http://127.0.0.1:1", MOST_TYPED_OPEN)
    connections.hold(one_more, "a")
    with pytest.raises(TooManyTyped, match="As many typed addresses are read as this server allows"):
        connections.backend(one_more)
    sessions.open = {"b"}  # the others' browser was closed
    connections.hold(one_more, "b")
    assert connections.backend(one_more) is None
    connections.close()


def samples(scrape: int, count: int = 200) -> list[PageSample]:
    """A page whose labels are new at every scrape."""
    return [
        PageSample("vllm:num_requests_running", (("pod", f"{scrape}-{n}-".ljust(200, "x")),), 1.0) for n in range(count)
    ]


def test_labels_that_change_with_every_scrape_are_noticed_and_said() -> None:
    ring = Ring(None, keep_s=3600.0, max_bytes=1 << 24, most_churn=1 << 20)

    def churn() -> None:
        for scrape in range(100):
            ring.add("http://pod/metrics", float(scrape), 0.1, samples(scrape))

    with pytest.raises(TooLarge, match="labels are too many, or change with every reading: more than 1 MiB of names"):
        churn()
    ring.add("http://pod/metrics", CHURN_S + 200.0, 0.1, samples(0, 3))  # an hour later it is looked at again
    ring.close()


def test_the_same_series_again_are_no_churn() -> None:
    ring = Ring(None, keep_s=3600.0, max_bytes=1 << 24, most_churn=1 << 17)
    for scrape in range(300):
        ring.add("http://pod/metrics", float(scrape), 0.1, samples(scrape % 2))
    assert len(ring.times(-1.0, 300.0)) == 300
    ring.close()


def test_a_target_that_changes_too_much_is_left_alone() -> None:
    scrapes = itertools.count()

    def page(asked: Asked) -> Told:
        scrape = next(scrapes)
        lines = (f'vllm:num_requests_running{{pod="{scrape}-{n}-{"x" * 300}"}} 1\n' for n in range(200))
        return Told(body="".join(lines).encode(), content_type="text/plain")

    now = [0.0]
    with serving(page) as server:
        ring = Ring(None, keep_s=3600.0, max_bytes=1 << 24, most_churn=1 << 19)
        target = ScrapeTarget(f"{server.url}/metrics")
        scraper = Scraper([target], ring, Fetcher(), interval_s=5.0, clock=lambda: now[0])
        for now[0] in range(0, 250, 5):
            scraper.scrape()
        assert len(server.asked) < 12  # and not fifty
        assert "change with every reading" in ring.newest()[target.url][1]
        scraper.close()
        ring.close()


def test_a_typed_source_of_changing_labels_stays_small() -> None:
    """24 such pages once took 2.6 GB; what one may take is bounded, and so is how many there are."""
    scrapes = itertools.count()

    def page(asked: Asked) -> Told:
        scrape = next(scrapes)
        lines = (f'vllm:num_requests_running{{pod="{scrape}-{n}-{"x" * 700}"}} 1\n' for n in range(1200))
        return Told(body="".join(lines).encode(), content_type="text/plain")

    with serving(page) as server:
        source = typed(server.url).source
        assert source.scrape is not None
        session = scraping(source, source.scrape, bounds=TYPED)
        tracemalloc.start()
        for _ in range(60):
            session.scraper.scrape()
        query = Query(expression="sum(vllm:num_requests_running)", subject=Subject("running"), unit="requests")
        with pytest.raises(SourceError, match="change with every reading"):
            session.backend.vectors([query], at_s=time.time())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        session.scraper.close()
        session.ring.close()
    assert peak < 100 << 20


def test_what_a_file_scrapes_is_not_shown_to_who_types_its_addresses(engine: Server) -> None:
    """The ring of a file lies on disk, by its addresses alone; a typed source has one of its own."""
    source: Source = typed(engine.url).source
    assert source.scrape is not None
    session = scraping(source, source.scrape, bounds=TYPED)
    (place,) = session.ring._db.execute("PRAGMA database_list").fetchall()
    assert place[2] == ""
    session.scraper.close()
    session.ring.close()


ANSWERS = {
    "a web page": lambda asked: Told(body=b"<html>router</html>", content_type="text/html"),
    "secrets in JSON": lambda asked: Told(status=400, body=b'{"status":"error","error":"root password is hunter2"}'),
    "a login": lambda asked: Told(status=401),
    "a fault": lambda asked: Told(status=500),
    "nothing there": lambda asked: Told(status=404),
    "a move": lambda asked: Told(status=302, headers={"Location": "http://intranet/"}),
}


def refusals(url: str) -> set[str]:
    """What a Prometheus and a metrics page at an address are refused with."""
    waits: list[float] = []
    port = url.rpartition(":")[2]
    fetcher = Fetcher(limits=FetchLimits(attempts=1))
    backend = VeiledBackend(PrometheusBackend(PrometheusClient(url, fetcher=fetcher)), Veil(wait=waits.append))
    query = Query(expression="up", subject=Subject("running"), unit="requests")
    with pytest.raises(SourceError) as refused:
        backend.vectors([query], at_s=None)
    fetcher.close()
    ring = Ring(None, keep_s=60.0, max_bytes=1 << 20)
    veil = Veil(wait=waits.append)
    scraper = Scraper(
        [ScrapeTarget(f"{url}/metrics")], ring, Fetcher(limits=FetchLimits(attempts=1)), interval_s=5.0, veil=veil
    )
    scraper.scrape()
    ((_, problem),) = ring.newest().values()
    scraper.close()
    ring.close()
    assert all(0 < wait <= LEAST_S for wait in waits)
    assert len(waits) == 2
    return {str(refused.value).replace(port, "PORT"), problem.replace(port, "PORT")}


def test_refusals_do_not_tell_an_open_port_from_a_closed_one() -> None:
    closed = refusals(f"http://127.0.0.1:{free_port()}")
    assert len(closed) == 1
    for answer in ANSWERS.values():
        with serving(answer) as server:
            assert refusals(server.url) == closed


def test_what_has_answered_once_says_what_is_wrong(engine: Server) -> None:
    ring = Ring(None, keep_s=60.0, max_bytes=1 << 20)
    scraper = Scraper([ScrapeTarget(f"{engine.url}/metrics")], ring, Fetcher(), interval_s=5.0, veil=Veil())
    assert scraper.scrape()
    engine.answer = lambda asked: Told(status=401)
    scraper.scrape()
    ((_, problem),) = ring.newest().values()
    assert "refuses access (401)" in problem
    scraper.close()
    ring.close()
