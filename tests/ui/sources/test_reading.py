"""Questions through the shared registry: the demo answers, thirty viewers are one, a failing server keeps its last."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from collectors.reading.observation import State
from collectors.source import source_from
from tests.collectors.servers import Asked, Told, serving, vector
from tests.patience import PATIENCE_S
from ui.sources import KnownSource, Origin, deployments_of, observed, over_time, per_device, reading, xids_of
from ui.sources.known import listing
from ui.sources.moment import window_in_words

VIEWERS = 30
PATIENT_S = 60.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The clock of a fresh registry: refreshes come when a test says so."""
    now = [1_800_000_000.0]
    fresh = reading.Registry(clock=lambda: now[0])
    monkeypatch.setattr(reading, "registry", lambda: fresh)
    yield now
    fresh.connections.close()


def prometheus(url: str, **more: object) -> KnownSource:
    raw = {"schema_version": 1, "name": "mine", "prometheus": {"url": url, "timeout_s": 2}, **more}
    return KnownSource(name="mine", origin=Origin.TYPED, source=source_from(raw))


def test_the_demo_answers_everything(clock: list[float]) -> None:
    demo = listing().sources[-1]
    seen = observed(demo, wait_s=PATIENT_S)
    assert (seen.good.number("replicas"), seen.good.number("gpus")) == (4, 8)
    now = seen.good.at_s
    lines = over_time(demo, span_s=900, now_s=now, wait_s=PATIENT_S).good
    assert {"ttft_ms.p95", "gpu_busy", "kv_usage"} <= set(lines.lines)
    assert len(per_device(demo, wait_s=PATIENT_S).good or ()) == 8
    assert xids_of(demo, span_s=900, now_s=now, wait_s=PATIENT_S).good is not None
    (only,) = deployments_of(demo, wait_s=PATIENT_S).good or ()
    assert only.name == "demo/Llama-3.3-70B-Instruct-FP8"


def test_thirty_viewers_cause_one_set_of_queries_per_refresh(clock: list[float]) -> None:
    def look(known: KnownSource) -> State | None:
        told = observed(known, wait_s=PATIENT_S).newest
        return told.state if told else None

    def answer(asked: Asked) -> Told:
        return vector(({"concept_": "now"}, clock[0]), at=clock[0])

    with serving(answer) as server, ThreadPoolExecutor(VIEWERS) as viewers:
        known = prometheus(server.url)
        counts = []
        for _ in range(3):
            before = len(server.asked)
            assert set(viewers.map(look, [known] * VIEWERS)) == {State.NO_DATA}
            counts.append(len(server.asked) - before)
            clock[0] += reading.REFRESH_S
        alone = prometheus(server.url, window_s=301)
        before = len(server.asked)
        look(alone)
        one_viewer = len(server.asked) - before
    assert counts == [one_viewer] * 3
    assert one_viewer > 0


def test_a_slow_source_does_not_hold_the_caller(clock: list[float]) -> None:
    release = threading.Event()

    def answer(asked: Asked) -> Told:
        release.wait(PATIENCE_S)
        return Told(status=500)

    with serving(answer) as server:
        told = observed(prometheus(server.url), wait_s=0.05)
        assert told.pending
        assert told.newest is None
        release.set()


def test_a_moment_of_the_past_is_read_there(clock: list[float]) -> None:
    times: list[str] = []

    def answer(asked: Asked) -> Told:
        times.extend(asked.form.get("time", []))
        return vector()

    with serving(answer) as server:
        observed(prometheus(server.url), end_s=1_700_000_000.0, wait_s=PATIENT_S)
    assert set(times) == {"1700000000.000"}


@pytest.mark.parametrize(
    ("window_s", "words"),
    [
        (60, "in the last minute"),
        (300, "in the last 5 minutes"),
        (900, "in the last 15 minutes"),
        (3600, "in the last hour"),
        (5400, "in the last 1.5 hours"),
        (86_400, "in the last 24 hours"),
        (7 * 86_400, "in the last 7 days"),
    ],
)
def test_a_verdict_names_its_window(window_s: float, words: str) -> None:
    assert window_in_words(window_s) == words
    assert window_in_words(window_s, "12:05") == words.replace("last ", "") + " until 12:05"
