"""Values of the Helm chart of the vLLM production stack."""

from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import flattened, vllm
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.pods import CPUS_PER_GPU, MEMORY_GI_PER_GPU, SECRET, SHARED_MEMORY, node_selector
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml, on_one_node
from sizing.base.choices import Routing

OWN_FIELDS = {
    "--tensor-parallel-size": "tensorParallelSize",
    "--max-num-seqs": "maxNumSeqs",
    "--max-model-len": "maxModelLen",
    "--gpu-memory-utilization": "gpuMemoryUtilization",
}
"""Arguments that the chart has a field for; the others stand in ``extraArgs``."""

ROUTING: Mapping[Routing, str] = {
    "random": "roundrobin",
    "round_robin": "roundrobin",
    "weighted": "roundrobin",
    "least_loaded": "roundrobin",
    "session_affinity": "session",
    "prefix_aware": "prefixaware",
}
"""How the chart's router spreads requests; round robin where it has nothing nearer to what the plan assumed."""

SESSION_KEY = "x-user-id"
"""Header that names the session, as in the chart's documents."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Aggregated plans of vLLM, each instance on one node."""
    return on_one_node(facts, ("vllm",))


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """The values to install the chart with."""
    (group,) = facts.groups
    assert facts.hardware is not None
    repository, _, tag = facts.hardware.images["vllm"].rpartition(":")
    matches = [{"key": key, "operator": "In", "values": [value]} for key, value in node_selector(facts).items()]
    model: dict[str, Any] = {
        "name": facts.name,
        "repository": repository,
        "tag": tag,
        "modelURL": facts.checkpoint.name,
        "replicaCount": group.instances,
        "requestCPU": CPUS_PER_GPU * group.gpus,
        "requestMemory": f"{MEMORY_GI_PER_GPU * group.gpus}Gi",
        "requestGPU": group.gpus,
        "requestGPUType": facts.hardware.resource,
        "pvcStorage": f"{facts.storage_gb}G",
        "pvcAccessMode": ["ReadWriteMany"],
        "hf_token": {"secretName": SECRET, "secretKey": "token"},
        "shmSize": SHARED_MEMORY,
        "nodeSelectorTerms": [{"matchExpressions": matches}],
        "vllmConfig": config(facts),
    }
    routing = ROUTING[facts.scenario.deployment.routing]
    router = {"routingLogic": routing} | ({"sessionKey": SESSION_KEY} if routing == "session" else {})
    values = {"servingEngineSpec": {"modelSpec": [model]}, "routerSpec": router}
    return {"production-stack-values.yaml": Yaml((values,))}


def config(facts: ManifestFacts) -> dict[str, Any]:
    """vLLM's arguments: in the chart's own fields where it has them."""
    (group,) = facts.groups
    options = vllm(facts, group)
    own: dict[str, Any] = {field: options.pop(name) for name, field in OWN_FIELDS.items()}
    for name in ("--enable-prefix-caching", "--no-enable-prefix-caching"):
        options.pop(name, None)
    return own | {"enablePrefixCaching": facts.prefix_caching, "extraArgs": flattened(options)}


TARGET = ManifestTarget("production_stack", refuses, files)
