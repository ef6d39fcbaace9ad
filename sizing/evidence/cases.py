"""What an interval is for: a model on a configuration, as far as it decides how hard it is to predict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from sizing.base.units import BILLION
from sizing.catalog import Model
from sizing.catalog.measured import measured
from sizing.question.configuration import Configuration

Nearness = Literal["configuration", "format", "deployment", "none"]
"""What the evidence library has of a case: the very configuration (model by shape, GPU product, engine, format and
parallelism), else its format in another parallelism, else the model by the engine on the GPU in another format, or
nothing of these."""

NEAR_WORDS: Mapping[Nearness, str] = MappingProxyType(
    {
        "configuration": "this very configuration",
        "format": "this model in this format by this engine on this GPU, spread over other GPUs",
        "deployment": "this model by this engine on this GPU in another format",
    }
)

LayoutKind = Literal["pipeline", "tensor_apart", "expert_apart", "attention_dp"]
"""How an instance is spread over GPUs where that is harder to predict than tensor parallelism over fast links: pipeline
stages; tensor parallelism, or expert parallelism, beyond the fast links (over PCIe or the network); attention by data
parallelism."""


@dataclass(frozen=True, kw_only=True)
class PredictionCase:
    """What is predicted, as far as it decides how hard that is; for ``apart`` and ``beyond`` see the difficulties.

    ``engine`` is the engine itself, not the one whose step times it borrows. ``parallelism`` as "TP4 PP2"; ``layouts``
    what is hard about it. ``open_split``: whether how prompts and answers share the GPUs was left open.
    """

    architecture: str
    gpu: str
    generation: str
    engine: str
    precision: str
    parallelism: str
    layouts: tuple[LayoutKind, ...] = ()
    apart: float = 0.0
    beyond: float = 0.0
    open_split: bool = False

    @property
    def platform(self) -> str:
        """The engine on the GPU: "vllm on h100_sxm"."""
        return f"{self.engine} on {self.gpu}"

    @property
    def deployment(self) -> str:
        """The model by the engine on the GPU: "8B, 32 layers; vllm on h100_sxm"."""
        return f"{self.architecture}; {self.platform}"

    @property
    def format(self) -> str:
        """A deployment in a format: "8B, 32 layers; vllm on h100_sxm; fp8"."""
        return f"{self.deployment}; {self.precision}"

    @property
    def configuration(self) -> str:
        """The whole of it, as the evidence is listed by: "8B, 32 layers; vllm on h100_sxm; fp8; TP1"."""
        return f"{self.format}; {self.parallelism}"

    @property
    def platform_layouts(self) -> tuple[str, ...]:
        """The hard layouts by the engine on the GPU: "pipeline by vllm on h200_sxm"."""
        return tuple(f"{kind} by {self.platform}" for kind in self.layouts)

    @property
    def near(self) -> Nearness:
        """How near the evidence is."""
        if self.configuration in measured("configurations"):
            return "configuration"
        if self.format in measured("formats"):
            return "format"
        return "deployment" if self.deployment in measured("deployments") else "none"

    def alike(self, wanted: PredictionCase) -> bool:
        """Whether evidence of this case is what makes ``wanted`` as near as it is."""
        near = wanted.near
        return near != "none" and bool(getattr(self, near) == getattr(wanted, near))


def architecture(model: Model) -> str:
    """Name of a model's shape: models with the same one are the same to a step timer."""
    return f"{model.params_total / BILLION:.0f}B, {model.layers} layers"


def layout_kinds(configuration: Configuration) -> tuple[LayoutKind, ...]:
    """What is hard about how a configuration is spread over its GPUs."""
    c, joined = configuration, configuration.gpu.linked_gpus
    kinds: dict[LayoutKind, bool] = {
        "pipeline": c.pp > 1,
        "tensor_apart": c.tp > joined,
        "expert_apart": c.ep > joined,
        "attention_dp": c.dp > 1,
    }
    return tuple(kind for kind, there in kinds.items() if there)


def case_of(
    model: Model, configuration: Configuration, outside: float = 0.0, apart: float = math.nan
) -> PredictionCase:
    """The case of a model on a configuration, ``outside`` doublings beyond the measured loads.

    ``apart``: log ratio of measured kernels and roofline, NaN for the roofline alone.
    """
    c = configuration
    return PredictionCase(
        architecture=architecture(model),
        gpu=c.gpu.id,
        generation=c.gpu.generation,
        engine=c.engine.id,
        precision=c.precision.id,
        parallelism=c.parallelism,
        layouts=layout_kinds(c),
        apart=0.0 if math.isnan(apart) else round(float(apart), 2),
        beyond=outside,
    )
