"""The free parameters of the fit: their priors, and the efficiencies that a vector of them stands for.

A parameter of the default has a prior round a textbook value or round what measured kernels reach; one of a family or
engine is a departure from the default (a log factor, or a difference for ageing rates), beside the departure of its
kernels, with a narrow, heavy-tailed prior at 0: shrinkage to the parent, unless the evidence speaks clearly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from calibration.distil_matrices import ACTIVATION_PASSES
from calibration.kernel_priors import kernel_centre
from sizing.base.arrays import Floats
from sizing.steps.efficiency import CommonEfficiency, DeviceEfficiency, Efficiencies, EngineOverhead, PlatformFactor

Record = DeviceEfficiency | EngineOverhead | PlatformFactor | CommonEfficiency


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Prior of one quantity: ``centre`` and ``spread`` of the default, ``between`` families or engines.

    Spreads are of the logarithm, or of the value itself where ``linear``.
    """

    centre: float
    spread: float
    between: float
    linear: bool = False


FROM_KERNELS = frozenset(
    {
        *("kv", "attention", "link", "two_shot_s", "dense_4", "memory_8", "memory_4", "matrix_4"),
        *("expert_matrix", "expert_memory_16", "expert_memory_8", "expert_memory_4"),
        *("evenness", "imbalance", "expert_passes", "query_pairs"),
        *("exposed_16", "exposed_8", "exposed_4"),
    }
)
"""Quantities whose priors are centred on measured kernels (``kernels.yaml``) instead of the centres here. Chosen by
leave-one-model-out error, the link by that of leaving one source out. Others mean something else in a server: 16-bit
products there run at the clock that the power limit leaves, a collective begins when its slowest GPU is there."""

