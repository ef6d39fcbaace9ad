"""What each candidate's hardware does per second: datasheet columns, and the same times the fitted efficiencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sizing.base.arrays import Columns, Flags, Floats, Rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_families import gpu_families
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import BYTE, KV_BYTES, WIDE_BYTES, compute_flops, wide_flops
from sizing.deployments.candidates import Candidates
from sizing.question.configuration import Configuration
from sizing.steps.efficiency import REFERENCE_YEAR, DeviceEfficiency, Efficiencies, EngineOverhead, PlatformFactor

POWER_RANGE = (0.5, 8.0)
"""Watts per FLOP/s of the catalogue's GPUs relative to the H100 SXM; a typed-in GPU beyond it is taken for its end."""

H100_FLOPS, H100_W = 989.4e12, 700.0
"""Dense 16-bit FLOP/s and power of the H100 SXM (NVIDIA H100 datasheet)."""

MATURITY_YEARS = 3.0
"""Years from a family's first GPU during which the vendor's library gains on 16-bit products. Chosen: because prefill
on the A100 of 2020, left out of the fit, is 6 % too fast with it and 17 % too slow where gains never end."""

_CLASS_OF = {"wide": 0, "fp8": 1, "int8": 1, "fp4": 2, "mxfp4": 1}
"""Matrices multiplied at 16, 8 and 4 bit are class 0, 1 and 2, by the format they are computed in."""


_SHARED = ("prompt_token_s", "sparse_attention", "activation_passes", "expert_passes", "imbalance", "evenness")
"""Fitted numbers of all candidates alike."""


@dataclass(frozen=True)
class Hardware(Columns):
    """Datasheet facts of every candidate as columns (C, 1), in bytes and FLOP per second; nothing fitted."""

    matrix: Floats
    wide: Floats
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
    number_class: Rows
    width_class: Rows
    weight_only: Flags
    dense_short_prompts: Flags
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
    sparse_attention: float
    dense_short_prompts: Flags
    memory: Floats
    expert_memory: Floats
    wide_memory: Floats
    kv_memory: Floats
    link: Floats
    network: Floats
    nodes: Floats
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
    request_s: Floats
    prompt_token_s: float
    scale: Floats
    exposed: Floats
    wide_exposed: float
    activation_passes: float
    expert_passes: float
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
    linked = col(lambda k: float(k.gpu.has_fast_link))[:, 0] > 0
    fast = linked & (candidates.tp <= domain)
    nodes = np.where(linked, np.ceil(candidates.tp * candidates.dp / domain), 1.0)
    fast_link, slow_link = col(lambda k: k.gpu.link_bytes_per_s or 0.0), col(lambda k: k.gpu.pcie_bytes_per_s)
    return Hardware(
        matrix=col(lambda k: compute_flops(k.gpu, k.precision) or wide_flops(k.gpu)),
        wide=col(lambda k: wide_flops(k.gpu)),
        power=col(lambda k: power_of(_reference(k.gpu))),
        power_within=col(lambda k: power_of(k.gpu) / power_of(_reference(k.gpu)) if k.gpu.tdp_w else 1.0),
        launched=col(lambda k: _launched(k.gpu)),
        memory=col(lambda k: k.gpu.memory_bandwidth),
        link=np.where(fast[:, None], fast_link, slow_link),
        network=slow_link,
        nodes=nodes[:, None],
        fast=fast[:, None],
        weight_bytes=col(lambda k: k.precision.bytes),
        kv_bytes=col(lambda k: KV_BYTES[k.kv_precision]),
        budget=col(lambda k: float(k.engine.budget(k.gpu))),
        number_class=code(_number_class),
        width_class=code(lambda k: int(k.precision.bytes < WIDE_BYTES) + int(k.precision.bytes < BYTE)),
        weight_only=code(_is_weight_only).astype(bool),
        dense_short_prompts=col(lambda k: float(k.gpu.family in k.engine.dense_short_prompts)) > 0,
        families=families,
        family=code(lambda k: families.index(k.gpu.family)),
        engines=engines,
        engine=code(lambda k: engines.index(k.engine.surrogate)),
    )


