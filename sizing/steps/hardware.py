"""What the datasheet says of each candidate's hardware, as columns; nothing fitted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Columns, Flags, Floats, Rows
from sizing.catalog.execution import execution
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import BYTE, KV_BYTES, WIDE_BYTES, compute_flops, wide_flops
from sizing.deployments.candidates import Candidates
from sizing.question.configuration import Configuration

POWER_RANGE = (0.5, 8.0)
"""Watts per FLOP/s of the catalogue's GPUs relative to the H100 SXM; a typed-in GPU beyond it is taken for its end."""

THROUGH_HOST = 0.5
"""Share of its PCIe bandwidth that a consumer card has to another: without peer-to-peer transfers, which NVIDIA's
driver leaves to professional and data-center cards, each byte is written to host memory and read from there (NCCL, SHM
transport)."""

H100_FLOPS, H100_W = 989.4e12, 700.0
"""Dense 16-bit FLOP/s and power of the H100 SXM (NVIDIA H100 datasheet)."""

H100_SCORES = 66.9e12 / 23.0
"""Scores/s whose softmax the H100 SXM computes: FLOP/s at 32 bit of its datasheet over those that one takes."""

_CLASS_OF = {"wide": 0, "fp8": 1, "int8": 1, "fp4": 2, "mxfp4": 1}
"""Matrices multiplied at 16, 8 and 4 bit are class 0, 1 and 2, by the format they are computed in."""


@dataclass(frozen=True)
class Hardware(Columns):
    """Datasheet facts of every candidate as columns (C, 1), in bytes and FLOP per second; nothing fitted."""

    matrix: Floats
    wide: Floats
    eight: Floats
    scores: Floats
    products_per_lane: Floats
    power: Floats
    power_within: Floats
    launched: Floats
    memory: Floats
    link: Floats
    network: Floats
    nodes: Floats
    fast: Flags
    weight_bytes: Floats
    kv_bytes: Floats
    budget: Floats
    prompts_apart: Flags
    pieces_since: Floats
    number_class: Rows
    width_class: Rows
    experts_alone: Flags
    weight_only: Flags
    dense_short_prompts: Flags
    families: tuple[str, ...]
    family: Rows
    engines: tuple[str, ...]
    engine: Rows


def hardware(candidates: Candidates) -> Hardware:
    """Datasheet columns; each distinct GPU, engine and format is looked up once."""
    families = tuple(sorted({k.gpu.family for k in candidates.units}))
    engines = tuple(sorted({k.engine.surrogate for k in candidates.units}))

    def col(value: Callable[[Configuration], float]) -> Floats:
        return candidates.column(value)[:, None]

    def code(value: Callable[[Configuration], int]) -> Rows:
        return candidates.column(value).astype(np.intp)

    fast, nodes = _linked(candidates)
    return Hardware(
        matrix=col(_matrix_flops),
        wide=col(lambda k: wide_flops(k.gpu)),
        eight=col(lambda k: k.gpu.fp8_flops or 0.0),
        scores=col(lambda k: scores_of(k.gpu)),
        products_per_lane=col(lambda k: products_per_lane(k.gpu)),
        power=col(lambda k: power_of(_reference(k.gpu))),
        power_within=col(_power_within),
        launched=col(lambda k: _launched(k.gpu)),
        memory=col(lambda k: k.gpu.memory_bandwidth),
        link=np.where(fast[:, None], col(lambda k: k.gpu.link_bytes_per_s or 0.0), col(_slow_link)),
        network=col(_slow_link),
        nodes=nodes[:, None],
        fast=fast[:, None],
        weight_bytes=col(lambda k: k.precision.bytes),
        kv_bytes=col(lambda k: KV_BYTES[k.kv_precision]),
        budget=col(lambda k: float(k.engine.budget(k.gpu))),
        prompts_apart=col(lambda k: float(k.engine.memory.prompts_apart)) > 0,
        pieces_since=col(_pieces_since),
        number_class=code(_number_class),
        width_class=code(lambda k: int(k.precision.bytes < WIDE_BYTES) + int(k.precision.bytes < BYTE)),
        experts_alone=col(lambda k: k.precision.experts_alone) > 0,
        weight_only=code(_is_weight_only).astype(bool),
        dense_short_prompts=col(lambda k: float(k.gpu.family in k.engine.dense_short_prompts)) > 0,
        families=families,
        family=code(lambda k: families.index(k.gpu.family)),
        engines=engines,
        engine=code(lambda k: engines.index(k.engine.surrogate)),
    )


