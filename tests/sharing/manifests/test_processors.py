"""Plans on machines without GPUs: valid files, options that the servers have, and machines that run no Kubernetes."""

from functools import cache
from typing import Any

import pytest
import yaml

from sharing.manifests import manifests
from sharing.manifests.checkpoint import FILL_IN
from sizing import Scenario
from sizing.base.result import PerInstance
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import LLAMA_8B, case
from tests.sharing.manifests.engine_lists import commands, read
from tests.sharing.manifests.validation import LOADER, check_files

QUIET: dict[str, Any] = {
    "workload": {"input_tokens": 300, "output_tokens": 100, "peak_rps": 0.05},
    "limits": {"ttft_ms": 30_000, "itl_ms": 500},
}
PLANS = [
    ("xeon_8580", "llamacpp", "bf16", "amd64"),
    ("xeon_8580", "llamacpp", "q8_0", "amd64"),
    ("xeon_8580", "openvino", "int8_wo", "amd64"),
    ("epyc_9654", "llamacpp", "q4_k_m", "amd64"),
    ("grace", "llamacpp", "q8_0", "arm64"),
]


@cache
def planned(gpu: str, engine: str, precision: str) -> Answer:
    keys = case(LLAMA_8B, gpu, engine, precisions=[precision], **QUIET)
    return Answer.of(Scenario.model_validate(keys), analytic_plan)


def each_of(answer: Answer) -> PerInstance:
    assert answer.plan.per_instance is not None
    return answer.plan.per_instance


def options_of(answer: Answer, engine: str) -> dict[str, Any]:
    """What the server of the Deployment is started with."""
    found = commands(manifests(answer), engine)
    (options,) = (read(given, *lists) for file, lists, given, _ in found if file == "kubernetes.yaml")
    return options


@pytest.mark.parametrize(("gpu", "engine", "precision", "arch"), PLANS)
def test_servers_of_processors_are_started_with_options_that_they_have(
    gpu: str, engine: str, precision: str, arch: str
) -> None:
    answer = planned(gpu, engine, precision)
    written = manifests(answer)
    check_files(written)
    found = {file: read(given, *lists) for file, lists, given, _ in commands(written, engine)}
    assert set(found) >= {"kubernetes.yaml"}
    for options in found.values():
        name = options.get("--hf-repo") or options["--source_model"]
        assert name.startswith(f"{FILL_IN}/llama-3-1-8b-instruct-{precision.replace('_', '-')}")
        assert (options.get("--alias") or options["--model_name"]) == LLAMA_8B
        assert options.get("--parallel") or options["--max_num_seqs"]
    (deployment,) = (one for one in yaml.load_all(written["kubernetes.yaml"], LOADER) if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/arch": arch}
    assert list(pod["containers"][0]["resources"]) == ["requests"]
    assert set(pod["containers"][0]["resources"]["requests"]) == {"memory"}


def test_slots_of_llama_cpp_share_the_planned_cache() -> None:
    answer = planned("xeon_8580", "llamacpp", "q8_0")
    options = options_of(answer, "llamacpp")
    assert "--kv-unified" in options
    assert options["--ctx-size"] <= (each_of(answer).kv_tokens or options["--ctx-size"])
    assert options["--ctx-size"] % options["--parallel"] == 0 or options["--ctx-size"] == each_of(answer).kv_tokens


def test_openvino_gets_no_more_cache_than_the_plan_has() -> None:
    answer = planned("xeon_8580", "openvino", "int8_wo")
    options = options_of(answer, "openvino")
    assert 1 <= options["--cache_size"] <= each_of(answer).kv_gb


@pytest.mark.parametrize(
    ("gpu", "engine", "precision"),
    [("m3_ultra", "llamacpp", "q8_0"), ("strix_halo", "llamacpp", "q8_0"), ("epyc_9654", "vllm", "bf16")],
)
def test_machines_and_servers_without_a_known_image_say_so(gpu: str, engine: str, precision: str) -> None:
    written = manifests(planned(gpu, engine, precision))
    assert list(commands(written, engine)) == []
    assert "no image is known" in written["README.md"]
    assert "amd.com/gpu" not in "".join(written.values())
