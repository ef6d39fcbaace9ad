"""vLLM or SGLang as a Deployment with its Service; as a LeaderWorkerSet where an instance spans nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sharing.manifests.arguments import over_nodes, serving_command
from sharing.manifests.facts import Facts, Group
from sharing.manifests.pods import ANSWERS, PORT, container, deployment, labels, metadata, model_volume, pod, service
from sharing.manifests.targets import File, Reason, Target, Yaml, aggregated, ranks_over_nodes

LEADER, RANK = "LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX"
"""Variables that LeaderWorkerSet puts into every container."""

Part = dict[str, Any]
"""An object or a part of one."""


def refuses(facts: Facts) -> Reason | None:
    """Aggregated plans of vLLM and SGLang."""
    reason = aggregated(facts, ("vllm", "sglang"))
    return reason or (Reason.RANKS_OVER_NODES if ranks_over_nodes(facts) else None)


def files(facts: Facts) -> Mapping[str, File]:
    """One file with volume, instances and Service."""
    (group,) = facts.groups
    objects = (model_volume(facts), instances(facts, group), service(facts, labels(facts) | ANSWERS))
    return {"kubernetes.yaml": Yaml(objects)}


def instances(
    facts: Facts,
    group: Group,
    *,
    suffix: str = "",
    port: int = PORT,
    extra: tuple[str, ...] = (),
    env: Sequence[Part] = (),
    beside: Sequence[Part] = (),
) -> Part:
    """A Deployment; a LeaderWorkerSet where an instance spans nodes. ``beside`` runs in the pods that answer."""
    role = "" if group.role == "both" else group.role
    joined = (*over_nodes(facts, group, LEADER, RANK), *extra) if group.nodes > 1 else extra
    answers = engine(facts, group, joined, port, env)
    leader = pod(facts, [answers], role=role, metrics_port=port, init=beside)
    if group.nodes == 1:
        return deployment(facts, leader, group.instances, suffix)
    headless = ("--headless",) if facts.engine.id == "vllm" else ()
    works = engine(facts, group, (*joined, *headless), None, env)
    worker = pod(facts, [works], role=role, metrics_port=None)
    return leader_worker_set(facts, group, leader, worker, suffix)


def engine(facts: Facts, group: Group, extra: tuple[str, ...], port: int | None, env: Sequence[Part]) -> Part:
    """The container of the engine; one without a port is a worker of another node's leader."""
    assert facts.hardware is not None
    return container(
        facts,
        name=facts.engine.id,
        image=facts.hardware.images[facts.engine.id],
        command=[*serving_command(facts, group, port or PORT), *extra],
        gpus=group.gpus_per_node,
        port=port,
        env=env,
    )


def leader_worker_set(facts: Facts, group: Group, leader: Part, worker: Part, suffix: str) -> Part:
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


TARGET = Target("kubernetes", refuses, files)
