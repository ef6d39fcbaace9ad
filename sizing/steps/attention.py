"""What attention takes, of prompts and of decode steps: full, sliding and sparse layers, and recurrent ones.

FLOP over the rate of attention's products, scores over that of the softmax, bytes over the bandwidth for the KV cache;
rates of the first and the last are shares of the datasheet's, fitted.
"""

import numpy as np

from sizing.base.arrays import Flags, Floats
from sizing.base.constants import constant
from sizing.steps.rates import Rates
from sizing.steps.shape import Number, Shape

RECURRENT_RATE = constant("recurrent_prompt_rate")

LONGEST = 1e9
"""Tokens, more than any context has."""

INDEX_RATE = 2.0
"""Rate of an indexer's products, which are of 8 bit, relative to attention at 16 bit (datasheets of Hopper and
Blackwell)."""


def bound(flop_s: Floats, byte_s: Floats, exposed: Floats | float) -> Floats:
    """Time of an operator that overlaps arithmetic and memory traffic imperfectly: the larger of the two, plus the
    share of the smaller that stays exposed."""
    return np.asarray(np.maximum(flop_s, byte_s) + exposed * np.minimum(flop_s, byte_s), dtype=np.float64)


def kv_share(shape: Shape, tp: Floats) -> Floats:
    """Share of the KV cache each GPU of a TP group holds: ceil(heads / TP) / heads; all of MLA's latent vector."""
    return np.where(np.asarray(shape.replicated_kv) > 0, 1.0, np.ceil(shape.kv_heads / tp) / shape.kv_heads)


def kv_read_bytes(shape: Shape, context: Number, kv_bytes: Floats) -> Floats:
    """KV-cache bytes one sequence reads per decode step, over all layers: sliding layers read at most their window,
    sparse ones what they attend to and all keys of their indexer. Recurrent state is not among them."""
    part = shape.kv_sliding * np.minimum(context, shape.window) + shape.kv_sparse * np.minimum(context, shape.attended)
    return np.asarray(kv_bytes * (shape.kv_full * context + part), dtype=np.float64)


def pair_s(shape: Shape, speed: Rates) -> Floats:
    """Time of one query and one token that it attends to in one layer of a prompt, on each GPU of a TP group, (C, 1).

    Products of its scores and values, and a softmax of one score per head, which kernels overlap imperfectly. So heads
    of 64 values reach half to four fifths of the rate of 128, the less the faster the matrix units are beside what
    computes the softmax. Source: Shah et al., "FlashAttention-3" (2024), section 3.1: 3.9 TFLOP/s of exponentials
    beside 989 of products on the H100.
    """
    products, softmax = shape.pair_flop / speed.attention, shape.heads / speed.scores
    return bound(np.asarray(products), np.asarray(softmax), speed.wide_exposed) / speed.tp


def attention_pairs(shape: Shape, new: Number, cached: Number, query_pairs: float) -> Number:
    """Query-key pairs of one causal prompt over all layers but sparse ones: full n x (c + n/2), sliding at most
    n x window, and in each layer ``query_pairs`` a query, as many as its tile takes to begin and to end, with those of
    the diagonal's tiles that the mask drops."""
    full, ends = new * (cached + new / 2.0), new * query_pairs
    sliding = np.minimum(full, new * _finite(shape.window))
    return shape.full_layers * (full + ends) + shape.sliding_layers * (sliding + ends)


def _finite(tokens: Number) -> Number:
    """A number of tokens that is infinite where there are no layers that it limits: then longer than any context."""
    return np.minimum(tokens, LONGEST)


def prompt_attention_s(shape: Shape, speed: Rates, new: Number, cached: Number) -> Floats:
    """Attention of one causal prompt on each GPU of its rank, recurrent layers' state included, shape (C, 1).

    Sparse layers: their kernels read all entries of the choice, also those that a short context leaves empty, for at
    least ``sparse_heads`` heads; an engine with dense attention for short prompts has no more than the context. Every
    GPU of a TP group computes all of the indexer, at 8 bit. Source: kernel tables of aiconfigurator-core 0.12
    (``dsa_context_module``): between 128 and 2,048 tokens the time per token grows by 1 to 8 % on Hopper.
    """
    full = new * (cached + new / 2.0)
    chosen = new * _finite(shape.attended)
    entries = np.where(reads_all_entries(shape, speed), chosen, np.minimum(full, chosen))
    dense = attention_pairs(shape, new, cached, speed.query_pairs) * pair_s(shape, speed)
    chosen_s = entries * sparse_pair_s(shape, speed) + full * index_pair_s(shape, speed)
    return np.asarray(dense + chosen_s + new * state_token_s(shape, speed))


def reads_all_entries(shape: Shape, speed: Rates) -> Flags:
    """Whether sparse layers take as long for a short context as for a long one: those of latent attention do, unless
    the engine attends to short prompts densely."""
    return np.asarray((np.asarray(shape.sparse_heads) > 1.0) & ~speed.dense_short_prompts)


def sparse_pair_s(shape: Shape, speed: Rates) -> Floats:
    """Time of a prompt's query and one token that it attends to in all sparse layers, on each GPU of a TP group."""
    heads = np.maximum(shape.heads / speed.tp, shape.sparse_heads) / shape.heads
    return np.asarray(shape.sparse_flop * heads / (speed.sparse_attention * speed.attention))


def state_token_s(shape: Shape, speed: Rates) -> Floats:
    """Time by which one prompt token moves the recurrent state of all layers on, on each GPU of a TP group."""
    return np.asarray(shape.state_flop / speed.tp / (RECURRENT_RATE * speed.attention))


def index_pair_s(shape: Shape, speed: Rates) -> Floats:
    """Time of a prompt's query and one token of context in all indexers, on each GPU of a TP group."""
    return np.asarray(shape.index_flop / (INDEX_RATE * speed.attention))


def decode_attention_s(shape: Shape, speed: Rates, context: Number, queries: float = 1.0) -> Floats:
    """Attention of one more token of one sequence on each GPU of its rank, shape (C, 1): the KV cache and the state are
    read while the scores are computed. ``queries``: of the token and its drafts, which share what is read."""
    cached = kv_read_bytes(shape, context, speed.kv_bytes) * kv_share(shape, speed.tp)
    read = (cached + shape.state_bytes / speed.tp) / speed.dp / speed.kv_memory
    pairs = shape.full_layers * context + shape.sliding_layers * np.minimum(context, _finite(shape.window))
    scored = pairs * shape.pair_flop * shape.latent + shape.sparse_flop * np.minimum(context, shape.attended)
    score = (scored / speed.tp / speed.attention + index_pair_s(shape, speed) * context) / speed.dp
    return bound(np.asarray(score * queries), read, speed.wide_exposed)
