"""llm-d: vLLM pods in an InferencePool behind a gateway, prefill and decode apart where the plan has them so."""

from collections.abc import Mapping
from typing import Any

from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.kserve import KV_TRANSFER
from sharing.manifests.kubernetes import instances
from sharing.manifests.pods import ANSWERS, POD_IP, PORT, disruption_budgets, labels, metadata, model_volume
from sharing.manifests.targets import (
    Document,
    File,
    ManifestTarget,
    TargetReason,
    Yaml,
    engine_and_hardware,
    ranks_over_nodes,
)
from sharing.manifests.targets_data import targets_data

PICKER_PORT = 9002
BEHIND_SIDECAR = 8200
"""Port of a decoding engine, in front of which the routing sidecar listens on the port of the pool."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Why llm-d cannot express a plan, as of another engine than vLLM; None where it can."""
    if reason := engine_and_hardware(facts, ("vllm",)):
        return reason
    return TargetReason.RANKS_OVER_NODES if ranks_over_nodes(facts) else None


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """Volume, pods, what maintenance may take of them, pool and route in one file."""
    objects = [*(workload(facts, group) for group in facts.groups), *disruption_budgets(facts)]
    return {"llm-d.yaml": Yaml((model_volume(facts), *objects, pool(facts), route(facts)))}


def workload(facts: ManifestFacts, group: InstanceGroup) -> Document:
    """The pods of instances of one kind; those that decode have the prompt computed elsewhere first."""
    if group.role == "both":
        return instances(facts, group)
    return instances(
        facts,
        group,
        suffix=f"-{group.role}",
        port=BEHIND_SIDECAR if group.role == "decode" else PORT,
        extra=("--kv-transfer-config", KV_TRANSFER),
        env=[{"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", **POD_IP}],
        beside=[sidecar()] if group.role == "decode" else [],
    )


def sidecar() -> dict[str, Any]:
    """The proxy beside a decoding engine, which has the prompt computed elsewhere first."""
    return {
        "name": "routing-proxy",
        "image": targets_data().images["routing_sidecar"],
        "args": [f"--port={PORT}", f"--vllm-port={BEHIND_SIDECAR}", "--connector=nixlv2"],
        "ports": [{"name": "proxy", "containerPort": PORT}],
        "restartPolicy": "Always",
    }


def pool(facts: ManifestFacts) -> Document:
    """The pods that requests are spread over, and who picks one."""
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": metadata(facts),
        "spec": {
            "selector": {"matchLabels": labels(facts) | ANSWERS},
            "targetPorts": [{"number": PORT}],
            "endpointPickerRef": {
                "name": f"{facts.name}-epp",
                "port": {"number": PICKER_PORT},
                "failureMode": "FailClose",
            },
        },
    }


def route(facts: ManifestFacts) -> Document:
    """The route from the gateway, which is the cluster's, to the pool."""
    backend = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": facts.name}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": metadata(facts),
        "spec": {
            "parentRefs": [{"name": f"{FILL_IN.lower()}-gateway"}],
            "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [backend]}],
        },
    }


TARGET = ManifestTarget("llm_d", refuses, files)
