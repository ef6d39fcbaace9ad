"""Parts of Kubernetes objects that several targets share: containers, pods, services, the volume of the weights."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import ManifestFacts

PORT = 8000
SECRET = "hf-token"
"""Secret that holds the Hugging Face token under the key ``token``; no file here contains one."""
CACHE = "/models"
ANSWERS = {"llm-d.ai/inference-serving": "true"}
"""Label of pods that answer requests; workers of another node's leader do not."""
STARTS_WITHIN_PROBES = 360
"""Probes of 10 s that a server has to load its weights. Chosen: an hour, for the largest checkpoints from a network."""

CPUS_PER_GPU, MEMORY_GI_PER_GPU = 4, 32
"""What a pod asks for beside each GPU. Chosen, as in examples of the production stack: a process for each GPU, one that
reads requests and one that schedules, and room for shared memory and the pages of the weights that are read."""

MACHINE_SHARE = 0.8
"""Share of the memory of a machine without GPUs that a pod asks for. Chosen: so that no second one is put beside it,
for an instance takes every core, and the system has what is left."""

SHARED_MEMORY = "16Gi"
"""Of a pod, for the processes of an instance. Chosen; without a limit it may take half of a node's memory."""

HOST, RACK, ZONE = "kubernetes.io/hostname", "nvidia.com/gpu.clique", "topology.kubernetes.io/zone"
"""Labels of nodes: a server, the NVLink domain of a rack (NVIDIA, GPU feature discovery), and a site."""

HF_TOKEN = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token", "optional": True}}}
HF_HOME = {"name": "HF_HOME", "value": CACHE}
POD_IP = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def labels(facts: ManifestFacts, role: str = "") -> dict[str, str]:
    """Labels of an object of this plan."""
    own = {"app.kubernetes.io/name": facts.name, "app.kubernetes.io/part-of": "inference"}
    return own | ({"llm-d.ai/role": role} if role else {})


def metadata(facts: ManifestFacts, suffix: str = "") -> dict[str, Any]:
    """Name and labels; objects of one kind are told apart by ``suffix``."""
    return {"name": f"{facts.name}{suffix}", "labels": labels(facts)}


def resources(facts: ManifestFacts, gpus: int) -> dict[str, Any]:
    """GPUs of a container, and the processors and memory that go with them; only GPUs are limited. On a machine without
    GPUs most of its memory."""
    assert facts.hardware is not None
    if facts.gpu.processor:
        return {"requests": {"memory": f"{int(facts.gpu.memory_gb * MACHINE_SHARE)}G"}}
    amount = {facts.hardware.resource: str(gpus)}
    beside = {"cpu": str(CPUS_PER_GPU * gpus), "memory": f"{MEMORY_GI_PER_GPU * gpus}Gi"}
    return {"limits": amount, "requests": amount | beside}


def node_selector(facts: ManifestFacts) -> dict[str, str]:
    """The label of nodes with the planned GPU, to fill in where it is not known what they call it."""
    assert facts.hardware is not None
    return {facts.hardware.label: facts.hardware.products.get(facts.gpu.id, FILL_IN)}


def spread(facts: ManifestFacts, selector: Mapping[str, str]) -> dict[str, Any]:
    """The part of a pod by which those that a selector finds lie evenly over what may fail, so that a loss takes no
    more of them than the plan has to spare; empty where it plans for none. What has failed is not counted with."""
    strictness = ("DoNotSchedule", "ScheduleAnyway")
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": otherwise,
            "nodeTaintsPolicy": "Honor",
            "labelSelector": {"matchLabels": dict(selector)},
        }
        for key, otherwise in zip(lost_together(facts), strictness, strict=False)
    ]
    return {"topologySpreadConstraints": constraints} if constraints else {}


