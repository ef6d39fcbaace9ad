"""Does it fit: weights, KV cache, activations and overhead per GPU, and how many sequences the rest holds.

All quantities are bytes (10^9 to the GB) per GPU unless named otherwise; arrays have one entry per candidate (C,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Columns, Flags, Floats
from sizing.base.constants import constant
from sizing.catalog.engines import LARGE_MEMORY_BYTES
from sizing.catalog.model import Model
from sizing.catalog.precisions import KV_BYTES, WIDE_BYTES
from sizing.catalog.weights import split_weight_bytes
from sizing.deployments.candidates import Candidates
from sizing.question.speculation import Speculation

RUNTIME_BYTES = constant("runtime_bytes")
COMMUNICATION_BYTES = constant("communication_bytes")
STATE_BYTES = constant("recurrent_state_bytes")
ACTIVATION_COPIES = constant("activation_copies")
ACTIVATION_FLOOR_BYTES = constant("activation_floor_bytes")


@dataclass(frozen=True, kw_only=True)
class MemoryFit(Columns):
    """Memory per GPU (bytes, shape (C,)) and the sequences one instance holds (C,)."""

    capacity: Floats
    usable: Floats
    weights: Floats
    activations: Floats
    overhead: Floats
    kv_available: Floats
    kv_per_sequence: Floats
    max_concurrency: Floats

    @property
    def needed(self) -> Floats:
        """Bytes that one sequence of full length needs beside the weights."""
        return self.weights + self.activations + self.overhead + self.kv_per_sequence

    @property
    def fits(self) -> Flags:
        """At least one sequence of full length fits beside the weights."""
        return self.max_concurrency >= 1


def kv_bytes_per_sequence(
    model: Model, tokens: float | Floats, kv_bytes: float | Floats, block_tokens: Floats
) -> Floats:
    """KV cache of one sequence in bytes, before splitting over GPUs.

    KV = b x (E_full x ceil_block(n) + E_sliding x min(ceil_block(n), window)) + 4 x state, where E counts cached
    values per token over all layers of a kind, n the tokens, and recurrent state is kept in float32. Source:
    definition of the KV cache; block granularity
    from PagedAttention (Kwon et al., SOSP 2023).
    """
    held = np.ceil(tokens / block_tokens) * block_tokens
    sliding = np.minimum(held, model.sliding_window or np.inf) if model.sliding_layers else 0.0
    growing = np.asarray(kv_bytes) * (model.kv_elements_full * held + model.kv_elements_sliding * sliding)
    return np.asarray(growing + STATE_BYTES * model.state_elements, dtype=np.float64)


def kv_share(model: Model, tp: Floats) -> Floats:
    """Share of the KV cache each GPU of a TP group holds: ceil(heads / TP) / heads; all of it for MLA's latent
    vector."""
    if model.attention == "mla":
        return np.ones_like(tp)
    return np.ceil(model.kv_heads / tp) / model.kv_heads


def activation_bytes(model: Model, budget: Floats, tp: Floats) -> Floats:
    """Working memory of one step: c x budget x 2 bytes x (4 h + 3 f / TP) + floor.

    h hidden size, f the wider of dense and routed feed-forward width, c live copies. An upper estimate, checked
    against the 4.8 to 5.6 GiB (dense) that vLLM reports for 16,384-token steps.
    """
    routed = model.moe_intermediate_size * (model.experts_per_token + model.shared_experts)
    width = max(model.intermediate_size if model.moe_layers < model.layers else 0, routed)
    per_token = 4 * model.hidden_size + 3 * width / tp
    return np.asarray(ACTIVATION_COPIES * budget * WIDE_BYTES * per_token + ACTIVATION_FLOOR_BYTES, dtype=np.float64)


def reserved_activation_bytes(model: Model, candidates: Candidates, capacity: Floats, usable: Floats) -> Floats:
    """Activations of the engine's step on each GPU.

    From 70 GiB on engines take larger steps by default. Just above that size the larger step is taken only as far as
    the memory gained holds it, as an operator would set it: more memory never holds fewer sequences.
    """
    whole = activation_bytes(model, candidates.column(lambda r: r.engine.budget(r.gpu)), candidates.tp)
    small = activation_bytes(model, candidates.column(lambda r: r.engine.token_budget[0]), candidates.tp)
    gained = usable * (1.0 - LARGE_MEMORY_BYTES / capacity)
    return np.where(gained >= 0, np.minimum(whole, small + gained), whole)


def weights_per_gpu(model: Model, candidates: Candidates) -> Floats:
    """Weights on the fullest GPU: experts over TP x DP, everything else over TP, layers over PP, a draft over all."""
    c = candidates
    model_bytes = split_weight_bytes(model, c.column(lambda r: r.precision.bytes), c.tp, c.pp, c.dp, c.ep)
    return model_bytes + of_drafts(c, lambda drafts: drafts.weight_bytes) / c.gpus


def of_drafts(candidates: Candidates, value: Callable[[Speculation], float]) -> Floats:
    """Something of the drafts of each candidate, (C,); 0 without speculative decoding."""
    values = np.zeros(len(candidates))
    for i in np.flatnonzero(candidates.draft_tokens):
        values[i] = value(candidates.rows[i].speculation)
    return values


def memory_fit(model: Model, candidates: Candidates, tokens: float | Floats) -> MemoryFit:
    """Memory of every candidate and how many sequences of ``tokens`` (prompt plus output; one number or (C,)) one
    instance holds.

    usable = fraction x capacity; KV available = usable - weights - activations - overhead;
    sequences = floor(KV available / KV per sequence) x DP, at most what the engine schedules. The KV cache of a whole
    sequence is reserved, so nothing is ever evicted at mean lengths.
    """
    capacity = candidates.column(lambda r: r.gpu.memory_bytes)
    usable = capacity * candidates.column(lambda r: r.engine.memory_fraction)
    weights = weights_per_gpu(model, candidates)
    activations = reserved_activation_bytes(model, candidates, capacity, usable)
    overhead = RUNTIME_BYTES + np.where(candidates.gpus > 1, COMMUNICATION_BYTES, 0.0)
    kv_bytes = candidates.column(lambda r: KV_BYTES[r.kv_precision])
    blocks = candidates.column(lambda r: r.engine.block_tokens)
    whole = kv_bytes_per_sequence(model, tokens, kv_bytes, blocks)
    whole = whole * (1.0 + of_drafts(candidates, lambda drafts: drafts.kv_share))
    per_sequence = whole * kv_share(model, candidates.tp) / candidates.pp
    available = np.maximum(usable - weights - activations - overhead, 0.0)
    scheduled = candidates.column(lambda r: r.engine.sequences(r.gpu))
    held = np.floor(available / np.maximum(per_sequence, 1.0)) * candidates.dp
    return MemoryFit(
        capacity=capacity,
        usable=usable,
        weights=weights,
        activations=activations,
        overhead=overhead,
        kv_available=available,
        kv_per_sequence=per_sequence,
        max_concurrency=np.minimum(held, scheduled * candidates.dp),
    )
