"""An accelerator typed in by the user: memory, bandwidth, matrix rates and link, checked and turned into a Gpu."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sizing.base.errors import InvalidScenario, nearest_names
from sizing.base.units import GB, TRILLION
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import ASSUMED_PCIE_GENERATION, pcie_bytes_per_s

Tflops = Annotated[float, Field(gt=0, le=1e6)]

DEFAULT_DOMAIN_GPUS = 8
"""A link given without a domain is taken to join the eight accelerators of one server."""


class GpuSpec(BaseModel):
    """What the form asks for, in datasheet units: GB (1e9 bytes), GB/s, dense TFLOPS, W, USD."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    id: str = Field(default="", max_length=80)
    name: str = Field(default="", max_length=80)
    memory_gb: float = Field(ge=1, le=100_000)
    bandwidth_gbs: float = Field(ge=10, le=1_000_000)
    fp16_tflops: Tflops
    bf16_tflops: Tflops | None = None
    fp8_tflops: Tflops | None = None
    int8_tflops: Tflops | None = None
    fp4_tflops: Tflops | None = None
    link_gbs: float | None = Field(default=None, gt=0, le=100_000)
    domain_gpus: int | None = Field(default=None, ge=1, le=100_000)
    tdp_watts: float | None = Field(default=None, gt=0, le=100_000)
    price_usd: float | None = Field(default=None, ge=0, le=1e8)

    @model_validator(mode="after")
    def _consistent(self) -> GpuSpec:
        if not (self.id.strip() or self.name.strip()):
            raise ValueError("give the accelerator a name")
        if self.domain_gpus is not None and self.domain_gpus > 1 and self.link_gbs is None:
            raise ValueError("domain_gpus needs link_gbs: give the link bandwidth per GPU, both directions together")
        return self


def gpu_from_spec(spec: Mapping[str, Any]) -> Gpu:
    """The accelerator of a scenario's custom specification; a rate that is given is a format that is supported.

    ``link_gbs`` counts both directions, as datasheets do; the engine's link is one direction, half of it.
    Raises InvalidScenario with one sentence per fault.
    """
    if not isinstance(spec, Mapping):
        raise InvalidScenario(["A custom GPU must be a group of fields: name, memory_gb, bandwidth_gbs, fp16_tflops."])
    try:
        return _gpu(GpuSpec.model_validate(dict(spec)))
    except ValidationError as error:
        raise InvalidScenario([_sentence(dict(item)) for item in error.errors()]) from None


def _sentence(item: Mapping[str, Any]) -> str:
    """One clear sentence for one fault that pydantic found."""
    field = ".".join(str(part) for part in item["loc"])[:40]
    if item["type"] == "extra_forbidden":
        near = nearest_names(field, GpuSpec.model_fields, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(GpuSpec.model_fields)}."
        return f"Custom GPU: unknown field “{field}”. {hint}"
    if item["type"] == "missing":
        return f"Custom GPU: {field} is missing; it is on the accelerator's datasheet."
    if item["type"] == "value_error":
        return f"Custom GPU: {item['ctx']['error']}."
    message = str(item["msg"]).replace("Input should", "it should").replace("String should", "it should")
    return f"Custom GPU: {field} = {item['input']!r:.40}; {message}."


def _gpu(spec: GpuSpec) -> Gpu:
    name = spec.name.strip() or spec.id.strip()
    linked = spec.link_gbs is not None and (spec.domain_gpus or DEFAULT_DOMAIN_GPUS) > 1
    notes = [f"PCIe generation {ASSUMED_PCIE_GENERATION} x16 assumed between GPUs without a link"]
    if spec.price_usd is not None:
        notes.append(f"price given: {spec.price_usd:,.0f} USD")
    return Gpu(
        id=spec.id.strip() or re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "custom",
        name=name,
        vendor="custom",
        architecture="custom",
        family="custom",
        form_factor="module" if linked else "card",
        memory_gb=spec.memory_gb,
        memory_bytes=spec.memory_gb * GB,
        memory_bandwidth=spec.bandwidth_gbs * GB,
        fp16_flops=spec.fp16_tflops * TRILLION,
        bf16_flops=_rate(spec.bf16_tflops),
        fp8_flops=_rate(spec.fp8_tflops),
        int8_ops=_rate(spec.int8_tflops),
        fp4_flops=_rate(spec.fp4_tflops),
        link_name="GPU-to-GPU link" if linked else "PCIe",
        link_bytes_per_s=spec.link_gbs * GB / 2 if linked and spec.link_gbs else None,
        domain_gpus=(spec.domain_gpus or DEFAULT_DOMAIN_GPUS) if linked else 1,
        pcie_bytes_per_s=pcie_bytes_per_s(ASSUMED_PCIE_GENERATION),
        tdp_w=spec.tdp_watts,
        supports_bf16=spec.bf16_tflops is not None,
        supports_fp8=spec.fp8_tflops is not None,
        supports_int8=spec.int8_tflops is not None,
        supports_fp4=spec.fp4_tflops is not None,
        source="given by the user",
        notes="; ".join(notes),
        custom=True,
    )


def _rate(tflops: float | None) -> float | None:
    return None if tflops is None else tflops * TRILLION
