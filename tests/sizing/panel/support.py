"""Whether an engine serves a model on a GPU in a format, by the panel's own copy of what engines declare."""

import csv
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from sizing.catalog.files import read_rows
from sizing.catalog.model import Model

FACTS = Path(__file__).parent / "facts"
SERVES_AS = {"nim": "vllm"}
"""NIM since 2.0 (2026) is vLLM in a container: docs.nvidia.com/nim, 1.x migration guide."""
OF_FAMILY = {"gaudi": "vllm-gaudi", "tpu": "vllm-tpu", "neuron": "neuron"}
"""Families that vLLM serves by a plugin with a registry of its own."""
PLAIN = {"fp16": "bf16", "int4_awq": "int4", "int4_gptq": "int4", "int4_wo": "int4"}
"""Formats that engines treat as another one."""
NO_SPARSE_ATTENTION = frozenset({"turing", "ampere", "ada", "cdna2"})
"""Generations without kernels for DeepSeek's sparse attention: vLLM 0.33.0 platforms/cuda.py, vLLM issue 40851."""
SPARSE = frozenset(
    {"DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM", "DeepseekV4ForCausalLM", "DeepseekV41ForCausalLM"}
)

ONLY_ON = {("trtllm", "DeepseekV4ForCausalLM"): {"sm100"}}
"""Generations that an engine needs for a class: TensorRT-LLM's supported models, footnote (SM100 and newer)."""
BEST_FIRST = ("native", "weight_only", "unknown", "no")
"""Modes of execution, the most certain first."""

Status = Literal["supported", "unknown", "no"]


def _rows(name: str) -> list[dict[str, str]]:
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


OVERFLOWS = frozenset(
    {
        "Gemma2ForCausalLM",
        "Gemma3ForCausalLM",
        "Gemma3ForConditionalGeneration",
        "Gemma3nForConditionalGeneration",
        "Glm4ForCausalLM",
    }
)
"""Classes whose activations exceed FP16: vLLM config/model.py refuses it, transformers issue 36822, unsloth-zoo."""
TORCH = frozenset({"vllm", "sglang", "trtllm", "nim", "tgi"})
"""Engines that compute in the 16 bits of the weights; llama.cpp accumulates in 32."""
NO_BF16 = frozenset({"volta", "turing"})


@cache
def never() -> dict[str, dict[str, Any]]:
    """What no plan offers unasked: kinds of things, by catalogue id, with why."""
    loaded: dict[str, dict[str, Any]] = yaml.safe_load((FACTS / "never.yaml").read_text(encoding="utf-8"))
    return loaded


@cache
def _architectures() -> dict[str, dict[str, str]]:
    return {row["architecture"]: row for row in _rows("architectures.csv")}


@cache
def _class_of() -> dict[str, str]:
    return {row["hf_id"]: row["architecture"] for row in _rows("models.csv")}


@cache
def _generations() -> dict[tuple[str, str], str]:
    return {(row["engine"], row["generation"]): row["supported"] for row in _rows("generations.csv")}


@cache
def _modes() -> dict[tuple[str, str, str, str], str]:
    return {(r["engine"], r["generation"], r["format"], r["kind"]): r["mode"] for r in _rows("formats.csv")}


@cache
def known_engines() -> frozenset[str]:
    """Engines of which the panel knows something by itself: what is unknown of others says nothing."""
    return frozenset(engine for engine, _ in _generations())


@cache
def generations() -> dict[str, str]:
    """Generation by GPU id: Blackwell of 10.x and of 12.x share a name and little else."""
    rows = read_rows("gpus.csv")
    return {row["id"]: _generation(row["family"], row["compute_capability"]) for row in rows}


def _generation(family: str, capability: str) -> str:
    if family != "blackwell":
        return family
    return "sm120" if capability.startswith("12") else "sm100"


def status(model: Model, *, gpu: str, engine: str, weights: str) -> Status:
    """What the engine's own registry, documentation and kernels say of this combination."""
    generation = generations().get(gpu, "processor")
    runs = _generations().get((engine, generation), "unknown")
    engine = SERVES_AS.get(engine, engine)
    name = _class_of().get(model.id, "")
    if name in SPARSE and generation in NO_SPARSE_ATTENTION:
        return "no"
    if name in OVERFLOWS and engine in TORCH and (weights == "fp16" or generation in NO_BF16):
        return "no"
    if generation not in ONLY_ON.get((engine, name), {generation}):
        return "no"
    registry = OF_FAMILY.get(generation, engine) if engine == "vllm" else engine
    known = _architectures().get(name, {}).get(registry, "unknown")
    mode = _mode(model, generation, engine, weights)
    if "no" in (runs, known, mode):
        return "no"
    return "unknown" if "unknown" in (runs, known, mode) else "supported"


def _mode(model: Model, generation: str, engine: str, weights: str) -> str:
    if engine == "tgi":
        return "unknown"
    kind = "moe" if model.is_moe else "dense"
    if weights == "fp16" and generation == "turing":  # what Turing computes in: BF16 alone is refused there
        return "native" if engine == "vllm" else "unknown"
    written = {PLAIN.get(weights, weights)}
    if weights == "fp8":  # an FP8 checkpoint has scales by block; of others there are both kinds, and one is enough
        written = {"fp8_block"} if model.native_precision == "fp8" else {"fp8", "fp8_block"}
    modes = {_modes().get((engine, generation, each, kind), "unknown") for each in written}
    return next((mode for mode in BEST_FIRST if mode in modes), "unknown")
