"""Plans of every shape that has manifests of its own, and the reading of what was written."""

import json
from functools import cache
from typing import Any

import yaml

from sharing.manifests import manifests
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer

WORKLOAD = {"input_tokens": 3000, "output_tokens": 300, "peak_rps": 6}
LIMITS = {"ttft_ms": 2000, "itl_ms": 60, "percentile": 95}
LLAMA_8B, LLAMA_70B = "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"


def case(
    model: Any,
    gpu: str,
    engine: str,
    *,
    workload: Any = None,
    limits: Any = None,
    adapters: Any = None,
    **deployment: Any,
) -> Any:
    return {
        "name": f"{engine} on {gpu}",
        "model": model,
        "workload": WORKLOAD | (workload or {}),
        "limits": LIMITS if limits is None else limits,
        "adapters": adapters,
        "deployment": {"gpus": [gpu], "engines": [engine], "serving": ["aggregated"], **deployment},
    }


CASES = {
    "vllm": case(LLAMA_8B, "h100_sxm", "vllm", precisions=["bf16"], workload={"prefix_cached_tokens": 1000}),
    "vllm at load": case(LLAMA_70B, "h100_sxm", "vllm", precisions=["fp8"]),
    "vllm 4 bit": case(LLAMA_70B, "l40s", "vllm", precisions=["int4_awq"], limits={"ttft_ms": 9000, "itl_ms": 200}),
    "vllm amd": case(LLAMA_70B, "mi300x", "vllm", batch_limits=[64], spare_instances=1),
    "vllm nodes": case(LLAMA_70B, "h100_sxm", "vllm", tp=[8], pp=[2], precisions=["bf16"], limits={"ttft_ms": 9000}),
    "vllm rack": case(LLAMA_70B, "gb200", "vllm", tp=[8], pp=[1], precisions=["bf16"]),
    "vllm experts": case("deepseek-ai/DeepSeek-V3", "h200_sxm", "vllm", ep=[8], tp=[1, 8]),
    "vllm drafts": case(
        LLAMA_70B, "h100_sxm", "vllm", speculative_decoding={"draft_tokens": 3, "acceptance": 0.7}, tp=[4]
    ),
    "vllm apart": case(LLAMA_70B, "h100_sxm", "vllm", serving=["disaggregated"], prefill={"pp": 2}),
    "vllm apart over nodes": case(
        LLAMA_70B,
        "h100_sxm",
        "vllm",
        serving=["disaggregated"],
        precisions=["bf16"],
        prefill={"tp": 8, "pp": 2},
        decode={"tp": 8},
    ),
    "sglang": case("deepseek-ai/DeepSeek-V3", "h200_sxm", "sglang", workload={"peak_rps": 1}),
    "sglang nodes": case(LLAMA_70B, "h100_sxm", "sglang", tp=[8], pp=[2], precisions=["bf16"], limits={}),
    "trtllm": case(LLAMA_70B, "b200_sxm", "tensorrt_llm", precisions=["fp8"]),
    "trtllm apart": case(LLAMA_70B, "h200_sxm", "tensorrt_llm", serving=["disaggregated"]),
    "vllm resilient": case(LLAMA_70B, "h100_sxm", "vllm", precisions=["fp8"], redundancy="system"),
    "vllm racks": case(LLAMA_70B, "gb200", "vllm", precisions=["bf16"], redundancy="system"),
    "vllm apart, two sites": case(
        LLAMA_70B, "h100_sxm", "vllm", serving=["disaggregated"], precisions=["fp8"], redundancy="site"
    ),
    "trtllm resilient": case(LLAMA_70B, "b200_sxm", "tensorrt_llm", precisions=["fp8"], redundancy="system"),
    "nim resilient": case(LLAMA_8B, "h100_sxm", "nim", redundancy="site"),
    "nim": case(LLAMA_8B, "h100_sxm", "nim"),
    "nim nodes": case(LLAMA_70B, "h100_sxm", "nim", tp=[8], pp=[2], precisions=["bf16"], limits={"ttft_ms": 9000}),
    "tgi": case(LLAMA_8B, "h100_sxm", "tgi"),
    "tpu": case(LLAMA_8B, "tpu_v6e", "vllm", location="cloud"),
    "vllm ranks": case(
        "deepseek-ai/DeepSeek-V3",
        "h200_sxm",
        "vllm",
        serving=["disaggregated"],
        prefill={"tp": 8},
        decode={"dp": 8, "ep": 8},
        batch_limits=[256],
    ),
    "sglang ranks": case(
        "deepseek-ai/DeepSeek-V3",
        "h200_sxm",
        "sglang",
        serving=["disaggregated"],
        precisions=["fp8"],
        prefill={"tp": 8},
        decode={"dp": 8, "ep": 8},
    ),
    "own model": case({"name": "In-house 43B", "params_b": 43}, "h100_sxm", "vllm", precisions=["bf16"]),
    "e2e alone": case(LLAMA_8B, "h100_sxm", "vllm", limits={"ttft_ms": None, "itl_ms": None, "e2e_ms": 30_000}),
    "offline": case(LLAMA_8B, "h100_sxm", "vllm", workload={"mode": "offline"}),
}


@cache
def planned(name: str) -> Answer:
    answer = Answer.of(Scenario.model_validate(CASES[name]), analytic_plan)
    assert answer.plan.deployment is not None, f"{name} has no deployment"
    return answer


@cache
def written(name: str) -> dict[str, str]:
    return manifests(planned(name))


def documents(name: str, file: str) -> list[Any]:
    return list(yaml.safe_load_all(written(name)[file]))


def objects(contents: dict[str, str]) -> list[tuple[str, Any]]:
    """Every Kubernetes object with the file that it is in."""
    read = ((file, list(yaml.safe_load_all(text))) for file, text in contents.items() if file.endswith(".yaml"))
    return [(file, one) for file, several in read for one in several if "apiVersion" in one]


def arguments(command: list[str]) -> dict[str, Any]:
    """Options of a command line by name; one without a value is True."""
    out: dict[str, Any] = {}
    for this, following in zip(command, [*command[1:], "--"], strict=True):
        if this.startswith("--"):
            out[this] = True if following.startswith("--") else following
    return out


def container(name: str, file: str = "kubernetes.yaml") -> Any:
    (found,) = (one for one in documents(name, file) if one["kind"] == "Deployment")
    return found["spec"]["template"]["spec"]["containers"][0]


def dashboard(name: str) -> Any:
    return json.loads(written(name)["grafana-dashboard.json"])
