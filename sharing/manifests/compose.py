"""Docker Compose for a plan that fits into one server."""

import json
from collections.abc import Mapping
from typing import Any

from sharing.manifests import processors
from sharing.manifests.arguments import SETTINGS, serving_command, trtllm_rest
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import CACHE, PORT
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml, aggregated

AMD_DEVICES = ["/dev/kfd", "/dev/dri"]


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Aggregated plans whose instances are all in one server."""
    reason = aggregated(facts, ("vllm", "sglang", "trtllm", *processors.ENGINES))
    return reason or (TargetReason.SEVERAL_SERVERS if facts.deployment.gpus > facts.node_gpus else None)


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """A service for each instance, on GPUs and a port of its own."""
    (group,) = facts.groups
    services = {f"{facts.name}-{i}": instance(facts, group, i) for i in range(group.instances)}
    document: dict[str, Any] = {"name": facts.name, "services": services, "volumes": {"models": {}}}
    if facts.engine.id == "trtllm":
        document["configs"] = {"trtllm": {"content": json.dumps(trtllm_rest(facts, group))}}
    return {"compose.yaml": Yaml((document,))}


def instance(facts: ManifestFacts, group: InstanceGroup, index: int) -> dict[str, Any]:
    """The service of instance ``index``, with GPUs of its own."""
    assert facts.hardware is not None
    ids = [str(gpu) for gpu in range(index * group.gpus, (index + 1) * group.gpus)]
    out: dict[str, Any] = {
        "image": facts.hardware.images[facts.engine.id],
        "entrypoint": [],
        "command": serving_command(facts, group, PORT),
        "environment": {"HF_TOKEN": "${HF_TOKEN:-}", "HF_HOME": CACHE},
        "ports": [f"{PORT + index}:{PORT}"],
        "volumes": [f"models:{CACHE}"],
        "ipc": "host",
        "restart": "unless-stopped",
    }
    if facts.gpu.processor:
        out["environment"] |= processors.ENVIRONMENT[facts.engine.id]
        return out
    if facts.hardware.resource == "amd.com/gpu":
        out |= {"devices": AMD_DEVICES, "group_add": ["video"]}
        out["environment"]["HIP_VISIBLE_DEVICES"] = ",".join(ids)
    else:
        device = {"driver": "nvidia", "device_ids": ids, "capabilities": ["gpu"]}
        out["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    if facts.engine.id == "trtllm":
        out["configs"] = [{"source": "trtllm", "target": SETTINGS}]
    return out


TARGET = ManifestTarget("compose", refuses, files)
