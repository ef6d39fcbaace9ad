"""Parameters, cached values and recurrent state of a decoder, tensor by tensor.

Sources of the shapes: the modelling code of transformers 5.23 and of the models' own repositories; checked against
the parameter counts of the catalogue (``tests/sizing/catalog``). Norm weights and biases are below 0.1 % and left out.
"""

from dataclasses import dataclass

from sizing.catalog.layer_plan import Layer
from sizing.catalog.model import LatentAttention, SparseAttention


@dataclass(frozen=True, kw_only=True)
class Recurrent:
    """Mixer with a constant state: ``params`` per layer, ``state`` values per layer and sequence, of which
    ``convolution`` are the window of its convolution."""

    params: float
    state: float
    convolution: float = 0.0


CONSTANT_STATE = ("linear", "mamba", "conv")
"""Mixers of layers that keep a constant state per sequence and no keys and values."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The shape of a decoder; widths in values, layers as a plan.

    ``mlp_matrices`` is 3 for gated MLPs (gate, up, down), else 2; ``indexer_dim`` x ``indexer_layers`` is the key cache
    of a sparse-attention indexer, which chooses ``indexer_entries`` entries for a query; ``shared_kv`` marks full
    layers that have one projection for key and value.
    ``embedding_width`` is the model's unless a matrix stands between (ALBERT, OPT-350M).
    ``shared_params`` are weights that stand beside the layers: blocks that several apply (Zamba), with their adapters.
    ``attention_expert`` is the width of query and output of one expert that attends (JetMoE: keys and values are common
    to them); ``image_expert`` that of experts of their own for images, of which no token of text uses one.
    ``ngram_table`` are weights looked up by the tokens before this one (LongCat-Flash-Lite, Qwen3.8-Flash-Next).
    ``router_inner`` is the width of a router with an MLP, which chooses among one more that computes nothing (ZAYA);
    else 0. ``visual_experts``: attention and MLP are there a second time, for images alone (CogVLM).
    ``swa_latent`` are the widths of latent attention in sliding layers, where they are others (dots3-note).
    ``layer_input`` is the width of an embedding of its own that each layer adds, from a table of ``layer_input_vocab``.
    """

    plan: tuple[Layer, ...]
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    swa_kv_heads: int
    swa_head_dim: int
    swa_v_head_dim: int
    intermediate: int
    vocab: int
    embedding_width: int
    tied: bool
    position_table: int
    mlp_matrices: int
    gated_output: bool
    shared_kv: bool
    latent: LatentAttention | None
    output_rank: int
    output_groups: int
    query_rank: int
    indexer_heads: int
    indexer_dim: int
    indexer_layers: int
    indexer_entries: int
    recurrent: Recurrent | None
    experts: int
    experts_per_token: int
    shared_intermediate: int
    moe_intermediate: int
    expert_hidden: int
    dense_beside_experts: bool
    layer_input: int = 0
    layer_input_vocab: int = 0
    shared_params: float = 0.0
    shared_query: int = 0
    attention_expert: int = 0
    image_expert: int = 0
    ngram_table: float = 0.0
    router_inner: int = 0
    visual_experts: bool = False
    swa_latent: LatentAttention | None = None

    def latent_of(self, layer: Layer) -> LatentAttention | None:
        """Widths of latent attention in this layer; None where its heads keep keys and values of their own."""
        return self.swa_latent or self.latent if layer.mixer == "sliding" else self.latent


def attention_params(a: Architecture, layer: Layer) -> float:
    """Weights of one attention layer: query, key, value and output projections (and what replaces them in MLA)."""
    h, heads = a.hidden, layer.heads or a.heads
    if m := a.latent_of(layer):
        query = h * m.q_rank + m.q_rank * heads * (m.nope_dim + m.rope_dim)
        if not m.q_rank:
            query = h * heads * (m.nope_dim + m.rope_dim)
        kv = h * (m.kv_rank + m.rope_dim) + m.kv_rank * heads * (m.nope_dim + m.v_dim)
        gate = h * heads * m.v_dim if a.gated_output else 0
        return float(query + kv + heads * m.v_dim * h + gate)
    if layer.compress_ratio is not None:
        return compressed_attention_params(a, layer.compress_ratio)
    sliding = layer.mixer == "sliding"
    kv_heads = layer.kv_heads or (a.swa_kv_heads if sliding else a.kv_heads)
    dim, v_dim = (a.swa_head_dim, a.swa_v_head_dim) if sliding else (a.head_dim, a.v_head_dim)
    dim, v_dim = (layer.head_dim or dim), (layer.head_dim or v_dim)
    value = 0 if a.shared_kv and not sliding else kv_heads * v_dim
    query = heads * dim * (2 if a.gated_output else 1)
    if a.attention_expert:
        return float(h * (kv_heads * dim + value))
    if a.shared_query:  # Step-3: a low-rank query, one KV head
        return float(a.shared_query * (h + query) + h * (kv_heads * dim + value) + heads * v_dim * h)
    if layer.reuses_kv:
        return float(h * query + heads * v_dim * h)
    return float(h * (query + kv_heads * dim + value) + heads * v_dim * h)


