"""TensorRT-LLM as a model of Triton, served by the backend of its LLM API."""

import json
from collections.abc import Mapping
from typing import Any

from sharing.manifests.arguments import trtllm
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.pods import (
    CACHE,
    container,
    deployment,
    disruption_budgets,
    labels,
    metadata,
    model_volume,
    pod,
    service,
)
from sharing.manifests.targets import Document, File, ManifestTarget, TargetReason, Yaml, on_one_node

REPOSITORY = f"{CACHE}/triton"
"""Where the model repository of TensorRT-LLM's tag was copied to: triton_backend/all_models/llmapi."""
MODEL_FILE = f"{REPOSITORY}/tensorrt_llm/1/model.yaml"
METRICS_PORT = 8002


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Aggregated plans of TensorRT-LLM, each instance on one node."""
    return on_one_node(facts, ("trtllm",), image="triton")


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """Settings, volume, instances, Service and what maintenance may take of them in one file."""
    (group,) = facts.groups
    assert facts.hardware is not None
    main = container(
        facts,
        name="triton",
        image=facts.hardware.images["triton"],
        command=["tritonserver", f"--model-repository={REPOSITORY}", "--metrics-config=histogram_latencies=true"],
        gpus=group.gpus,
        health=("/v2/health/ready", "/v2/health/live"),
    )
    main["volumeMounts"].append({"name": "settings", "mountPath": MODEL_FILE, "subPath": "model.yaml"})
    volume = {"name": "settings", "configMap": {"name": f"{facts.name}-triton"}}
    template = pod(facts, [main], metrics_port=METRICS_PORT, volumes=[volume])
    instances = deployment(facts, template, group.instances)
    objects = (settings(facts), instances, service(facts, labels(facts)), *disruption_budgets(facts))
    return {"triton.yaml": Yaml((model_volume(facts), *objects))}


def settings(facts: ManifestFacts) -> Document:
    """model.yaml of the backend. JSON is YAML, too, and a ConfigMap holds text."""
    (group,) = facts.groups
    model: dict[str, Any] = {"model": facts.checkpoint.name, **trtllm(facts, group)}
    model["triton_config"] = {"max_batch_size": 0, "decoupled": True}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(facts, "-triton"),
        "data": {"model.yaml": json.dumps(model, indent=2) + "\n"},
    }


TARGET = ManifestTarget("triton", refuses, files)
