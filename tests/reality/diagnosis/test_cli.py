"""``python -m reality diagnose`` on a deployment of known causes in a real Prometheus: the contract of its JSON."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from bench.server import free_port
from tests.commands import run, run_process, source_file
from tests.tools.diagnosis_cases import Case, case, ground, tracks_of
from tests.tools.recorded_case import recorded

CAUSES = {
    *("load", "prompts", "outputs", "cache_hits", "burstiness", "replicas", "kv_cache", "batch_limit", "routing"),
    *("slow_gpu", "weights", "engine", "unexplained"),
}
ACTIONS = {"restore", "drain", "rebalance", "raise_batch_limit", "resize", "recalibrate", "none"}


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A Prometheus with the history of a case until ``end_s``, and its scenario as a file."""

    url: str
    end_s: float
    case: Case
    scenario: Path


@pytest.fixture(scope="module")
def slow_replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        pytest.skip("Prometheus is not installed")
    folder, end_s = tmp_path_factory.mktemp("scenario"), float(int(time.time())) - 60.0
    one = case(0, ground("llama-8b-l40s"), ("slow_gpu",), 3)
    scenario = folder / "scenario.yaml"
    asked = one.ground.planned.answer.question.scenario
    scenario.write_text(yaml.safe_dump(asked.model_dump(mode="json", exclude_defaults=True)))
    with recorded(tracks_of(one.history, one.ground, end_s=end_s), start_s=end_s - 3600.0, end_s=end_s) as url:
        yield Recorded(url=url, end_s=end_s, case=one, scenario=scenario)


def test_the_contract_of_the_json(tmp_path: Path, slow_replica: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": slow_replica.url})
    done = run_process(
        *("reality", "diagnose", slow_replica.scenario, file, "--json", "--analytic"),
        *("--window", "30m", "--at", slow_replica.end_s),
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["state"] == "broken"
    assert said["main_cause"] == "slow_gpu"
    assert said["causes"][0]["cause"] == "slow_gpu"
    assert said["causes"][0]["subject"] == "server-1"
    for row in said["causes"]:
        assert set(row) >= {"cause", "quantity", "share_ms", "low", "high", "subject"}
        assert row["cause"] in CAUSES
        assert row["low"] <= row["share_ms"] <= row["high"]
    for row in said["limits"]:
        assert set(row) >= {*("quantity", "percentile", "limit", "measured", "low", "high", "attainment", "verdict")}
        truth = slow_replica.case.truth[row["quantity"]]
        assert row["verdict"] == ("broken" if truth > row["limit"] else "met")
        assert row["low"] <= truth <= row["high"]
    assert said["capacity_within_limits_rps"] < said["load_rps"]
    assert {action["kind"] for action in said["actions"]} <= ACTIONS
    assert said["actions"][0]["kind"] == "drain"
    assert all(set(action) >= {"kind", "replicas", "gpus", "why"} for action in said["actions"])
    assert said["recalibration"] is None
    assert "server-1" in said["headline"]


def test_text_for_a_person(tmp_path: Path, slow_replica: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": slow_replica.url})
    done = run("reality", "diagnose", slow_replica.scenario, file, "--analytic", "--at", slow_replica.end_s)
    assert done.returncode == 0
    assert "breaks the" in done.stdout
    assert "Action: The steps of server-1 take" in done.stdout


def test_a_window_before_the_data_is_unclear(tmp_path: Path, slow_replica: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": slow_replica.url})
    at_s = slow_replica.end_s - 7 * 86_400
    done = run("reality", "diagnose", slow_replica.scenario, file, "--analytic", "--json", "--at", at_s)
    said = json.loads(done.stdout)
    assert (done.returncode, said["state"], said["main_cause"]) == (0, "unclear", None)
    assert said["headline"].startswith("Nothing can be concluded")


def test_an_unreachable_source_is_an_answer_and_a_bad_file_is_not(tmp_path: Path, slow_replica: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": f"http://127.0.0.1:{free_port()}"})
    done = run("reality", "diagnose", slow_replica.scenario, file, "--analytic", "--json")
    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "unclear")
    bad = run("reality", "diagnose", tmp_path / "nowhere.yaml", file, "--json")
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
