"""From the GPUs and degrees of parallelism of a benchmark to instances: which layouts a row states or leaves open."""

from __future__ import annotations

import math
from dataclasses import replace

from sizing.catalog import Gpu, Model
from sizing.catalog.precisions import Precision
from sizing.catalog.weights import weight_bytes
from sizing.question.configuration import Configuration

TUNED_TP = (1, 2, 4, 8, 16)
"""Tensor parallelism that is tried where a row leaves it open: what nodes of up to 16 GPUs divide into."""

WEIGHT_SHARE_AT_MOST = 0.8
"""Weights may fill this share of memory when the layout is not stated. Chosen: because KV cache needs the rest."""


def stated_layout(
    gpus: int, tp: int, pp: int, ep: int, dp: int, model: Model, base: Configuration
) -> tuple[Configuration, float]:
    """(one instance, how many of them): GPUs beyond one instance are replicas; see :func:`one_instance`."""
    fewest = gpus_holding(model, base.precision, base.gpu)
    tp, ep, dp = one_instance(gpus, tp, pp, ep, dp, moe=model.is_moe, fewest=fewest)
    instance = replace(base, tp=tp, pp=pp, ep=ep, dp=dp)
    return instance, max(gpus / instance.gpus, 1.0)


def gpus_holding(model: Model, precision: Precision, gpu: Gpu) -> int:
    """The fewest GPUs whose memory holds the weights alone."""
    return math.ceil(float(weight_bytes(model, precision.bytes)) / gpu.memory_bytes)


def one_instance(gpus: int, tp: int, pp: int, ep: int, dp: int, *, moe: bool, fewest: int = 1) -> tuple[int, int, int]:
    """TP, EP and DP of one instance, from what a benchmark states; ``fewest`` GPUs hold its weights.

    DP counts ranks of one instance when experts are spread over them, else replicas. They are spread over them by a
    stated EP, and where a rank alone would be too small for the weights. A TP that already counts the DP ranks (TP x
    PP = GPUs) is divided by them: attention-DP, as ``--enable-dp-attention`` of SGLang has it, in which a model with
    experts splits them over all ranks.
    """
    if dp > 1 and tp * pp >= gpus and tp % dp == 0:
        tp //= dp
        ep = max(ep, tp * dp)
    if moe and dp > 1 and tp * pp < fewest <= tp * pp * dp:
        ep = max(ep, tp * dp)
    if not (moe and ep > 1):
        dp = 1
    return tp, min(ep, tp * dp) if moe else 1, dp


def open_layouts(
    gpus: int, pp: int, ep: int, model: Model, base: Configuration, *, tuned: bool
) -> list[tuple[Configuration, float]]:
    """Without a TP: all GPUs of one node, or every TP that fits where the submitter ``tuned`` the whole run."""
    fitting = [t for t in TUNED_TP if t * pp <= gpus and gpus % (t * pp) == 0 and model.heads % t == 0]
    room = WEIGHT_SHARE_AT_MOST * base.gpu.memory_bytes
    fitting = [t for t in fitting if float(weight_bytes(model, base.precision.bytes)) <= room * t * pp] or fitting[-1:]
    fitting = fitting or [1]
    if not tuned:
        whole = [t for t in fitting if t * pp == gpus]
        fitting = whole or fitting[:1]
    return [(replace(base, tp=t, pp=pp, ep=min(ep, t) if model.is_moe else 1), gpus / (t * pp)) for t in fitting]
