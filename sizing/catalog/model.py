"""One language model as the engine sees it: the numbers that decide memory and step time."""

from dataclasses import dataclass
from typing import Literal

from sizing.catalog.precisions import Precision, precisions

AttentionKind = Literal["mha", "gqa", "mqa", "mla"]
ModelKind = Literal["decoder", "encoder", "encoder_decoder"]


@dataclass(frozen=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek): widths of the compressed query, cached latent and head parts."""

    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int


@dataclass(frozen=True, kw_only=True)
class SparseAttention:
    """Layers whose queries attend to a part of the context, which an indexer chooses for them.

    A query of one of the ``layers`` attends to at most ``tokens`` tokens of the context, ``ratio`` of which share a
    cached entry; ``kv_elements`` are the values cached per token in these layers, ``indexer_elements`` the keys by
    which the ``indexer_heads`` choose (both part of ``Model.kv_elements_full``). Queries of ``pooled_layers`` attend to
    the whole context in entries of ``pooled_ratio`` tokens. Sources: DeepSeek-V3.2 (2025), DeepSeek-V4, MiniMax-M3.
    """

    layers: int
    tokens: int
    ratio: int = 1
    kv_elements: float
    indexer_heads: int
    indexer_elements: float
    pooled_layers: int = 0
    pooled_ratio: int = 1


@dataclass(frozen=True, kw_only=True)
class Model:
    """Architecture of one model. Counts are plain numbers (not billions), lengths are tokens.

    ``kv_elements_full`` and ``kv_elements_sliding`` are numbers of cached values per token summed over the layers of
    that kind (keys and values together; the latent vector for MLA), before tensor-parallel splitting. Sliding layers
    hold at most ``sliding_window`` tokens. Linear-attention and Mamba layers hold ``state_elements`` per sequence.
    ``norm_collectives`` are the collectives of a step under tensor parallelism for query and key norms that span all
    heads, whose mean square the ranks must put together before attention. With ``parallel_blocks`` attention and
    MLP of a layer are added before one all-reduce instead of two. ``params_lookup`` of the total are embeddings that
    layers look up, beside the input embeddings, and weights that images alone use. ``hf_architecture`` is the first
    class that config.json names in ``architectures``, by which serving engines decide whether they run the model; ""
    where it is unknown.
    ``published_formats`` are the weight formats (ids in ``precisions.yaml``) in which checkpoints are published,
    ``native_precision`` first; ``stored_bytes`` are the bytes of all weights in some of them, (format, bytes), where
    the checkpoint's own index or configuration tells them: modules left in 16 bit are in it.
    ``params_vision`` are those of encoders beside the language model, which ``params_total`` leaves out.
    ``kind``: an encoder generates nothing and has no KV cache. ``convolution_elements`` of ``state_elements`` are the
    windows of convolutions, kept in 16 bit where the rest of the state is not. ``full_kv_heads`` are the KV heads of
    layers that attend to everything where sliding layers have another number, which is ``kv_heads`` then.
    """

    id: str
    family: str
    developer: str
    params_total: float
    params_active: float
    layers: int
    params_lookup: float = 0.0
    params_vision: float = 0.0
    kind: ModelKind = "decoder"
    hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tie_embeddings: bool = False
    attention: AttentionKind = "gqa"
    latent: LatentAttention | None = None
    full_kv_heads: int | None = None
    full_layers: int
    sliding_layers: int = 0
    linear_layers: int = 0
    sliding_window: int | None = None
    kv_elements_full: float
    kv_elements_sliding: float = 0.0
    state_elements: float = 0.0
    convolution_elements: float = 0.0
    norm_collectives: int = 0
    parallel_blocks: bool = False
    sparse: SparseAttention | None = None
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    moe_intermediate_size: int = 0
    moe_layers: int = 0
    max_context: int | None = None
    native_precision: str = "bf16"
    published_formats: tuple[str, ...] = ("bf16",)
    stored_bytes: tuple[tuple[str, float], ...] = ()
    hf_architecture: str = ""
    license: str = ""
    release_date: str = ""
    source: str = ""
    notes: str = ""
    assumptions: tuple[str, ...] = ()

    @property
    def published_format(self) -> Precision:
        """The weight format of the checkpoint; BF16 where nothing is known of it."""
        return precisions().get(self.native_precision, precisions()["bf16"])

    @property
    def is_moe(self) -> bool:
        """Whether some layers route tokens to a subset of experts."""
        return self.experts > 1

    @property
    def params_experts(self) -> float:
        """Parameters inside routed experts: ``(total - active) / (1 - k/E)``; 0 for a dense model.

        Where every token goes to every expert (k = E) the counts do not tell them apart: E x three matrices each.
        """
        if not self.is_moe:
            return 0.0
        if self.experts_per_token >= self.experts:
            return 3.0 * self.moe_layers * self.experts * self.hidden_size * self.moe_intermediate_size
        return (self.params_total - self.params_active) / (1.0 - self.experts_per_token / self.experts)

    @property
    def params_per_token(self) -> float:
        """Parameters that compute one token: the active ones without those that layers look up."""
        return self.params_active - self.params_lookup

    @property
    def params_embedding(self) -> float:
        """Embedding parameters that are looked up, not multiplied: of the input, unless tied to the output head, and of
        layers."""
        return self.params_lookup + (0.0 if self.tie_embeddings else float(self.vocab_size * self.hidden_size))
