"""NVIDIA Dynamo: the plan's deployment as a graph, and the plan's questions as a request for a graph."""

import math
from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import Option, compact, flattened, sglang, trtllm_rest, vllm
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import HF_TOKEN, SHARED_MEMORY, labels, metadata, node_selector, resources, spread
from sharing.manifests.targets import Document, File, ManifestTarget, TargetReason, Yaml, engine_and_hardware
from sharing.manifests.targets_data import targets_data
from sizing.base.choices import Routing
from sizing.base.units import MS_PER_S

ENGINES = ("vllm", "sglang", "trtllm")
KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
ROUTER_MODE: Mapping[Routing, str] = {
    "random": "random",
    "round_robin": "round-robin",
    "weighted": "round-robin",
    "least_loaded": "least-loaded",
    "session_affinity": "kv",
    "prefix_aware": "kv",
}
"""How the frontend spreads requests; round robin where it has nothing nearer to what the plan assumed. The history of a
session is a prefix."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Any plan of its three engines on NVIDIA GPUs."""
    return engine_and_hardware(facts, ENGINES, image=f"dynamo_{facts.engine.id}")


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """The graph: a frontend, and workers."""
    graph = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": metadata(facts),
        "spec": {
            "backendFramework": facts.engine.id,
            "components": [frontend(facts), *(worker(facts, group) for group in facts.groups)],
        },
    }
    return {"dynamo.yaml": Yaml((graph,))}


def image(facts: ManifestFacts) -> str:
    """Dynamo's runtime with the engine of the plan."""
    assert facts.hardware is not None
    return facts.hardware.images[f"dynamo_{facts.engine.id}"]


def frontend(facts: ManifestFacts) -> Document:
    """What takes requests and spreads them."""
    mode = ROUTER_MODE[facts.scenario.deployment.routing]
    main = {
        "name": "main",
        "image": image(facts),
        "command": ["python3"],
        "args": ["-m", "dynamo.frontend", "--router-mode", mode],
    }
    return {"name": "frontend", "type": "frontend", "replicas": 1, "podTemplate": {"spec": {"containers": [main]}}}


def worker(facts: ManifestFacts, group: InstanceGroup) -> Document:
    """The component of a DynamoGraphDeployment whose pods are the instances of one kind (prefill, decode or both)."""
    facts, kind = facts.of(group), "worker" if group.role == "both" else group.role
    main = {
        "name": "main",
        "image": image(facts),
        "command": ["python3", "-m", f"dynamo.{facts.engine.id}"],
        "args": flattened(arguments(facts, group)),
        "env": [HF_TOKEN],
        "resources": resources(facts, group.gpus_per_node),
    }
    component: dict[str, Any] = {
        "name": kind,
        "type": kind,
        "replicas": group.instances,
        "sharedMemorySize": SHARED_MEMORY,
        "podTemplate": pod_template(facts, group, main),
    }
    return component | ({"multinode": {"nodeCount": group.nodes}} if group.nodes > 1 else {})


def pod_template(facts: ManifestFacts, group: InstanceGroup, main: Document) -> Document:
    """The pods of instances of one kind, spread where each is an instance: those of one belong side by side."""
    spec = {"nodeSelector": node_selector(facts), "containers": [main]}
    own = labels(facts, group.role)
    apart = spread(facts, own) if group.nodes == 1 else {}
    return {"metadata": {"labels": own}, "spec": spec | apart} if apart else {"spec": spec}


def arguments(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Option]:
    """The engine's own arguments as Dynamo's workers take them, and the part that an instance has."""
    role = {} if group.role == "both" else {"--disaggregation-mode": group.role}
    if facts.engine.id == "vllm":
        transfer = {"kv_connector": "NixlConnector", "kv_role": KV_ROLES.get(group.role, "kv_both")}
        moved = {"--kv-transfer-config": compact(transfer)} if role else {}
        return {"--model": facts.checkpoint.name, **vllm(facts, group), **role, **moved}
    if facts.engine.id == "sglang":
        moved = {"--disaggregation-transfer-backend": "nixl"} if role else {}
        options = sglang(facts, group)
        if ranks := options.pop("--attn-dp-size", None):  # SGLang 0.5.21, which Dynamo 1.6 has, calls it otherwise
            options |= {"--dp-size": ranks, "--enable-dp-attention": True}
        return {"--model-path": facts.checkpoint.name, **options, **role, **moved}
    return {
        "--model-path": facts.checkpoint.name,
        "--served-model-name": facts.checkpoint.served_as,
        "--tensor-parallel-size": group.tp * group.dp,
        "--pipeline-parallel-size": group.pp,
        "--max-batch-size": group.max_sequences,
        "--max-num-tokens": group.token_budget,
        "--max-seq-len": facts.context,
        "--override-engine-args": compact(trtllm_rest(facts, group)),
        **role,
    }


def request_refuses(facts: ManifestFacts) -> TargetReason | None:
    """One GPU type that it can name, and limits that it can hold."""
    if facts.engine.id not in ENGINES:
        return TargetReason.ENGINE
    if len(facts.gpu_types) > 1:
        return TargetReason.TWO_TYPES
    if facts.gpu.id not in targets_data().dynamo_gpus:
        return TargetReason.GPU_NAME
    return None if sla(facts) else TargetReason.LIMITS


def sla(facts: ManifestFacts) -> dict[str, float] | None:
    """The limits in ms as a request can say them: TTFT and ITL, or E2E alone; None for any other combination."""
    limits = facts.limits
    if math.isfinite(limits.ttft_s) and math.isfinite(limits.itl_s):
        return {"ttft": round(limits.ttft_s * MS_PER_S, 3), "itl": round(limits.itl_s * MS_PER_S, 3)}
    alone = math.isfinite(limits.e2e_s) and math.isinf(limits.ttft_s) and math.isinf(limits.itl_s)
    return {"e2eLatency": round(limits.e2e_s * MS_PER_S, 3)} if alone else None


def request_files(facts: ManifestFacts) -> Mapping[str, File]:
    """A DynamoGraphDeploymentRequest that asks NVIDIA's planner for the same load within the same limits."""
    request = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeploymentRequest",
        "metadata": metadata(facts, "-request"),
        "spec": {
            "model": facts.checkpoint.name,
            "backend": facts.engine.id,
            "image": targets_data().images["dynamo_planner"],
            "searchStrategy": "rapid",
            "autoApply": False,
            "workload": {
                "isl": round(facts.lengths.input_tokens),
                "osl": max(round(facts.lengths.output_tokens), 1),
                "requestRate": round(facts.requests_per_s, 4),
            },
            "sla": sla(facts),
            "hardware": {
                "gpuSku": targets_data().dynamo_gpus[facts.gpu.id],
                "totalGpus": facts.deployment.gpus,
                "numGpusPerNode": facts.node_gpus,
            },
        },
    }
    return {"dynamo-request.yaml": Yaml((request,))}


TARGET = ManifestTarget("dynamo", refuses, files)
REQUEST = ManifestTarget("dynamo_request", request_refuses, request_files)
