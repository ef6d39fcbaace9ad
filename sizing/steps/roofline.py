"""Step times from first principles: every operator is bound by matrix rate, memory bandwidth or the link.

time = max(FLOP / (rate x efficiency), bytes / (bandwidth x efficiency)) per operator, plus fixed times per collective,
layer, sequence and step. Source: roofline model (Williams, Waterman, Patterson, CACM 2009), applied to transformers as
in Pope et al., "Efficiently scaling transformer inference" (2022); efficiencies fitted, see ``efficiency.yaml``.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Flags, Floats
from sizing.base.constants import constant
from sizing.catalog.engines import Engine
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic, TrafficColumns
from sizing.steps.attention import bound, decode_attention_s, prompt_attention_s
from sizing.steps.efficiency import TODAY, Efficiencies, efficiencies
from sizing.steps.hardware import hardware
from sizing.steps.rates import Rates, rates
from sizing.steps.shape import Number, Shape, shape_of
from sizing.steps.times import StepTimes

PIPELINE_EFFICIENCY = constant("pipeline_efficiency")


@dataclass(frozen=True)
class Roofline:
    """The roofline as a source of step times, vectorised over candidates and concurrencies.

    ``products_gain``, ``streaming_gain``: how many times as fast other kernels than the fitted ones multiply the
    weights of dense layers where arithmetic binds, and where weights are streamed; 1 for those that the fit has seen.
    """

    fit: Efficiencies
    software_year: float = TODAY
    products_gain: float = 1.0
    streaming_gain: float = 1.0
    name: ClassVar[str] = "roofline"

    @property
    def source(self) -> str:
        """What is written beside every number that comes from here."""
        return f"roofline ({self.fit.note})"

    def rates_of(self, candidates: Candidates) -> Rates:
        """What each candidate does per second, by the fit."""
        speed = rates(candidates, hardware(candidates), self.fit, self.software_year)
        if self.products_gain == self.streaming_gain == 1.0:
            return speed
        return replace(speed, matrix=speed.matrix * self.products_gain, memory=speed.memory * self.streaming_gain)

    def first_token_steps(self, engine: Engine, model: Model) -> float:
        """Decode steps of others that a first token takes: none where the engine plans no step ahead."""
        ahead = engine.plans_ahead_in(self.software_year, model.hf_architecture)
        return self.fit.common.first_token_steps if ahead else 0.0

    def times(
        self, model: Model, candidates: Candidates, traffic: Traffic | TrafficColumns, concurrency: Floats
    ) -> StepTimes:
        """Decode, prefill and prefill work of every candidate; see :class:`StepTimes` for the shapes."""
        speed = self.rates_of(candidates)
        new, cached = traffic.new_tokens, traffic.cached_tokens
        times = self.at_rates(shape_of(model), speed, new, cached, traffic.decode_context, concurrency)
        steps = candidates.column(lambda unit: self.first_token_steps(unit.engine, model))
        return replace(times, first_token_steps=steps)

    def at_rates(
        self, shape: Shape, speed: Rates, new: Number, cached: Number, context: Number, concurrency: Floats
    ) -> StepTimes:
        """Step times at given rates: prompts of ``new`` tokens after ``cached`` ones, decoding at ``context`` tokens.

        Lengths and shapes are numbers, or columns (C, 1) where rows differ in them; ``concurrency`` (C, K).
        """
        work, stall = prefill_work_s(shape, speed, new, cached)
        alone, last = lone_prompt_s(shape, speed, new, cached)
        shared = _shared_s(shape, speed, rows_of_pass(speed, concurrency))
        decode = decode_step_s(shape, speed, concurrency, context, shared)
        return StepTimes(
            decode_s=decode,
            prefill_s=alone[:, 0],
            last_chunk=(last / alone)[:, 0],
            prefill_work_s=work[:, 0],
            prompt_step_s=prompt_step_s(shape, speed, new, work, concurrency, decode, shared),
            stall_s=stall[:, 0],
            ranks=speed.dp[:, 0],
            front_s=(speed.request_s + speed.prompt_token_s * new)[:, 0],
            source=self.source,
        )


def roofline() -> Roofline:
    """The roofline with the committed fit."""
    return Roofline(efficiencies())


def expert_coverage(shape: Shape, tokens: Floats, evenness: float) -> Floats:
    """Share of routed experts that ``tokens`` tokens touch: 1 - (1 + n k / (E a))^-a; 0 for a dense model.

    Probability that an expert is chosen at least once when experts differ in popularity by a gamma distribution of
    shape ``a`` (``evenness``) round k/E: the mean of exp(-n p). Even routing, 1 - exp(-n k / E), is the limit.
    """
    chosen = np.asarray(shape.routed) * tokens
    return np.asarray(-np.expm1(-evenness * np.log1p(chosen / evenness)), dtype=np.float64)


def all_reduce_s(speed: Rates, payload_bytes: Floats) -> Floats:
    """All-reduce over the TP group, the faster of two ways; 0 without TP.

    One shot: every GPU reads the vectors of all others, latency + (t-1) x bytes / link. Two shots: each sums its part
    of them and hands it on, latency + second step + 2 (t-1)/t x bytes / link. Source: Thakur, Rabenseifner, Gropp
    (2005); TensorRT-LLM, ``AllReduceStrategy`` (ONESHOT, TWOSHOT); times and share of the link fitted.
    """
    tp = speed.tp
    wire = (tp - 1.0) / speed.link * payload_bytes
    return np.where(tp > 1, speed.collective_s + np.minimum(wire, 2.0 / tp * wire + speed.two_shot_s), 0.0)


def all_to_all_s(shape: Shape, speed: Rates, tokens: Floats) -> Floats:
    """Dispatch and combine of one MoE layer over the EP group; 0 without DP.

    A token goes once to each other node and each other rank of a node that holds one of its k experts:
    time = 2 x tokens/EP x h x 2 bytes x (r_nodes / network + r_ranks / link) + 2 latencies, with r = (n - 1) (1 - (1 -
    1/n)^k) of n nodes, and of the ranks within a node, experts being chosen evenly. Source: DeepEP (2025),
    ``get_dispatch_layout``, whose ``is_token_in_rank`` counts so, and its forwarding from node to rank over NVLink.
    """
    apart, nodes = speed.dp > 1, speed.nodes
    ranks = np.maximum(speed.ep / nodes, 1.0)
    k = shape.experts_per_token
    between = _others(nodes, k) / speed.network
    within = (1.0 + _others(nodes, k)) * _others(ranks, np.maximum(k / nodes, 1.0)) / speed.link
    per_token = np.where(apart, 2.0 / speed.ep * shape.hidden * WIDE_BYTES * (between + within), 0.0)
    return per_token * tokens + np.where(apart, 2.0 * speed.collective_s * nodes, 0.0)


def _others(members: Floats, chosen: Number) -> Floats:
    """How many of the other members hold one of the ``chosen`` experts on average: (n - 1) (1 - (1 - 1/n)^k)."""
    return np.asarray((members - 1.0) * (1.0 - (1.0 - 1.0 / members) ** chosen))


def _is_dense_native(shape: Shape, speed: Rates) -> Flags:
    """Which candidates (C, 1) have 4-bit experts beside dense layers of the native width."""
    return np.asarray(speed.experts_alone & (np.asarray(shape.dense_bytes) > 0))


def _matrix_flop_s(shape: Shape, speed: Rates) -> tuple[Floats, Floats]:
    """Seconds per token in (dense, routed-expert) products of the whole model, on each GPU of the instance.

    2 FLOP per parameter. A token's dense products run on its own attention-DP rank, its experts on all of them. Where
    the experts alone are 4 bit, dense products are those of the native width: at 16 bit or FP8.
    """
    own = np.where(np.asarray(shape.dense_bytes) < WIDE_BYTES, speed.eight_matrix, speed.wide_matrix)
    matrix = np.where(_is_dense_native(shape, speed), own, speed.matrix)
    dense = 2.0 * shape.dense / (speed.tp * speed.dp * matrix)
    busiest = np.where(speed.ep * speed.dp > 1, speed.imbalance, 1.0)
    experts = 2.0 * shape.experts * shape.routed * busiest / (speed.tp * speed.dp * speed.expert_matrix)
    return np.asarray(dense), np.asarray(experts)


def matrices_s(shape: Shape, speed: Rates, tokens: Floats, own: Floats | None = None) -> Floats:
    """Matrix products of all layers in one step over ``tokens`` rows: weights are streamed once, experts as far as
    touched. The output head is apart (:func:`head_s`).

    ``own``: rows of all attention-DP ranks if each had as many as the fullest, where they are uneven: each computes the
    products outside the experts for its own rows.
    """
    own = tokens if own is None else own
    dense_flop, expert_flop = _matrix_flop_s(shape, speed)
    unquantised = _is_dense_native(shape, speed)
    width = np.where(unquantised, shape.dense_bytes, speed.expert_bytes)
    memory = np.where(unquantised, speed.wide_memory, speed.memory)
    dense_byte = shape.dense * width / speed.tp / memory
    expert_byte = shape.experts * speed.expert_bytes / (speed.tp * speed.dp) / speed.expert_memory
    total = bound(dense_flop * own, dense_byte, speed.exposed)
    if np.any(np.asarray(shape.routed) > 0):
        touched = expert_byte * expert_coverage(shape, tokens, speed.evenness)
        total = total + bound(expert_flop * tokens, touched, speed.exposed)
    return total


def head_s(shape: Shape, speed: Rates, rows: Floats | float) -> Floats:
    """The output head over ``rows`` rows: those of decoding sequences, and of a prompt its last alone (vLLM,
    ``logits_indices``; SGLang, ``logits_processor.py``; TensorRT-LLM, context logits off by default)."""
    flop = 2.0 * shape.head / (speed.tp * speed.dp * speed.wide_matrix)
    byte = shape.head * WIDE_BYTES / speed.tp / speed.wide_memory
    return bound(flop * rows, byte, speed.wide_exposed)


def communication_s(shape: Shape, speed: Rates, tokens: Floats) -> Floats:
    """Collectives of the whole model for ``tokens`` rows: two all-reduces a layer, all-to-all in expert layers, and
    those of norms over all heads, a few bytes each."""
    payload = (shape.hidden * WIDE_BYTES / speed.dp) * tokens
    total = shape.all_reduces * all_reduce_s(speed, payload)
    if np.any(np.asarray(shape.norm_collectives) > 0):
        total = total + shape.norm_collectives * np.where(speed.tp > 1, speed.collective_s, 0.0)
    if np.any(speed.dp > 1):
        total = total + shape.moe_layers * all_to_all_s(shape, speed, tokens)
    return np.asarray(total)


LOGIT_BYTES = 4.0
"""Bytes of a logit: samplers work at 32 bit (vLLM, ``v1/sample/sampler.py``; SGLang, ``layers/sampler.py``)."""

REPLICATED_PASSES = 8.0
"""Reads and writes of the hidden state per layer by residual sums and norms, which every GPU of a TP group repeats:
each of the two reads the state and its increment and writes both."""


def activations_s(shape: Shape, speed: Rates, tokens: Floats) -> Floats:
    """Memory traffic between matrix products, at 2 bytes a value: ((replicated x L x h + activation passes x w / TP)
    / DP + expert passes x k x L_moe x h / EP) a token, with w = parameters used per token / h.

    Every product has an end at the hidden state and one that TP splits: the sizes of the latter add up to w. Every GPU
    of a TP group moves the whole rows of its experts. Counted from a layer's operators; both passes fitted.
    """
    split = speed.activation_passes * (shape.dense + shape.experts * shape.routed) / shape.hidden / speed.tp
    rows = speed.expert_passes * np.asarray(shape.moe_layers) * shape.experts_per_token / speed.ep
    own = (REPLICATED_PASSES * shape.layers * shape.hidden + split) / speed.dp
    return np.asarray((own + rows * shape.hidden) * WIDE_BYTES / speed.wide_memory * tokens)


def fixed_s(shape: Shape, speed: Rates) -> Floats:
    """Fixed device time of one pass through all layers: kernel launches, routing, latent projections, recurrences."""
    more = shape.moe_layers * speed.routing_s + shape.latent_layers * speed.latent_s
    more = more + shape.recurrent_layers * speed.recurrent_s
    return np.asarray(shape.layers * speed.layer_s + more)


def pass_s(shape: Shape, speed: Rates) -> Floats:
    """A step of prompts alone without their rows, (C, 1): launches, host time and one row of the output head."""
    return np.asarray(speed.scale * (fixed_s(shape, speed) + head_s(shape, speed, speed.dp)) + speed.step_s)


def rows_of_pass(speed: Rates, concurrency: Floats) -> Floats:
    """Sequences that decode in one pass of a pipeline, B / PP, at least one."""
    return np.maximum(concurrency / speed.pp, 1.0)


def _shared_s(shape: Shape, speed: Rates, rows: Floats) -> Floats:
    """Matrices of layers and collectives over so many rows: what decoding sequences and prompts share in a step."""
    return np.asarray(matrices_s(shape, speed, rows) + communication_s(shape, speed, rows))


def decode_step_s(
    shape: Shape, speed: Rates, concurrency: Floats, context: Number, shared: Floats | None = None
) -> Floats:
    """Time for one more token of every sequence, shape (C, K); ``shared`` (C, K): :func:`_shared_s`, where known.

    Per pipeline pass with b = B / PP sequences: matrices + KV read + attention + collectives + layers x fixed; a token
    passes all stages, so the sum over stages is the whole model once. Plus the choice of tokens, and host time per step
    and sequence, the latter as far as it outlasts what is computed where the engine overlaps both.
    """
    rows = rows_of_pass(speed, concurrency)
    attention = decode_attention_s(shape, speed, context) * rows + activations_s(shape, speed, rows)
    answers = head_s(shape, speed, rows) + sampling_s(shape, speed) * rows
    products = _shared_s(shape, speed, rows) if shared is None else shared
    device = products + attention + fixed_s(shape, speed) + answers
    handed_on = stage_transfers_s(shape, speed, rows)
    computed = speed.scale * (device * pipeline_loss(shape, speed) + handed_on)
    sequences = speed.sequence_s * concurrency
    seen = np.where(speed.overlapped, np.maximum(sequences - computed, 0.0), sequences)
    return np.asarray(computed + speed.step_s + seen)


def sampling_s(shape: Shape, speed: Rates) -> Floats:
    """Choosing the next token of a sequence, on each GPU of its rank, (C, 1): passes x vocabulary x 4 bytes, and what
    the ranks of a TP group need for it."""
    logits = shape.head / np.maximum(shape.hidden, 1.0) * LOGIT_BYTES
    chosen = speed.sampling_passes * logits / speed.wide_memory + speed.rank_sequence_s * np.log2(speed.tp)
    return np.asarray(chosen / speed.dp)


def pipeline_loss(shape: Shape, speed: Rates) -> Floats:
    """Factor by which pipeline stages fall short of an even split: ceil(L / PP) x PP / L / efficiency; 1 without PP.

    The slowest stage sets the pace of all. Source: GPipe (Huang et al. 2019) for uneven stages; the efficiency is an
    assumption, because no published benchmark in the evidence library uses pipeline stages.
    """
    uneven = np.ceil(shape.layers / speed.pp) * speed.pp / shape.layers
    return np.where(speed.pp > 1, uneven / PIPELINE_EFFICIENCY, 1.0)


def stage_transfers_s(shape: Shape, speed: Rates, tokens: Floats) -> Floats:
    """Handing activations from stage to stage: (PP - 1) x (latency + tokens x h x 2 bytes / link); 0 without PP."""
    return np.asarray((speed.pp - 1.0) * (speed.collective_s + tokens * shape.hidden * WIDE_BYTES / speed.link))


def prefill_s(shape: Shape, speed: Rates, new: Number, cached: Number, batch: float | Floats = 1.0) -> Floats:
    """Time for ``batch`` prompts at once with nothing else running, shape (C, 1), in chunks of the token budget.

    Per chunk: matrices (weights streamed) + collectives + fixed times; attention over all pairs once. Under
    attention-DP a prompt stays on its rank, with a token budget of its own, and the experts of all ranks serve it: the
    fullest rank, which carries ceil(batch / DP) prompts, sets the time of everything but the experts.
    """
    busiest = np.ceil(batch / speed.dp)  # prompts on the fullest rank
    tokens = busiest * new * np.ones_like(speed.tp)
    chunks = np.maximum(np.ceil(tokens / speed.budget), 1.0)
    rows, even = batch * new / chunks, tokens * speed.dp / chunks
    score = busiest * prompt_attention_s(shape, speed, new, cached)
    matrices = matrices_s(shape, speed, rows, even) + head_s(shape, speed, busiest * speed.dp) / chunks
    moved = communication_s(shape, speed, even) + activations_s(shape, speed, even)
    computed = np.maximum(speed.scale * (chunks * (matrices + moved) + score), chunks * launch_s(shape, speed))
    return np.asarray(computed + chunks * (speed.scale * fixed_s(shape, speed) + speed.step_s))


def lone_prompt_s(shape: Shape, speed: Rates, new: Number, cached: Number) -> tuple[Floats, Floats]:
    """One prompt with nothing else running, and its last chunk alone from the first stage to the last, (C, 1) each.

    Stages compute the chunks of a prompt side by side, so that it takes T / PP and what its last chunk has before it:
    (T + (PP - 1) x last) / PP; T where it is one chunk. Source: vLLM, ``EngineCore.step_with_batch_queue``; SGLang,
    chunked pipeline parallelism (LMSYS blog, 2026-01-15).
    """
    whole = prefill_s(shape, speed, new, cached)
    if not np.any(speed.pp > 1):
        return whole, whole
    chunk = np.asarray(new) / np.maximum(np.ceil(np.asarray(new) / speed.budget), 1.0)
    last = prefill_s(shape, speed, chunk, cached + new - chunk)
    return (whole + (speed.pp - 1.0) * last) / speed.pp, last


def prefill_work_s(shape: Shape, speed: Rates, new: Number, cached: Number) -> tuple[Floats, Floats]:
    """Engine time one prompt takes from decoding sequences it shares steps with, two of shape (C, 1): where all ranks
    carry the same, and by how much more where its rank alone carries one, so that the others wait for it.

    The running steps have paid for streaming the weights, so only arithmetic and collectives count; what each such
    step costs beyond that is :func:`prompt_step_s`. Pipeline stages take different prompts at once.
    Equation: even = (e x DP + a) / (PP x DP), stall = a / PP x (1 - 1 / DP) with e = routed experts, which all ranks
    compute, and a = dense products, attention and collectives, which the rank of the prompt does alone.
    """
    tokens = np.asarray(new) * np.ones_like(speed.tp)
    chunks = tokens / speed.budget  # prompts shorter than the budget share a step
    dense_flop, expert_flop = _matrix_flop_s(shape, speed)
    matrices = (dense_flop + expert_flop) * tokens * speed.dp
    score = prompt_attention_s(shape, speed, new, cached)
    rows = tokens * speed.dp / chunks
    moved = chunks * (communication_s(shape, speed, rows) + activations_s(shape, speed, rows))
    loss = pipeline_loss(shape, speed)
    even = speed.scale * (matrices + score + moved) * loss / (speed.pp * speed.dp)
    if not np.any(speed.dp > 1):
        return np.asarray(even), np.zeros_like(even)
    own = speed.scale * (dense_flop * tokens * speed.dp + score + moved) * loss
    return np.asarray(even), np.asarray(own * (speed.dp - 1.0) / (speed.pp * speed.dp))


def launch_s(shape: Shape, speed: Rates) -> Floats:
    """Host time to launch the kernels of a step that carries prompt tokens, shape (C, 1): no captured graph replays
    all of them, so that they take a multiple of what they do in one."""
    times = np.where(np.asarray(shape.captured_prompts) > 0, speed.in_pieces, speed.eager)
    return np.asarray(speed.scale * times * fixed_s(shape, speed))


def prompt_step_s(
    shape: Shape, speed: Rates, new: Number, work: Floats, concurrency: Floats, decode: Floats, shared: Floats
) -> Floats:
    """By how much a step that carries one prompt, or a chunk of it, is longer than one that only decodes, beyond the
    work of the prompt, (C, K). ``work`` (C, 1): that of a prompt, :func:`prefill_work_s`; ``decode`` (C, K): decode
    steps; ``shared`` (C, K): :func:`_shared_s` of their sequences.

    Where prompts share their steps: G(B + n) - G(B) - G'(n), with G the matrices and collectives of so many rows and G'
    what the work counts of n: arithmetic that hides behind weights which are streamed anyway, experts that nobody else
    touches, latencies of collectives that are paid for. Launching the kernels of all the step, which no captured graph
    replays, takes as long at least. Elsewhere a step of prompts has the fixed times and the weights to itself.
    Source: kernel launches overlap execution (CUDA C++ Programming Guide, asynchronous execution); SGLang,
    ``Scheduler.get_next_batch_to_run`` ("run prefill first if possible", mixed chunks off by default).
    """
    chunks = np.maximum(np.asarray(new) / speed.budget, 1.0)  # steps that a prompt fills, at least one
    tokens, each = np.asarray(new) / chunks * speed.dp * np.ones_like(speed.tp), work / chunks
    full = speed.budget * speed.dp  # rows of a full step, by whose collectives the work counts
    counted = (sum(_matrix_flop_s(shape, speed)) + communication_s(shape, speed, full) / full) * tokens
    launch, apart = launch_s(shape, speed), speed.prompts_apart
    together = _shared_s(shape, speed, np.where(apart, 0.0, rows_of_pass(speed, concurrency)) + tokens)
    longer = speed.scale * (together - np.where(apart, 0.0, shared) - counted) / (speed.pp * speed.dp)
    passed = np.where(apart, pass_s(shape, speed), 0.0)
    rest = np.where(apart, passed, decode)
    return np.asarray(np.maximum(passed + longer, launch - each + passed - rest))