def compressed_attention_params(a: Architecture, ratio: int) -> float:
    """DeepSeek-V4: low-rank query, one shared key/value head, grouped low-rank output, compressor and indexer.

    The compressor projects hidden states to the head width once for values and once for weights, doubled where
    neighbouring windows overlap (ratio 4), which is also where the indexer stands.
    """
    h, d = a.hidden, a.head_dim
    query = h * a.query_rank + a.query_rank * a.heads * d
    output = a.heads * d * a.output_rank + a.output_groups * a.output_rank * h
    overlap = 2 if ratio == 4 else 1
    compressor = 2 * overlap * h * d if ratio else 0
    indexer = 0
    if ratio == 4:
        indexer = a.query_rank * a.indexer_heads * a.indexer_dim + h * a.indexer_heads + 2 * overlap * h * a.indexer_dim
    return float(query + h * d + output + compressor + indexer)


def expert_params(a: Architecture) -> float:
    """Weights of one routed expert, its attention included; its input may be narrower than the model."""
    return float(a.mlp_matrices * a.expert_hidden * a.moe_intermediate + 2 * a.hidden * a.attention_expert)


def image_expert_params(a: Architecture) -> float:
    """Weights of the experts of one layer that only images use, as many as serve text."""
    return float(a.experts * a.mlp_matrices * a.expert_hidden * a.image_expert)


def mlp_params(a: Architecture, layer: Layer) -> float:
    """Weights of one MLP: dense, or router, experts, shared experts and latent projections."""
    dense = float(a.mlp_matrices * a.hidden * (layer.mlp_width or a.intermediate))
    if layer.mlp == "none":
        return 0.0
    if layer.mlp == "dense":
        return dense
    latent = 2 * a.hidden * a.expert_hidden if a.expert_hidden != a.hidden else 0
    shared = a.mlp_matrices * a.hidden * a.shared_intermediate
    router = a.router_inner * (a.hidden + 2 * a.router_inner + a.experts + 1) or a.experts * a.hidden
    routed = a.experts * expert_params(a) + router
    return routed + shared + latent + image_expert_params(a) + (dense if a.dense_beside_experts else 0.0)


def mixer_params(a: Architecture, layer: Layer) -> float:
    """Weights of what mixes tokens in one layer; 0 where they are those of a shared block."""
    mixer = (
        attention_params(a, layer) if layer.mixer in ("full", "sliding", "cross") and not layer.shared_weights else 0.0
    )
    has_state = layer.mixer in CONSTANT_STATE or layer.mamba_beside
    return mixer + (a.recurrent.params if has_state and a.recurrent else 0.0) + layer.square_matrices * a.hidden**2


def total_params(a: Architecture) -> float:
    """All weights of the language model: embeddings, output head unless tied, and every layer."""
    embedding = a.vocab * a.embedding_width * (1 if a.tied else 2) + a.position_table * a.embedding_width
    embedding += 0 if a.embedding_width == a.hidden else a.embedding_width * a.hidden * (1 if a.tied else 2)
    indexer = a.indexer_layers * (
        a.query_rank * a.indexer_heads * a.indexer_dim + a.hidden * (a.indexer_dim + a.indexer_heads)
    )
    if any(layer.compress_ratio is not None for layer in a.plan):
        indexer = 0  # counted with the compressed layers
    # Per-layer embeddings (Gemma 4): one projection of the width for all layers, a gate and a projection in each.
    layers = lookup_params(a) + 3.0 * len(a.plan) * a.hidden * a.layer_input + a.shared_params
    for layer in a.plan:
        layers += mixer_params(a, layer) + (0.0 if layer.shared_weights else mlp_params(a, layer))
    return embedding + indexer + layers


