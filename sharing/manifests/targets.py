"""What a target is: whether it can express a deployment, and the files that do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sharing.manifests.facts import InstanceGroup, ManifestFacts

Document = Mapping[str, Any]
"""One object of a YAML or JSON file."""


@dataclass(frozen=True)
class Yaml:
    """A YAML file of one or more documents."""

    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Json:
    """A JSON file."""

    document: Document


@dataclass(frozen=True)
class TextFile:
    """A file that people read, or a shell runs."""

    text: str


File = Yaml | Json | TextFile


class TargetReason(StrEnum):
    """Why a target does not express a deployment."""

    ENGINE = "it does not run the engine of the plan"
    HARDWARE = "it does not schedule this accelerator, or no image is known for it"
    DISAGGREGATED = "it does not know prefill and decode as instances of their own"
    SEVERAL_NODES = "an instance of the plan spans nodes, which it cannot"
    SEVERAL_SERVERS = "the plan takes more than one server"
    RANKS_OVER_NODES = (
        "data-parallel ranks of an instance are spread over nodes, which needs an order that it cannot give"
    )
    TENSOR_OVER_NODES = "it spreads pipeline stages or data-parallel ranks over nodes, not one tensor-parallel group"
    TWO_TYPES = "it asks for one GPU type, and prefill and decode are on two"
    STAGES = "it puts one pipeline stage on each node of an instance, the plan more, or a part of one"
    DRAFTS = "the engine does not combine its way of drafting with this layout"
    EXPERTS = "the engine spreads experts over all GPUs of an instance or over none, the plan over some"
    MIXED = "the engine does not combine this data parallelism with tensor or pipeline parallelism"
    GPU_NAME = "its list of GPUs does not have this one"
    LIMITS = "it takes either TTFT and ITL or E2E alone, the plan limits something else"
    NO_LIMITS = "the plan has no latency limit that applies"
    NO_HISTOGRAM = "the engine has no histogram of a limited latency with known buckets"
    NO_METRICS = "the engine has no metric of requests in flight"
    ONE_INSTANCE = "the plan has one instance: there is no load to share"
    NOTHING_TO_SCALE = "no file here has an object that it could scale"


@dataclass(frozen=True)
class ManifestTarget:
    """``refuses`` says why it cannot express a deployment, None where it can; ``files`` are then its files by name."""

    id: str
    refuses: Callable[[ManifestFacts], TargetReason | None]
    files: Callable[[ManifestFacts], Mapping[str, File]]


def engine_and_hardware(
    facts: ManifestFacts, engines: tuple[str, ...], image: str | None = None
) -> TargetReason | None:
    """Whether one of ``engines`` is planned, on hardware that has an image of it (``image``: called otherwise)."""
    if facts.engine.id not in engines:
        return TargetReason.ENGINE
    for hardware in (facts.of(group).hardware for group in facts.groups):
        if hardware is None or (image or facts.engine.id) not in hardware.images:
            return TargetReason.HARDWARE
    reasons = (layout(facts.engine.id, group) or drafts(facts, group) for group in facts.groups)
    return next((reason for reason in reasons if reason), None)


def aggregated(facts: ManifestFacts, engines: tuple[str, ...], image: str | None = None) -> TargetReason | None:
    """The same for a target that does not know prefill and decode apart."""
    reason = engine_and_hardware(facts, engines, image)
    return reason or (TargetReason.DISAGGREGATED if facts.disaggregated else None)


def on_one_node(facts: ManifestFacts, engines: tuple[str, ...], image: str | None = None) -> TargetReason | None:
    """The same for one that has each instance on one node, too."""
    reason = aggregated(facts, engines, image)
    return reason or (TargetReason.SEVERAL_NODES if facts.nodes > 1 else None)


def layout(engine: str, group: InstanceGroup) -> TargetReason | None:
    """Whether the engine has arguments for this parallelism."""
    if engine in ("vllm", "nim") and group.ep not in (1, group.tp * group.dp):
        return TargetReason.EXPERTS
    if engine == "trtllm" and group.dp > 1 and group.tp * group.pp > 1:
        return TargetReason.MIXED
    if engine == "sglang" and group.dp > 1 and group.pp > 1:
        return TargetReason.MIXED
    return None


def drafts(facts: ManifestFacts, group: InstanceGroup) -> TargetReason | None:
    """Whether the engine drafts in this layout at all.

    SGLang 0.5.23, arg_groups/speculative_hook.py: a draft model of its own not with attention data parallelism.
    TensorRT-LLM docs, features/feature-combination-matrix: pipeline stages with no drafts.
    """
    if facts.speculation is None:
        return None
    alone = facts.engine.id == "sglang" and not facts.speculation.method and group.dp > 1
    staged = facts.engine.id == "trtllm" and group.pp > 1
    return TargetReason.DRAFTS if alone or staged else None


def ranks_over_nodes(facts: ManifestFacts) -> bool:
    """Whether data-parallel ranks of one instance are on several nodes."""
    return any(group.nodes > 1 and group.dp > 1 for group in facts.groups)
