"""An engine as a Deployment with its Service; as a LeaderWorkerSet where an instance of vLLM or SGLang spans nodes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sharing.manifests import nim, processors
from sharing.manifests.arguments import SETTINGS, over_nodes, serving_command, trtllm_rest
from sharing.manifests.facts import InstanceGroup, ManifestFacts
from sharing.manifests.pods import (
    ANSWERS,
    PORT,
    container,
    deployment,
    disruption_budgets,
    labels,
    metadata,
    model_volume,
    pod,
    service,
)
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml, aggregated, ranks_over_nodes

LEADER, RANK = "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"
"""Variables that LeaderWorkerSet puts into every container."""

ON_ONE_NODE = ("trtllm", "nim")
"""Engines whose server is started on one node: over several, TensorRT-LLM needs MPI and NIM its operator."""

HEALTH = {"nim": ("/v1/health/ready", "/v1/health/live"), **processors.HEALTH}
METRICS = {"trtllm": "/prometheus/metrics", "nim": "/v1/metrics"}
"""Where servers differ from ``/health`` and ``/metrics`` (TensorRT-LLM, trtllm-serve: ``/metrics`` is JSON; NIM 2, API
reference, management endpoints)."""

Part = dict[str, Any]
"""An object or a part of one."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Aggregated plans of vLLM, SGLang and engines of processors; of TensorRT-LLM and NIM with each instance on one
    node."""
    if reason := aggregated(facts, ("vllm", "sglang", *ON_ONE_NODE, *processors.ENGINES)):
        return reason
    if facts.engine.id in ON_ONE_NODE and facts.nodes > 1:
        return TargetReason.SEVERAL_NODES
    return TargetReason.RANKS_OVER_NODES if ranks_over_nodes(facts) else None


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """One file with volume, settings that an engine takes from a file, instances, Service and what maintenance may
    take of them."""
    (group,) = facts.groups
    objects = (instances(facts, group), service(facts, labels(facts) | ANSWERS))
    beside = (settings(facts, group),) if facts.engine.id == "trtllm" else ()
    return {"kubernetes.yaml": Yaml((model_volume(facts), *beside, *objects, *disruption_budgets(facts)))}


def settings(facts: ManifestFacts, group: InstanceGroup) -> Part:
    """What trtllm-serve takes from a file alone. JSON is YAML, too, and a ConfigMap holds text."""
    text = json.dumps(trtllm_rest(facts, group), indent=2) + "\n"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(facts, "-settings"),
        "data": {PurePosixPath(SETTINGS).name: text},
    }


def instances(
    facts: ManifestFacts,
    group: InstanceGroup,
    *,
    suffix: str = "",
    port: int = PORT,
    extra: tuple[str, ...] = (),
    env: Sequence[Part] = (),
    beside: Sequence[Part] = (),
) -> Part:
    """A Deployment; a LeaderWorkerSet where an instance spans nodes. ``beside`` runs in the pods that answer."""
    facts, role = facts.of(group), "" if group.role == "both" else group.role
    joined = (*over_nodes(facts, group, LEADER, RANK), *extra) if group.nodes > 1 else extra
    answers = engine(facts, group, joined, port, env)
    volumes = []
    if facts.engine.id == "trtllm":
        answers["volumeMounts"].append({"name": "settings", "mountPath": str(PurePosixPath(SETTINGS).parent)})
        volumes.append({"name": "settings", "configMap": {"name": f"{facts.name}-settings"}})
    path = METRICS.get(facts.engine.id, "/metrics")
    leader = pod(facts, [answers], role=role, metrics_port=port, init=beside, volumes=volumes, metrics_path=path)
    if facts.engine.id == "nim":
        leader["spec"]["imagePullSecrets"] = [{"name": nim.PULL_SECRET}]
    if group.nodes == 1:
        return deployment(facts, leader, group.instances, suffix)
    headless = ("--headless",) if facts.engine.id == "vllm" else ()
    works = engine(facts, group, (*joined, *headless), None, env)
    worker = pod(facts, [works], role=role, metrics_port=None)
    return leader_worker_set(facts, group, leader, worker, suffix)


def engine(
    facts: ManifestFacts, group: InstanceGroup, extra: tuple[str, ...], port: int | None, env: Sequence[Part]
) -> Part:
    """The container of the engine; one without a port is a worker of another node's leader."""
    assert facts.hardware is not None
    started_by_image = facts.engine.id == "nim"
    if facts.engine.id in processors.ENGINES:
        env = [
            *env,
            *({"name": name, "value": value} for name, value in processors.ENVIRONMENT[facts.engine.id].items()),
        ]
    return container(
        facts,
        name=facts.engine.id,
        image=facts.hardware.images[facts.engine.id],
        command=[] if started_by_image else [*serving_command(facts, group, port or PORT), *extra],
        gpus=group.gpus_per_node,
        port=port,
        health=HEALTH.get(facts.engine.id, ("/health", "/health")),
        env=[*nim.environment(facts, group), nim.CACHE_PATH, nim.KEY] if started_by_image else env,
    )


def leader_worker_set(facts: ManifestFacts, group: InstanceGroup, leader: Part, worker: Part, suffix: str) -> Part:
    """Instances of a leader, which answers, and workers on the other nodes."""
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(facts, suffix),
        "spec": {
            "replicas": group.instances,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": group.nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": leader,
                "workerTemplate": worker,
            },
        },
    }


TARGET = ManifestTarget("kubernetes", refuses, files)
