"""Live on metrics pages read directly, in real time: the engine fails, restarts, comes up late. Nothing waits for a
fixed time: each step goes on as soon as the page says what it should."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from bench.server import free_port
from tests.app.conftest import Clock
from tests.app.live import figures, open_live, said, settled, vllm
from tests.collectors.servers import TEXT, Asked, Server, Told, serving
from tests.patience import PATIENCE_S
from ui.sources.reading import Registry

FAULTS = {
    "401": (Told(status=401), "refuses access (401): check the credentials under auth."),
    "503": (Told(status=503), "failed with status 503."),
    "HTML": (Told(body=b"<html>Log in</html>", content_type="text/html"), "answers with a web page, not metrics"),
    "JSON": (Told(body=b'{"a": 1}'), "answers with JSON, not metrics"),
    "empty": (Told(body=b"", content_type=TEXT), "answers with an empty page."),
    "cut off": (Told(body=b"# HELP", content_type=TEXT, claim_bytes=5000), "in the middle of its answer."),
    "redirect": (Told(status=302, headers={"Location": "http://169.254.169.254/latest"}), "is not followed"),
}
SOON = ("503", "HTML", "cut off")
"""Faults that are always tried on the page, one of each kind: a status, another answer, half an answer."""


MOST_RPS = 50.0
"""Chosen: more than late readings make of 2 requests/s, less than 2,000 at once within the 20 s of the window."""


class Engine:
    """A vLLM with 2 requests/s, up to what a test does to it."""

    def __init__(self) -> None:
        self.begun_s = time.time()
        self.fault: Told | None = None

    def __call__(self, asked: Asked) -> Told:
        if self.fault is not None:
            return self.fault
        return Told(body=(vllm()(time.time() - self.begun_s) or "").encode(), content_type=TEXT)

    def restart(self) -> None:
        """Counters begin at zero again: the pages count from 1,000 s before their start."""
        self.begun_s = time.time() + 1000.0


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def server(engine: Engine, sources_folder: Path) -> Iterator[Server]:
    with serving(engine) as running:
        scraped(sources_folder, running.port)
        yield running


def scraped(folder: Path, port: int, *more: str) -> None:
    targets = ", ".join(f"'http://127.0.0.1:{at}/metrics'" for at in (port, *more))
    (folder / "direct.yaml").write_text(
        f"schema_version: 1\nname: direct\nscrape: {{targets: [{targets}], interval_s: 0.2, store: ring.sqlite}}\n"
        "window_s: 20\n"
    )


def until(app: AppTest, registry: Registry, clock: Clock, condition: Callable[[AppTest], bool]) -> AppTest:
    """Refresh until the page says so: how often that is needed depends on the machine, whether it comes does not."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        clock.next()
        if condition(settled(app, registry)):
            return app
        time.sleep(0.1)
    raise AssertionError(said(app))


def healthy(app: AppTest) -> bool:
    return "Healthy" in said(app) and "last good" not in said(app)


def settled_rate(app: AppTest) -> bool:
    """Healthy, with the engine's 2 requests/s: of two readings, one of which had to wait, the rate may be any."""
    return healthy(app) and 1.5 < float(figures(app)["Requests/s"]) < 2.5


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SOON else pytest.mark.slow) for name in FAULTS]
)
def test_a_page_that_fails_midway_keeps_its_last_good_data_and_recovers(
    name: str, server: Server, engine: Engine, registry: Registry, clock: Clock
) -> None:
    fault, sentence = FAULTS[name]
    app = until(open_live(registry), registry, clock, settled_rate)
    good = [figures(app)]

    def unreachable(app: AppTest) -> bool:
        failed = "Unreachable" in said(app)
        good.extend([] if failed else [figures(app)])
        return failed

    engine.fault = fault
    until(app, registry, clock, unreachable)
    assert sentence in said(app)
    assert "Below: the last good data" in said(app)
    assert figures(app) == good[-1]
    assert len(app.error) == 1
    engine.fault = None
    assert not until(app, registry, clock, healthy).error


@pytest.mark.parametrize("name", ["401", "503", "HTML"])
def test_a_page_that_fails_at_the_start_says_why_and_comes_up_by_itself(
    name: str, server: Server, engine: Engine, registry: Registry, clock: Clock
) -> None:
    engine.fault, sentence = FAULTS[name]
    app = open_live(registry)
    assert "Unreachable" in said(app)
    assert sentence in said(app)
    assert not app.metric, "no figure is drawn from nothing"
    engine.fault = None
    until(app, registry, clock, healthy)
    assert figures(app)["Replicas"] == "1"


def test_an_engine_that_is_started_after_the_dashboard_is_found(
    engine: Engine, sources_folder: Path, registry: Registry, clock: Clock
) -> None:
    port = free_port()
    scraped(sources_folder, port)
    app = open_live(registry)
    assert f"Nothing listens at 127.0.0.1:{port}: connection refused." in said(app)
    assert not app.metric
    with serving(engine, port=port):
        until(app, registry, clock, healthy)
        assert figures(app)["Replicas"] == "1"
    until(app, registry, clock, lambda app: "Nothing listens" in said(app))
    assert "Below: the last good data" in said(app)


def test_a_restart_counts_from_zero_and_no_rate_is_negative_or_huge(
    server: Server, engine: Engine, registry: Registry, clock: Clock
) -> None:
    app = until(open_live(registry), registry, clock, settled_rate)
    engine.restart()
    seen = len(server.asked)

    def counted(app: AppTest) -> bool:
        assert 0.0 < float(figures(app)["Requests/s"]) < MOST_RPS
        return len(server.asked) > seen + 8

    assert "Unreachable" not in said(until(app, registry, clock, counted))
    until(app, registry, clock, settled_rate)


def test_one_of_two_pages_that_is_down_leaves_the_other(
    server: Server, sources_folder: Path, registry: Registry, clock: Clock
) -> None:
    gone = free_port()
    scraped(sources_folder, server.port, str(gone))
    app = until(open_live(registry), registry, clock, lambda app: bool(app.metric))
    assert figures(app)["Replicas"] == "1"
    assert "Partial data" in said(app)
    assert f"127.0.0.1:{gone}" in said(app)
