"""What each candidate's hardware does per second: datasheet columns, and the same times the fitted efficiencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Columns, Flags, Floats, Rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.precisions import KV_BYTES, WIDE_BYTES, compute_flops, wide_flops
from sizing.deployments.candidates import Candidates
from sizing.question.configuration import Configuration
from sizing.steps.efficiency import REFERENCE_YEAR, DeviceEfficiency, Efficiencies, EngineOverhead, PlatformFactor

POWER_RANGE = (0.5, 4.0)
"""Watts per FLOP/s of the catalogue's GPUs relative to the H100 SXM; a typed-in GPU beyond it is taken for its end."""

_CLASS_OF = {"wide": 0, "fp8": 1, "int8": 1, "fp4": 2, "mxfp4": 1}


@dataclass(frozen=True)
class Hardware(Columns):
    """Datasheet facts of every candidate as columns (C, 1), in bytes and FLOP per second; nothing fitted."""

    matrix: Floats
    wide: Floats
    power: Floats
    memory: Floats
    link: Floats
    fast: Flags
    weight_bytes: Floats
    kv_bytes: Floats
    budget: Floats
    number_class: Rows
    width_class: Rows
    weight_only: Flags
    families: tuple[str, ...]
    family: Rows
    engines: tuple[str, ...]
    engine: Rows


@dataclass(frozen=True)
class Rates:
    """Effective rates and fixed times per candidate as columns (C, 1)."""

    matrix: Floats
    wide_matrix: Floats
    expert_matrix: Floats
    attention: Floats
    memory: Floats
    expert_memory: Floats
    wide_memory: Floats
    kv_memory: Floats
    link: Floats
    collective_s: Floats
    expert_bytes: Floats
    narrow: Flags
    kv_bytes: Floats
    layer_s: Floats
    routing_s: Floats
    latent_s: Floats
    prompt_layer_s: Floats
    step_s: Floats
    sequence_s: Floats
    scale: Floats
    imbalance: float
    evenness: float
    budget: Floats
    tp: Floats
    pp: Floats
    ep: Floats
    dp: Floats


def hardware(candidates: Candidates) -> Hardware:
    """Datasheet columns; each distinct GPU, engine and format is looked up once."""
    kinds = candidates.units
    families = tuple(sorted({k.gpu.family for k in kinds}))
    engines = tuple(sorted({k.engine.surrogate for k in kinds}))

    def col(value: Callable[[Configuration], float]) -> Floats:
        return candidates.column(value)[:, None]

    def code(value: Callable[[Configuration], int]) -> Rows:
        return candidates.column(value).astype(np.intp)

    domain = col(lambda k: float(k.gpu.domain_gpus))[:, 0]
    fast = (col(lambda k: float(k.gpu.has_fast_link))[:, 0] > 0) & (candidates.tp * candidates.dp <= domain)
    fast_link, slow_link = col(lambda k: k.gpu.link_bytes_per_s or 0.0), col(lambda k: k.gpu.pcie_bytes_per_s)
    return Hardware(
        matrix=col(lambda k: compute_flops(k.gpu, k.precision) or wide_flops(k.gpu)),
        wide=col(lambda k: wide_flops(k.gpu)),
        power=col(lambda k: _power(k.gpu)),
        memory=col(lambda k: k.gpu.memory_bandwidth),
        link=np.where(fast[:, None], fast_link, slow_link),
        fast=fast[:, None],
        weight_bytes=col(lambda k: k.precision.bytes),
        kv_bytes=col(lambda k: KV_BYTES[k.kv_precision]),
        budget=col(lambda k: float(k.engine.budget(k.gpu))),
        number_class=code(_number_class),
        width_class=code(lambda k: int(k.precision.bytes < WIDE_BYTES) + int(k.precision.bytes < 1.0)),
        weight_only=code(_is_weight_only).astype(bool),
        families=families,
        family=code(lambda k: families.index(k.gpu.family)),
        engines=engines,
        engine=code(lambda k: engines.index(k.engine.surrogate)),
    )


def _power(gpu: Gpu) -> float:
    """Watts per 16-bit FLOP/s relative to the H100 SXM (700 W, 989.4 TFLOP/s); 1 where the power is not known.

    Dense products draw the most power, so that the clock they sustain is what the power limit leaves: NVIDIA rates the
    A100 at 1,305 MHz in HPL, at 1,410 MHz in its datasheet (Lockwood, "Peak FLOPS", read 2026-11-21).
    """
    return float(np.clip(gpu.tdp_w / wide_flops(gpu) * 989.4e12 / 700.0, *POWER_RANGE)) if gpu.tdp_w else 1.0


