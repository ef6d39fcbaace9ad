"""Memory of a planned instance followed from the inputs to the formula to the source."""

from collections.abc import Iterator
from typing import NamedTuple

from sizing.base.deployed import Deployed, PerInstance, Pool
from sizing.base.format import MemoryUnit, count, memory, memory_unit
from sizing.base.result import Explained, Plan
from sizing.base.units import BILLION, GB
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES
from sizing.catalog.weights import dense_bytes, dense_parameters, expert_padding, weight_parts
from sizing.deployments.candidates import table
from sizing.deployments.concurrency import RunningFit, running_fit
from sizing.deployments.memory import adapter_bytes_per_gpu
from sizing.planning.arithmetic import entry, number, step
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic

MEMORY_SOURCE = "modules sizing.deployments.memory, kv_cache, concurrency; sizing.catalog.weights"
_BYTES_IN = {"GB": "10^9", "GiB": "2^30"}
SAME = 1e-4
"""Relative difference below which two sizes are the same: it does not show in three digits."""


def explain_memory(row: Configuration, one: PerInstance, model: Model, traffic: Traffic) -> Iterator[Explained]:
    """Weights, what else is not KV cache, the KV cache and the sequences of a traffic that it holds."""
    fit = running_fit(model, table([row]), traffic)
    yield _weights(row, one, model)
    yield _not_cache(row, one)
    yield _per_sequence(row, one, model, fit)
    yield _sequences(row, one, fit)
    yield _kv_cache(row, one, fit, row.memory_fraction(model))


def _weights(row: Configuration, one: PerInstance, model: Model) -> Explained:
    """Weights by how they are spread, of one GPU and of all."""
    unit = _BYTES_IN[memory_unit(one.memory_per_gpu_gb).value]
    value = memory(one.weights_gb, one.memory_per_gpu_gb)
    parts = weight_parts(model, row.precision)
    stored = row.precision.id in dict(model.stored_bytes)
    each = one.weights_gb / row.gpus
    steps = [] if stored else list(_by_width(model, row))
    padding = float(expert_padding(model, row.precision, row.gpu, row.tp * row.dp / row.ep)) if model.is_moe else 1.0
    needed = f", x {number(padding)} as kernels need them" if padding > 1.0 + SAME else ""
    as_stored = ", as the checkpoint stores them" if stored else ""
    sizes = {
        f"experts{as_stored}{needed}": parts.experts,
        f"layers{'' if model.is_moe else as_stored}": parts.sharded,
        "whole on each GPU": parts.copied + parts.rotary,
        "encoder": parts.encoder,
        "embeddings and head": parts.embedding + parts.head,
        "copies of latent projections": parts.absorbed,
    }
    if row.adapters.number:
        sizes["adapters of the fullest GPU"] = float(adapter_bytes_per_gpu(model, table([row]))[0])
    shown = {name: float(size) / GB for name, size in sizes.items() if float(size) > 0.0}
    of_gpu = f"{number(each)} x 10^9 / {unit} x {row.gpus}"
    what = "; ".join(f"{name} {number(size)} GB" for name, size in shown.items())
    return entry(
        "weights_gb",
        value,
        "experts / (TP x DP) + layers / TP + what every GPU holds + embeddings and head / TP, layers by PP",
        *steps,
        step(f"GB of the fullest GPU, spread over {row.parallelism} ({what}), x GPUs", of_gpu, value),
        source=f"{model.source}; {MEMORY_SOURCE}",
    )


def _by_width(model: Model, row: Configuration) -> Iterator[str]:
    """Parameters x bytes of experts, other layers, embeddings and head, in GB."""
    each, beside = row.precision.bytes, dense_bytes(model, row.precision)
    embeddings = model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2)
    sizes = (
        ("experts", model.params_experts, each),
        ("layers", dense_parameters(model), beside),
        ("embeddings and head, 16 bit", float(embeddings), WIDE_BYTES),
    )
    for name, parameters, width in sizes:
        if parameters:
            expression = f"{number(parameters / BILLION)} x {number(width)}"
            yield step(f"{name}, billions of parameters x bytes", expression, number(parameters * width / GB))


