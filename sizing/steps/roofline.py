"""Step times from first principles: every operator is bound by matrix rate, memory bandwidth or the link.

time = max(FLOP / (rate x efficiency), bytes / (bandwidth x efficiency)) per operator, plus fixed times per collective,
layer, sequence and step. Source: roofline model (Williams, Waterman, Patterson, CACM 2009), applied to transformers as
in Pope et al., "Efficiently scaling transformer inference" (2022); efficiencies fitted, see ``efficiency.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sizing.candidates import Candidates, Floats
from sizing.catalog.model import Model
from sizing.memory import kv_share
from sizing.precision import KV_BYTES, WIDE_BYTES, compute_flops, wide_flops
from sizing.steps.efficiency import Efficiencies, efficiencies
from sizing.steps.times import StepTimes, Traffic

ALLREDUCES_PER_LAYER = 2  # after attention and after the feed-forward block (Megatron-LM, Shoeybi et al. 2019)


@dataclass(frozen=True)
class _Rates:
    """Effective rates and fixed times per candidate as columns (C, 1)."""

    matrix: Floats
    wide_matrix: Floats
    attention: Floats
    memory: Floats
    kv_memory: Floats
    link: Floats
    collective_s: Floats
    weight_bytes: Floats
    kv_bytes: Floats
    layer_s: Floats
    step_s: Floats
    sequence_s: Floats
    scale: Floats
    budget: Floats
    tp: Floats
    pp: Floats
    ep: Floats
    dp: Floats
    kv_share: Floats


@dataclass(frozen=True)
class Roofline:
    """The roofline as a source of step times, vectorised over candidates and concurrencies."""

    fit: Efficiencies
    name: ClassVar[str] = "roofline"

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Decode, prefill and prefill work of every candidate; see :class:`StepTimes` for the shapes."""
        rates = _rates(model, candidates, self.fit)
        decode = decode_step_s(model, rates, concurrency, traffic.decode_context)
        alone = prefill_s(model, rates, traffic, alone=True)[:, 0]
        shared = prefill_s(model, rates, traffic, alone=False)[:, 0] / (candidates.pp * candidates.dp)
        return StepTimes(
            decode_s=decode, prefill_s=alone, prefill_work_s=shared, source=f"roofline ({self.fit.note})"
        )


def roofline() -> Roofline:
    """The roofline with the committed fit."""
    return Roofline(efficiencies())


def _rates(model: Model, candidates: Candidates, fit: Efficiencies) -> _Rates:
    rows = candidates.rows
    devices = [fit.device(r.gpu.family) for r in rows]
    overheads = [fit.overhead(r.engine.runs_as) for r in rows]
    inside = [r.gpu.link_bytes_per_s if r.gpu.has_fast_link and r.tp * r.dp <= r.gpu.domain_gpus else None for r in rows]

    def col(values: list[float]) -> Floats:
        return np.asarray(values, dtype=np.float64)[:, None]

    return _Rates(
        matrix=col([compute_flops(r.gpu, r.precision) * d.matrix for r, d in zip(rows, devices, strict=True)]),
        wide_matrix=col([wide_flops(r.gpu) * d.matrix for r, d in zip(rows, devices, strict=True)]),
        attention=col([wide_flops(r.gpu) * d.attention for r, d in zip(rows, devices, strict=True)]),
        memory=col([r.gpu.memory_bandwidth * d.memory for r, d in zip(rows, devices, strict=True)]),
        kv_memory=col([r.gpu.memory_bandwidth * d.kv for r, d in zip(rows, devices, strict=True)]),
        link=col([(i or r.gpu.pcie_bytes_per_s) * d.link for r, d, i in zip(rows, devices, inside, strict=True)]),
        collective_s=col([fit.collective_s if i else fit.pcie_collective_s for i in inside]),
        weight_bytes=col([r.precision.bytes for r in rows]),
        kv_bytes=col([KV_BYTES[r.kv_precision] for r in rows]),
        layer_s=col([o.layer_s for o in overheads]), step_s=col([o.step_s for o in overheads]),
        sequence_s=col([o.sequence_s for o in overheads]), scale=col([o.scale for o in overheads]),
        budget=col([r.engine.budget(r.gpu) for r in rows]),
        tp=candidates.tp[:, None], pp=candidates.pp[:, None], ep=candidates.ep[:, None], dp=candidates.dp[:, None],
        kv_share=kv_share(model, candidates.tp)[:, None],
    )


def expert_coverage(model: Model, tokens: Floats) -> Floats:
    """Share of routed experts that ``tokens`` tokens touch: 1 - (1 - k/E)^n; 0 for a dense model.

    Source: probability that an expert is chosen at least once under uniform routing.
    """
    if not model.is_moe:
        return np.zeros_like(tokens)
    return np.asarray(1.0 - (1.0 - model.experts_per_token / model.experts) ** tokens, dtype=np.float64)


def linear_parameters(model: Model) -> tuple[float, float]:
    """(quantised, 16-bit) parameters multiplied for every token outside the routed experts; the latter is the head."""
    head = float(model.vocab_size * model.hidden_size)
    inside = model.params_total - model.params_experts - head - model.params_embedding
    return max(inside, 0.0), head


def kv_read_bytes(model: Model, context: float, kv_bytes: Floats) -> Floats:
    """KV-cache bytes one sequence reads per decode step, over all layers: sliding layers read at most their window."""
    sliding = model.kv_elements_sliding * min(context, model.sliding_window or context)
    return kv_bytes * (model.kv_elements_full * context + sliding) + 2 * WIDE_BYTES * model.state_elements


