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

Nearness = Literal["configuration", "deployment", "none"]
"""What the evidence library has of a case: the very configuration (model by shape, GPU type, engine, format), else the
model by the engine on the GPU family, or neither."""

NEAR_WORDS: Mapping[Nearness, str] = MappingProxyType(
    {"configuration": "this very configuration", "deployment": "this model by this engine on this GPU family"}
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is predicted, as far as it decides how hard that is; for ``apart`` and ``beyond`` see the difficulties.

    ``open_split``: whether how prompts and answers share the GPUs was left open.
    """

    architecture: str
    gpu: str
    family: str
    engine: str
    precision: str
    apart: float = 0.0
    beyond: float = 0.0
    open_split: bool = False

    @property
    def near(self) -> Nearness:
        """How near the evidence is."""
        if configuration_name(self.architecture, self.gpu, self.engine, self.precision) in measured("configurations"):
            return "configuration"
        known = deployment_name(self.architecture, self.engine, self.family) in measured("deployments")
        return "deployment" if known else "none"

    def alike(self, wanted: Case) -> bool:
        """Whether evidence of this case is what makes ``wanted`` as near as it is."""
        same = (self.architecture, self.engine, self.family) == (wanted.architecture, wanted.engine, wanted.family)
        exact = (self.gpu, self.precision) == (wanted.gpu, wanted.precision)
        return same and (exact or wanted.near == "deployment")


def configuration_name(shape: str, gpu: str, engine: str, precision: str) -> str:
    """A configuration as the evidence is listed by: "8B, 32 layers; vllm on h100_sxm; fp8"."""
    return f"{shape}; {engine} on {gpu}; {precision}"


def deployment_name(shape: str, engine: str, family: str) -> str:
    """A model by an engine on a GPU family: "8B, 32 layers; vllm on hopper"."""
    return f"{shape}; {engine} on {family}"


def architecture(model: Model) -> str:
    """Name of a model's shape: models with the same one are the same to a step timer."""
    return f"{model.params_total / BILLION:.0f}B, {model.layers} layers"


def case_of(model: Model, configuration: Configuration, outside: float = 0.0, apart: float = math.nan) -> Case:
    """The case of a model on a configuration, ``outside`` doublings beyond the measured loads.

    ``apart``: log ratio of measured kernels and roofline, NaN for the roofline alone.
    """
    c = configuration
    return Case(
        architecture=architecture(model),
        gpu=c.gpu.id,
        family=c.gpu.family,
        engine=c.engine.surrogate,
        precision=c.precision.id,
        apart=0.0 if math.isnan(apart) else round(float(apart), 2),
        beyond=outside,
    )
