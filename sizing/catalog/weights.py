"""How many bytes the weights of a model take in a number format, and on each GPU once they are split."""

from __future__ import annotations

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.catalog.precisions import BYTE, WIDE_BYTES


def weight_bytes(model: Model, bytes_per_parameter: Floats | float) -> Floats:
    """Bytes of all weights of one instance: quantised matrices plus 16-bit embeddings and output head.

    W = P_experts x b + P_dense x d + P_emb x 2, b in bytes per parameter and d that outside the experts, see
    :func:`dense_bytes`; 8 billion parameters at 16 bit are 16 GB. Source: worked example 8 of the NVIDIA sizing deck;
    embeddings stay at 16 bit in every quantised format.
    """
    return np.asarray(split_weight_bytes(model, bytes_per_parameter, 1.0, 1.0, 1.0), dtype=np.float64)


def embedding_parameters(model: Model) -> float:
    """Parameters of input embedding and output head, kept at 16 bit: V x h, twice unless tied."""
    return float(model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2))


def native_dense_bytes(model: Model) -> float:
    """Bytes per parameter outside the experts of a model whose experts alone are 4 bit: the native width (16 bit, or
    FP8 for a model trained in FP8); 0 for a dense model, which is quantised throughout.

    Source: the published MXFP4, NVFP4 and INT4 checkpoints of gpt-oss, DeepSeek-R1, Kimi-K2 quantise experts alone.
    """
    if not model.is_moe:
        return 0.0
    return 1.0 if model.native_precision == "fp8" else WIDE_BYTES


def dense_bytes(model: Model, bytes_per_parameter: Floats | float) -> Floats:
    """Bytes per quantised parameter outside the experts: those of the format; beside 4-bit experts the native width."""
    each, native = np.asarray(bytes_per_parameter, dtype=np.float64), native_dense_bytes(model)
    return np.where((each < BYTE) & (native > 0.0), native, each)


def split_weight_bytes(
    model: Model,
    bytes_per_parameter: Floats | float,
    tp: Floats | float,
    pp: Floats | float,
    dp: Floats | float,
    ep: Floats | float = 1.0,
) -> Floats:
    """Bytes of weights on the fullest GPU: experts over TP x DP, everything else over TP, layers over PP.

    Experts that are spread over EP ranks are whole ones: a rank holds ceil(E / EP) of them, redundant copies included.
    """
    wide = embedding_parameters(model)
    dense = dense_parameters(model) * dense_bytes(model, bytes_per_parameter)
    experts = model.params_experts * np.asarray(bytes_per_parameter) / (np.asarray(tp) * dp)
    if model.is_moe:
        experts = experts * np.ceil(model.experts / np.asarray(ep)) * ep / model.experts
    return np.asarray((experts + (dense + wide * WIDE_BYTES) / tp) / pp, dtype=np.float64)


def dense_parameters(model: Model) -> float:
    """Parameters outside the routed experts, embeddings and head."""
    return model.params_total - model.params_experts - embedding_parameters(model)
