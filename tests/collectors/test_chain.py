"""The run that `make chain` recorded: real vLLM, its load generator, Prometheus, collector. Read again here."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.chain.compare import LATENCIES, QUANTILES, checks, of_collector, of_server
from tests.tools.chain.recording import Recording
from tests.tools.chain.report import report

HELD = Path(__file__).parent / "recordings" / "chain"
REPORT = Path(__file__).parents[2] / "docs" / "CHAIN.md"


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    return json.loads((HELD / "measured.json").read_text())


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.load(HELD / "pages.json.xz")


@pytest.fixture(scope="module")
def read_again(recording: Recording) -> dict[str, Any]:
    start_s, end_s = recording.times_s[0], recording.times_s[-1]
    return of_collector(recording.backend(), recording.source(), start_s=start_s, end_s=end_s, clock=lambda: end_s)


def test_generator_and_collector_agree(measured: dict[str, Any]) -> None:
    found = checks(measured["generator"], measured["server"], measured["collector"])
    assert len(found) == 14
    assert [check for check in found if not check.ok] == []


def test_agreement_can_fail(measured: dict[str, Any]) -> None:
    """Each check catches a number that is off by a little more than it allows."""
    for change, names in (
        ({"finished": measured["collector"]["finished"] * 1.03}, {"finished requests"}),
        ({"prompt_tokens": measured["collector"]["prompt_tokens"] + 1}, {"prompt tokens"}),
        ({"generation_tokens": measured["collector"]["generation_tokens"] - 1}, {"generated tokens"}),
    ):
        found = checks(measured["generator"], measured["server"], {**measured["collector"], **change})
        assert {check.what for check in found if not check.ok} == names
    slower = {**measured["generator"], "e2e_ms": {k: v * 2.5 for k, v in measured["generator"]["e2e_ms"].items()}}
    found = checks(slower, measured["server"], measured["collector"])
    assert {c.what for c in found if not c.ok} >= {"E2E mean", "E2E p50"}


@pytest.mark.parametrize(("beyond", "ok"), [(0.0, True), (0.05, True), (0.08, False)])
def test_a_quantile_beside_the_edge_of_its_bucket_is_told(measured: dict[str, Any], beyond: float, ok: bool) -> None:
    edge = measured["collector"]["tpot_ms"]["p50_high"]
    generator = {**measured["generator"], "tpot_ms": {**measured["generator"]["tpot_ms"], "p50": edge * (1 + beyond)}}
    found = checks(generator, measured["server"], measured["collector"])
    (check,) = [check for check in found if check.what == "TPOT p50"]
    assert check.ok is ok
    assert ("7% beside it" in check.must) is (ok and beyond > 0)


def test_recorded_pages_give_the_recorded_numbers(
    measured: dict[str, Any], recording: Recording, read_again: dict[str, Any]
) -> None:
    assert of_server(recording) == measured["server"]
    assert read_again == measured["collector_from_pages"]


def test_pages_and_prometheus_say_the_same(measured: dict[str, Any], read_again: dict[str, Any]) -> None:
    """Scraped by Prometheus and by us, at different moments: the engine was idle at both ends."""
    live = measured["collector"]
    for key in ("state", "finished", "prompt_tokens", "generation_tokens"):
        assert read_again[key] == live[key]
    for key in LATENCIES:
        for part in ("mean", *QUANTILES, *(f"{q}_{end}" for q in QUANTILES for end in ("low", "high"))):
            close = 1e-6 if part == "mean" else 1e-3  # buckets near the edges of the window count for a little more
            assert read_again[key][part] == pytest.approx(live[key][part], rel=close), (key, part)


def test_means_are_those_of_the_engines_own_sums(measured: dict[str, Any], read_again: dict[str, Any]) -> None:
    for key in LATENCIES:
        assert read_again[key]["mean"] == pytest.approx(measured["server"][key]["mean"], rel=1e-9)


def test_command_line_saw_the_run(measured: dict[str, Any]) -> None:
    said = measured["command_line"]
    assert (said["state"], said["engine"], said["replicas"]) == ("ok", "vllm", 1)
    assert said["tpot_ms"] == pytest.approx(measured["server"]["tpot_ms"]["mean"], rel=1e-6)


def test_report_shows_what_was_measured(measured: dict[str, Any]) -> None:
    assert REPORT.read_text() == report(measured)
