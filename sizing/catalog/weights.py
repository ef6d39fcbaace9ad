"""How many bytes the weights of a model take in a number format, and on each GPU once they are split.

Engines spread weights in different ways: routed experts over all ranks, most matrices over tensor parallelism, some
not at all. Sources: modelling code of vLLM 0.33.0 (ReplicatedLinear of latent attention, routers and indexers; vision
towers), checked against the "Model loading took" lines of ``docs/ACCURACY.md``.
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES, Precision

Number = float | Floats

WHOLE_ENCODERS = ("Gemma4", "Mistral3", "Pixtral")
"""Classes whose encoder stands whole on every GPU: that of transformers, and Mistral's own. Others split theirs over TP
(mm_encoder_tp_mode "weights", vLLM 0.26.0, config/multimodal.py). Printed: Ministral 3 14B at TP4 and TP8."""

ROTARY_TABLES = (
    ("Gemma3ForCond", 9.0),  # positions times the factor of 8 for global layers, and those of local ones
    ("Qwen3_5", 1.0),  # four times a quarter of the head
    *((name, 4.0) for name in ("Qwen2VL", "Qwen2_5_VL", "Qwen3VL", "Qwen2_5Omni", "Qwen3Omni", "Glm4v")),
    *(("Qwen3Next", 0.25), ("Glm4", 0.5)),
)
"""How many values of a head's width engines keep of every position, by class; one elsewhere. Source: vLLM 0.26.0,
layers/rotary_embedding (mrope.py, linear_scaling_rope.py); Gemma 3 4B: 0.56 of 8.58 printed GiB."""


@dataclass(frozen=True, kw_only=True)
class WeightParts:
    """Bytes of the weights of one instance by how they are spread: ``experts`` over TP x DP, ``sharded`` over TP,
    ``copied`` whole on every GPU, each by layers over PP; the input ``embedding`` and the output ``head`` over TP on
    the first and the last stage; ``encoder`` over TP or whole on every GPU of the first stage. ``absorbed`` are 16-bit
    copies of latent projections that engines make while they load, over TP; ``rotary`` tables of sines and cosines of
    every position, whole on every GPU."""

    experts: Number
    sharded: Number
    copied: Number
    absorbed: Number
    embedding: Number
    head: Number
    encoder: Number
    rotary: Number

    @property
    def stored(self) -> Number:
        """All weights of the checkpoint but the encoder, without what engines make of them."""
        return self.experts + self.sharded + self.copied + self.embedding + self.head


def weight_bytes(model: Model, precision: Precision | float) -> float:
    """Bytes of all weights of the language model: what the checkpoint stores, where that is known; else quantised
    matrices plus 16-bit embeddings and output head.

    W = P_experts x b + P_dense x d + P_emb x 2, b in bytes per parameter and d that outside the experts, see
    :func:`dense_bytes`; 8 billion parameters at 16 bit are 16 GB. Source: worked example 8 of the NVIDIA sizing deck;
    embeddings stay at 16 bit in every quantised format. A number in place of the format is b, in which the model's own
    format is meant where that has as many.
    """
    if isinstance(precision, Precision):
        return float(weight_parts(model, precision).stored)
    own = model.published_format
    alike = own if own.bytes == precision else replace(own, id="", bytes=precision)
    return float(weight_parts(model, alike).stored)


def embedding_parameters(model: Model) -> float:
    """Parameters of input embedding and output head, kept at 16 bit: V x h, twice unless tied."""
    return float(model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2))


def native_dense_bytes(model: Model) -> float:
    """Bytes per parameter outside the experts of a model whose experts alone are 4 bit: the native width (16 bit, or
    FP8 for a model trained in FP8); 0 for a dense model, which is quantised throughout.

    Source: the published MXFP4, NVFP4 and INT4 checkpoints of gpt-oss, DeepSeek-R1, Kimi-K2 quantise experts alone.
    AWQ and GPTQ quantise every linear layer (:func:`dense_bytes`).
    """
    if not model.is_moe:
        return 0.0
    return 1.0 if model.native_precision == "fp8" else WIDE_BYTES


def dense_bytes(model: Model, precision: Precision) -> float:
    """Bytes per quantised parameter outside the experts: those of the format; the native width beside 4-bit experts,
    unless the method quantises every layer."""
    return native_dense_bytes(model) or precision.bytes if precision.experts_alone else precision.bytes


def dense_parameters(model: Model) -> float:
    """Parameters outside the routed experts, embeddings and head."""
    return model.params_total - model.params_experts - embedding_parameters(model)


@lru_cache(maxsize=4096)
def weight_parts(model: Model, precision: Precision) -> WeightParts:
    """The weights of a model in a format by how engines spread them.

    Where the bytes of the checkpoint are known, what they differ by from the rule is put where the format is: on the
    experts, or on the layers of a dense model.
    """
    each = precision.bytes
    dense = dense_bytes(model, precision)
    copied = copied_parameters(model)
    routers = min(float(model.moe_layers * model.experts * model.hidden_size), dense_parameters(model))
    table = float(model.vocab_size * model.hidden_size)
    looked_up = precision.ends_bytes if model.tie_embeddings else precision.embedding_bytes or precision.ends_bytes
    parts = WeightParts(
        experts=model.params_experts * each,
        sharded=max(dense_parameters(model) - copied - routers, 0.0) * dense,
        copied=copied * dense + routers * WIDE_BYTES,
        absorbed=absorbed_parameters(model) * WIDE_BYTES,
        embedding=table * looked_up,
        head=0.0 if model.tie_embeddings else table * precision.ends_bytes,
        encoder=model.params_vision * WIDE_BYTES,
        rotary=rotary_bytes(model),
    )
    stored = dict(model.stored_bytes).get(precision.id)
    if stored is None:
        return parts
    beside = stored - float(parts.stored)
    if model.params_experts * each > float(parts.sharded):
        return replace(parts, experts=max(float(parts.experts) + beside, 0.0))
    return replace(parts, sharded=max(float(parts.sharded) + beside, 0.0))


def copied_parameters(model: Model) -> float:
    """Parameters that every GPU of a TP group holds whole: down projections of latent attention and indexers."""
    latent = model.latent
    if latent is None:
        return 0.0
    down = model.hidden_size * (latent.q_rank + latent.kv_rank + latent.rope_dim) * model.full_layers
    sparse = model.sparse
    if sparse is None or sparse.ratio > 1:
        return float(down)
    width = sparse.indexer_elements / max(sparse.layers, 1)  # one key of the indexer
    query = latent.q_rank or model.hidden_size
    index = query * sparse.indexer_heads * width + model.hidden_size * (width + sparse.indexer_heads)
    return float(down + index * sparse.layers)


def absorbed_parameters(model: Model) -> float:
    """Parameters of up projections of the latent vector, of which engines keep a 16-bit copy to multiply queries and
    outputs with, so that decoding never expands the cache."""
    latent = model.latent
    if latent is None:
        return 0.0
    return float(latent.kv_rank * model.heads * (latent.nope_dim + latent.v_dim) * model.full_layers)


def rotary_bytes(model: Model) -> float:
    """Tables of sines and cosines: positions x rotary width x 2 B, times what the class keeps of each position."""
    width = model.latent.rope_dim if model.latent else model.head_dim
    times = next((n for name, n in ROTARY_TABLES if model.hf_architecture.startswith(name)), 1.0)
    attends = model.full_layers + model.sliding_layers > 0
    return float(model.max_context or 0) * width * times * WIDE_BYTES * attends


def expert_padding(model: Model, precision: Precision, gpu: Gpu, split: Number) -> Floats:
    """By how much kernels need the experts larger than they are: widths in whole multiples, each expert ``split`` over
    so many GPUs."""
    inner, outer = precision.expert_alignment(gpu)
    width = np.maximum(model.moe_intermediate_size / np.asarray(split, dtype=np.float64), 1.0)
    hidden = float(model.hidden_size)
    padded = np.ceil(width / inner) * inner / width * (np.ceil(hidden / outer) * outer / hidden)
    return np.asarray(padded, dtype=np.float64)


def on_fullest_gpu(
    parts: WeightParts, model: Model, tp: Number, pp: Number, dp: Number, ep: Number = 1.0, padding: Number = 1.0
) -> Floats:
    """Bytes of weights on the fullest GPU: of experts, of all else in layers, and of what stands at the ends.

    Experts that are spread over EP ranks are whole ones: a rank holds ceil(E / EP) of them, redundant copies included.
    A pipeline stage holds ceil(L / PP) layers and the embedding or the head, the only one both.
    """
    tp, pp = np.asarray(tp, dtype=np.float64), np.asarray(pp, dtype=np.float64)
    experts = parts.experts * padding / (tp * dp)
    if model.is_moe:
        experts = experts * np.ceil(model.experts / np.asarray(ep)) * ep / model.experts
    stage = np.ceil(model.layers / pp) / model.layers
    layers = (experts + (parts.sharded + parts.absorbed) / tp + parts.copied) * stage + parts.rotary
    encoder = parts.encoder / (1.0 if model.hf_architecture.startswith(WHOLE_ENCODERS) else tp)
    first = parts.embedding / tp + encoder
    last = np.where(np.asarray(parts.head) > 0, parts.head, parts.embedding) / tp
    ends = np.where(pp > 1, np.maximum(first, last), (parts.embedding + parts.head) / tp + encoder)
    return np.asarray(layers + ends, dtype=np.float64)


PARTS = tuple(field.name for field in fields(WeightParts))
"""Names of the parts, in order."""