def _not_cache(row: Configuration, one: PerInstance) -> Explained:
    """Activations, graphs, and what is outside the engine's allocator."""
    unit, of = memory_unit(one.memory_per_gpu_gb), memory_unit(one.memory_per_gpu_gb).of
    total = one.activations_gb + one.overhead_gb
    parts = (one.activations_gb, one.graphs_gb, one.overhead_gb - one.graphs_gb)
    return entry(
        "overhead_gb",
        memory(total, one.memory_per_gpu_gb),
        "activations of the largest step and of sampling + captured graphs + driver context and communication",
        step(
            f"{unit.value} of all GPUs",
            " + ".join(number(of(max(part, 0.0))) for part in parts),
            memory(total, one.memory_per_gpu_gb),
        ),
        source=f"module sizing.deployments.working_memory; {row.engine.memory.source}",
    )


def _per_sequence(row: Configuration, one: PerInstance, model: Model, fit: RunningFit) -> Explained:
    """KV cache of one sequence at its full length."""
    unit = _BYTES_IN[memory_unit(one.memory_per_gpu_gb).value]
    value = memory(one.kv_per_sequence_gb, one.memory_per_gpu_gb)
    kinds = (
        (model.full_layers, "attend to everything"),
        (model.sliding_layers, f"within {model.sliding_window or 0:,} tokens"),
        (model.linear_layers, "keep a state"),
    )
    layers = ", ".join(f"{n} layers {what}" for n, what in kinds if n)
    gpus = row.tp * row.pp
    return entry(
        "kv_per_sequence_gb",
        value,
        "bytes of each kind of layer x the tokens that it keeps, in the blocks and pages of the engine",
        step(
            f"bytes on one GPU ({layers}; blocks of {row.engine.block_tokens}) x GPUs",
            f"{number(float(fit.kv_per_sequence[0]))} x {gpus} / {unit}",
            value,
        ),
        source=f"{model.source}; {MEMORY_SOURCE}; Kwon et al., PagedAttention (SOSP 2023)",
    )


def _sequences(row: Configuration, one: PerInstance, fit: RunningFit) -> Explained:
    """How many sequences the KV cache holds at once."""
    unit, stages = memory_unit(one.memory_per_gpu_gb), row.tp * row.pp / GB
    parts = (fit.held_per_sequence, fit.kv_in_flight, fit.together)
    sizes = (one.kv_gb, one.kv_per_sequence_gb, *(float(part[0]) * stages for part in parts))
    kv, whole, each, prompts, shared = (unit.of(size) for size in sizes)
    most = row.batch_limit or int(row.engine.sequences(row.gpu) * row.dp)
    ranks = f" / {row.dp}" if row.dp > 1 else ""
    times = f" x {row.dp}" if row.dp > 1 else ""
    most = max(most, one.max_concurrency)
    cap = "the batch limit" if row.batch_limit else "what is scheduled"
    windows = f" - {number(prompts)}" if prompts > SAME * kv else ""
    once = f" - {number(shared)}" if shared > 0.0 else ""
    but = " and what windows keep of prompts in flight" if windows else ""
    but += " and what prompts have in common, held once" if once else ""
    longest = f"({number(whole)}{once})" if once else number(whole)
    return entry(
        "max_concurrency",
        count(one.max_concurrency),
        "floor((KV memory - KV per sequence / 2) / KV that one in flight holds + 1/2), at most what is scheduled",
        step(
            f"KV memory but for half a sequence{but}, over what one in flight holds ({_share(row)}), at most {cap}",
            f"min(floor(({number(kv)}{ranks}{windows}{once} - {longest} / 2) / {number(each)} + 0.5){times}; {most})",
            count(one.max_concurrency),
        ),
        source=f"{MEMORY_SOURCE}; {row.engine.source}; {row.engine.eviction_source}",
    )


