"""The command line: the contract of ``compare --json`` against a real Prometheus, exit codes, never a traceback."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pytest

from bench.server import free_port
from reality.cli import moment, window
from tests.collectors.servers import Pages, recording, serving
from tests.commands import run, run_process, source_file
from tests.reality.conftest import Recorded
from tests.reality.truths import DEMO_SCENARIO

VERDICTS = {"within", "higher", "lower", "cannot_judge"}
ROWS = {
    "arrivals_rps_peak",
    "arrivals_rps",
    "input_tokens.mean",
    "input_tokens.p95",
    "output_tokens.mean",
    "prefix_hit_ratio",
    "ttft_ms.mean",
    "ttft_ms.p95",
    "tpot_ms.p95",
    "itl_ms.mean",
    "e2e_ms.p99",
    "queue_ms.mean",
    "output_tokens_per_s_per_gpu",
    "running",
    "kv_usage",
    "kv_capacity_tokens",
    "replicas",
    "gpus",
}


def rows(text: str) -> dict[str, dict[str, Any]]:
    found = json.loads(text)
    assert found["answer"]
    assert isinstance(found["reasons"], list)
    by_key = {row["key"]: row for row in [*found["traffic"], *found["performance"]]}
    assert set(by_key) >= ROWS
    for row in by_key.values():
        assert row["verdict"] in VERDICTS
        assert set(row["measured"]) == {"value", "low", "high"}
        if row["verdict"] == "cannot_judge":
            assert row["reason"]
    return by_key


def test_the_demo_in_a_real_prometheus_is_judged(tmp_path: Path, recorded_demo: Recorded) -> None:
    file = source_file(
        tmp_path, prometheus={"url": recorded_demo.url}, selector={"model_name": "demo/Llama-3.3-70B-Instruct-FP8"}
    )
    done = run_process(
        "reality", "compare", DEMO_SCENARIO, file, "--json", "--window", "15m", "--at", recorded_demo.end_s
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    by_key = rows(done.stdout)
    assert (found["state"], found["judged"], found["window_s"]) == ("ok", True, 900.0)
    assert found["deployed"]["gpu_products"] == ["NVIDIA H100 80GB HBM3"]
    assert found["deployed"]["gpus_per_replica"] == 2
    assert by_key["arrivals_rps_peak"]["verdict"] == by_key["replicas"]["verdict"] == "within"
    assert by_key["tpot_ms.mean"]["verdict"] == by_key["e2e_ms.mean"]["verdict"] == "within"
    measured = by_key["ttft_ms.p95"]["measured"]
    assert measured["low"] <= measured["value"] <= measured["high"]
    assert "vllm:time_to_first_token_seconds" in by_key["ttft_ms.p95"]["query"]
    assert sum(row["verdict"] == "within" for row in by_key.values()) > 20


def test_text_for_a_person(tmp_path: Path, recorded_demo: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": recorded_demo.url})
    done = run("reality", "compare", DEMO_SCENARIO, file, "--window", "10m", "--at", recorded_demo.end_s, "--analytic")
    assert done.returncode == 0
    assert done.stdout.startswith("Load")
    assert "TTFT at the server, p95" in done.stdout
    assert "as expected" in done.stdout


def test_long_after_its_end_it_is_stale(tmp_path: Path, recorded_demo: Recorded) -> None:
    file = source_file(tmp_path, prometheus={"url": recorded_demo.url})
    scenario = tmp_path / "s.yaml"
    scenario.write_text(DEMO_SCENARIO.read_text())
    asked = ("--json", "--at", recorded_demo.end_s - 1200)
    before = run("reality", "compare", scenario, file, *asked, "--analytic")
    assert (before.returncode, json.loads(before.stdout)["state"]) == (0, "no_data")
    assert {row["verdict"] for row in rows(before.stdout).values()} == {"cannot_judge"}


def test_a_real_vllm_page_of_another_model_is_foreign(tmp_path: Path) -> None:
    with serving(Pages({"/metrics": recording("vllm_rate4")})) as server:
        where = {"targets": [f"{server.url}/metrics"], "interval_s": 1.0, "store": "ring.sqlite"}
        done = run("reality", "compare", DEMO_SCENARIO, source_file(tmp_path, scrape=where), "--json", "--analytic")
        known = run(
            "reality",
            "compare",
            DEMO_SCENARIO,
            source_file(tmp_path, scrape=where),
            "--analytic",
            "--served-as",
            "tiny-llama",
        )
    assert done.returncode == known.returncode == 0
    assert "which is not known to be meta-llama/Llama-3.3-70B-Instruct" in json.loads(done.stdout)["answer"]
    assert {row["verdict"] for row in rows(done.stdout).values()} == {"cannot_judge"}
    assert "“tiny-llama” is taken to be meta-llama/Llama-3.3-70B-Instruct, as stated." in known.stdout
    assert "No verdict on speed: no request arrived" in known.stdout


@pytest.mark.parametrize("kind", ["prometheus", "scrape"])
def test_an_unreachable_source_is_an_answer(tmp_path: Path, kind: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    where = {"url": url} if kind == "prometheus" else {"targets": [f"{url}/metrics"], "store": "r.sqlite"}
    done = run("reality", "compare", DEMO_SCENARIO, source_file(tmp_path, **{kind: where}), "--json", "--analytic")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["state"], found["judged"]) == ("unreachable", False)
    assert found["answer"].startswith("No verdict: test cannot be reached.")
    assert {row["verdict"] for row in rows(done.stdout).values()} == {"cannot_judge"}
    assert all(row["measured"]["value"] is None for row in rows(done.stdout).values())


@pytest.mark.parametrize(
    ("scenario", "source", "said"),
    [
        ("model: [", "prometheus: {url: 'http://p:9090'}", ["scenario.yaml is not valid YAML or JSON at line 1."]),
        (
            "model: nobody/none\nworkload: {input_tokens: 1, output_tokens: 1, peak_rps: 1}",
            "prometheus: {url: 'http://127.0.0.1:1'}",
            ["Unknown model “nobody/none”."],
        ),
        ("workload: {}", "prometheus: {url: 'ftp://p'}", ["model: is required.", "prometheus"]),
        (None, None, ["There is no file", "There is no file"]),
        (
            "model: a\nmodle: b",
            "scrap: {}",
            ["modle: unknown key. Did you mean model?", "Unknown key scrap: did you mean scrape?"],
        ),
        ("[1, 2]", "- 1", ["scenario.yaml must hold keys", "source.yaml must hold keys"]),
    ],
)
def test_bad_files_are_exit_2_with_a_line_each(
    tmp_path: Path, scenario: str | None, source: str | None, said: list[str]
) -> None:
    one, other = tmp_path / "scenario.yaml", tmp_path / "source.yaml"
    if scenario is not None:
        one.write_text(scenario)
    if source is not None:
        other.write_text(source if source.startswith("-") else f"schema_version: 1\n{source}")
    done = run("reality", "compare", one, other, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr, done.stderr
    assert all(line.strip().endswith((".", "?")) for line in done.stderr.splitlines()), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("compare",),
        ("compare", "a.yaml"),
        ("compare", "a", "b", "--window", "soon"),
        ("nothing",),
        ("compare", "a", "b", "--at", "tomorrow"),
        ("compare", "a", "b", "--window", "1s"),
    ],
)
def test_wrong_arguments_are_exit_2(arguments: tuple[str, ...]) -> None:
    done = run("reality", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_windows_and_moments() -> None:
    assert [window(text) for text in ("90", "90s", "15m", "1h", "1.5h", "7d")] == [90, 90, 900, 3600, 5400, 604_800]
    assert (
        moment("2026-11-20T14:00Z") == moment("2026-11-20T15:00+01:00") == moment("2026-11-20 14:00") == 1_795_183_200
    )
    assert moment("1795183200.5") == 1_795_183_200.5
    for wrong in ("", "h", "0", "1y", "-5m", "31d", "nan"):
        with pytest.raises(argparse.ArgumentTypeError):
            window(wrong)
    for wrong in ("", "soon", "nan", str(time.time() + 3600), "-1"):
        with pytest.raises(argparse.ArgumentTypeError):
            moment(wrong)