def _number_class(row: Configuration) -> int:
    """0, 1, 2 for matrices multiplied at 16, 8, 4 bit."""
    wide = compute_flops(row.gpu, row.precision) in (0.0, wide_flops(row.gpu))
    return 0 if wide else _CLASS_OF[row.precision.compute]


def _is_weight_only(row: Configuration) -> int:
    """Whether narrow weights are widened to 16 bit before they are multiplied."""
    return int(row.precision.bytes < WIDE_BYTES and _number_class(row) == 0)


def rates(candidates: Candidates, facts: Hardware, fit: Efficiencies, software_year: Floats | float) -> Rates:
    """Hardware times efficiencies; ``software_year`` (C, 1) or one number slows older software."""
    devices, overheads = [fit.device(f) for f in facts.families], [fit.overhead(e) for e in facts.engines]
    pairs = [[fit.platform(e, f) for f in facts.families] for e in facts.engines]
    age = np.maximum(REFERENCE_YEAR - np.asarray(software_year, dtype=np.float64), 0.0)

    def device(value: Callable[[DeviceEfficiency], float]) -> Floats:
        return np.array([value(d) for d in devices])[facts.family][:, None]

    def engine(value: Callable[[EngineOverhead], float]) -> Floats:
        return np.array([value(o) for o in overheads])[facts.engine][:, None]

    def pair(value: Callable[[PlatformFactor], float]) -> Floats:
        return np.array([[value(p) for p in row] for row in pairs])[facts.engine, facts.family][:, None]

    def by_class(values: list[tuple[float, float, float]], column: Rows) -> Floats:
        return np.array(values)[facts.family, column][:, None]

    common, tp = fit.common, candidates.tp[:, None]
    by_number = by_class([(d.matrix_16, d.matrix_8, d.matrix_4) for d in devices], facts.number_class)
    sustained = facts.power**common.power
    then, wide = np.exp(-device(lambda d: d.wide_ageing) * age), (facts.number_class == 0)[:, None]
    matrix = facts.matrix * np.minimum(sustained * by_number, 1.0) * np.where(wide, then, 1.0)
    matrix = matrix * np.where(facts.weight_only[:, None], common.weight_only, 1.0)
    library = np.exp(engine(lambda o: o.ageing) * age)  # plain 16-bit products: the vendor's, not the engine's kernels
    plain = wide & ~facts.weight_only[:, None]
    memory = facts.memory * by_class([(d.memory_16, d.memory_8, d.memory_4) for d in devices], facts.width_class)
    host = np.exp(engine(lambda o: o.host_ageing) * age)
    by_width = np.array([common.expert_memory_16, common.expert_memory_8, common.expert_memory_4])
    fixed = device(lambda d: d.layer) * pair(lambda p: p.fixed) * np.exp(common.fixed_ageing * age)
    latency = np.where(facts.fast, common.collective_s, common.pcie_collective_s) * engine(lambda o: o.collective)
    return Rates(
        matrix=matrix * np.where(plain, library, 1.0),
        wide_matrix=facts.wide * np.minimum(sustained * device(lambda d: d.matrix_16), 1.0) * then * library,
        expert_matrix=matrix * common.expert_matrix,
        attention=facts.wide * device(lambda d: d.attention),
        memory=memory * np.where((facts.width_class == 0)[:, None], library, 1.0),
        expert_memory=memory * by_width[facts.width_class][:, None],
        wide_memory=facts.memory * device(lambda d: d.memory_16) * library,
        kv_memory=facts.memory * device(lambda d: d.kv),
        link=facts.link * device(lambda d: d.link),
        collective_s=latency * (np.maximum(tp, 2.0) / 2.0) ** common.collective_growth,
        expert_bytes=facts.weight_bytes,
        narrow=(facts.width_class == 2)[:, None],
        kv_bytes=facts.kv_bytes,
        layer_s=engine(lambda o: o.layer_s) * fixed,
        routing_s=engine(lambda o: o.routing_s) * fixed,
        latent_s=engine(lambda o: o.latent_s) * fixed * np.exp(common.latent_ageing * age),
        prompt_layer_s=engine(lambda o: o.prompt_layer_s) * fixed,
        step_s=engine(lambda o: o.step_s) * host,
        sequence_s=engine(lambda o: o.sequence_s) * host,
        scale=engine(lambda o: o.scale) * pair(lambda p: p.device) * library * np.exp(device(lambda d: d.ageing) * age),
        imbalance=common.imbalance,
        evenness=common.evenness,
        budget=facts.budget,
        tp=tp,
        pp=candidates.pp[:, None],
        ep=candidates.ep[:, None],
        dp=candidates.dp[:, None],
    )