def _share(row: Configuration) -> str:
    """What a sequence in flight holds, in words."""
    share = row.engine.answer_held
    return "its prompt and all of its answer" if share == 1.0 else f"its prompt and {number(share)} of its answer"


def _kv_cache(row: Configuration, one: PerInstance, fit: RunningFit, share: float) -> Explained:
    """The memory that is left for the KV cache."""
    of = memory_unit(one.memory_per_gpu_gb).of
    weights, activations, overhead = (of(gb) for gb in (one.weights_gb, one.activations_gb, one.overhead_gb))
    seen, outside = of(row.gpu.program_bytes / GB), of(float(fit.outside[0]) / GB)
    fraction, gpus = f"{share:g}", row.gpus
    taken = " - ".join(number(size) for size in (weights, activations, overhead))
    how = {
        "whole": (
            "GPUs x memory that programs see x share that the engine uses - weights - activations - overhead",
            f"{gpus} x {number(seen)} x {fraction} - {taken}",
        ),
        "static": (
            "GPUs x memory free before loading x share that the engine uses - weights; steps run in the rest",
            f"{gpus} x ({number(seen)} - {number(outside)}) x {fraction} - {number(weights)}",
        ),
        "free": (
            "(GPUs x memory that programs see - weights - activations - overhead) x share that the engine uses",
            f"({gpus} x {number(seen)} - {taken}) x {fraction}",
        ),
    }
    what, expression = how[row.engine.memory.fraction_of]
    left = of(float(fit.usable[0]) / GB) - outside
    if row.engine.memory.fraction_of == "static" and left < (seen - outside) * share * (1.0 - SAME):
        what = "GPUs x memory that programs see less what is outside and a step's activations and graphs - weights"
        expression = f"{gpus} x {number(left)} - {number(weights)}"
    value = memory(one.kv_gb, one.memory_per_gpu_gb)
    return entry(
        "kv_gb",
        value,
        "usable memory - weights - activations - overhead",
        step(what, expression, value),
        source=f"{row.gpu.source}; {row.engine.source}; {row.engine.memory.source}",
    )


class MemoryPart(NamedTuple):
    """One part of the memory of a GPU; ``size`` is in ``unit``."""

    name: str
    size: float
    unit: MemoryUnit


def memory_parts(plan: Plan) -> tuple[MemoryPart, ...]:
    """The parts of one GPU's memory: those of the instance divided by its GPUs, and what is left over.

    In the unit in which the GPU has the size of its name, GB or GiB (:func:`sizing.base.format.memory_unit`).
    Where prefill and decode run apart, of a decode instance. Nothing where nothing is deployed.
    """
    return _parts(plan.per_instance, plan.deployment)


def prefill_memory_parts(plan: Plan) -> tuple[MemoryPart, ...]:
    """The same of a prefill instance; nothing where there is none."""
    return _parts(plan.per_prefill_instance, plan.deployment.kinds[0] if plan.deployment else None)


def _parts(one: PerInstance | None, deployed: Deployed | Pool | None) -> tuple[MemoryPart, ...]:
    if one is None or deployed is None:
        return ()
    gpus = max(1, deployed.tp * deployed.pp * deployed.dp)
    of_instance = {
        "Weights": one.weights_gb,
        "KV cache in use": one.kv_used_gb,
        "KV cache free": one.free_gb,
        "Activations": one.activations_gb,
        "CUDA graphs": one.graphs_gb,
        "Driver and buffers": one.overhead_gb - one.graphs_gb,
    }
    sizes = {name: size / gpus for name, size in of_instance.items()}
    sizes["Not used"] = one.memory_per_gpu_gb - sum(max(0.0, size) for size in sizes.values())
    unit = memory_unit(one.memory_per_gpu_gb)
    return tuple(MemoryPart(name, unit.of(max(0.0, size)), unit) for name, size in sizes.items())
