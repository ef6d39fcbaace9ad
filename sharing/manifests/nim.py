"""A NIMService of NVIDIA's NIM Operator."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import flattened, vllm
from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import Facts
from sharing.manifests.pods import PORT, metadata, resources
from sharing.manifests.targets import File, Reason, Target, Yaml

NVIDIA = "nvidia.com/gpu"


def refuses(facts: Facts) -> Reason | None:
    """Aggregated plans of NIM."""
    if facts.engine.id != "nim":
        return Reason.ENGINE
    if facts.hardware is None or facts.hardware.resource != NVIDIA:
        return Reason.HARDWARE
    if facts.disaggregated:
        return Reason.DISAGGREGATED
    (group,) = facts.groups
    if facts.nodes > 1 and group.dp > 1:
        return Reason.RANKS_OVER_NODES
    return Reason.STAGES if facts.nodes > 1 and group.pp != facts.nodes else None


def files(facts: Facts) -> Mapping[str, File]:
    """The service; its volume is a NIMCache that the operator fills."""
    (group,) = facts.groups
    passed = shlex.join(flattened({k: v for k, v in vllm(facts, group).items() if k != "--served-model-name"}))
    spec: dict[str, Any] = {
        "image": {"repository": f"nvcr.io/nim/{FILL_IN.lower()}", "tag": FILL_IN, "pullSecrets": ["ngc-secret"]},
        "authSecret": "ngc-api-secret",
        "env": [
            {"name": "NIM_SERVED_MODEL_NAME", "value": facts.checkpoint.served_as},
            {"name": "NIM_PASSTHROUGH_ARGS", "value": passed},
        ],
        "storage": {
            "pvc": {
                "create": True,
                "storageClass": FILL_IN.lower(),
                "size": f"{facts.storage_gb}Gi",
                "volumeAccessMode": "ReadWriteMany",
            }
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


TARGET = Target("nim", refuses, files)
