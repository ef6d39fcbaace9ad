"""An instance on one node or several, as KServe and NIM divide it."""

import shlex

import pytest
import yaml

from sharing.manifests import manifests
from sharing.manifests.bundle import TARGETS, refused
from sharing.manifests.facts import facts_of
from sharing.manifests.targets import Reason
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import LLAMA_70B, arguments, case


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
    assert refused(facts)[next(t for t in TARGETS if t.id == "nim")] is Reason.STAGES