def power_of(gpu: Gpu) -> float:
    """Watts per 16-bit FLOP/s relative to the H100 SXM (700 W, 989.4 TFLOP/s); 1 where the power is not known.

    Between families it stands for processes and tensor cores too, within one for the clock alone, which has an exponent
    of its own: power falls with the clock's first power where the voltage cannot fall with it, with its third where it
    does.

    Dense products draw the most power, so that the clock they sustain is what the power limit leaves: NVIDIA rates the
    A100 at 1,305 MHz in HPL, at 1,410 MHz in its datasheet (Lockwood, "Peak FLOPS", read 2026-11-21).
    """
    if not gpu.tdp_w:
        return 1.0
    return float(np.clip(gpu.tdp_w / wide_flops(gpu) * H100_FLOPS / H100_W, *POWER_RANGE))


def _reference(gpu: Gpu) -> Gpu:
    """The GPU of its family that others are compared to; itself where the family names none."""
    family = gpu_families().get(gpu.family)
    return gpus()[family.reference] if family and family.reference else gpu


def _launched(gpu: Gpu) -> float:
    """Decimal year of the first GPU of its family; infinite where it is not known."""
    family = gpu_families().get(gpu.family)
    return family.launched if family else np.inf


def _number_class(row: Configuration) -> int:
    """0, 1, 2 for matrices multiplied at 16, 8, 4 bit."""
    wide = compute_flops(row.gpu, row.precision) in (0.0, wide_flops(row.gpu))
    return 0 if wide else _CLASS_OF[row.precision.compute]


def _is_weight_only(row: Configuration) -> int:
    """Whether narrow weights are widened to 16 bit before they are multiplied."""
    return int(row.precision.bytes < WIDE_BYTES and _number_class(row) == 0)


@dataclass(frozen=True)
class _Fitted:
    """Fitted efficiencies looked up for every candidate, as columns (C, 1); ``age`` (C, 1) or a number, in years."""

    fit: Efficiencies
    facts: Hardware
    age: Floats

    def device(self, value: Callable[[DeviceEfficiency], float]) -> Floats:
        """What the fit says of the GPU family."""
        return np.array([value(self.fit.device(f)) for f in self.facts.families])[self.facts.family][:, None]

    def engine(self, value: Callable[[EngineOverhead], float]) -> Floats:
        """What the fit says of the engine."""
        return np.array([value(self.fit.overhead(e)) for e in self.facts.engines])[self.facts.engine][:, None]

    def pair(self, value: Callable[[PlatformFactor], float]) -> Floats:
        """What the fit says of the engine on the GPU family."""
        table = [[value(self.fit.platform(e, f)) for f in self.facts.families] for e in self.facts.engines]
        return np.array(table)[self.facts.engine, self.facts.family][:, None]

    @cached_property
    def library(self) -> Floats:
        """Factor of plain 16-bit products: they are the vendor's, not the engine's kernels, and do not age."""
        return np.asarray(np.exp(self.engine(lambda o: o.ageing) * self.age))

    def by_class(self, values: Callable[[DeviceEfficiency], tuple[float, float, float]], column: Rows) -> Floats:
        """What the fit says of the GPU family at the width of numbers that ``column`` (C,) gives."""
        return np.array([values(self.fit.device(f)) for f in self.facts.families])[self.facts.family, column][:, None]


