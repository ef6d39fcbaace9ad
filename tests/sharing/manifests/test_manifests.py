"""The files of a plan say what the plan assumed, for every target that can; what cannot is named with its reason."""

import io
import json
import shlex
import zipfile
from collections.abc import Mapping
from typing import get_args

import pytest
import yaml

from sharing.errors import ForeignFolder, NothingToDeploy
from sharing.manifests import dynamo, manifests, production_stack, write_folder, zipped
from sharing.manifests.bundle import INDEX, README, TARGETS, refused
from sharing.manifests.facts import dns_label, facts_of
from sharing.manifests.targets import TargetReason
from sizing import Scenario
from sizing.base.choices import Routing
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import (
    CASES,
    LLAMA_70B,
    arguments,
    case,
    container,
    dashboard,
    documents,
    planned,
    written,
)
from tests.sharing.manifests.validation import check_files

SERVES = {
    "kubernetes.yaml",
    "production-stack-values.yaml",
    "kserve.yaml",
    "llm-d.yaml",
    "dynamo.yaml",
    "nim.yaml",
    "triton.yaml",
    "compose.yaml",
}


def serving(name: str) -> set[str]:
    return SERVES & set(written(name))


@pytest.mark.parametrize("name", CASES)
def test_every_file_is_valid(name):
    check_files(written(name))


@pytest.mark.parametrize("name", CASES)
def test_every_target_is_written_or_left_out_with_a_reason(name):
    facts = facts_of(planned(name))
    left_out, readme = refused(facts), written(name)[README]
    assert {t.id for t in TARGETS} == {t.id for t in left_out} | {t.id for t in TARGETS if t not in left_out}
    for target in TARGETS:
        if target in left_out:
            assert left_out[target].value[1:] in readme
        else:
            assert set(target.files(facts)) <= set(written(name))
    for file in set(written(name)) - {README, INDEX}:
        assert f"`{file}`" in readme


def test_which_plans_each_target_expresses():
    everything = SERVES - {"nim.yaml", "triton.yaml"}
    assert serving("vllm") == everything
    assert serving("vllm amd") == everything - {"dynamo.yaml"}
    assert serving("vllm nodes") == {"kubernetes.yaml", "kserve.yaml", "llm-d.yaml", "dynamo.yaml"}
    assert serving("vllm rack") == {"kubernetes.yaml", "llm-d.yaml", "dynamo.yaml"}
    assert serving("vllm apart") == {"kserve.yaml", "llm-d.yaml", "dynamo.yaml"}
    assert serving("sglang") == {"kubernetes.yaml", "dynamo.yaml", "compose.yaml"}
    assert serving("trtllm") == {"kubernetes.yaml", "dynamo.yaml", "triton.yaml", "compose.yaml"}
    assert serving("trtllm apart") == {"dynamo.yaml"}
    assert serving("nim") == {"kubernetes.yaml", "nim.yaml"}
    assert serving("nim nodes") == {"nim.yaml"}
    assert serving("tgi") == serving("tpu") == set()


def test_vllm_has_the_arguments_of_the_plan():
    given = arguments(container("vllm amd")["command"])
    plan = planned("vllm amd").plan
    assert given["--tensor-parallel-size"] == str(plan.deployment.tp)
    assert given["--max-num-seqs"] == "64" == str(plan.deployment.batch_limit)
    assert given["--max-num-batched-tokens"] == "16384"  # the default from 160 GiB
    assert given["--max-model-len"] == "30720"  # nine times 3,000 + 300, rounded up: they are means
    assert given["--kv-cache-dtype"] == "fp8"
    assert given["--quantization"] == "fp8"
    amd = container("vllm amd")["resources"]["limits"]
    assert amd == {"amd.com/gpu": str(plan.deployment.tp)}


