"""A replica that holds requests and answers nothing is hung: its requests are in no latency, it is to be restarted."""

from dataclasses import replace

import numpy as np
import pytest

from collectors.backends.scrape.backend import RingBackend
from collectors.backends.scrape.promql.samples import Track
from collectors.backends.scrape.scraper import ScrapeTarget
from reality.diagnosis.diagnose import diagnose, read_for_diagnosis
from reality.diagnosis.result import Diagnosis
from tests.tools.deployment_truth import run
from tests.tools.diagnosis_cases import NOW, KeptRing, backend_of, ground, tracks_of

PLAN = "llama-70b"


def said_where(hung: tuple[str, ...], running: float = 40.0) -> Diagnosis:
    """The diagnosis where some pods stopped to answer before the window, with so many requests in them."""
    given = ground(PLAN)
    history = run(given.world.changed(seed=5))
    tracks = [
        frozen(one, running) if one.labels.get("pod") in hung else one for one in tracks_of(history, given, end_s=NOW)
    ]
    _, source = backend_of(history, given)
    targets = [ScrapeTarget("http://server-0:8000/metrics")]
    backend = RingBackend(KeptRing(tracks), targets, clock=lambda: NOW)
    limits = given.planned.answer.question.limits
    reading = read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW)
    return diagnose(given.planned, reading)


def frozen(track: Track, running: float) -> Track:
    """A series of a server that hangs: counters stand, and what arrives waits."""
    name, number = track.labels["__name__"], len(track.values)
    if name == "vllm:num_requests_running":
        return replace(track, values=np.full(number, running))
    if name == "vllm:num_requests_waiting":
        return replace(track, values=np.arange(number) * 50.0 if running else np.zeros(number))
    counted = name.endswith(("_total", "_bucket", "_count", "_sum"))
    return replace(track, values=np.full(number, track.values[0])) if counted else track


def test_it_is_named_before_all_else_and_restarted() -> None:
    said = said_where(("server-0",))
    assert said.headline.startswith("server-0 answers nothing: 40 requests run and ")
    assert "no token came in the window" in said.headline
    assert (said.state, said.main_cause) == ("broken", "replicas"), "a fifth of the requests are never answered"
    assert (said.causes[0].subject, said.causes[0].measured) == ("server-0", 3.0)
    assert [(one.kind, one.subject) for one in said.actions] == [("restore", "server-0")]


def test_several_are_named() -> None:
    assert said_where(("server-0", "server-2")).headline.startswith(
        "server-0, server-2 answer nothing: 80 requests run"
    )


@pytest.mark.parametrize("hung", [(), ("server-0",)])
def test_an_idle_replica_is_not_hung(hung: tuple[str, ...]) -> None:
    assert "nothing" not in said_where(hung, running=0.0).headline
