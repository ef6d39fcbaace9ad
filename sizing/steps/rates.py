"""What each candidate's hardware does per second: datasheet columns times the fitted efficiencies, and fixed times."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from sizing.base.arrays import Flags, Floats, Rows
from sizing.catalog.precisions import WIDE_BYTES
from sizing.deployments.candidates import Candidates
from sizing.steps.efficiency import (
    IN_PIECES,
    REFERENCE_YEAR,
    DeviceEfficiency,
    Efficiencies,
    EngineOverhead,
    PlatformFactor,
)
from sizing.steps.hardware import Hardware

MATURITY_YEARS = 3.0
"""Years from a family's first GPU during which the vendor's library gains on 16-bit products. Chosen: because prefill
on the A100 of 2020, left out of the fit, is 6 % too fast with it and 17 % too slow where gains never end."""

OVERLAPPED_SINCE = 2025.0
"""Decimal year from which engines prepare and answer sequences while the GPU computes: SGLang 0.4 of 2024-12 ("zero
overhead batch scheduler"), vLLM 0.8 of 2025-03 (front end in a process of its own), TensorRT-LLM 0.19 of 2025-05
(overlap scheduler). Before, that time adds to every step."""

_TIMES = (
    *("layer_s", "routing_s", "latent_s", "recurrent_s", "eager", "step_s", "sequence_s", "request_s"),
    *("collective", "two_shot_s", "host_ageing"),
)
"""Fitted numbers of each engine that fixed times come from."""

_SHARED = (
    *("prompt_token_s", "sparse_attention", "activation_passes", "expert_passes", "imbalance", "evenness"),
    *("sampling_passes", "rank_sequence_s", "query_pairs"),
)
"""Fitted numbers of all candidates alike."""


@dataclass(frozen=True)
class Rates:
    """Effective rates and fixed times per candidate as columns (C, 1)."""

    matrix: Floats
    wide_matrix: Floats
    eight_matrix: Floats
    expert_matrix: Floats
    attention: Floats
    scores: Floats
    query_pairs: float
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
    two_shot_s: Floats
    expert_bytes: Floats
    experts_alone: Flags
    kv_bytes: Floats
    layer_s: Floats
    routing_s: Floats
    latent_s: Floats
    recurrent_s: Floats
    eager: Floats
    in_pieces: Floats
    step_s: Floats
    sequence_s: Floats
    overlapped: Flags
    request_s: Floats
    prompt_token_s: float
    scale: Floats
    exposed: Floats
    wide_exposed: float
    activation_passes: float
    sampling_passes: float
    rank_sequence_s: float
    expert_passes: float
    imbalance: float
    evenness: float
    budget: Floats
    prompts_apart: Flags
    tp: Floats
    pp: Floats
    ep: Floats
    dp: Floats


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
    of, common = _Fitted(fit, facts, age), fit.common
    wide_matrix, eight_matrix, matrix = _matrix_rates(of)
    wide_memory, memory = _memory_rates(of)
    overlapped = np.broadcast_to(REFERENCE_YEAR - age >= OVERLAPPED_SINCE, facts.budget.shape)
    by_width = np.array([common.expert_memory_16, common.expert_memory_8, common.expert_memory_4])
    return Rates(
        matrix=matrix * np.where(_is_plain(facts), of.library, 1.0),
        wide_matrix=wide_matrix,
        eight_matrix=eight_matrix,
        expert_matrix=np.minimum(matrix * common.expert_matrix, facts.matrix),
        attention=facts.wide * _attention_share(of) * np.exp(-common.attention_ageing * age),
        scores=facts.scores * np.exp(-common.attention_ageing * age),
        dense_short_prompts=facts.dense_short_prompts,
        memory=memory * _dense_factor(of),
        expert_memory=memory * by_width[facts.width_class][:, None],
        wide_memory=wide_memory * candidates.column(lambda k: WIDE_BYTES / k.precision.ends_bytes)[:, None],
        kv_memory=facts.memory * of.device(lambda d: d.kv),
        link=facts.link * of.device(lambda d: d.link),
        network=facts.network * of.device(lambda d: d.link),
        nodes=facts.nodes,
        expert_bytes=facts.weight_bytes,
        experts_alone=facts.experts_alone,
        kv_bytes=facts.kv_bytes,
        scale=_scale(of),
        exposed=np.array([common.exposed_16, common.exposed_8, common.exposed_4])[facts.number_class][:, None],
        wide_exposed=common.exposed_16,
        budget=facts.budget,
        prompts_apart=facts.prompts_apart,
        overlapped=overlapped,
        **_fixed_times(of, candidates.tp[:, None]),
        in_pieces=_in_pieces(of, software_year),
        **{name: getattr(common, name) for name in _SHARED},
        **{name: getattr(candidates, name)[:, None] for name in ("tp", "pp", "ep", "dp")},
    )


def _fixed_times(of: _Fitted, tp: Floats) -> dict[str, Any]:
    """Times that no rate divides, by name, (C, 1) each: per layer, collective, step, sequence and request."""
    common, per = of.fit.common, {name: of.engine(attrgetter(name)) for name in _TIMES}
    of_kernels = _of_kernels(of)
    layer = of_kernels * np.exp(common.fixed_ageing * of.age)
    host = np.exp(per["host_ageing"] * of.age)
    over_link = common.collective_s * (np.maximum(tp, 2.0) / 2.0) ** common.collective_growth
    over_pcie = common.pcie_collective_s * np.maximum(tp - 1.0, 1.0) ** common.pcie_growth
    return {
        **{name: per[name] * layer for name in ("layer_s", "routing_s", "recurrent_s")},
        **{name: per[name] * host for name in ("step_s", "sequence_s")},
        **{name: per[name] for name in ("two_shot_s", "request_s")},
        "eager": per["eager"] / of_kernels,
        "latent_s": per["latent_s"] * layer * np.exp(common.latent_ageing * of.age),
        "collective_s": np.where(of.facts.fast, over_link, over_pcie) * per["collective"],
    }


def _in_pieces(of: _Fitted, software_year: Floats | float) -> Floats:
    """As ``eager``, where the engine's software of that year replays steps with prompts in captured pieces, (C, 1)."""
    alone = of.engine(lambda o: o.eager)
    pieces = np.minimum(of.fit.overhead(IN_PIECES).eager, alone)
    replayed = np.asarray(software_year, dtype=np.float64) >= of.facts.pieces_since
    return np.asarray(np.where(replayed, pieces, alone) / _of_kernels(of))


def _of_kernels(of: _Fitted) -> Floats:
    """Factor of GPU family and engine on the fixed times of layers, (C, 1)."""
    return np.asarray(of.device(lambda d: d.layer) * of.pair(lambda p: p.fixed))


def _is_wide(facts: Hardware) -> Flags:
    """Which candidates (C, 1) multiply matrices at 16 bit."""
    return np.asarray((facts.number_class == 0)[:, None])


def _is_plain(facts: Hardware) -> Flags:
    """Which candidates (C, 1) multiply 16-bit weights at 16 bit."""
    return _is_wide(facts) & ~facts.weight_only[:, None]


def _matrix_rates(of: _Fitted) -> tuple[Floats, Floats, Floats]:
    """Sustained matrix rates, (C, 1) each: of 16-bit products, of FP8 ones (of 16-bit ones where the GPU has none), and
    at the width of the weights."""
    facts, common = of.facts, of.fit.common
    sustained = facts.power**common.power * facts.power_within**common.power_within
    immature = np.clip(facts.launched + MATURITY_YEARS - REFERENCE_YEAR + of.age, 0.0, of.age)
    then = np.exp(-of.device(lambda d: d.wide_ageing) * of.age - common.matrix_ageing * immature)
    by_number = of.by_class(lambda d: (d.matrix_16, d.matrix_8, d.matrix_4), facts.number_class)
    matrix = facts.matrix * np.minimum(sustained * by_number, 1.0) * np.where(_is_wide(facts), then, 1.0)
    matrix = matrix * np.where(facts.weight_only[:, None], _widened(of), 1.0)
    wide = facts.wide * np.minimum(sustained * of.device(lambda d: d.matrix_16), 1.0) * then * of.library
    eight = facts.eight * np.minimum(sustained * of.device(lambda d: d.matrix_8), 1.0)
    return wide, np.where(facts.eight > 0, eight, wide), matrix


def _widened(of: _Fitted) -> Floats:
    """Matrix rate of weight-only formats relative to 16-bit weights, (C, 1)."""
    facts, rate = of.facts, of.fit.widened_rate
    each = zip(facts.engine, facts.family, facts.products_per_lane[:, 0], strict=True)
    return np.array([rate(facts.engines[e], facts.families[f], per_lane) for e, f, per_lane in each])[:, None]


def _attention_share(of: _Fitted) -> Floats:
    """Share of the dense 16-bit rate that attention's products reach, (C, 1): within a family, as dense products, what
    the power limit leaves of the clock. An H20 has a seventh of the H100's rate with most of its power, so that it
    keeps its clock: 0.93 in prompts of a million tokens (LMSYS blog, 2026-01-15)."""
    within = of.facts.power_within**of.fit.common.power_within
    return np.asarray(np.minimum(of.device(lambda d: d.attention) * within, 1.0))


def _memory_rates(of: _Fitted) -> tuple[Floats, Floats]:
    """Memory rates, (C, 1) each: of 16-bit weights, and at the width of the weights."""
    facts = of.facts
    memory = facts.memory * of.by_class(lambda d: (d.memory_16, d.memory_8, d.memory_4), facts.width_class)
    return facts.memory * of.device(lambda d: d.memory_16) * of.library, memory


def _dense_factor(of: _Fitted) -> Floats:
    """Factor on the bandwidth for dense weights, (C, 1): 16-bit products are the vendor's library's, those at 4 bits
    differ most between engines."""
    width, number = of.facts.width_class[:, None], of.facts.number_class[:, None]
    return np.where(width == 0, of.library, np.where(number == 2, of.engine(lambda o: o.dense_4), 1.0))


def _scale(of: _Fitted) -> Floats:
    """Factor on all device times, (C, 1)."""
    fitted = of.engine(lambda o: o.scale) * of.pair(lambda p: p.device)
    return np.asarray(fitted * of.library * np.exp(of.device(lambda d: d.ageing) * of.age))
