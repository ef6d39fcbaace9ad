"""Does it fit: weights, activations, graphs and buffers per GPU, the KV cache that is left, and what it holds.

All quantities are bytes (10^9 to the GB) per GPU unless named otherwise; arrays have one entry per candidate (C,).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Columns, Flags, Floats
from sizing.base.units import GIB, MIB
from sizing.catalog.adapters import adapter_parts, slot_rank
from sizing.catalog.engines import FEW_GPUS, LARGE_GIB, LEAST_RESERVED_MIB, RESERVED_MIB_PER_GPU
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES
from sizing.catalog.weights import PARTS, WeightParts, expert_padding, on_fullest_gpu, weight_parts
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_cache import in_flight_tokens, sequence_bytes
from sizing.deployments.working_memory import activation_bytes, graphs_bytes, outside_bytes
from sizing.question.adapters import NO_ADAPTERS
from sizing.question.speculation import Speculation


@dataclass(frozen=True, kw_only=True)
class MemoryFit(Columns):
    """Memory per GPU (bytes, shape (C,)) and the sequences one instance holds (C,).

    ``usable`` is what weights, activations, graphs, what is ``outside`` the engine's allocator and the KV cache share.
    Engines that count graphs or activations elsewhere have 0 of them here. ``kv_in_flight`` is what layers with a
    window keep of the prompts being computed, once for all sequences.
    """

    capacity: Floats
    usable: Floats
    weights: Floats
    activations: Floats
    graphs: Floats
    outside: Floats
    kv_available: Floats
    kv_in_flight: Floats
    kv_per_sequence: Floats
    max_concurrency: Floats

    @property
    def overhead(self) -> Floats:
        """Graphs and what is outside the engine's allocator."""
        return self.graphs + self.outside

    @property
    def needed(self) -> Floats:
        """Bytes that one sequence of full length needs beside the weights."""
        return self.weights + self.activations + self.overhead + self.kv_per_sequence

    @property
    def fits(self) -> Flags:
        """At least one sequence of full length fits beside the weights."""
        return self.max_concurrency >= 1


def weights_per_gpu(model: Model, candidates: Candidates) -> Floats:
    """Weights on the fullest GPU: experts over TP x DP, most else over TP, layers over PP, a draft over all, and the
    adapters that an instance keeps."""
    c = candidates
    formats = {u.precision.id: u.precision for u in c.units}
    place = {name: k for k, name in enumerate(formats)}
    of_row = c.per_unit("format", lambda u: place[u.precision.id]).astype(np.intp)[c.unit]
    each = [weight_parts(model, one) for one in formats.values()]
    parts = WeightParts(
        **{name: np.array([getattr(one, name) for one in each], dtype=np.float64)[of_row] for name in PARTS}
    )
    model_bytes = on_fullest_gpu(parts, model, c.tp, c.pp, c.dp, c.ep, _padding(model, c))
    drafts = of_drafts(c, lambda drafts: drafts.weight_bytes) / c.gpus
    return model_bytes + drafts + adapter_bytes_per_gpu(model, c)


def adapter_bytes_per_gpu(model: Model, candidates: Candidates) -> Floats:
    """Memory that each GPU reserves for adapters, (C,): slots x largest rank, whatever lies in them.

    2 B x slots x r x (copied + sharded / TP + experts / EP x (their copied + sharded x EP / (TP x DP))) x stages.
    Source: vLLM 0.33.0, lora/model_manager.py and lora/layers (stacked tensors of max_loras x max_lora_rank).
    """
    c = candidates
    adapters = c.rows[0].adapters if len(c) else NO_ADAPTERS
    if not adapters.number:
        return np.zeros(len(c))
    parts = adapter_parts(model, adapters.targets)
    experts = parts.expert_copied / c.ep + parts.expert_sharded / (c.tp * c.dp)
    values = parts.copied + parts.sharded / c.tp + experts
    stages = np.ceil(model.layers / c.pp) / model.layers
    rank = c.column(lambda row: float(slot_rank(row.engine, row.adapters.rank)))
    return np.asarray(WIDE_BYTES * adapters.resident * rank * values * stages)


def _padding(model: Model, c: Candidates) -> Floats:
    """How many times as large as they are kernels need the experts, (C,)."""
    padding = np.ones(len(c))
    if not model.is_moe:
        return padding
    needs = c.per_unit("padded", lambda u: int(u.precision.expert_alignment(u.gpu) != (1, 1)))[c.unit]
    for unit in np.unique(c.unit[needs > 0]):
        rows = c.unit == unit
        split = (c.tp * c.dp / c.ep)[rows]  # whole experts lie on EP ranks
        padding[rows] = expert_padding(model, c.units[unit].precision, c.units[unit].gpu, split)
    return padding


def of_drafts(candidates: Candidates, value: Callable[[Speculation], float]) -> Floats:
    """Something of the drafts of each candidate, (C,); 0 without speculative decoding."""
    values = np.zeros(len(candidates))
    for i in np.flatnonzero(candidates.draft_tokens):
        values[i] = value(candidates.rows[i].speculation)
    return values


