"""KServe's LLMInferenceService, with prefill apart where the plan has it so."""

import shlex
from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import compact, flattened, vllm
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import HF_TOKEN, POD_IP, metadata, node_selector, resources, spread
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml, engine_and_hardware

KV_TRANSFER = compact({"kv_connector": "NixlConnector", "kv_role": "kv_both"})
DERIVED = ("--tensor-parallel-size", "--served-model-name")
OVER_NODES = ("--pipeline-parallel-size", "--data-parallel-size")
"""Arguments that KServe's templates write from ``model`` and ``parallelism``: these only where there are workers
(kserve/kserve, config/llmisvcconfig, v1alpha2; read 2026-11-22)."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Plans of vLLM whose instances are spread over nodes by pipeline stage or data-parallel rank, if at all."""
    if reason := engine_and_hardware(facts, ("vllm",)):
        return reason
    if any(group.pp > 1 and group.dp > 1 for group in facts.groups):
        return TargetReason.MIXED
    spread = [group for group in facts.groups if group.nodes > 1]
    return TargetReason.TENSOR_OVER_NODES if any((g.pp * g.dp) % g.nodes for g in spread) else None


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """One service; its main workload decodes where prefill is apart."""
    *prefill, main = facts.groups
    spec: dict[str, Any] = {
        "model": {"uri": f"hf://{facts.checkpoint.name}", "name": facts.checkpoint.served_as},
        **workload(facts, main),
        "router": {"route": {}, "gateway": {}, "scheduler": {}},
    }
    if prefill:
        spec["prefill"] = workload(facts, prefill[0])
    service = {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": metadata(facts),
        "spec": spec,
    }
    return {"kserve.yaml": Yaml((service,))}


def workload(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Any]:
    """Replicas, parallelism and pods of instances of one kind."""
    parallelism: dict[str, Any] = {"tensor": group.tp}
    if group.pp > 1:
        parallelism["pipeline"] = group.pp
    if group.dp > 1:
        parallelism |= {"data": group.dp, "dataLocal": group.dp // group.nodes}
    if group.ep > 1:
        parallelism["expert"] = True
    facts = facts.of(group)
    # With workers: one for each pipeline stage, or for each node.
    pod = {"nodeSelector": node_selector(facts), "containers": [container(facts, group)]}
    answers = pod | spread(facts, pod_labels(facts, group))
    out = {"replicas": group.instances, "parallelism": parallelism, "template": answers}
    return out | ({"worker": pod} if group.nodes > 1 else {})


def pod_labels(facts: ManifestFacts, group: InstanceGroup) -> dict[str, str]:
    """How KServe labels the pods that answer (kserve/kserve, controller llmisvc; read 2026-11-26)."""
    leads = "-leader" if group.nodes > 1 else ""
    prefill = "-prefill" if group.role == "prefill" else ""
    return {
        "app.kubernetes.io/name": facts.name,
        "app.kubernetes.io/component": f"llminferenceservice-workload{leads}{prefill}",
    }


def container(facts: ManifestFacts, group: InstanceGroup) -> dict[str, Any]:
    """The container that KServe's own template is merged with: arguments, token, GPUs."""
    derived = (*DERIVED, *OVER_NODES) if group.nodes > 1 else DERIVED
    options = {k: v for k, v in vllm(facts, group).items() if k not in derived}
    env: list[dict[str, Any]] = [HF_TOKEN]
    if facts.disaggregated:
        options["--kv-transfer-config"] = KV_TRANSFER
        env.append({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", **POD_IP})
    env.append({"name": "VLLM_ADDITIONAL_ARGS", "value": shlex.join(flattened(options))})
    pods = group.nodes if group.nodes == 1 or group.dp > 1 else group.pp
    return {"name": "main", "env": env, "resources": resources(facts, group.gpus // pods)}


TARGET = ManifestTarget("kserve", refuses, files)
