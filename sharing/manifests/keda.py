"""A KEDA ScaledObject that holds each instance at the load that the plan gives it."""

import math
from collections.abc import Mapping
from typing import Any

from sharing.manifests import kubernetes
from sharing.manifests.checkpoint import FILL_IN
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.metrics import Metrics, metrics_of
from sharing.manifests.pods import metadata
from sharing.manifests.targets import File, ManifestTarget, TargetReason, Yaml

LEAST_IN_FLIGHT = 1.0
"""Fewest requests in flight that an instance is for: below, a single request would call for several."""

PROMETHEUS = f"http://{FILL_IN.lower()}-prometheus:9090"
WINDOW = "2m"
SLOWLY_S = 600
"""Seconds that a smaller load must last before an instance is given up. Chosen: longer than weights take to load; where
the scenario says where they are read from, as long as a start takes at most: a shorter pause costs less than a
start."""
LEAST_S = 60
"""The same at least. Chosen: what two scrapes of metrics and a decision on them take."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Plans whose instances are a Deployment or LeaderWorkerSet here, of an engine that says what is in flight."""
    if kubernetes.refuses(facts):
        return TargetReason.NOTHING_TO_SCALE
    metrics = metrics_of(facts)
    return None if metrics and metrics.sum_of("running") else TargetReason.NO_METRICS


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """What is scaled, between which counts, and by what.

    An instance that carries the load alone may be joined by another: else nothing would scale.
    """
    (group,) = facts.groups
    metrics = metrics_of(facts)
    assert metrics is not None
    several = group.nodes > 1
    slowly_s = SLOWLY_S if facts.start_up_s is None else max(math.ceil(facts.start_up_s), LEAST_S)
    fewest = min(group.instances, 1 + group.spares)
    spec: dict[str, Any] = {
        "scaleTargetRef": {
            "apiVersion": "leaderworkerset.x-k8s.io/v1" if several else "apps/v1",
            "kind": "LeaderWorkerSet" if several else "Deployment",
            "name": facts.name,
        },
        "minReplicaCount": fewest,
        "maxReplicaCount": max(group.instances, fewest + 1),
        "cooldownPeriod": slowly_s,
        "advanced": {
            "horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": slowly_s}}}
        },
        "triggers": triggers(facts, metrics),
    }
    scaled = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata(facts), "spec": spec}
    return {"keda.yaml": Yaml((scaled,))}


def triggers(facts: ManifestFacts, metrics: Metrics) -> list[dict[str, Any]]:
    """Requests in flight of an instance at the planned load, and the rate beyond which a limit is broken; both of all
    instances, so that the spare ones stand there at the peak, too."""
    (group,) = facts.groups
    working = (group.instances - group.spares) / group.instances
    present = [metrics.sum_of(concept) for concept in ("running", "waiting")]
    out = []
    if group.in_flight > 0:
        threshold = max(group.in_flight * working, LEAST_IN_FLIGHT)
        out.append(trigger("in-flight", " + ".join(text for text in present if text), threshold))
    if rate := metrics.rate_of("first_tokens", WINDOW) or metrics.rate_of("finished", WINDOW):
        out.append(trigger("requests-per-second", rate, group.max_rps * working))
    return out


def trigger(name: str, query: str, threshold: float) -> dict[str, Any]:
    """KEDA divides what the query gives by the threshold: so many instances there shall be."""
    prometheus = {"serverAddress": PROMETHEUS, "query": query, "threshold": f"{threshold:.6g}"}
    return {"type": "prometheus", "name": name, "metricType": "AverageValue", "metadata": prometheus}


TARGET = ManifestTarget("keda", refuses, files)
