"""Which checkpoint is loaded so that the weights have the format that was planned."""

import re
from dataclasses import dataclass

from sharing.document import file_stem, model_name
from sizing.base.deployed import Deployed
from sizing.catalog.checkpoint_names import parse
from sizing.catalog.checkpoints import checkpoints
from sizing.catalog.model import Model
from sizing.scenario.schema import Scenario

FILL_IN = "FILL-IN"
"""Stands wherever a person must put something: nothing starts with it, so that it cannot be overlooked."""

QUANTISE_AT_LOAD = {("vllm", "fp8"): "fp8", ("sglang", "fp8"): "fp8", ("nim", "fp8"): "fp8"}
"""Formats that an engine makes of 16-bit weights when it loads them, and what it calls that.

vLLM docs, features/quantization/fp8 (online dynamic quantization); SGLang docs, quantization (online
quantization); NIM is vLLM since 2.0.
"""

WIDE = {"bf16": "bfloat16", "fp16": "float16"}
"""16-bit formats, which engines turn into each other, as they call them."""
OWN_FILES = {"llamacpp": "gguf", "openvino": "ov"}
"""Engines that load no Hugging Face checkpoint, and how files of theirs are usually called."""
BY_PATH = ("trtllm",)
"""Engines whose own server calls a model what it was loaded as: trtllm-serve has no option for another name."""
READS = {"trtllm": ("nvidia",)}
"""Publishers whose narrow checkpoints an engine reads, where it does not read all: TensorRT-LLM those of NVIDIA's Model
Optimizer (TensorRT-LLM docs, features/quantization)."""
MADE_FOR = {"nvidia": "NVIDIA", "amd": "AMD"}
"""Publishers whose narrow checkpoints are made for the accelerators of one vendor."""
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
"""What Hugging Face takes as the id of a model."""


@dataclass(frozen=True, kw_only=True)
class ServedCheckpoint:
    """``name`` is what an engine loads, ``served_as`` what requests call it.

    ``at_load``: the argument of an engine that quantises 16-bit weights itself, "" where the checkpoint has the format.
    ``to_fill_in``: no checkpoint in the planned format is known, somebody must name one.
    """

    name: str
    served_as: str
    at_load: str = ""
    to_fill_in: bool = False


def checkpoint_of(scenario: Scenario, model: Model, deployment: Deployed, vendor: str) -> ServedCheckpoint:
    """What the scenario names, else the catalogue's checkpoint, else one that others publish in the planned format and
    that the engine reads on accelerators of ``vendor``; to fill in where none is known."""
    wanted, named = deployment.weight_precision, model_name(scenario)
    hub_id = named if isinstance(scenario.model, str) and HUB_ID.fullmatch(named) else model.id
    if not HUB_ID.fullmatch(hub_id):
        return ServedCheckpoint(name=f"{FILL_IN}/{file_stem(named)}", served_as=file_stem(named), to_fill_in=True)
    if files := OWN_FILES.get(deployment.engine):
        name = f"{FILL_IN}/{file_stem(hub_id.rpartition('/')[2])}-{wanted.replace('_', '-')}-{files}"
        return ServedCheckpoint(name=name, served_as=hub_id, to_fill_in=True)
    has = (parse(hub_id).precision or model.published_format).id
    if wanted == has or {wanted, has} <= set(WIDE):
        return ServedCheckpoint(name=hub_id, served_as=hub_id)
    at_load = QUANTISE_AT_LOAD.get((deployment.engine, wanted), "")
    if at_load and has in WIDE:
        return ServedCheckpoint(name=hub_id, served_as=hub_id, at_load=at_load)
    if published := _published(hub_id, model, deployment, vendor):
        return ServedCheckpoint(name=published, served_as=published if deployment.engine in BY_PATH else hub_id)
    stem = f"{file_stem(hub_id.rpartition('/')[2])}-{wanted.replace('_', '-')}"
    name = f"{FILL_IN}/{stem}"
    return ServedCheckpoint(name=name, served_as=name if deployment.engine in BY_PATH else hub_id, to_fill_in=True)


def _published(hub_id: str, model: Model, deployment: Deployed, vendor: str) -> str:
    """A published checkpoint of exactly the named model in the planned format, the first known; "" without one."""
    wanted, named = deployment.weight_precision, parse(hub_id).key("format")
    for one in checkpoints():
        publisher = one.checkpoint.partition("/")[0].lower()
        read = publisher in READS.get(deployment.engine, (publisher,))
        read &= (one.model, one.precision) == (model.id, wanted) and MADE_FOR.get(publisher, vendor) == vendor
        if read and parse(one.checkpoint).key("format") == named:
            return one.checkpoint
    return ""
