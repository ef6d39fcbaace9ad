"""Sizes of a model that step times depend on: numbers for one model, columns (C, 1) for a different one per row."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from sizing.base.arrays import Columns, Floats
from sizing.base.constants import constant
from sizing.catalog.model import Model, SparseAttention
from sizing.catalog.weights import native_dense_bytes

Number = float | Floats

ALLREDUCES_PER_LAYER = 2
"""After attention and after the feed-forward block (Megatron-LM, Shoeybi et al. 2019)."""


STATE_BYTES = constant("recurrent_state_bytes")

STATE_FLOP = 6.0
"""Per prompt token and value of recurrent state: decay, update and read-out, a multiplication and an addition each
(gated delta rule, Yang et al. 2024)."""

LATENT_SPARSE_HEADS = 64.0
"""Query heads that kernels of sparse latent attention compute at least; where a GPU has fewer, engines pad them.
Source: FlashMLA (DeepSeek, 2025), sparse kernels for 64 and 128 heads; measured alike at 4 to 64 heads on Hopper."""

DENSE = SparseAttention(layers=0, tokens=0, kv_elements=0.0, indexer_heads=0, indexer_elements=0.0)
"""What a model without sparse layers has of them."""


@dataclass(frozen=True, kw_only=True)
class Shape(Columns):
    """What the roofline reads of a model; parameters and cached values are counts over the whole model.

    ``dense`` are quantised parameters multiplied for every token, ``head`` the 16-bit output head, ``experts`` the
    routed-expert parameters of which ``routed`` (k / E) serve one token. ``window`` is infinite without sliding layers.
    Layers that attend to pooled entries count among ``full_layers`` by their share of pairs. Sparse layers hold
    ``kv_sparse`` of the cached values and take ``sparse_flop`` per query and token attended to, at most ``attended``
    (infinite without such layers), over all ``heads``, ``sparse_heads`` at least on a GPU; their indexers take
    ``index_flop`` per query and token of context.
    """

    layers: Number
    moe_layers: Number
    hidden: Number
    dense: Number
    head: Number
    experts: Number
    routed: Number
    dense_bytes: Number
    experts_per_token: Number
    full_layers: Number
    sliding_layers: Number
    window: Number
    kv_full: Number
    kv_sliding: Number
    state_bytes: Number
    state_flop: Number
    pair_flop: Number
    heads: Number
    sparse_flop: Number
    sparse_heads: Number
    attended: Number
    kv_sparse: Number
    index_flop: Number
    latent: Number
    latent_layers: Number
    recurrent_layers: Number
    norm_collectives: Number
    all_reduces: Number
    kv_heads: Number
    replicated_kv: Number
    captured_prompts: Number


def shape_of(model: Model) -> Shape:
    """The shape of one model as plain numbers."""
    dense, head = linear_parameters(model)
    sparse = model.sparse or DENSE
    pooled = sparse.pooled_layers * (1.0 - 1.0 / sparse.pooled_ratio)
    pair, latent = flop_per_pair(model), latent_factor(model)
    return Shape(
        layers=float(model.layers),
        moe_layers=float(model.moe_layers),
        hidden=float(model.hidden_size),
        dense=dense,
        head=head,
        experts=model.params_experts,
        routed=routed_share(model),
        dense_bytes=native_dense_bytes(model),
        experts_per_token=float(model.experts_per_token),
        full_layers=model.full_layers - sparse.layers - pooled,
        sliding_layers=float(model.sliding_layers),
        window=float(model.sliding_window or np.inf),
        kv_full=model.kv_elements_full - sparse.kv_elements,
        kv_sliding=model.kv_elements_sliding,
        state_bytes=2.0 * STATE_BYTES * model.state_elements,
        state_flop=STATE_FLOP * model.state_elements,
        pair_flop=pair,
        heads=float(model.heads),
        sparse_flop=sparse.layers * pair * latent / sparse.ratio,
        sparse_heads=LATENT_SPARSE_HEADS if model.attention == "mla" else 1.0,
        attended=float(sparse.tokens or np.inf),
        kv_sparse=sparse.kv_elements,
        index_flop=2.0 * sparse.indexer_heads * sparse.indexer_elements,
        latent=latent,
        latent_layers=float(model.full_layers if model.attention == "mla" else 0),
        recurrent_layers=float(model.linear_layers),
        norm_collectives=float(model.norm_collectives),
        all_reduces=float(model.layers * (1 if model.parallel_blocks else ALLREDUCES_PER_LAYER)),
        kv_heads=float(model.kv_heads),
        replicated_kv=float(model.attention == "mla"),
        captured_prompts=float(_prompts_in_pieces(model)),
    )


def _prompts_in_pieces(model: Model) -> bool:
    """Whether graphs of prompts' steps are captured in pieces where an engine does so by default: not of models that
    read images, with latent or sparse attention or with recurrent layers.

    Source: SGLang main of 2026-11, srt/arg_groups/cuda_graph_hook.py (multimodal, DeepSeek-V4, KDA, DeepSeek-V3 on
    Blackwell) and the models that 0.5.10 leaves out (DeepSeek-V3.2, GLM-5, Qwen3-Next). Latent attention on Hopper is
    not left out there; five runs of DeepSeek-R1 with 0.5.10 and later take what kernels launched one by one do.
    """
    return not (model.params_vision or model.linear_layers or model.latent or model.sparse)


def shapes_of(models: Sequence[Model]) -> Shape:
    """The shapes of several models as columns (C, 1), one row per entry."""
    first = {m.id: m for m in models}
    place = {name: i for i, name in enumerate(first)}
    rows = np.array([place[m.id] for m in models], dtype=np.intp)
    known = [shape_of(m) for m in first.values()]
    return Shape(
        **{f.name: np.array([[getattr(k, f.name)] for k in known], dtype=np.float64)[rows] for f in fields(Shape)}
    )


def linear_parameters(model: Model) -> tuple[float, float]:
    """(quantised, 16-bit) parameters multiplied for every token outside the routed experts; the latter is the head."""
    head = float(model.vocab_size * model.hidden_size)
    inside = model.params_total - model.params_experts - head - model.params_embedding
    return max(inside, 0.0), head


def routed_share(model: Model) -> float:
    """k / E, the share of routed-expert parameters one token uses; 0 for a dense model."""
    return model.experts_per_token / model.experts if model.is_moe else 0.0


def flop_per_pair(model: Model) -> float:
    """FLOP per query-key pair over all heads of a layer: 2 for the score and 2 for the value, times head size."""
    return 4.0 * model.heads * model.head_dim


def latent_factor(model: Model) -> float:
    """FLOP of decode attention relative to :func:`flop_per_pair`: MLA multiplies with the wider latent vector."""
    if model.attention != "mla":
        return 1.0
    kept = model.kv_elements_full - (model.sparse.indexer_elements if model.sparse else 0.0)
    return kept / max(model.full_layers, 1) / model.head_dim
