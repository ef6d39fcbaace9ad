"""The commands of load generators send the planned load."""

import json
import shlex

import pytest

from sharing.manifests import manifests
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import arguments, case, written


def test_benchmarks_send_the_planned_load():
    lines = written("vllm")["benchmarks.sh"].splitlines()
    vllm, guidellm, aiperf = (
        shlex.split(next(line for line in lines if line.startswith(word))) for word in ("vllm", "guidellm", "aiperf")
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
        arguments(shlex.split(next(line for line in lines if line.startswith(word))))
        for word in ("vllm", "guidellm", "aiperf")
    )
    assert json.loads(vllm["--random-range-ratio"]) == {"input": 0.99, "output": 0.0}
    deviation = json.loads(guidellm["--data"])["prompt_tokens_stdev"]
    assert deviation == int(aiperf["--isl-stddev"]) == pytest.approx(0.75 * 1250, rel=0.05)
    assert "output_tokens_stdev" not in guidellm["--data"]