def kv_of_sequence(
    model: Model, candidates: Candidates, tokens: float | Floats, beside: float | Floats = 0.0
) -> Floats:
    """KV cache of one sequence and of its drafts on each GPU, (C,), see
    :func:`sizing.deployments.kv_cache.sequence_bytes`."""
    drafts = 1.0 + of_drafts(candidates, lambda drafts: drafts.kv_share)
    return sequence_bytes(model, candidates, tokens, beside) * drafts


@dataclass(frozen=True, kw_only=True)
class _Divided:
    """How an engine divides a GPU: see :class:`MemoryFit`."""

    usable: Floats
    activations: Floats
    graphs: Floats
    outside: Floats


def _divided(model: Model, candidates: Candidates, weights: Floats) -> _Divided:
    """What is left for the KV cache is a fraction f of the memory M a program sees, less what is not cache.

    vLLM: f M - W - A - O, and less graphs since 0.21. SGLang: f (M - O) - W; a step's activations and graphs lie in
    what f leaves, which is as much at least. TensorRT-LLM: f (M - W - A - O). ``usable`` is the sum of the cache and
    what is taken off.
    """
    c = candidates
    memory = c.column(lambda r: r.gpu.program_bytes)
    fraction = _fraction(model, c)
    activations, outside = activation_bytes(model, c), outside_bytes(c)
    static = c.column(lambda r: float(r.engine.memory.fraction_of == "static")) > 0
    free = c.column(lambda r: float(r.engine.memory.fraction_of == "free")) > 0
    captured = graphs_bytes(model, c)
    beside = np.minimum(fraction * (memory - outside) + outside, memory - activations - captured)
    graphs = np.where(c.column(lambda r: float(r.engine.memory.graphs_counted)) > 0, captured, 0.0)
    activations = np.where(static, 0.0, activations)
    taken = weights + activations + outside + graphs
    usable = np.where(static, beside, fraction * memory)
    usable = np.where(free, np.minimum(fraction * np.maximum(memory - taken, 0.0) + taken, memory), usable)
    return _Divided(usable=usable, activations=activations, graphs=graphs, outside=outside)


def _fraction(model: Model, candidates: Candidates) -> Floats:
    """The fraction of each candidate: what the scenario sets, or the engine's own."""
    c = candidates
    fixed = c.column(lambda r: r.engine.memory.fraction or 0.0)
    if np.all(fixed > 0.0):
        return fixed
    gpus = c.tp * c.pp
    few, many, memory = (
        c.column(lambda r: r.engine.reserved_mib(r.gpu, many=False)),
        c.column(lambda r: r.engine.reserved_mib(r.gpu, many=True)),
        c.column(lambda r: r.gpu.memory_bytes),
    )
    reserved = np.where(gpus >= FEW_GPUS, many, few) + RESERVED_MIB_PER_GPU * gpus
    reserved = np.where(memory > LARGE_GIB * GIB, np.maximum(reserved, LEAST_RESERVED_MIB), reserved)
    share = c.column(lambda r: r.engine.memory.vision_share or 1.0) if model.params_vision else 1.0
    return np.where(fixed > 0.0, fixed, np.round((1.0 - reserved * MIB / memory) * share, 3))


def memory_fit(model: Model, candidates: Candidates, tokens: float | Floats) -> MemoryFit:
    """Memory of every candidate and how many sequences of ``tokens`` (prompt plus output; one number or (C,)) one
    instance holds.

    KV available = usable - weights - activations - graphs - outside; sequences = floor((KV available - what windows
    keep of prompts in flight) / KV per sequence) x DP, at most what the engine schedules. These are whole sequences;
    how many an engine that evicts runs at once: :func:`sizing.deployments.concurrency.running_fit`.
    """
    weights = weights_per_gpu(model, candidates)
    divided = _divided(model, candidates, weights)
    taken = weights + divided.activations + divided.graphs + divided.outside
    available = np.maximum(divided.usable - taken, 0.0)
    per_sequence = kv_of_sequence(model, candidates, tokens)
    beside = kv_of_sequence(model, candidates, tokens, in_flight_tokens(candidates)) - per_sequence
    scheduled = candidates.column(lambda r: r.engine.sequences(r.gpu))
    held = np.floor(np.maximum(available - beside, 0.0) / np.maximum(per_sequence, 1.0)) * candidates.dp
    return MemoryFit(
        capacity=candidates.column(lambda r: r.gpu.memory_bytes),
        usable=divided.usable,
        weights=weights,
        activations=divided.activations,
        graphs=divided.graphs,
        outside=divided.outside,
        kv_available=available,
        kv_in_flight=np.maximum(beside, 0.0),
        kv_per_sequence=per_sequence,
        max_concurrency=np.minimum(held, scheduled * candidates.dp),
    )
