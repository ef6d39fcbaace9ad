"""What the kernel tables call our number formats, and where they have none for a GPU or an engine.

The tables are NVIDIA's, shipped as ``aiconfigurator-core``; the names are those of its release 0.12. What they call a
GPU or an engine stands in its entry of the catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from sizing.catalog.model import Model
from sizing.catalog.precisions import Kernels
from sizing.question.configuration import Configuration

_KV_MODES: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {"fp16": (("bfloat16", "bfloat16"),), "fp8": (("fp8", "fp8"), ("fp8", "bfloat16"))}
)
"""KV format -> (KV cache, prefill attention) modes, best first: FP8 attention is missing for some engines."""

_MXFP4_EXPERTS: Mapping[bool, tuple[str, ...]] = MappingProxyType(
    {
        True: ("w4a8_mxfp4_mxfp8_trtllm", "w4a8_mxfp4_mxfp8", "w4a16_mxfp4"),
        False: ("w4a16_mxfp4_cutlass", "w4a16_mxfp4"),
    }
)
"""Has FP4 units -> expert kernels in the order engines choose them: 8-bit activations where FP4 can be multiplied."""


@dataclass(frozen=True, kw_only=True)
class Modes:
    """Number formats of one compiled engine; None means as the checkpoint says."""

    gemm: str | None
    moe: str | None
    kvcache: str
    fmha: str


def missing(configuration: Configuration) -> str:
    """Why there are no tables for the GPU and engine of a configuration; "" when there are."""
    gpu, engine = configuration.gpu, configuration.engine
    if not gpu.kernel_tables:
        return f"no kernel tables for {gpu.name}"
    if not engine.kernel_tables:
        return f"no kernel tables for {engine.label}"
    if gpu.kernel_tables_engines and engine.kernel_tables not in gpu.kernel_tables_engines:
        return f"no kernel tables for {engine.label} on {gpu.name}"
    return ""


def modes(model: Model, configuration: Configuration, *, nvfp4_checkpoint: bool) -> tuple[Modes, ...]:
    """Every way the tables may hold the asked formats, best first; empty when they never do."""
    weights = _weight_modes(model, configuration, nvfp4_checkpoint=nvfp4_checkpoint)
    return tuple(
        Modes(gemm=gemm, moe=moe, kvcache=kvcache, fmha=fmha)
        for (gemm, moe), (kvcache, fmha) in product(weights, _KV_MODES[configuration.kv_precision])
    )


def _weight_modes(model: Model, configuration: Configuration, *, nvfp4_checkpoint: bool) -> tuple[Kernels, ...]:
    """(GEMM, expert) modes of a weight format; for dense models the second does not matter."""
    precision = configuration.precision
    match precision.id:
        case "fp8":
            return _fp8_modes(model, configuration)
        case "nvfp4":
            native: tuple[Kernels, ...] = ((None, None),) if nvfp4_checkpoint else ()
            return (*native, ("nvfp4", "nvfp4"))
        case "mxfp4" if model.is_moe:
            return tuple((None, moe) for moe in _MXFP4_EXPERTS[configuration.gpu.supports_fp4])
        case _:
            return precision.moe_kernels if model.is_moe else precision.dense_kernels


def _fp8_modes(model: Model, configuration: Configuration) -> tuple[tuple[str, str], ...]:
    """FP8 with one scale per block for experts, as published MoE checkpoints have it, else one per tensor.

    TensorRT-LLM runs ModelOpt checkpoints with static activation scales; the others scale activations at run time.
    vLLM's block-scaled GEMM holds the launch of each kernel, 35 ms for a step of MiniMax M2.5 on B300 at any small
    batch, where public runs take 8 ms (InferenceX, 2026): the GEMM with one scale per tensor stands in. Latent
    attention (MLA) is measured with block scales only, so there it is block scales, and on Blackwell nothing.
    """
    backend = configuration.engine.kernel_tables
    static, dynamic = ("fp8_static", "fp8"), ("fp8", "fp8")
    per_tensor = (static, dynamic) if backend == "trtllm" else (dynamic, static)
    block = ("fp8_block", "fp8_block")
    if not model.is_moe:
        return (*per_tensor, block)
    if backend != "vllm":
        return (block, *per_tensor)
    if model.attention == "mla":
        return () if configuration.gpu.family == "blackwell" else (block,)
    return (("fp8", "fp8_block"), *per_tensor)
