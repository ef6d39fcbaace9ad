"""A NIMService of NVIDIA's NIM Operator."""

import shlex
from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import flattened, vllm
from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import (
    CACHE,
    HF_TOKEN,
    PORT,
    SHARED_MEMORY,
    lost_together,
    metadata,
    node_selector,
    resources,
)
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml, aggregated

PULL_SECRET, AUTH_SECRET = "ngc-secret", "ngc-api-secret"
"""Secrets with the login of NVIDIA's registry, and with its key; no file here contains one."""
KEY = {
    "name": "NGC_API_KEY",
    "valueFrom": {"secretKeyRef": {"name": AUTH_SECRET, "key": "NGC_API_KEY", "optional": True}},
}
CACHE_PATH = {"name": "NIM_CACHE_PATH", "value": CACHE}


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Why NIM cannot express a plan, as one of pools or of another engine; None where it can."""
    if reason := aggregated(facts, ("nim",)):
        return reason
    (group,) = facts.groups
    if facts.nodes > 1 and group.dp > 1:
        return TargetReason.RANKS_OVER_NODES
    return TargetReason.STAGES if facts.nodes > 1 and group.pp != facts.nodes else None


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """The service; its volume is a NIMCache that the operator fills."""
    (group,) = facts.groups
    assert facts.hardware is not None
    repository, _, tag = facts.hardware.images["nim"].rpartition(":")
    spec: dict[str, Any] = {
        "image": {"repository": repository, "tag": tag, "pullSecrets": [PULL_SECRET]},
        "authSecret": AUTH_SECRET,
        "env": [*environment(facts, group), HF_TOKEN],
        "nodeSelector": node_selector(facts),
        **apart(facts),
        "storage": {
            "sharedMemorySizeLimit": SHARED_MEMORY,
            "pvc": {
                "create": True,
                "storageClass": FILL_IN.lower(),
                "size": f"{facts.storage_gb}Gi",
                "volumeAccessMode": "ReadWriteMany",
            },
        },
        "replicas": group.instances,
        "resources": resources(facts, group.gpus_per_node),
        "expose": {"service": {"type": "ClusterIP", "port": PORT}},
        "metrics": {"enabled": True},
    }
    if group.nodes > 1:
        shape = {"tensor": group.tp, "pipeline": group.pp}
        spec["multiNode"] = {"backendType": "lws", "parallelism": shape, "ray": {"rayPort": 6379}}
    service = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": metadata(facts),
        "spec": spec,
    }
    return {"nim.yaml": Yaml((service,))}


def apart(facts: ManifestFacts) -> dict[str, Any]:
    """The operator spreads nothing evenly, so that instances rather lie apart in what may fail; it labels their pods by
    the name of what it makes (NIM Operator 3.1, nimservice_types.go)."""
    pods = {"matchLabels": {"app": facts.name}}
    terms = [
        {"weight": 100, "podAffinityTerm": {"topologyKey": key, "labelSelector": pods}} for key in lost_together(facts)
    ]
    rather = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"affinity": rather} if terms and facts.nodes == 1 else {}


def environment(facts: ManifestFacts, group: InstanceGroup) -> list[dict[str, Any]]:
    """What NIM serves and how: it passes on arguments of the vLLM inside (NIM LLM 2.1, environment variables)."""
    passed = shlex.join(flattened({k: v for k, v in vllm(facts, group).items() if k != "--served-model-name"}))
    return [
        {"name": "NIM_MODEL_PATH", "value": f"hf://{facts.checkpoint.name}"},
        {"name": "NIM_SERVED_MODEL_NAME", "value": facts.checkpoint.served_as},
        {"name": "NIM_PASSTHROUGH_ARGS", "value": passed},
    ]


TARGET = ManifestTarget("nim", refuses, files)