def lost_together(facts: ManifestFacts) -> tuple[str, ...]:
    """Labels of nodes that fail together as the scenario asks, the larger first: a zone for a site, and a system."""
    system = RACK if facts.in_racks else HOST
    match facts.scenario.deployment.redundancy:
        case "none":
            return ()
        case "system":
            return (system,)
        case "site":
            return (ZONE, system)
        case unknown:
            assert_never(unknown)


def disruption_budgets(facts: ManifestFacts) -> tuple[dict[str, Any], ...]:
    """For each kind of instances with spare ones: no more of them are taken for maintenance at a time."""
    return tuple(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(facts, "" if group.role == "both" else f"-{group.role}"),
            "spec": {
                "maxUnavailable": group.spares,
                "selector": {"matchLabels": labels(facts, "" if group.role == "both" else group.role) | ANSWERS},
            },
        }
        for group in facts.groups
        if group.spares
    )


def container(
    facts: ManifestFacts,
    *,
    name: str,
    image: str,
    command: Sequence[str],
    gpus: int,
    port: int | None = PORT,
    health: tuple[str, str] = ("/health", "/health"),
    env: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A container of an engine; ``health`` is where it says that it is ready, and that it is alive. One without a port
    answers no probes, being a worker. An empty ``command`` leaves that of the image."""
    out: dict[str, Any] = {
        "name": name,
        "image": image,
        **({"command": list(command)} if command else {}),
        "env": [HF_TOKEN, HF_HOME, *env],
        "resources": resources(facts, gpus),
        "volumeMounts": [{"name": "models", "mountPath": CACHE}, {"name": "shm", "mountPath": "/dev/shm"}],
    }
    if port is not None:
        probe, alive = ({"httpGet": {"path": path, "port": port}, "periodSeconds": 10} for path in health)
        out |= {
            "ports": [{"name": "http", "containerPort": port}],
            "startupProbe": {**probe, "failureThreshold": STARTS_WITHIN_PROBES},
            "readinessProbe": {**probe, "timeoutSeconds": 5},
            "livenessProbe": {**alive, "timeoutSeconds": 5, "failureThreshold": 6},
        }
    return out


def pod(
    facts: ManifestFacts,
    containers: Sequence[dict[str, Any]],
    *,
    role: str = "",
    metrics_port: int | None,
    init: Sequence[dict[str, Any]] = (),
    volumes: Sequence[dict[str, Any]] = (),
    metrics_path: str = "/metrics",
) -> dict[str, Any]:
    """A pod template for nodes with the planned GPU, with the weights' volume and shared memory for NCCL; scraped where
    it answers, at its port."""
    spec: dict[str, Any] = {
        "nodeSelector": node_selector(facts),
        "containers": list(containers),
        "volumes": [
            {"name": "models", "persistentVolumeClaim": {"claimName": f"{facts.name}-models"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}},
            *volumes,
        ],
        "terminationGracePeriodSeconds": 120,
    }
    if init:
        spec["initContainers"] = list(init)
    about: dict[str, Any] = {"labels": labels(facts, role)}
    if metrics_port is not None:
        about["labels"] |= ANSWERS
        port = str(metrics_port)
        about["annotations"] = {
            "prometheus.io/scrape": "true",
            "prometheus.io/path": metrics_path,
            "prometheus.io/port": port,
        }
        spec |= spread(facts, about["labels"])
    return {"metadata": about, "spec": spec}


def deployment(facts: ManifestFacts, template: dict[str, Any], replicas: int, suffix: str = "") -> dict[str, Any]:
    """A Deployment that replaces instances one by one within the GPUs there are."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(facts, suffix),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": template["metadata"]["labels"]},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": template,
        },
    }


def service(facts: ManifestFacts, selector: dict[str, str]) -> dict[str, Any]:
    """A Service in front of the instances."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(facts),
        "spec": {"selector": selector, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def model_volume(facts: ManifestFacts) -> dict[str, Any]:
    """The volume that the weights are downloaded to once, for all pods."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(facts, "-models"),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": FILL_IN.lower(),
            "resources": {"requests": {"storage": f"{facts.storage_gb}G"}},
        },
    }
