"""How the GPUs of one instance may share a model: the degrees of parallelism that are tried, or that were asked for.

What an engine makes of them is :mod:`sizing.catalog.layout_support`; here is only what a person would try.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from sizing.catalog.engines import Engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.layout_support import Degrees
from sizing.catalog.model import Model
from sizing.question.configuration import Allowed

SERVER_GPUS = 8
"""GPUs of a server whose accelerators have no larger scale-up domain: the most that are sold (systems.csv)."""
MAX_GPUS_PER_INSTANCE = 16
"""GPUs of one instance, at most: two 8-GPU servers; more inside one larger scale-up domain, or where asked for."""
MAX_GPUS_ASKED = 320
"""GPUs of one instance, at most, whatever is asked for: the decoding unit of DeepSeek-V3, 40 servers of 8, the largest
published (DeepSeek-V3 technical report, 2024, section 3.4.2)."""
TP_SIZES = (1, 2, 4, 8, 16)
"""Degrees of tensor parallelism that are tried unless others are asked for: powers of two, as heads divide, up to two
servers."""
DP_SIZES = (2, 4, 8, 16)
"""Ranks of attention data parallelism that are tried, as far as a server goes: powers of two, as experts divide."""
WIDE_DP_SIZES = (24, 32, 36, 48, 72)
"""Ranks over which experts are spread inside a scale-up domain of more than one server. Source: published runs of
DeepSeek-R1 and Kimi-K2 on GB200 and GB300 NVL72, 24 to 48 ranks (InferenceX, 2026); the whole domain beside them."""
PP_SIZES = (1, 2, 4)
"""Degrees of pipeline parallelism. Chosen: because more stages than servers in a row make every token wait longer."""
LAYER_SPLITS = tuple(range(1, SERVER_GPUS + 1))
"""The same of an engine that splits a model by layers: over any number of the GPUs of a server."""


def layouts(model: Model, gpu: Gpu, allowed: Allowed, engine: Engine) -> tuple[Degrees, ...]:
    """Every (TP, PP, EP, DP) to try, each once: as asked, else the usual ones. Heads and experts may still refuse."""
    if engine.splits_by_layer and not allowed.pp:
        allowed = replace(allowed, pp=LAYER_SPLITS)
    plain = (layout for tp, pp in _grids(model, gpu, allowed) for layout in _of_grid(model, gpu, allowed, tp, pp))
    return tuple(dict.fromkeys((*plain, *allowed.pools)))


def _grids(model: Model, gpu: Gpu, allowed: Allowed) -> Iterator[tuple[int, int]]:
    """TP x PP: TP within one scale-up domain or server unless asked for; unasked, no more GPUs than two servers."""
    server = max(gpu.domain_gpus, SERVER_GPUS)
    for tp, pp in product(allowed.tp or TP_SIZES, allowed.pp or PP_SIZES):
        if gpu.alone and tp * pp > 1:
            continue
        unasked = tp > server and not allowed.tp
        beyond = tp * pp > max(MAX_GPUS_PER_INSTANCE, server) and not (allowed.tp and (pp == 1 or allowed.pp))
        if not unasked and not beyond and tp * pp <= MAX_GPUS_ASKED:
            yield tp, pp


def _of_grid(model: Model, gpu: Gpu, allowed: Allowed, tp: int, pp: int) -> Iterator[Degrees]:
    """The layouts of one TP x PP: experts split like every matrix (EP 1) or spread whole, over the TP group or over
    attention-DP ranks beside it."""
    for dp in _ranks(model, gpu, allowed, tp, pp):
        if tp * pp * dp > MAX_GPUS_ASKED:
            continue
        for ep in _spread(model, allowed, tp, dp):
            yield tp, pp, ep, dp


def _ranks(model: Model, gpu: Gpu, allowed: Allowed, tp: int, pp: int) -> tuple[int, ...]:
    """Attention-DP ranks: as asked, directly or by an EP that TP does not reach; unasked, of one GPU each."""
    if allowed.dp:
        return allowed.dp
    if not model.is_moe or gpu.alone:
        return (1,)
    if allowed.ep:
        return tuple(dict.fromkeys((1, *(ep // tp for ep in allowed.ep if ep % tp == 0))))
    if tp > 1 or pp > 1:
        return (1,)
    server = max(gpu.domain_gpus, SERVER_GPUS)
    usual = tuple(dp for dp in DP_SIZES if dp <= server and model.experts % dp == 0)
    wide = tuple(dp for dp in WIDE_DP_SIZES if SERVER_GPUS < dp <= gpu.domain_gpus and dp <= model.experts)
    return (1, *usual, *wide)


def _spread(model: Model, allowed: Allowed, tp: int, dp: int) -> tuple[int, ...]:
    """Expert parallelism: as asked, else none or over all TP x DP ranks; ranks without it would copy the experts.

    Where experts do not divide by the ranks, engines keep redundant copies of some (EPLB), which takes attention-DP.
    """
    if allowed.ep:
        return allowed.ep
    if not model.is_moe:
        return (1,)
    if dp > 1:
        return (tp * dp,)
    return (1, tp) if tp > 1 and model.experts % tp == 0 else (1,)