def test_prefix_caching_is_on_unless_the_engine_cannot():
    for name, why in (("vllm", "on"), ("vllm amd", "on, though the plan counts on no cached tokens")):
        assert arguments(container(name)["command"])["--enable-prefix-caching"]
        assert f"- Prefix caching: {why}\n" in written(name)[README]
    assert "--disable-radix-cache" not in container("sglang")["command"]
    scenario = Scenario.model_validate(case("Qwen/Qwen3-Next-80B-A3B-Instruct", "h200_sxm", "tensorrt_llm", limits={}))
    contents = manifests(Answer.of(scenario, analytic_plan))
    (settings,) = (one for one in yaml.safe_load_all(contents["kubernetes.yaml"]) if one["kind"] == "ConfigMap")
    assert json.loads(settings["data"]["settings.yaml"])["kv_cache_config"]["enable_block_reuse"] is False
    assert "- Prefix caching: off, which the engine cannot" in contents[README]


def test_weights_that_no_checkpoint_is_known_in_are_to_fill_in():
    assert container("vllm at load")["command"][2] == "meta-llama/Llama-3.3-70B-Instruct"
    assert "--quantization" in container("vllm at load")["command"]
    assert arguments(container("vllm")["command"])["--dtype"] == "bfloat16"
    assert container("vllm 4 bit")["command"][2] == "FILL-IN/llama-3-3-70b-instruct-int4-awq"
    assert container("own model")["command"][2].startswith("FILL-IN/")
    assert "a checkpoint of the model in INT4 AWQ" in written("vllm 4 bit")[README]


@pytest.mark.parametrize(
    ("model", "gpu", "engine", "precision", "loaded"),
    [
        (LLAMA_70B, "b200_sxm", "tensorrt_llm", "fp8", "nvidia/Llama-3.3-70B-Instruct-FP8"),
        (LLAMA_70B, "b200_sxm", "vllm", "nvfp4", "nvidia/Llama-3.3-70B-Instruct-NVFP4"),
        (LLAMA_70B, "mi300x", "vllm", "int4_gptq", "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16"),
        (LLAMA_70B, "h100_sxm", "trtllm", "int4_gptq", "FILL-IN/llama-3-3-70b-instruct-int4-gptq"),  # of Red Hat alone
        ("meta-llama/Llama-3.1-8B", "h100_sxm", "tensorrt_llm", "fp8", "FILL-IN/llama-3-1-8b-fp8"),  # of Instruct alone
    ],
)
def test_a_published_checkpoint_of_the_format_is_named(model, gpu, engine, precision, loaded):
    """One of exactly the model that is named, which the engine reads on this accelerator; else it is to fill in."""
    scenario = Scenario.model_validate(case(model, gpu, engine, precisions=[precision], limits={"ttft_ms": 9000}))
    checkpoint = facts_of(Answer.of(scenario, analytic_plan)).checkpoint
    assert (checkpoint.name, checkpoint.to_fill_in) == (loaded, loaded.startswith("FILL-IN"))


def test_a_checkpoint_that_the_scenario_names_is_loaded():
    name = "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"
    scenario = Scenario.model_validate(case(name, "h100_sxm", "vllm", precisions=["fp8"]))
    (deployment,) = (
        one
        for one in yaml.safe_load_all(manifests(Answer.of(scenario, analytic_plan))["kubernetes.yaml"])
        if one["kind"] == "Deployment"
    )
    command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[2] == name
    assert "--quantization" not in command


