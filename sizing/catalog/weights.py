"""How many bytes the weights of a model take in a number format, and on each GPU once they are split."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES

Number = TypeVar("Number", float, Floats)


def weight_bytes(model: Model, bytes_per_parameter: Floats | float) -> Floats:
    """Bytes of all weights of one instance: quantised matrices plus 16-bit embeddings and output head.

    W = (P - P_emb) x b + P_emb x min(2, max(b, 2)), b in bytes per parameter; 8 billion parameters at 16 bit are
    16 GB. Source: worked example 8 of the NVIDIA sizing deck; embeddings stay at 16 bit in every quantised format.
    """
    wide = embedding_parameters(model)
    return np.asarray((model.params_total - wide) * bytes_per_parameter + wide * WIDE_BYTES, dtype=np.float64)


def embedding_parameters(model: Model) -> float:
    """Parameters of input embedding and output head, kept at 16 bit: V x h, twice unless tied."""
    return float(model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2))


def split_weight_bytes(model: Model, bytes_per_parameter: Number, tp: Number, pp: Number, dp: Number) -> Number:
    """Bytes of weights on the fullest GPU: experts over TP x DP, everything else over TP, layers over PP."""
    wide = embedding_parameters(model)
    experts = model.params_experts * bytes_per_parameter / (tp * dp)
    rest = ((model.params_total - model.params_experts - wide) * bytes_per_parameter + wide * WIDE_BYTES) / tp
    return (experts + rest) / pp