FAMILY_PRIORS = {
    "matrix_16": Prior(centre=0.76, spread=0.06, between=0.05),
    "matrix_8": Prior(centre=0.60, spread=0.15, between=0.15),
    "matrix_4": Prior(centre=0.50, spread=0.15, between=0.15),
    "memory_16": Prior(centre=0.82, spread=0.05, between=0.03),
    "memory_8": Prior(centre=0.80, spread=0.1, between=0.06),
    "memory_4": Prior(centre=0.70, spread=0.2, between=0.09),
    "kv": Prior(centre=0.80, spread=0.15, between=0.12),
    "attention": Prior(centre=0.75, spread=0.05, between=0.05),
    "link": Prior(centre=0.59, spread=0.2, between=0.12),
    "layer": Prior(centre=1.0, spread=1e-3, between=0.35),
    "ageing": Prior(centre=0.0, spread=1e-3, between=0.15, linear=True),
    "wide_ageing": Prior(centre=0.0, spread=1e-3, between=0.4, linear=True),
}
"""Priors of what a GPU family reaches. Chosen: because datasheets are reached to about so much in published kernels;
the spread between families is what the rows decide. The link's spread is twice that of its shares in the tables of
seven GPU types and three engines (0.47 to 0.69)."""
ENGINE_PRIORS = {
    "scale": Prior(centre=1.0, spread=1e-3, between=0.09),
    "step_s": Prior(centre=0.0010, spread=1.0, between=0.3),
    "layer_s": Prior(centre=0.000025, spread=0.5, between=0.18),
    "routing_s": Prior(centre=0.000020, spread=0.7, between=0.3),
    "latent_s": Prior(centre=0.000020, spread=0.7, between=0.3),
    "recurrent_s": Prior(centre=0.000020, spread=0.7, between=0.3),
    "eager": Prior(centre=5.0, spread=0.7, between=0.5),
    "collective": Prior(centre=1.0, spread=1e-3, between=0.35),
    "dense_4": Prior(centre=1.0, spread=1e-3, between=0.2),
    "two_shot_s": Prior(centre=0.000005, spread=0.3, between=0.3),
    "sequence_s": Prior(centre=0.000010, spread=1.0, between=0.3),
    "request_s": Prior(centre=0.012, spread=0.3, between=0.3),
    "ageing": Prior(centre=0.10, spread=0.1, between=0.1, linear=True),
    "host_ageing": Prior(centre=0.4, spread=0.3, between=0.2, linear=True),
}
"""Priors of what an engine adds: host time per step and per request, and its ageing."""
COMMON_PRIORS = {
    "collective_s": Prior(centre=0.000008, spread=0.5, between=0.0),
    "pcie_collective_s": Prior(centre=0.000030, spread=0.5, between=0.0),
    "collective_growth": Prior(centre=0.2, spread=0.1, between=0.0, linear=True),
    "pcie_growth": Prior(centre=1.0, spread=0.15, between=0.0, linear=True),
    "sampling_passes": Prior(centre=10.0, spread=0.7, between=0.0),
    "rank_sequence_s": Prior(centre=0.000005, spread=0.7, between=0.0),
    "weight_only": Prior(centre=0.7, spread=0.3, between=0.0),
    "expert_matrix": Prior(centre=0.6, spread=0.15, between=0.0),
    "expert_memory_16": Prior(centre=0.8, spread=0.1, between=0.0),
    "expert_memory_8": Prior(centre=0.8, spread=0.1, between=0.0),
    "expert_memory_4": Prior(centre=0.8, spread=0.1, between=0.0),
    "imbalance": Prior(centre=1.2, spread=0.15, between=0.0),
    "exposed_16": Prior(centre=0.3, spread=0.3, between=0.0),
    "exposed_8": Prior(centre=0.6, spread=0.3, between=0.0),
    "exposed_4": Prior(centre=0.8, spread=0.3, between=0.0),
    "activation_passes": Prior(centre=ACTIVATION_PASSES, spread=0.3, between=0.0),
    "expert_passes": Prior(centre=5.0, spread=0.3, between=0.0),
    "matrix_ageing": Prior(centre=0.15, spread=0.15, between=0.0, linear=True),
    "attention_ageing": Prior(centre=0.15, spread=0.15, between=0.0, linear=True),
    "latent_ageing": Prior(centre=1.0, spread=0.7, between=0.0, linear=True),
    "fixed_ageing": Prior(centre=0.4, spread=0.3, between=0.0, linear=True),
    "sparse_attention": Prior(centre=0.385, spread=0.25, between=0.0),
    "query_pairs": Prior(centre=340.0, spread=0.25, between=0.0),
    "power": Prior(centre=0.3, spread=0.15, between=0.0, linear=True),
    "power_within": Prior(centre=0.7, spread=0.25, between=0.0, linear=True),
    "evenness": Prior(centre=1.0, spread=0.15, between=0.0),
    "prompt_token_s": Prior(centre=0.000005, spread=0.7, between=0.0),
    "first_token_steps": Prior(centre=1.0, spread=0.25, between=0.0),
}
"""Priors of what all families and engines share. Over PCIe an all-reduce of more than two GPUs takes the steps of a
ring, 2 (n - 1): engines have none of their own there (vLLM, ``custom_all_reduce.py``: "not supported on more than two
PCIe-only GPUs")."""
PLATFORM_PRIORS = {
    "device": Prior(centre=1.0, spread=1e-3, between=0.06),
    "fixed": Prior(centre=1.0, spread=1e-3, between=0.35),
}
"""Priors of an engine on a family: how far it departs from both. Chosen: because without rows it must not depart."""


@dataclass(frozen=True)
class Slot:
    """One entry of the parameter vector, in units of its prior spread round its prior centre."""

    group: str
    member: str
    field: str
    spread: float


FIRST_TOKEN_FIELDS = frozenset({"request_s", "prompt_token_s", "first_token_steps"})
"""Fields that only closed-loop TTFT depends on; fitted after the others, so that they cannot bend the step times."""