def test_an_instance_over_nodes_is_a_leader_with_workers():
    (group_set,) = (one for one in documents("vllm nodes", "kubernetes.yaml") if one["kind"] == "LeaderWorkerSet")
    template = group_set["spec"]["leaderWorkerTemplate"]
    assert template["size"] == 2
    leader, worker = (template[f"{kind}Template"]["spec"]["containers"][0] for kind in ("leader", "worker"))
    given = arguments(leader["command"])
    assert given["--nnodes"] == "2"
    assert given["--node-rank"] == "$(LWS_WORKER_INDEX)"
    assert (given["--tensor-parallel-size"], given["--pipeline-parallel-size"]) == ("8", "2")
    assert "--headless" in worker["command"]
    assert "--headless" not in leader["command"]
    assert leader["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    (rack,) = (one for one in documents("vllm rack", "kubernetes.yaml") if one["kind"] == "LeaderWorkerSet")
    assert rack["spec"]["leaderWorkerTemplate"]["size"] == 2  # trays of four GPUs
    assert documents("vllm nodes", "dynamo.yaml")[0]["spec"]["components"][1]["multinode"] == {"nodeCount": 2}


def test_sglang_counts_sequences_and_tokens_of_the_whole_instance():
    worker = next(
        one for one in documents("sglang ranks", "dynamo.yaml")[0]["spec"]["components"] if one["type"] == "decode"
    )
    given = arguments(worker["podTemplate"]["spec"]["containers"][0]["args"])
    assert (given["--tp-size"], given["--dp-size"], given["--ep-size"]) == ("8", "8", "8")
    assert given["--max-running-requests"] == str(2048 * 8)
    assert given["--chunked-prefill-size"] == str(8192 * 8)


def test_vllm_counts_sequences_of_a_rank():
    prefill, decode = (
        arguments(one["podTemplate"]["spec"]["containers"][0]["args"])
        for one in documents("vllm ranks", "dynamo.yaml")[0]["spec"]["components"][1:]
    )
    assert (decode["--data-parallel-size"], decode["--max-num-seqs"]) == ("8", "32")
    assert decode["--enable-expert-parallel"] is True
    assert prefill["--max-num-seqs"] == "256"


def test_prefill_and_decode_are_workloads_of_their_own():
    plan = planned("vllm apart").plan
    prefill, decode = plan.deployment.pools
    (kserve,) = documents("vllm apart", "kserve.yaml")
    assert kserve["spec"]["replicas"] == decode.instances
    assert kserve["spec"]["prefill"]["replicas"] == prefill.instances
    assert kserve["spec"]["prefill"]["parallelism"]["pipeline"] == prefill.pp
    roles = {
        one["spec"]["template"]["metadata"]["labels"]["llm-d.ai/role"]: one
        for one in documents("vllm apart", "llm-d.yaml")
        if one["kind"] == "Deployment"
    }
    assert roles["prefill"]["spec"]["replicas"] == prefill.instances
    assert roles["decode"]["spec"]["template"]["spec"]["initContainers"][0]["name"] == "routing-proxy"
    assert roles["prefill"]["metadata"]["name"] != roles["decode"]["metadata"]["name"]


def test_requests_reach_the_pods_that_answer_alone():
    """The workers of a leader listen to nobody; a decoding leader has the proxy beside it."""
    keys = case("meta-llama/Llama-3.3-70B-Instruct", "h100_sxm", "vllm", serving=["disaggregated"], precisions=["bf16"])
    keys["deployment"] |= {"prefill": {"tp": 8}, "decode": {"tp": 8, "pp": 2}}
    scenario = Scenario.model_validate(keys)
    read = list(yaml.safe_load_all(manifests(Answer.of(scenario, analytic_plan))["llm-d.yaml"]))
    (pool,) = (one for one in read if one["kind"] == "InferencePool")
    chosen = pool["spec"]["selector"]["matchLabels"].items()
    (decode,) = (one["spec"]["leaderWorkerTemplate"] for one in read if one["kind"] == "LeaderWorkerSet")
    (prefill,) = (one["spec"]["template"] for one in read if one["kind"] == "Deployment")
    assert all(chosen <= pod["metadata"]["labels"].items() for pod in (decode["leaderTemplate"], prefill))
    assert not chosen <= decode["workerTemplate"]["metadata"]["labels"].items()
    assert decode["leaderTemplate"]["spec"]["initContainers"][0]["name"] == "routing-proxy"
    assert decode["leaderTemplate"]["spec"]["containers"][0]["ports"][0]["containerPort"] == 8200
    (service,) = (one for one in documents("vllm nodes", "kubernetes.yaml") if one["kind"] == "Service")
    (instances,) = (one for one in documents("vllm nodes", "kubernetes.yaml") if one["kind"] == "LeaderWorkerSet")
    template, selector = instances["spec"]["leaderWorkerTemplate"], service["spec"]["selector"].items()
    assert selector <= template["leaderTemplate"]["metadata"]["labels"].items()
    assert not selector <= template["workerTemplate"]["metadata"]["labels"].items()


def test_drafts_are_asked_for_and_fit_into_a_step():
    given = arguments(container("vllm drafts")["command"])
    assert json.loads(given["--speculative-config"])["num_speculative_tokens"] == 3
    assert int(given["--max-num-batched-tokens"]) >= int(given["--max-num-seqs"]) * 4


def test_a_request_to_dynamo_asks_the_same_questions():
    plan = planned("trtllm").plan
    (request,) = documents("trtllm", "dynamo-request.yaml")
    assert request["spec"]["workload"] == {"isl": 3000, "osl": 300, "requestRate": 6.0}
    assert request["spec"]["sla"] == {"ttft": 2000.0, "itl": 60.0}
    assert request["spec"]["hardware"]["totalGpus"] == plan.deployment.gpus
    (alone,) = documents("e2e alone", "dynamo-request.yaml")
    assert alone["spec"]["sla"] == {"e2eLatency": 30_000.0}
    assert (
        refused(facts_of(planned("offline")))[next(t for t in TARGETS if t.id == "dynamo_request")]
        is TargetReason.LIMITS
    )


def test_tensorrt_llm_reads_its_settings_from_a_file():
    (settings,) = (one for one in documents("trtllm", "triton.yaml") if one["kind"] == "ConfigMap")
    model = yaml.safe_load(settings["data"]["model.yaml"])
    plan = planned("trtllm").plan
    assert model["tensor_parallel_size"] == plan.deployment.tp
    assert (model["max_batch_size"], model["max_num_tokens"]) == (2048, 8192)
    assert model["kv_cache_config"]["dtype"] == "fp8"


def test_compose_gives_each_instance_gpus_of_its_own():
    (document,) = documents("vllm drafts", "compose.yaml")
    devices = [
        one["deploy"]["resources"]["reservations"]["devices"][0]["device_ids"] for one in document["services"].values()
    ]
    assert devices == [["0", "1", "2", "3"], ["4", "5", "6", "7"]]


def test_keda_holds_each_instance_at_its_planned_load():
    plan = planned("vllm amd").plan
    (scaled,) = documents("vllm amd", "keda.yaml")
    in_flight, rate = (one["metadata"] for one in scaled["spec"]["triggers"])
    working = 1 - plan.deployment.spare_instances / plan.deployment.instances  # the spare stands there at the peak, too
    assert float(in_flight["threshold"]) == pytest.approx(plan.per_instance.concurrency * working, rel=1e-4)
    assert float(rate["threshold"]) == pytest.approx(plan.per_instance.max_rps * working, rel=1e-4)
    assert scaled["spec"]["minReplicaCount"] == 2  # one that works and the spare
    assert scaled["spec"]["maxReplicaCount"] == plan.deployment.instances


def test_the_dashboard_has_the_lines_of_the_plan():
    plan = planned("vllm").plan
    by_title = {
        panel["title"]: {t["legendFormat"]: t["expr"] for t in panel["targets"]}
        for panel in dashboard("vllm")["panels"]
    }
    assert by_title["TTFT"]["Limit"] == "vector(2)"
    planned_s = plan.latency.ttft_ms.at_percentile / 1000
    assert by_title["TTFT"]["Plan, p95"] == f"vector({planned_s:.6g})"
    assert by_title["Requests"]["Plan: peak"] == "vector(6)"


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Chat of Acme", "chat-of-acme"),
        ("70B, EU", "s-70b-eu"),
        ("日本", "scenario"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 200, "x" * 40),
        ("a" * 39 + "-b", "a" * 39),
    ],
)
def test_names_are_those_that_kubernetes_takes(typed, name):
    assert dns_label(typed) == name


