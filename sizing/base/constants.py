"""Constants of the engine: every number that is neither asked, catalogued nor fitted, with its source and date.

A module that needs one reads ``constant("runtime_bytes")`` once, at import, under a name of its own. The
methodology page lists them all from here; a test fails when one has no source or is used nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

DECK = "NVIDIA deck “LLM inference sizing” (D. Mironov, S. Perez) and DLI Generative AI Teaching Kit, lecture 9.3"


@dataclass(frozen=True, kw_only=True)
class Constant:
    """One number with its unit, what it means, where it comes from and as of when; ``float(c)`` is its value."""

    name: str
    value: float
    unit: str
    meaning: str
    source: str
    date: str

    def __float__(self) -> float:
        return float(self.value)


def constant(name: str) -> float:
    """Value of the constant of that name; a KeyError is a bug in the caller."""
    return float(CONSTANTS[name])


def _by_name(constants: Iterable[Constant]) -> Mapping[str, Constant]:
    by_name: dict[str, Constant] = {}
    for item in constants:
        if item.name in by_name:
            raise ValueError(f"constant {item.name} is defined twice")
        by_name[item.name] = item
    return MappingProxyType(by_name)


CONSTANTS: Mapping[str, Constant] = _by_name(
    (
        Constant(
            name="fast_reading_ms_per_token",
            value=90.0,
            unit="ms/token",
            meaning="A fast reader (500 words a minute); output that comes slower is felt as slow.",
            source=DECK,
            date="2024",
        ),
        Constant(
            name="average_reading_ms_per_token",
            value=200.0,
            unit="ms/token",
            meaning="An average reader; output that comes slower makes every reader wait.",
            source=DECK,
            date="2024",
        ),
        Constant(
            name="nvlink_preferred_tp",
            value=2.0,
            unit="GPUs",
            meaning="Above this tensor parallelism a scale-up link (NVLink) is strongly preferred to PCIe.",
            source=DECK,
            date="2024",
        ),
        Constant(
            name="nvlink_preferred_params_b",
            value=13.0,
            unit="billion parameters",
            meaning="Above this size several GPUs with NVLink are preferred to PCIe cards.",
            source=DECK,
            date="2024",
        ),
        Constant(
            name="runtime_bytes",
            value=1.5e9,
            unit="bytes",
            meaning="Memory per GPU that the runtime keeps: CUDA context, captured graphs, workspaces.",
            source="llm-d-planner capacity planner, measured with vLLM (0.13 GiB outside PyTorch) plus about 1 GB of "
            "CUDA graphs; rounded up",
            date="2026-09",
        ),
        Constant(
            name="communication_bytes",
            value=0.6e9,
            unit="bytes",
            meaning="Communication buffers per GPU once an instance spans several GPUs.",
            source="llm-d-planner capacity planner, measured with vLLM (0.55 GiB outside PyTorch at TP2)",
            date="2026-09",
        ),
        Constant(
            name="activation_copies",
            value=2.0,
            unit="copies",
            meaning="Layers' worth of activations alive at once while a step runs.",
            source="own estimate: reproduces the 4.8 to 5.6 GiB that vLLM reports for dense models at 16,384 tokens "
            "a step (llm-d-planner capacity planner)",
            date="2026-11-21",
        ),
        Constant(
            name="activation_floor_bytes",
            value=0.5e9,
            unit="bytes",
            meaning="Working memory independent of the step size: logits and sampling.",
            source="own estimate: 1,024 sequences x 128,000 vocabulary entries x 4 bytes",
            date="2026-11-21",
        ),
        Constant(
            name="recurrent_state_bytes",
            value=4.0,
            unit="bytes",
            meaning="Bytes of one value of the recurrent state of Mamba and linear-attention layers (float32).",
            source="vLLM and transformers keep the state in float32 (mamba_ssm_cache_dtype)",
            date="2026-11",
        ),
        Constant(
            name="pipeline_efficiency",
            value=0.9,
            unit="fraction",
            meaning="Share of an even split that pipeline stages reach in serving.",
            source="own assumption: no benchmark with pipeline stages is in the evidence library",
            date="2026-11-21",
        ),
        Constant(
            name="network_bytes_per_s",
            value=50e9,
            unit="bytes/s",
            meaning="Network of a server with a GPU-to-GPU link such as NVLink, per GPU and direction: 400 Gb/s.",
            source="NVIDIA DGX H100 User Guide, network modules: one 400 Gb/s ConnectX-7 port for each of 8 GPUs",
            date="2026-11",
        ),
        Constant(
            name="network_older_bytes_per_s",
            value=25e9,
            unit="bytes/s",
            meaning="The same in servers of the Ampere and CDNA 2 generation: 200 Gb/s.",
            source="NVIDIA DGX A100 User Guide: eight 200 Gb/s ConnectX-6 ports for 8 GPUs",
            date="2026-11",
        ),
        Constant(
            name="network_pcie_bytes_per_s",
            value=12.5e9,
            unit="bytes/s",
            meaning="Network of a server with PCIe cards only, per GPU and direction: 100 Gb/s.",
            source="own assumption: one 400 Gb/s port for every four cards",
            date="2026-11-21",
        ),
        Constant(
            name="kv_transfer_setup_s",
            value=8e-3,
            unit="s",
            meaning="Time of a KV-cache transfer between two instances beside the bytes on the link.",
            source="Patel et al., Splitwise (ISCA 2024), section VI: about 5 ms on H100, 8 ms on A100, whatever the "
            "prompt; the larger is used",
            date="2024-06",
        ),
        Constant(
            name="measurement_repeatability",
            value=0.08,
            unit="fraction",
            meaning="Median spread of the same benchmark run again: the interval around a measured record.",
            source="InferenceMAX artifacts, same configuration run up to 8 times (evidence library)",
            date="2026-11-20",
        ),
    )
)
"""Every constant by name, in the order of the methodology page."""