def attention_pairs(model: Model, new: float, cached: float) -> float:
    """Query-key pairs of one causal prompt over all layers: full n x (c + n/2), sliding at most n x window."""
    full = new * (cached + new / 2.0)
    sliding = min(full, new * float(model.sliding_window or np.inf)) if model.sliding_layers else 0.0
    return model.full_layers * full + model.sliding_layers * sliding


def head_flops_per_pair(model: Model) -> float:
    """FLOP per query-key pair over all heads of a layer: 2 for the score and 2 for the value, times head size."""
    return 4.0 * model.heads * model.head_dim


def all_reduce_s(rates: _Rates, payload_bytes: Floats) -> Floats:
    """Ring all-reduce over the TP group: 2 (t-1)/t x bytes / link + latency; 0 without TP.

    Source: Thakur, Rabenseifner, Gropp (2005); latency fitted.
    """
    t = rates.tp
    return np.where(t > 1, 2.0 * (t - 1.0) / t * payload_bytes / rates.link + rates.collective_s * np.log2(t + 1), 0.0)


def all_to_all_s(model: Model, rates: _Rates, tokens: Floats) -> Floats:
    """Dispatch and combine of one MoE layer over the EP group: 2 x tokens/EP x k x h x 2 bytes / link; 0 without EP."""
    payload = tokens / rates.ep * model.experts_per_token * model.hidden_size * WIDE_BYTES
    return np.where(rates.ep > 1, 2.0 * (payload / rates.link + rates.collective_s), 0.0)


def _bound(flop_s: Floats, byte_s: Floats) -> Floats:
    """Time of an operator that overlaps arithmetic and memory traffic imperfectly: the larger, softened (4-norm)."""
    return np.asarray((flop_s**4 + byte_s**4) ** 0.25, dtype=np.float64)


def _stage_matrices_s(model: Model, rates: _Rates, tokens: Floats, *, stream_weights: bool) -> Floats:
    """All matrix products of the whole model for ``tokens`` rows per step (before dividing by pipeline stages)."""
    inside, head = linear_parameters(model)
    local = tokens / rates.dp
    flop = 2.0 * inside * local / rates.tp / rates.matrix
    byte = inside * rates.weight_bytes / rates.tp / rates.memory
    ways = rates.tp * rates.dp
    expert_flop = 2.0 * model.params_experts * _routed_share(model) * tokens / ways / rates.matrix
    touched = model.params_experts * expert_coverage(model, tokens) / ways
    expert_byte = touched * rates.weight_bytes / rates.memory
    if not stream_weights:
        return flop + expert_flop
    head_s = _bound(2.0 * head * local / rates.tp / rates.wide_matrix, head * WIDE_BYTES / rates.tp / rates.memory)
    return _bound(flop, byte) + _bound(expert_flop, expert_byte) + head_s


def _routed_share(model: Model) -> float:
    """k / E, the share of routed-expert parameters one token uses."""
    return model.experts_per_token / model.experts if model.is_moe else 0.0


def _communication_s(model: Model, rates: _Rates, tokens: Floats) -> Floats:
    """Collectives of the whole model for ``tokens`` rows: two all-reduces a layer, all-to-all in expert layers."""
    reduce = ALLREDUCES_PER_LAYER * model.layers * all_reduce_s(rates, tokens / rates.dp * model.hidden_size * WIDE_BYTES)
    return reduce + model.moe_layers * all_to_all_s(model, rates, tokens)


def decode_step_s(model: Model, rates: _Rates, concurrency: Floats, context: float) -> Floats:
    """Time for one more token of every sequence, shape (C, K).

    Per pipeline pass with b = B / PP sequences: matrices + KV read + attention + collectives + layers x fixed; a token
    passes all stages, so the sum over stages is the whole model once. Plus host time per step and sequence.
    """
    rows = np.maximum(concurrency / rates.pp, 1.0)
    local = rows / rates.dp
    matrices = _stage_matrices_s(model, rates, rows, stream_weights=True)
    read = local * kv_read_bytes(model, context, rates.kv_bytes) * rates.kv_share / rates.kv_memory
    pairs = model.full_layers * context + model.sliding_layers * min(context, float(model.sliding_window or context))
    latent = (model.kv_elements_full / max(model.full_layers, 1)) / model.head_dim if model.attention == "mla" else 1.0
    score = local * pairs * head_flops_per_pair(model) * latent / rates.tp / rates.attention
    device = matrices + _bound(score, read) + _communication_s(model, rates, rows) + model.layers * rates.layer_s
    return rates.scale * device + rates.step_s + rates.sequence_s * concurrency


def prefill_s(model: Model, rates: _Rates, traffic: Traffic, *, alone: bool) -> Floats:
    """Time for one prompt, shape (C, 1): alone it streams the weights once per chunk, else decoding has paid for them.

    matrices: 2 x P_active x n FLOP; attention: pairs x 4 x heads x head size; collectives on n rows; alone also fixed
    times per layer and step for each chunk of the token budget.
    """
    new = np.full_like(rates.tp, traffic.new_tokens)
    chunks = np.ceil(new / rates.budget)
    rows = new / chunks * rates.dp  # one prompt stays on one attention-DP rank; the others carry prompts of their own
    matrices = chunks * _stage_matrices_s(model, rates, rows, stream_weights=alone)
    score = attention_pairs(model, traffic.new_tokens, traffic.cached_tokens) * head_flops_per_pair(model)
    device = matrices + score / rates.tp / rates.attention + chunks * _communication_s(model, rates, rows)
    if not alone:
        return rates.scale * device
    return rates.scale * (device + chunks * model.layers * rates.layer_s) + chunks * rates.step_s
