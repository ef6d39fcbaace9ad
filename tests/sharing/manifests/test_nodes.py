"""An instance on one node or several, as KServe and NIM divide it."""

import shlex

import pytest
import yaml

from sharing.manifests import manifests
from sharing.manifests.bundle import TARGETS, refused
from sharing.manifests.facts import facts_of
from sharing.manifests.targets import TargetReason
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import LLAMA_70B, arguments, case, documents, objects, planned, written


@pytest.mark.parametrize(
    ("tp", "pp", "pods", "passed"), [(2, 2, 1, "2"), (8, 2, 2, None), (4, 4, 4, None)], ids=["node", "nodes", "stages"]
)
def test_kserve_has_a_pod_for_each_stage_and_its_gpus(tp, pp, pods, passed):
    """Its template of several nodes starts as many as there are stages; that of one node knows no stages."""
    keys = case(LLAMA_70B, "h100_sxm", "vllm", tp=[tp], pp=[pp], limits={})
    scenario = Scenario.model_validate(keys)
    (service,) = yaml.safe_load_all(manifests(Answer.of(scenario, analytic_plan))["kserve.yaml"])
    spec = service["spec"]
    (main,) = spec["template"]["containers"]
    assert ("worker" in spec) is (pods > 1)
    assert spec["parallelism"] == {"tensor": tp, "pipeline": pp}
    assert int(main["resources"]["limits"]["nvidia.com/gpu"]) * pods == tp * pp
    given = arguments(shlex.split(next(one["value"] for one in main["env"] if one["name"] == "VLLM_ADDITIONAL_ARGS")))
    assert given.get("--pipeline-parallel-size") == passed


@pytest.mark.parametrize(("gpu", "tp", "pp"), [("h100_sxm", 4, 4), ("gb200", 8, 1)])
def test_nim_has_a_pipeline_stage_on_each_node(gpu, tp, pp):
    keys = case(LLAMA_70B, gpu, "nim", tp=[tp], pp=[pp], limits={})
    scenario = Scenario.model_validate(keys)
    facts = facts_of(Answer.of(scenario, analytic_plan))
    assert facts.nodes == 2
    assert refused(facts)[next(t for t in TARGETS if t.id == "nim")] is TargetReason.STAGES


RESILIENT = {
    "vllm resilient": ["kubernetes.io/hostname"],
    "vllm racks": ["nvidia.com/gpu.clique"],
    "vllm apart, two sites": ["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
    "trtllm resilient": ["kubernetes.io/hostname"],
}


def answering_pods(one):
    """Labels, if they are written down, and spec of each kind of pods that answer, by the kind of their object."""
    spec = one.get("spec", {})
    if one["kind"] == "Deployment":
        return [(spec["template"]["metadata"]["labels"], spec["template"]["spec"])]
    if one["kind"] == "LLMInferenceService":
        return [(None, part["template"]) for part in (spec, spec.get("prefill")) if part]
    if one["kind"] == "DynamoGraphDeployment":
        workers = [part["podTemplate"] for part in spec["components"] if part["type"] != "frontend"]
        return [(pod["metadata"]["labels"], pod["spec"]) for pod in workers]
    return []


@pytest.mark.parametrize(("name", "keys"), RESILIENT.items())
def test_instances_are_spread_over_what_may_fail(name, keys):
    """Evenly, by a selector that finds the pods of their kind alone; what was asked for must hold."""
    found = [(file, *pod) for file, one in objects(written(name)) for pod in answering_pods(one)]
    assert len({file for file, *_ in found}) >= 3 - (name == "trtllm resilient")
    for file, labels, spec in found:
        rules = spec["topologySpreadConstraints"]
        assert [rule["topologyKey"] for rule in rules] == keys, file
        assert [rule["whenUnsatisfiable"] for rule in rules] == ["DoNotSchedule", "ScheduleAnyway"][: len(keys)]
        selectors = [rule["labelSelector"]["matchLabels"] for rule in rules]
        assert all(selector.items() <= (labels or selector).items() for selector in selectors), file
    assert f"`{keys[0]}`" in written(name)["README.md"]


@pytest.mark.parametrize("name", ["vllm resilient", "vllm apart, two sites", "trtllm resilient"])
def test_maintenance_takes_no_more_than_is_spare(name):
    deployed = planned(name).plan.deployment
    budgets = {
        one["metadata"]["name"]: one["spec"]
        for file, one in objects(written(name))
        if one["kind"] == "PodDisruptionBudget" and file != "triton.yaml"
    }
    spares = [kind.spare_instances for kind in deployed.kinds]
    assert [one["maxUnavailable"] for one in budgets.values()] == spares
    assert min(spares) > 0


def test_nim_keeps_instances_apart_and_nothing_is_spread_unasked():
    (service,) = documents("nim resilient", "nim.yaml")
    terms = service["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["podAffinityTerm"]["topologyKey"] for term in terms] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]
    assert {term["podAffinityTerm"]["labelSelector"]["matchLabels"]["app"] for term in terms} == {
        service["metadata"]["name"]
    }
    for text in written("vllm").values():
        assert "topologySpreadConstraints" not in text
        assert "PodDisruptionBudget" not in text
