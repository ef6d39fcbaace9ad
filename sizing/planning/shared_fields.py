"""Fields that several results share, made once each: what an instance is, and its memory."""

from typing import TypedDict

from sizing.base.deployed import Adapters, Drafts
from sizing.base.units import GB, MS_PER_S
from sizing.catalog.adapters import adapter_bytes, adapter_support
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import RunningFit
from sizing.deployments.memory import adapter_bytes_per_gpu
from sizing.deployments.printed_memory import printed
from sizing.question.configuration import Configuration
from sizing.question.speculation import Speculation
from sizing.question.understand import Question


class Parallelism(TypedDict):
    """How an instance is spread over its GPUs."""

    tp: int
    pp: int
    ep: int
    dp: int


class ConfigurationFields(Parallelism):
    """What an instance of a configuration is."""

    gpu: str
    engine: str
    weight_precision: str
    kv_precision: str


class InstanceMemory(TypedDict):
    """Memory of one instance in GB, and the tokens that its KV cache holds."""

    memory_per_gpu_gb: float
    weights_gb: float
    kv_gb: float
    kv_per_sequence_gb: float
    activations_gb: float
    overhead_gb: float
    graphs_gb: float
    context: int
    kv_tokens: int
    kv_used_gb: float
    free_gb: float


def parallelism_of(row: Configuration) -> Parallelism:
    """How an instance is spread over its GPUs, as fields of a result."""
    return {"tp": row.tp, "pp": row.pp, "ep": row.ep, "dp": row.dp}


def identity_of(row: Configuration) -> ConfigurationFields:
    """What an instance of a configuration is, as fields of :class:`Deployed`."""
    return {
        "gpu": row.gpu.id,
        "engine": row.engine.id,
        "weight_precision": row.precision.id,
        "kv_precision": row.kv_precision,
        **parallelism_of(row),
    }


def drafts_of(speculation: Speculation) -> Drafts | None:
    """Speculative decoding as an answer states it."""
    if not speculation.draft_tokens:
        return None
    low, high = speculation.fewer_and_more
    return Drafts(
        method=speculation.draft.method if speculation.draft else "",
        checkpoint=speculation.draft.checkpoint if speculation.draft else "",
        draft_tokens=speculation.draft_tokens,
        acceptance=speculation.acceptance,
        draft_cost=speculation.draft_cost,
        tokens_per_step=speculation.tokens_per_step,
        tokens_per_step_low=low,
        tokens_per_step_high=high,
        source=f"{speculation.draft.source}, {speculation.draft.date}" if speculation.draft else "scenario",
    )


def adapters_of(question: Question, row: Configuration, instances: int) -> Adapters | None:
    """The adapters of a deployment with so many working instances as an answer states them; None without any."""
    served, model = row.adapters, question.model
    if not served.number:
        return None
    known = adapter_support(row.engine, model, served.targets)
    size = adapter_bytes(model, served.rank, served.targets)
    low, high = (known.slower * end for end in known.doubt)
    return Adapters(
        number=served.number,
        rank=served.rank,
        targets=served.targets,
        resident=served.resident,
        adapter_gb=size / GB,
        resident_gb_per_gpu=float(adapter_bytes_per_gpu(model, table([row]))[0]) / GB,
        hit_share=served.hit_share,
        hit_share_routed=served.hit_share_routed(max(instances, 1)),
        load_ms=size / served.load_bytes_per_s * MS_PER_S,
        slower=known.slower,
        slower_low=low,
        slower_high=high,
        source=f"{known.source}, {known.date}",
    )


def memory_gb(
    question: Question, memory: RunningFit, i: int, row: Configuration, in_flight: float, prompt_gb: float | None = None
) -> InstanceMemory:
    """Memory of an instance of candidate ``i`` with so many requests in flight, of ``prompt_gb`` each where they are
    prompts alone: the fields of :class:`PerInstance`."""
    context = question.served_context(row.speculation.draft_tokens)
    lines = printed(question.model, table([row]), float(context))
    stages = row.tp * row.pp / GB
    per_sequence = float(memory.kv_per_sequence[i]) * stages if prompt_gb is None else prompt_gb
    used = in_flight * (float(memory.held_per_sequence[i]) * stages if prompt_gb is None else prompt_gb)
    whole = row.gpus / GB
    kv = float(memory.kv_available[i]) * whole
    return {
        "memory_per_gpu_gb": row.gpu.memory_bytes / GB,
        "weights_gb": float(memory.weights[i]) * whole,
        "kv_gb": kv,
        "kv_per_sequence_gb": per_sequence,
        "activations_gb": float(memory.activations[i]) * whole,
        "overhead_gb": float(memory.overhead[i]) * whole,
        "graphs_gb": float(memory.graphs[i]) * whole,
        "context": context,
        "kv_tokens": int(lines.kv_tokens[0]),
        "kv_used_gb": min(used, kv),
        "free_gb": max(kv - used, 0.0),
    }