def test_what_somebody_typed_stays_text():
    keys = case("x/$(reboot)`id`\n# y", "h100_sxm", "vllm") | {"name": "=cmd() <script>[a](b)\n- k: v"}
    keys["model"] = {"name": keys["model"], "params_b": 8}
    scenario = Scenario.model_validate(keys)
    contents = manifests(Answer.of(scenario, analytic_plan))
    check_files(contents)
    lines = [line for line in contents["benchmarks.sh"].splitlines() if line[:1] not in ("#", "")]
    assert all("$(reboot)" not in line and "`" not in line for line in lines)
    tools = ("vllm bench", "guidellm run", "aiperf profile")
    assert [sum(line.startswith(tool) and len(shlex.split(line)) > 9 for line in lines) for tool in tools] == [1, 1, 1]
    assert "<script>" not in contents[README]
    assert "[a](b)" not in contents[README]


def test_nothing_secret_and_no_price_is_in_a_file():
    for name in CASES:
        text = "".join(written(name).values())
        assert "$" not in written(name)[README]
        assert "hf_" not in text.replace("hf_token", "")
        assert "USD" not in text


def test_same_plan_same_bytes():
    assert manifests(planned("vllm")) == written("vllm")


def test_a_plan_that_deploys_nothing_has_no_manifests():
    scenario = Scenario.model_validate(case("deepseek-ai/DeepSeek-V3", "l4", "vllm"))
    with pytest.raises(NothingToDeploy, match="nothing to deploy"):
        manifests(Answer.of(scenario, analytic_plan))


