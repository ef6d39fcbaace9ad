"""Live while its source fails: the page stays, keeps the last good data with its age, says why, and recovers."""

import json
import re
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench.server import free_port
from collectors.units import MIB
from tests.app.conftest import Clock
from tests.app.live import ID, VLLM, figures, open_live, said, settled, source_file, vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed, steady
from tests.collectors.servers import Server, Told, serving
from tests.patience import PATIENCE_S
from ui.sources.reading import Registry


@pytest.fixture
def fake(clock: Clock) -> FakePrometheus:
    return FakePrometheus(Feed({"a:8000": vllm(), "b:8000": vllm()}), shift_s=clock.now_s - NOW)


@pytest.fixture
def server(fake: FakePrometheus, sources_folder: Path) -> Iterator[Server]:
    with serving(fake) as running:
        source_file(sources_folder, running.url)
        yield running


GOOD = {"Requests/s": "4", "Output tokens/s": "100", "Requests waiting": "0", "KV cache, peak": "40 %", "Replicas": "2"}

SLOW_LIMIT_S = 3.0
FAULTS = {
    "401": (Told(status=401), "refuses access (401): check the credentials under auth."),
    "403": (Told(status=403), "refuses access (403)"),
    "429": (Told(status=429, headers={"Retry-After": "60"}), "asks for fewer requests (429)"),
    "500": (Told(status=500), "failed with status 500."),
    "503": (Told(status=503), "failed with status 503."),
    "404": (Told(status=404), "has nothing at this path (404): check the URL"),
    "slow": (Told(pause_s=SLOW_LIMIT_S + 0.5), f"did not answer within {SLOW_LIMIT_S:g} s."),
    "truncated JSON": (Told(body=b'{"status":"succ'), "JSON"),
    "cut off": (Told(body=b'{"status":"success"', claim_bytes=5000), "in the middle of its answer."),
    "wrong JSON": (Told(body=b'{"status": "success", "data": [1, 2]}'), ""),
    "other JSON": (Told(body=b"[]"), ""),
    "HTML": (Told(body=b"<html>Log in</html>", content_type="text/html"), ""),
    "huge": (Told(body=b" " * (33 * MIB)), "sent more than 32 MiB: narrow the selector or the range."),
    "redirect": (Told(status=302, headers={"Location": "http://169.254.169.254/latest"}), "is not followed"),
    "redirect loop": (Told(status=302, headers={"Location": "/api/v1/query"}), "redirects more than"),
}
SOON = ("401", "503", "slow", "cut off", "other JSON", "huge", "redirect")
"""Faults that are always tried on the page, one of each kind; the client's own tests try them all."""


def healthy(app: AppTest, registry: Registry, clock: Clock) -> AppTest:
    """Refreshes until the source is well again: on a busy machine, the slow one may run into its limit again."""
    for _ in range(20):
        clock.next()
        settled(app, registry)
        if "Healthy" in said(app) and "last good" not in said(app):
            return app
    raise AssertionError(said(app))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOON else pytest.mark.slow) for name in FAULTS]
)
def test_a_source_that_fails_midway_keeps_its_last_good_data_and_recovers(
    name: str, server: Server, fake: FakePrometheus, registry: Registry, clock: Clock, sources_folder: Path
) -> None:
    fault, sentence = FAULTS[name]
    if name == "slow":
        source_file(sources_folder, server.url, timeout_s=SLOW_LIMIT_S)
    app = healthy(open_live(registry), registry, clock)
    before = figures(app)
    assert GOOD.items() <= before.items()

    fake.fault = fault
    for _ in range(8):
        clock.next()
    settled(app, registry)
    text = said(app)
    assert "Unreachable" in text
    assert "Healthy" not in text
    assert sentence in text
    assert "Below: the last good data" in text
    assert "2 min ago" in text
    assert figures(app) == before
    assert len(re.findall("^:material/history: ", text, re.MULTILINE)) == len(before), "every tile is marked as late"
    assert len(app.error) == 1

    fake.fault = None
    assert not healthy(app, registry, clock).error


