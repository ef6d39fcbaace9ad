"""An accelerator of the scenario's own as the engine knows those of the catalogue, and what any is called."""

from sizing.base.units import GB, TRILLION
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_rows import ASSUMED_PCIE_GENERATION, gpus, pcie_bytes_per_s
from sizing.catalog.slices import slice_by_id
from sizing.scenario.schema import CustomGpu, Scenario

DEFAULT_DOMAIN_GPUS = 8
"""A link given without a domain is taken to join the eight accelerators of one server."""


def gpu_of(card: CustomGpu) -> Gpu:
    """The accelerator in bytes, bytes/s and FLOP/s; the engine's link is one direction, half of the datasheet's."""
    domain = (card.domain_gpus or DEFAULT_DOMAIN_GPUS) if card.link_gbs is not None else 1
    linked = domain > 1
    notes = [f"PCIe generation {ASSUMED_PCIE_GENERATION} x16 assumed between GPUs without a link"]
    if card.price_usd is not None:
        notes.append(f"price given: {card.price_usd:,.0f} USD")
    return Gpu(
        id=card.id,
        name=card.label,
        vendor="custom",
        architecture="custom",
        family="custom",
        form_factor="module" if linked else "card",
        memory_gb=card.memory_gb,
        memory_bytes=card.memory_gb * GB,
        memory_bandwidth=card.bandwidth_gbs * GB,
        fp16_flops=card.fp16_tflops * TRILLION,
        bf16_flops=_rate(card.bf16_tflops),
        fp8_flops=_rate(card.fp8_tflops),
        int8_ops=_rate(card.int8_tops),
        fp4_flops=_rate(card.fp4_tflops),
        link_name="GPU-to-GPU link" if linked else "PCIe",
        link_bytes_per_s=card.link_gbs * GB / 2 if linked and card.link_gbs else None,
        domain_gpus=domain,
        pcie_bytes_per_s=pcie_bytes_per_s(ASSUMED_PCIE_GENERATION),
        tdp_w=card.tdp_watts,
        supports_bf16=card.bf16_tflops is not None,
        supports_fp8=card.fp8_tflops is not None,
        supports_int8=card.int8_tops is not None,
        supports_fp4=card.fp4_tflops is not None,
        source="given by the user",
        notes="; ".join(notes),
        custom=True,
    )


def accelerator_name(gpu_id: str, scenario: Scenario) -> str:
    """What an accelerator is called: one of the scenario's own, of the catalogue or a slice of one; else its id."""
    own = next((card for card in scenario.deployment.custom_gpus if card.id == gpu_id), None)
    if own is not None:
        return own.label
    known = gpus().get(gpu_id) or slice_by_id(gpu_id, gpus())
    return gpu_id if known is None else known.name


def _rate(tflops: float | None) -> float | None:
    return None if tflops is None else tflops * TRILLION