def test_a_measured_record_says_that_settings_are_defaults():
    keys = case("meta-llama/Llama-3.1-8B-Instruct", "h100_sxm", "vllm")
    scenario = Scenario.model_validate(keys | {"measured": {"system": "DGX H100", "rps_per_system": 2.4}})
    contents = manifests(Answer.of(scenario, analytic_plan))
    check_files(contents)
    assert "measured record" in contents[README]
    (scaled,) = yaml.safe_load_all(contents["keda.yaml"])
    assert [one["name"] for one in scaled["spec"]["triggers"]] == ["requests-per-second"]


@pytest.mark.parametrize("table", [production_stack.ROUTING, dynamo.ROUTER_MODE], ids=["chart", "dynamo"])
def test_every_routing_has_a_word_in_each_target(table: Mapping[Routing, str]) -> None:
    assert set(table) == set(get_args(Routing))


def held(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_new_folder_and_an_empty_one_are_written(tmp_path):
    write_folder(written("vllm"), tmp_path / "new" / "k8s")
    (tmp_path / "empty").mkdir()
    write_folder(written("vllm"), tmp_path / "empty")
    assert held(tmp_path / "new" / "k8s") == held(tmp_path / "empty") == written("vllm")


def test_an_earlier_export_is_replaced(tmp_path):
    write_folder(written("vllm"), tmp_path)
    write_folder(written("nim"), tmp_path)
    assert held(tmp_path) == written("nim")


def test_a_file_that_cannot_be_written_leaves_the_earlier_export(tmp_path):
    write_folder(written("vllm"), tmp_path)
    with pytest.raises(UnicodeEncodeError):
        write_folder({**written("nim"), "last.txt": "\ud800"}, tmp_path)
    assert held(tmp_path) == written("vllm")
    write_folder(written("nim"), tmp_path)
    assert held(tmp_path) == written("nim")


@pytest.mark.parametrize("spoil", ["foreign", "changed", "link", "folder", "index"])
def test_what_somebody_else_wrote_is_kept(tmp_path, spoil):
    folder = tmp_path / "k8s"
    write_folder(written("vllm"), folder)
    if spoil == "foreign":
        (folder / "notes.txt").write_text("mine")
    elif spoil == "changed":
        (folder / "kubernetes.yaml").write_text("image tag filled in")
    elif spoil == "link":
        (folder / "kubernetes.yaml").unlink()
        (folder / "kubernetes.yaml").symlink_to(tmp_path / "elsewhere")
    elif spoil == "folder":
        (folder / "charts").mkdir()
    else:
        (folder / INDEX).write_text("[1, 2")
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(ForeignFolder, match="name another folder"):
        write_folder(written("nim"), folder)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_or_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("")
    for name, why in (("link", "is a link"), ("file", "is a file")):
        with pytest.raises(ForeignFolder, match=why):
            write_folder(written("vllm"), tmp_path / name)
    assert held(tmp_path / "real") == {}


def test_the_zip_is_the_same_every_time_and_holds_everything():
    made = zipped(written("vllm"))
    assert made == zipped(dict(reversed(written("vllm").items())))
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == written("vllm")
