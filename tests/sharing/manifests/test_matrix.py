"""Every engine in every layout, format and accelerator that has files of its own: each file is valid, each command is
one that the server reads, and none that it would refuse when it starts."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from sharing.errors import NothingToDeploy
from sharing.manifests import kubernetes, manifests
from sharing.manifests.arguments import trtllm_rest
from sharing.manifests.bundle import INDEX, README, TARGETS, refused, rendered
from sharing.manifests.facts import facts_of
from sizing import Scenario
from sizing.catalog.drafts import model_drafts
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sharing.manifests.cases import LLAMA_8B, LLAMA_70B, case
from tests.sharing.manifests.engine_lists import LISTS, Refused, check_start, commands, read, world
from tests.sharing.manifests.validation import LOADER, check_files, reader
from tests.sizing.random_scenarios import valid_scenarios

SETTINGS = reader(yaml.safe_load((LISTS / "trtllm-settings.yaml").read_text()))
DEEPSEEK = "deepseek-ai/DeepSeek-V3"
QUIET: dict[str, Any] = {"workload": {"peak_rps": 1}, "limits": {}}
DRAFTS = {"draft_tokens": 3, "acceptance": 0.7}
APART: dict[str, Any] = {"serving": ["disaggregated"]}
OWN = {
    "id": "acme_x1",
    "name": "Acme X1",
    "memory_gb": 96,
    "bandwidth_gbs": 3000,
    "fp16_tflops": 400,
    "bf16_tflops": 400,
    "fp8_tflops": 800,
}
LAYOUTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "one GPU": (LLAMA_8B, "h100_sxm", {"tp": [1], "precisions": ["bf16"]}),
    "tensor": (LLAMA_70B, "h100_sxm", {"tp": [8], "pp": [1], "precisions": ["bf16"]}),
    "stages": (LLAMA_70B, "h100_sxm", {"tp": [4], "pp": [2], "precisions": ["bf16"], **QUIET}),
    "nodes": (LLAMA_70B, "h100_sxm", {"tp": [8], "pp": [2], "precisions": ["bf16"], **QUIET}),
    "experts": (DEEPSEEK, "h200_sxm", {"tp": [8], "ep": [8], "precisions": ["fp8"], **QUIET}),
    "ranks": (DEEPSEEK, "b200_sxm", {"tp": [1], "dp": [8], "ep": [8], "precisions": ["fp8"], **QUIET}),
    "apart": (LLAMA_70B, "h200_sxm", {**APART, "precisions": ["fp8"]}),
    "apart over nodes": (LLAMA_70B, "h100_sxm", {**APART, "prefill": {"tp": 8, "pp": 2}, "decode": {"tp": 8}, **QUIET}),
    "ranks apart": (DEEPSEEK, "h200_sxm", {**APART, "prefill": {"tp": 8}, "decode": {"dp": 8, "ep": 8}, **QUIET}),
    "draft model": (LLAMA_70B, "h100_sxm", {"tp": [4], "speculative_decoding": DRAFTS}),
    "draft model beside ranks": (DEEPSEEK, "b200_sxm", {"dp": [8], "ep": [8], "speculative_decoding": DRAFTS, **QUIET}),
    "FP8 while it loads": (LLAMA_70B, "h100_sxm", {"precisions": ["fp8"]}),
    "4 bits": (LLAMA_70B, "l40s", {"precisions": ["int4_awq"], "limits": {"ttft_ms": 9000, "itl_ms": 200}}),
    "FP4": (LLAMA_70B, "b200_sxm", {"precisions": ["nvfp4"]}),
    "MXFP4": ("openai/gpt-oss-120b", "b200_sxm", {"precisions": ["mxfp4"]}),
    "AMD": (LLAMA_70B, "mi300x", {"precisions": ["bf16"], "spare_instances": 1}),
    "rack": (DEEPSEEK, "gb200", {"tp": [8], "pp": [1], "precisions": ["fp8"], **QUIET}),
    "lengths that vary": (
        LLAMA_8B,
        "h100_sxm",
        {"workload": {"input_tokens": {"p50": 1000, "p95": 6000}, "output_tokens": {"p50": 200, "p95": 900}}},
    ),
    "adapters": (LLAMA_8B, "h100_sxm", {"adapters": {"number": 50, "rank": 24, "resident": 16}}),
    "adapters of attention": (LLAMA_8B, "h100_sxm", {"adapters": {"number": 9, "targets": "attention"}}),
    "a short window": ("microsoft/phi-4", "h100_sxm", {"workload": {"input_tokens": 12_000, "output_tokens": 500}}),
    "own accelerator": (LLAMA_8B, "acme_x1", {"custom_gpus": [OWN], "precisions": ["bf16"]}),
    "TPU": (LLAMA_8B, "tpu_v6e", {"location": "cloud"}),
}
ENGINES = ("vllm", "sglang", "trtllm", "nim")
NOTHING = {
    *(("nim", layout) for layout in ("apart", "apart over nodes", "ranks apart", "AMD", "TPU")),
    *((engine, layout) for engine in ("sglang", "trtllm") for layout in ("TPU",)),
    ("trtllm", "AMD"),
}
"""What an engine does not run at all, so that there is no plan to write."""

NO_SERVER = {
    *((engine, "own accelerator") for engine in ENGINES),
    ("vllm", "TPU"),
    ("sglang", "draft model beside ranks"),
    ("nim", "rack"),
}
"""Plans that no file starts: an accelerator that nobody is known to schedule, an engine that would refuse, an operator
that has one stage on each node."""

FEWEST = {"vllm": 2, "sglang": 1, "trtllm": 1, "nim": 1}
"""Files that start a server of each other plan, at least."""


def keys(engine: str, layout: str) -> Any:
    model, gpu, rest = LAYOUTS[layout]
    return case(model, gpu, engine, **rest)


@cache
def answer(engine: str, layout: str) -> Answer:
    return Answer.of(Scenario.model_validate(keys(engine, layout)), analytic_plan)


@cache
def written(engine: str, layout: str) -> Mapping[str, str]:
    return manifests(answer(engine, layout))


PLANNED = [(engine, layout) for layout in LAYOUTS for engine in ENGINES if (engine, layout) not in NOTHING]
SERVED = [one for one in PLANNED if one not in NO_SERVER]


@pytest.mark.parametrize(("engine", "layout"), sorted(NOTHING))
def test_what_an_engine_does_not_run_has_no_plan(engine: str, layout: str) -> None:
    with pytest.raises(NothingToDeploy):
        written(engine, layout)


@pytest.mark.parametrize(("engine", "layout"), PLANNED)
def test_every_file_of_every_plan_is_valid(engine: str, layout: str) -> None:
    check_files(written(engine, layout))


@pytest.mark.parametrize(("engine", "layout"), SERVED)
def test_no_engine_refuses_its_arguments(engine: str, layout: str) -> None:
    facts, files = facts_of(answer(engine, layout)), set()
    for file, lists, arguments, gpus in commands(written(engine, layout), engine):
        options = read(arguments, *lists)
        files.add(file)
        if lists[0].startswith("dynamo-frontend"):
            continue
        if file != "production-stack-values.yaml":  # the chart passes on what stands in fields of its own
            check_start(facts, engine, options)
        if gpus and file != "kserve.yaml":  # KServe writes the sizes from a field of its own
            assert world(options) in {gpus * group.nodes for group in facts.groups}
    assert len(files) >= FEWEST[engine]


@pytest.mark.parametrize(("engine", "layout"), sorted(NO_SERVER))
def test_a_plan_that_nothing_can_start_says_so(engine: str, layout: str) -> None:
    contents = written(engine, layout)
    assert list(commands(contents, engine)) == []
    assert "## Left out" in contents[README]
    assert {"benchmarks.sh", INDEX} <= contents.keys()


@pytest.mark.parametrize("layout", [layout for engine, layout in SERVED if engine == "trtllm"])
def test_tensorrt_llm_knows_its_settings(layout: str) -> None:
    contents = written("trtllm", layout)
    texts = [
        text
        for file in ("kubernetes.yaml", "triton.yaml")
        for one in yaml.load_all(contents.get(file, ""), LOADER)
        for text in (one["data"].values() if one["kind"] == "ConfigMap" else ())
    ]
    for one in yaml.load_all(contents.get("compose.yaml", ""), LOADER):
        texts += [config["content"] for config in one["configs"].values()]
    for _, lists, arguments, _ in commands(contents, "trtllm"):
        texts += [read(arguments, *lists)["--override-engine-args"]] if "--override-engine-args" in arguments else []
    assert texts
    for text in texts:
        SETTINGS.validate(yaml.safe_load(text))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("method", "checkpoint"), [("mtp", ""), ("eagle3", "nvidia/draft"), ("eagle3", ""), ("dspark", "x/draft"), ("", "")]
)
def test_each_way_of_drafting_is_said_in_the_words_of_the_engine(engine: str, method: str, checkpoint: str) -> None:
    if (engine, method) == ("trtllm", "dspark"):
        assert not any(one.method == method and engine in one.engines for one in model_drafts().values())
        return
    facts = facts_of(answer(engine, "draft model"))
    facts = replace(
        facts, speculation=facts.speculation.model_copy(update={"method": method, "checkpoint": checkpoint})
    )
    contents = {name: rendered(file) for name, file in kubernetes.files(facts).items()}
    for _, lists, arguments, _ in commands(contents, engine):
        check_start(facts, engine, read(arguments, *lists))
    if engine == "trtllm":
        SETTINGS.validate(trtllm_rest(facts, facts.groups[0]))


def layouts(engine: str, file: str) -> list[str]:
    """The layouts in which an engine has a file."""
    having = [layout for one, layout in SERVED if one == engine and file in written(engine, layout)]
    assert len(having) >= len(LAYOUTS) // 2
    return having


@pytest.mark.parametrize("engine", ENGINES)
def test_what_scales_has_room_to(engine: str) -> None:
    for layout in layouts(engine, "keda.yaml"):
        (scaled,) = yaml.load_all(written(engine, layout)["keda.yaml"], LOADER)
        spec, deployed = scaled["spec"], answer(engine, layout).plan.deployment
        assert 1 <= spec["minReplicaCount"] < spec["maxReplicaCount"]
        assert spec["maxReplicaCount"] == max(deployed.instances, 2)
        assert spec["triggers"]


def test_one_instance_beside_a_spare_may_be_joined_by_another() -> None:
    scenario = Scenario.model_validate(case(LLAMA_8B, "h100_sxm", "vllm", precisions=["bf16"], spare_instances=1))
    (scaled,) = yaml.load_all(manifests(Answer.of(scenario, analytic_plan))["keda.yaml"], LOADER)
    assert (scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"]) == (2, 3)


def pods(engine: str, layout: str, file: str = "kubernetes.yaml") -> list[Any]:
    """The pods of the objects of a file."""
    objects = [one["spec"] for one in yaml.load_all(written(engine, layout)[file], LOADER) if "spec" in one]
    several = [one["leaderWorkerTemplate"] for one in objects if "leaderWorkerTemplate" in one]
    templates = [one[f"{kind}Template"] for one in several for kind in ("leader", "worker")]
    return [one["spec"] for one in templates + [one["template"] for one in objects if "template" in one]]


@pytest.mark.parametrize("engine", ENGINES)
def test_pods_ask_for_all_they_need(engine: str) -> None:
    every = [(pod, layout) for layout in layouts(engine, "kubernetes.yaml") for pod in pods(engine, layout)]
    for pod, layout in every:
        (container,), gpu = pod["containers"], answer(engine, layout).plan.deployment
        amounts = container["resources"]["requests"]
        gpus = sum(int(amount) for name, amount in amounts.items() if name.endswith("/gpu"))
        assert amounts["cpu"] == str(4 * gpus)
        assert amounts["memory"] == f"{32 * gpus}Gi"
        (shared,) = (one["emptyDir"] for one in pod["volumes"] if "emptyDir" in one)
        assert shared == {"medium": "Memory", "sizeLimit": "16Gi"}
        (label,) = pod["nodeSelector"].items()
        assert label == NODES[gpu.gpu]


NODES = {
    "h100_sxm": ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
    "h200_sxm": ("nvidia.com/gpu.product", "NVIDIA-H200"),
    "b200_sxm": ("nvidia.com/gpu.product", "NVIDIA-B200"),
    "gb200": ("nvidia.com/gpu.product", "NVIDIA-GB200"),
    "l40s": ("nvidia.com/gpu.product", "NVIDIA-L40S"),
    "mi300x": ("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
}


def test_a_server_says_whether_it_is_ready_and_whether_it_is_alive() -> None:
    for engine, file, ready, alive in (
        ("vllm", "kubernetes.yaml", "/health", "/health"),
        ("trtllm", "triton.yaml", "/v2/health/ready", "/v2/health/live"),
        ("nim", "kubernetes.yaml", "/v1/health/ready", "/v1/health/live"),
    ):
        (pod,) = pods(engine, "tensor", file)
        (container,) = pod["containers"]
        paths = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
        assert paths == [ready, ready, alive]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_latency_that_is_limited_has_an_alert(engine: str) -> None:
    (rule,) = yaml.load_all(written(engine, "tensor")["prometheus-rules.yaml"], LOADER)
    alerts = {one["alert"] for group in rule["spec"]["groups"] for one in group["rules"] if "alert" in one}
    assert alerts == {"InferenceTtftBudgetBurns", "InferenceItlBudgetBurns"}


@pytest.mark.parametrize(
    ("prompt", "answer", "least"),
    [
        ({"p50": 1000, "p95": 6000}, 200.0, 1000 * 6 ** (3.0902 / 1.6449) + 200),
        (3000.0, 300.0, 9.26 * 3300),
        ({"trace": "of.csv", "groups": [100.0] * 199 + [9000.0]}, 300.0, 9000 + 9.26 * 300),
    ],
    ids=["percentiles", "means", "trace"],
)
def test_the_context_holds_the_tail_of_the_lengths(prompt: Any, answer: float, least: float) -> None:
    """Not the mean: what is longer is refused, one request of a thousand at most."""
    workload = {"input_tokens": prompt, "output_tokens": answer, "peak_rps": 1}
    scenario = Scenario.model_validate(case(LLAMA_8B, "h100_sxm", "vllm", workload=workload, limits={}))
    facts = facts_of(Answer.of(scenario, analytic_plan))
    assert least <= facts.context <= 1.35 * least + 1024


def test_the_context_is_what_model_and_cache_can_hold() -> None:
    assert facts_of(answer("vllm", "a short window")).context == 16_384
    own = case(LLAMA_8B, "l4", "vllm", tp=[1], precisions=["bf16"], limits=dict.fromkeys(("ttft_ms", "itl_ms")))
    own["workload"] |= {"input_tokens": 12_000, "peak_rps": 0.1}
    facts = facts_of(Answer.of(Scenario.model_validate(own), analytic_plan))
    assert 12_300 <= facts.context <= facts.plan.per_instance.kv_tokens < 9 * 12_300


@pytest.mark.parametrize(
    ("command", "lists"),
    [
        (["--tensor-parallel", "2"], ("vllm-0.33.0",)),
        (["--max-num-seqs", "many"], ("vllm-0.33.0",)),
        (["--quantization", "fp9"], ("vllm-0.33.0",)),
        (["--speculative-config", "{method: mtp}"], ("vllm-0.33.0",)),
        (["--attn-dp-size", "8"], ("dynamo-sglang-1.6.1", "sglang-0.5.21")),
        (["--router-mode", "nearest"], ("dynamo-frontend-1.6.1",)),
        (["--ep-size", "8"], ("trtllm-serve-00209af",)),
    ],
)
def test_an_argument_that_a_server_does_not_know_is_refused(command: list[str], lists: tuple[str, ...]) -> None:
    with pytest.raises((Refused, json.JSONDecodeError)):
        read(command, *lists)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(valid_scenarios())
def test_every_target_validates_or_is_left_out_with_a_reason(keys):
    scenario = Scenario.model_validate(keys)
    plan = analytic_plan(scenario)
    if plan.deployment is None:
        with pytest.raises(NothingToDeploy):
            manifests(Answer(understand(scenario), plan))
        return
    contents, facts = manifests(Answer(understand(scenario), plan)), facts_of(Answer(understand(scenario), plan))
    check_files(contents)
    left_out = refused(facts)
    assert len(left_out) < len(TARGETS)
    for target in left_out:
        assert left_out[target].value[1:] in contents[README]
    assert sum(group.gpus * group.instances for group in facts.groups) == plan.deployment.gpus