def _linked(candidates: Candidates) -> tuple[Flags, Floats]:
    """Whether a TP group is within the domain of fast links, and over how many of them the instance is spread, (C,)."""
    domain = candidates.column(lambda k: k.gpu.domain_gpus)
    linked = candidates.column(lambda k: k.gpu.has_fast_link) > 0
    nodes = np.where(linked, np.ceil(candidates.tp * candidates.dp / domain), 1.0)
    return linked & (candidates.tp <= domain), nodes


def _pieces_since(row: Configuration) -> float:
    """From which year on its engine replays steps with prompts in captured pieces, in this layout; infinite: never."""
    alone = row.gpu.vendor == "NVIDIA" and row.pp == 1 and row.dp == 1
    return row.engine.pieces_since if alone else np.inf


def _slow_link(row: Configuration) -> float:
    """Bytes/s between GPUs over PCIe."""
    return row.gpu.pcie_bytes_per_s * (THROUGH_HOST if row.gpu.consumer else 1.0)


def scores_of(gpu: Gpu) -> float:
    """Scores/s whose softmax a GPU computes: as many for each FLOP/s as the H100 SXM where that is not known; infinite
    for processors, whose rates of attention were fitted without."""
    if gpu.processor:
        return np.inf
    return wide_flops(gpu) * (gpu.scores_per_flop or H100_SCORES / H100_FLOPS)


def products_per_lane(gpu: Gpu) -> float:
    """16-bit FLOP of the matrix units in the time that the plain lanes take for the softmax of a score, relative to the
    H100 SXM: how much instructions on the lanes hold products back.

    1 of other makers' GPUs: their kernels take other instructions, and weights widened on the MI300X and MI325X were
    measured at the H100's share of the 16-bit rate (90 runs of gpt-oss-120b, InferenceMAX).
    """
    return wide_flops(gpu) / scores_of(gpu) * H100_SCORES / H100_FLOPS if gpu.vendor == "NVIDIA" else 1.0


def power_of(gpu: Gpu) -> float:
    """Watts per 16-bit FLOP/s relative to the H100 SXM (700 W, 989.4 TFLOP/s); 1 where the power is not known.

    Between families it stands for processes and tensor cores too, within one for the clock alone, which has an exponent
    of its own: power falls with the clock's first power where the voltage cannot fall with it, with its third where it
    does.

    Dense products draw the most power, so that the clock they sustain is what the power limit leaves: NVIDIA rates the
    A100 at 1,305 MHz in HPL, at 1,410 MHz in its datasheet (Lockwood, "Peak FLOPS", read 2026-11-21).
    """
    if not gpu.tdp_w or gpu.processor:  # of processors the rate is that of the base clock
        return 1.0
    return float(np.clip(gpu.tdp_w / wide_flops(gpu) * H100_FLOPS / H100_W, *POWER_RANGE))


def _reference(gpu: Gpu) -> Gpu:
    """The GPU of its family that others are compared to; itself where the family names none."""
    family = gpu_families().get(gpu.family)
    return gpus()[family.reference] if family and family.reference else gpu


def _power_within(row: Configuration) -> float:
    """Watts per FLOP/s relative to the reference of its family; 1 where its power is not known."""
    return power_of(row.gpu) / power_of(_reference(row.gpu)) if row.gpu.tdp_w else 1.0


def _launched(gpu: Gpu) -> float:
    """Decimal year of the first GPU of its family; infinite where it is not known."""
    family = gpu_families().get(gpu.family)
    return family.launched if family else np.inf


def _matrix_flops(row: Configuration) -> float:
    """Datasheet rate of the matrix products, FLOP/s: of 16 bit where weights are widened to it."""
    return wide_flops(row.gpu) if _is_weight_only(row) else compute_flops(row.gpu, row.precision)


def _number_class(row: Configuration) -> int:
    """0, 1, 2 for matrices multiplied at 16, 8, 4 bit."""
    return 0 if _is_weight_only(row) else _CLASS_OF[row.precision.compute]


def _is_weight_only(row: Configuration) -> int:
    """Whether narrow weights are widened to 16 bit before they are multiplied."""
    return int(execution(row.engine, row.gpu, row.precision) == "weight_only")