@pytest.mark.parametrize("name", ["401", "503", "HTML", "truncated JSON"])
def test_a_source_that_fails_at_the_start_says_why_and_comes_up_by_itself(
    name: str, server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    fake.fault = FAULTS[name][0]
    app = open_live(registry)
    assert "Unreachable" in said(app)
    assert FAULTS[name][1] in said(app)
    assert not app.metric, "no figure is drawn from nothing"
    fake.fault = None
    clock.next()
    assert figures(settled(app, registry))["Requests/s"] == "4"


def test_a_server_that_is_not_there_is_said(sources_folder: Path, registry: Registry) -> None:
    port = free_port()
    source_file(sources_folder, f"http://127.0.0.1:{port}")
    app = open_live(registry)
    assert f"Nothing listens at 127.0.0.1:{port}: connection refused." in said(app)
    assert not app.metric


def test_a_server_that_goes_away_leaves_its_last_data(server: Server, registry: Registry, clock: Clock) -> None:
    app = open_live(registry)
    server.close()
    clock.next()
    settled(app, registry)
    assert "Nothing listens" in said(app)
    assert figures(app)["Requests/s"] == "4"


def test_a_name_without_an_address(sources_folder: Path, registry: Registry) -> None:
    source_file(sources_folder, "http://no-such-host.invalid:9090")
    app = open_live(registry)
    assert "There is no DNS answer for no-such-host.invalid" in said(app)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate of this test")
def test_a_certificate_nobody_vouches_for(sources_folder: Path, tmp_path: Path, registry: Registry) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with serving(lambda asked: Told()) as server:
        server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
        server.http.handle_error = lambda *_: None
        source_file(sources_folder, server.url.replace("http:", "https:"))
        app = open_live(registry)
    assert "has a TLS certificate that cannot be verified: give its CA in tls." in said(app)


def test_a_clock_that_is_wrong_is_said_and_that_of_the_source_counts(
    server: Server, fake: FakePrometheus, registry: Registry
) -> None:
    fake.shift_s += 7200
    app = open_live(registry)
    found = re.search(r"differ by (\d+) s", said(app))
    assert found, said(app)
    assert 3600 < int(found[1]) <= 7200
    settled(app, registry, until=lambda app: len(app.get("plotly_chart")) == 3)
    assert figures(app)["Requests/s"] == "4"


def test_an_explosion_of_labels_stays_a_page(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    exploded = [f'vllm:num_requests_running{{{ID},request="{i}"}} 1' for i in range(500)]
    fake.feed = Feed({"a:8000": steady(*exploded, *VLLM[1:])}, seconds=120)
    app = open_live(registry, tab="Replicas")
    assert figures(app)["Replicas"] == "1"
    assert len(app.dataframe[0].value) == 1


def test_a_metric_that_disappears_is_no_data_and_not_zero(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    app = open_live(registry)
    fake.feed = Feed({"a:8000": vllm(without="kv_cache"), "b:8000": vllm(without="kv_cache")})
    clock.next()
    settled(app, registry)
    assert figures(app)["KV cache, peak"] == "No data"
    assert figures(app)["Requests waiting"] == "0"
    assert "Partial data" in said(app)
    assert "No data for use of the KV cache" in said(app)


def test_what_is_answered_while_a_page_is_drawn_is_on_the_next(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, hold = open_live(registry), threading.Event()
    run = app.run

    def drawn() -> None:
        run()
        hold.set()
        registry.latest.wait_for_all(PATIENCE_S)

    monkeypatch.setattr(app, "run", drawn)
    fake.hold = hold
    fake.feed = Feed({"a:8000": vllm()})
    clock.next()
    assert figures(settled(app, registry))["Replicas"] == "1"


def test_a_restarted_engine_counts_from_zero_and_its_rate_stays(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    def restarted(elapsed: float) -> str | None:
        return None if 290 <= elapsed <= 310 else vllm()(elapsed - 1000.0 if elapsed > 300 else elapsed)

    fake.feed = Feed({"a:8000": restarted, "b:8000": restarted})
    app = open_live(registry)
    rate = float(figures(app)["Requests/s"])
    assert 3.0 < rate < 5.0


def test_an_engine_that_stopped_is_stale_and_shows_what_it_did(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    app = open_live(registry)
    stopped = {"a:8000": lambda elapsed: vllm()(elapsed) if elapsed < 400 else None}
    fake.feed = Feed({**stopped, "node:9100": steady("node_load1 0.5")})
    for _ in range(8):
        clock.next()
    settled(app, registry)
    assert "Stale: nothing new comes in. The newest sample is 2" in said(app).replace("**", "")
    assert "Below: the last good data" in said(app)
    assert figures(app)["Requests/s"] == "4"


def test_a_source_of_something_else_is_no_data(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    fake.feed = Feed({"a:9100": steady("node_load1 0.5")})
    app = open_live(registry)
    assert "No data. 127.0.0.1" in said(app).replace("**", "")
    assert not app.metric


def test_a_lost_replica_and_a_partial_answer_are_said(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    fake.feed = Feed({"a:8000": vllm(), "b:8000": lambda elapsed: vllm()(elapsed) if elapsed < 500 else None})
    fake.extra = {"warnings": ["store 10.0.0.3:10901 timed out"]}
    app = open_live(registry)
    text = said(app)
    assert "Partial data" in text
    assert "b:8000 stopped reporting within the window." in text
    assert "10.0.0.3:10901" in text
    assert figures(app)["Replicas"] == "1"


def test_zero_is_a_number_and_a_gap_is_a_gap(server: Server, fake: FakePrometheus, registry: Registry) -> None:
    def paused(elapsed: float) -> str | None:
        return None if 200 <= elapsed < 400 else vllm()(elapsed)

    fake.feed = Feed({"a:8000": paused})
    app = open_live(registry, range="15 min", tab="Load")
    assert figures(app)["Requests waiting"] == "0"
    queue = json.loads(next(c for c in app.get("plotly_chart") if "Running" in c.proto.spec).proto.spec)
    waiting = next(trace for trace in queue["data"] if trace["name"] == "Waiting")["y"]
    assert 0 in waiting
    assert None in waiting
    middle = waiting[: waiting.index(None, waiting.index(0))]
    assert middle, "the gap stands between two stretches of data"


def test_the_page_answers_while_a_slow_source_is_asked(
    server: Server, fake: FakePrometheus, registry: Registry, clock: Clock
) -> None:
    app = open_live(registry)
    fake.hold = threading.Event()
    clock.next()
    app.run()
    assert figures(app)["Requests/s"] == "4", "the older figures, while the question is under way"
    assert "Healthy" in said(app)
    assert registry.latest.busy
    fake.hold.set()
    fake.hold = None
    settled(app, registry)
