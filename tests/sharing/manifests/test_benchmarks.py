"""The commands of load generators send the planned load."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from sharing.manifests import manifests
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import CASES, arguments, case, written
from tests.sharing.manifests.engine_lists import read


def test_benchmarks_send_the_planned_load():
    lines = written("vllm")["benchmarks.sh"].splitlines()
    vllm, guidellm, aiperf = (
        shlex.split(next(line for line in lines if line.startswith(f"{word} ")))
        for word in ("vllm", "guidellm", "aiperf")
    )
    given = arguments(vllm)
    assert (given["--random-input-len"], given["--random-prefix-len"]) == ("2000", "1000")
    assert (given["--random-output-len"], given["--request-rate"]) == ("300", "6")
    assert vllm[vllm.index("--goodput") + 1 :] == ["ttft:2000", "tpot:60"]
    assert json.loads(arguments(guidellm)["--backend"])["target"] == "$URL"
    data = json.loads(arguments(guidellm)["--data"])
    assert (data["prompt_tokens"], data["output_tokens"]) == (2000, 300)
    assert data["prefix_buckets"] == [{"prefix_tokens": 1000}]
    assert arguments(aiperf)["--goodput"] == "time_to_first_token:2000 inter_token_latency:60"


def test_benchmarks_vary_lengths_as_the_plan():
    keys = case("meta-llama/Llama-3.1-8B-Instruct", "h100_sxm", "vllm")
    keys["workload"] = {"input_tokens": {"p50": 1000, "p95": 3000}, "output_tokens": 200, "peak_rps": 2}
    scenario = Scenario.model_validate(keys)
    lines = manifests(Answer.of(scenario, analytic_plan))["benchmarks.sh"].splitlines()
    vllm, guidellm, aiperf = (
        arguments(shlex.split(next(line for line in lines if line.startswith(f"{word} "))))
        for word in ("vllm", "guidellm", "aiperf")
    )
    assert json.loads(vllm["--random-range-ratio"]) == {"input": 0.99, "output": 0.0}
    deviation = json.loads(guidellm["--data"])["prompt_tokens_stdev"]
    assert deviation == int(aiperf["--isl-stddev"]) == pytest.approx(0.75 * 1250, rel=0.05)
    assert "output_tokens_stdev" not in guidellm["--data"]


@pytest.mark.parametrize("tool", ["vllm", "guidellm", "aiperf"])
def test_one_tool_runs_at_a_time(tool: str, tmp_path: Path) -> None:
    """Two at once would measure each other's load: the script runs the one that is named, and none without a name."""
    script, calls = tmp_path / "benchmarks.sh", tmp_path / "calls"
    script.write_text(written("vllm")["benchmarks.sh"])
    for name in ("vllm", "guidellm", "aiperf"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} >> "{calls}"\n')
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    unnamed = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert (unnamed.returncode, calls.exists()) == (2, False)
    assert unnamed.stderr == "Usage: bash benchmarks.sh vllm|guidellm|aiperf\n"
    subprocess.run(["bash", str(script), tool], env=environment, check=True)
    assert calls.read_text() == f"{tool}\n"


@pytest.mark.parametrize("name", CASES)
def test_vllm_knows_the_options_of_its_benchmark(name: str) -> None:
    (line,) = (line for line in written(name)["benchmarks.sh"].splitlines() if line.startswith("vllm bench serve "))
    given = shlex.split(line)[3:]
    assert read(given, "vllm-bench-0.33.0")["--num-prompts"] >= 200