def rates(candidates: Candidates, facts: Hardware, fit: Efficiencies, software_year: Floats | float) -> Rates:
    """Hardware times efficiencies; ``software_year`` (C, 1) or one number slows older software."""
    age = np.maximum(REFERENCE_YEAR - np.asarray(software_year, dtype=np.float64), 0.0)
    of, common, tp = _Fitted(fit, facts, age), fit.common, candidates.tp[:, None]
    wide_matrix, matrix = _matrix_rates(of)
    wide_memory, memory = _memory_rates(of)
    host = np.exp(of.engine(lambda o: o.host_ageing) * age)
    by_width = np.array([common.expert_memory_16, common.expert_memory_8, common.expert_memory_4])
    fixed = of.device(lambda d: d.layer) * of.pair(lambda p: p.fixed) * np.exp(common.fixed_ageing * age)
    latency = np.where(facts.fast, common.collective_s, common.pcie_collective_s) * of.engine(lambda o: o.collective)
    return Rates(
        matrix=matrix * np.where(_is_plain(facts), of.library, 1.0),
        wide_matrix=wide_matrix,
        expert_matrix=np.minimum(matrix * common.expert_matrix, facts.matrix),
        attention=facts.wide * of.device(lambda d: d.attention) * np.exp(-common.attention_ageing * age),
        dense_short_prompts=facts.dense_short_prompts,
        memory=memory * np.where((facts.width_class == 0)[:, None], of.library, 1.0),
        expert_memory=memory * by_width[facts.width_class][:, None],
        wide_memory=wide_memory,
        kv_memory=facts.memory * of.device(lambda d: d.kv),
        link=facts.link * of.device(lambda d: d.link),
        network=facts.network * of.device(lambda d: d.link),
        nodes=facts.nodes,
        collective_s=latency * (np.maximum(tp, 2.0) / 2.0) ** common.collective_growth,
        expert_bytes=facts.weight_bytes,
        narrow=(facts.width_class == 2)[:, None],
        kv_bytes=facts.kv_bytes,
        layer_s=of.engine(lambda o: o.layer_s) * fixed,
        routing_s=of.engine(lambda o: o.routing_s) * fixed,
        latent_s=of.engine(lambda o: o.latent_s) * fixed * np.exp(common.latent_ageing * age),
        prompt_layer_s=of.engine(lambda o: o.prompt_layer_s) * fixed,
        step_s=of.engine(lambda o: o.step_s) * host,
        sequence_s=of.engine(lambda o: o.sequence_s) * host,
        request_s=of.engine(lambda o: o.request_s),
        scale=_scale(of),
        exposed=np.array([common.exposed_16, common.exposed_8, common.exposed_4])[facts.number_class][:, None],
        wide_exposed=common.exposed_16,
        budget=facts.budget,
        **{name: getattr(common, name) for name in _SHARED},
        **{name: getattr(candidates, name)[:, None] for name in ("tp", "pp", "ep", "dp")},
    )


def _is_wide(facts: Hardware) -> Flags:
    """Which candidates (C, 1) multiply matrices at 16 bit."""
    return np.asarray((facts.number_class == 0)[:, None])


def _is_plain(facts: Hardware) -> Flags:
    """Which candidates (C, 1) multiply 16-bit weights at 16 bit."""
    return _is_wide(facts) & ~facts.weight_only[:, None]


def _matrix_rates(of: _Fitted) -> tuple[Floats, Floats]:
    """Sustained matrix rates, (C, 1) each: of 16-bit products, and at the width of the weights."""
    facts, common = of.facts, of.fit.common
    sustained = facts.power**common.power * facts.power_within**common.power_within
    immature = np.clip(facts.launched + MATURITY_YEARS - REFERENCE_YEAR + of.age, 0.0, of.age)
    then = np.exp(-of.device(lambda d: d.wide_ageing) * of.age - common.matrix_ageing * immature)
    by_number = of.by_class(lambda d: (d.matrix_16, d.matrix_8, d.matrix_4), facts.number_class)
    matrix = facts.matrix * np.minimum(sustained * by_number, 1.0) * np.where(_is_wide(facts), then, 1.0)
    matrix = matrix * np.where(facts.weight_only[:, None], common.weight_only, 1.0)
    wide = facts.wide * np.minimum(sustained * of.device(lambda d: d.matrix_16), 1.0) * then * of.library
    return wide, matrix


def _memory_rates(of: _Fitted) -> tuple[Floats, Floats]:
    """Memory rates, (C, 1) each: of 16-bit weights, and at the width of the weights."""
    facts = of.facts
    memory = facts.memory * of.by_class(lambda d: (d.memory_16, d.memory_8, d.memory_4), facts.width_class)
    return facts.memory * of.device(lambda d: d.memory_16) * of.library, memory


def _scale(of: _Fitted) -> Floats:
    """Factor on all device times, (C, 1)."""
    fitted = of.engine(lambda o: o.scale) * of.pair(lambda p: p.device)
    return np.asarray(fitted * of.library * np.exp(of.device(lambda d: d.ageing) * of.age))