@dataclass(frozen=True)
class Parameters:
    """The layout of the parameter vector for the families and engines that have evidence."""

    slots: tuple[Slot, ...]
    families: tuple[str, ...]
    engines: tuple[str, ...]
    platforms: tuple[str, ...]

    @property
    def first_token(self) -> NDArray[np.bool_]:
        """Which slots only closed-loop TTFT depends on."""
        return np.array([s.field in FIRST_TOKEN_FIELDS for s in self.slots])

    def efficiencies(self, vector: Floats) -> Efficiencies:
        """The efficiencies of a vector; all zeros are the priors' centres."""
        moved = {(s.group, s.member, s.field): s.spread * float(v) for s, v in zip(self.slots, vector, strict=True)}

        def record(group: str, member: str, priors: dict[str, Prior]) -> dict[str, float]:
            return {
                name: _value(
                    prior_of(group, member, name, p),
                    moved.get((group, "default", name), 0.0) + moved.get((group, member, name), 0.0),
                )
                for name, p in priors.items()
            }

        return Efficiencies(
            families=MappingProxyType(
                {
                    f: DeviceEfficiency(**record("families", f if f != "default" else "", FAMILY_PRIORS))
                    for f in ("default", *self.families)
                }
            ),
            engines=MappingProxyType(
                {
                    e: EngineOverhead(**record("engines", e if e != "default" else "", ENGINE_PRIORS))
                    for e in ("default", *self.engines)
                }
            ),
            platforms=MappingProxyType(
                {p: PlatformFactor(**record("platforms", p, PLATFORM_PRIORS)) for p in self.platforms}
            ),
            common=CommonEfficiency(**record("common", "", COMMON_PRIORS)),
            note="being fitted",
        )


LAUNCHES = MappingProxyType({("engines", "trtllm", "eager"): 1.8})
"""Centres of members whose kind of launches has been published: from C++, as TensorRT-LLM does it, a kernel of 2.9 us
takes 3.8 us by itself and 3.4 us in a graph (NVIDIA, "Getting started with CUDA graphs", 2019-09): 0.9 / 0.5."""


def prior_of(group: str, member: str, name: str, prior: Prior) -> Prior:
    """The prior of one member of a group, round what kernels measured for it where that is taken over."""
    measured = kernel_centre(group, member, name) if name in FROM_KERNELS else LAUNCHES.get((group, member, name))
    return prior if measured is None else replace(prior, centre=measured)


def _value(prior: Prior, moved: float) -> float:
    return prior.centre + moved if prior.linear else prior.centre * float(np.exp(moved))


def departs(member: str, name: str) -> bool:
    """Whether a family or engine may depart from the default in a field.

    16-bit matrix arithmetic ages on AMD alone: hipBLASLt came to today's rates in 2024 and 2025, cuBLAS long before.
    Free on NVIDIA, it takes up whatever else is wrong in studies of 2024: prefill with the A100 left out was 32 % off.
    """
    return name != "wide_ageing" or member.startswith("cdna")


def parameters(families: Sequence[str], engines: Sequence[str], platforms: Sequence[str]) -> Parameters:
    """A slot for every default and for every departure of a family or engine with evidence."""
    slots: list[Slot] = []
    for group, members, priors in (
        ("families", families, FAMILY_PRIORS),
        ("engines", engines, ENGINE_PRIORS),
        ("platforms", platforms, PLATFORM_PRIORS),
        ("common", (), COMMON_PRIORS),
    ):
        slots += [Slot(group, "default", name, p.spread) for name, p in priors.items() if p.spread > 0.002]
        slots += [
            Slot(group, m, name, p.between)
            for m in members
            for name, p in priors.items()
            if p.between > 0 and departs(m, name)
        ]
    return Parameters(tuple(slots), tuple(families), tuple(engines), tuple(platforms))


def record_fields(record: Record) -> dict[str, float]:
    """Field names and values of a record of efficiencies, in order."""
    return {f.name: float(getattr(record, f.name)) for f in fields(record)}