def lookup_params(a: Architecture) -> float:
    """Weights that no token of text multiplies: the per-layer embeddings and n-grams, looked up, and visual experts."""
    twice = sum(attention_params(a, layer) + mlp_params(a, layer) for layer in a.plan) if a.visual_experts else 0.0
    return float(a.layer_input_vocab * a.layer_input * len(a.plan)) + a.ngram_table + twice


def active_params(a: Architecture) -> float:
    """Weights used for one token: all but the routed experts that are not chosen."""
    moe_layers = sum(layer.mlp == "moe" for layer in a.plan)
    idle = (a.experts - a.experts_per_token) * expert_params(a) + image_expert_params(a)
    return total_params(a) - moe_layers * idle


INDEXED_RATIO = 4
"""Compression ratio of DeepSeek-V4's layers with an indexer; those of higher ratios attend to all that they keep."""


def kv_elements_full(a: Architecture) -> float:
    """Values cached per token in layers that attend to the whole context, plus the indexer's keys."""
    kept = sum(_kv_elements(a, layer) for layer in a.plan if layer.mixer == "full")
    return kept + _indexer_elements(a)


def _kv_elements(a: Architecture, layer: Layer) -> float:
    """Values that one full layer caches per token."""
    if layer.reuses_kv:
        return 0.0
    if a.latent:
        return float(a.latent.kv_rank + a.latent.rope_dim)
    if layer.compress_ratio:
        return a.head_dim / layer.compress_ratio
    # One projection may give key and value (Gemma 4): they differ by a norm, and engines keep both (vLLM issue 43308).
    return float((layer.kv_heads or a.kv_heads) * (2 * layer.head_dim if layer.head_dim else a.head_dim + a.v_head_dim))


def _indexer_elements(a: Architecture) -> float:
    """Keys of the indexer cached per token, those of compressed layers with every entry."""
    compressed = sum(layer.compress_ratio == INDEXED_RATIO for layer in a.plan)
    return a.indexer_dim * (a.indexer_layers + compressed / INDEXED_RATIO)


def sparse_attention(a: Architecture) -> SparseAttention | None:
    """Layers with an indexer; None where a query attends to the whole context.

    With latent attention all layers choose, some by an earlier layer's indexer (GLM-5.2).
    """
    if not (a.indexer_entries and a.indexer_dim):
        return None
    full = [layer for layer in a.plan if layer.mixer == "full"]
    pooled = [layer for layer in full if (layer.compress_ratio or 0) > INDEXED_RATIO]
    compressed = any(layer.compress_ratio is not None for layer in a.plan)
    sparse = [layer for layer in full if layer.compress_ratio == INDEXED_RATIO] if compressed else full
    if not (a.latent or compressed):
        sparse = sparse[: a.indexer_layers]  # of equal layers, which ones does not matter
    ratio = INDEXED_RATIO if compressed else 1
    return SparseAttention(
        layers=len(sparse),
        tokens=a.indexer_entries * ratio,
        ratio=ratio,
        kv_elements=sum(_kv_elements(a, layer) for layer in sparse),
        indexer_heads=a.indexer_heads,
        indexer_elements=_indexer_elements(a),
        pooled_layers=len(pooled),
        pooled_ratio=max((layer.compress_ratio or 1 for layer in pooled), default=1),
    )


def kv_elements_sliding(a: Architecture) -> float:
    """Values cached per token inside the sliding window; compressed layers keep one vector of head width each."""
    if any(layer.compress_ratio is not None for layer in a.plan):
        return float(len(a.plan) * a.head_dim)
    kept = [layer for layer in a.plan if layer.mixer == "sliding" and not layer.reuses_kv]
    if latent := a.swa_latent or a.latent:
        return float(len(kept) * (latent.kv_rank + latent.rope_dim))
    both = a.swa_head_dim + a.swa_v_head_dim
    return float(sum((layer.kv_heads or a.swa_kv_heads) * (2 * (layer.head_dim or 0) or both) for layer in kept))


def state_layers(a: Architecture) -> int:
    """Layers that keep a constant state per sequence, those among them that attend, too."""
    return sum(layer.mixer in CONSTANT_STATE or layer.mamba_beside for layer in a.plan)


def state_elements(a: Architecture) -> float:
    """Values of recurrent state per sequence over all linear-attention, convolution and Mamba layers."""
    return state_layers(a) * a.recurrent.state if a.recurrent else 0.0


def convolution_elements(a: Architecture) -> float:
    """The part of :func:`state_elements` that is the window of convolutions."""
    return state_layers(a) * a.recurrent.convolution if a.recurrent else 0.0
