"""The ``config.json`` from which the kernel tables know a model: NVIDIA's own copy, or one written from our numbers.

Files are written below a temporary folder of the process, because the package downloads what it does not find in a
folder, and an engine must not.
"""

import atexit
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from sizing.catalog.model import Model
from sizing.catalog.model_rows import models
from sizing.steps.kernel_times import shape_key

PARAMETER_TOLERANCE = 0.02
"""How far the parameters of a generated checkpoint may be off. Chosen: because norms and biases are below 1 %, and
two matrices instead of three in the MLP are above 25 %."""
DEFAULT_CONTEXT = 131072
"""Context window that is written for a model without one: the tables do not depend on it, their parser wants it."""


@dataclass(frozen=True, kw_only=True)
class ConfigFolder:
    """A folder with a ``config.json``; ``relabelled`` names the architecture that stands in for the model's own."""

    folder: str
    relabelled: str = ""
    is_nvfp4: bool = False


def checkpoint(model: Model, precision: str) -> ConfigFolder | None:
    """The configuration to compile for ``model``, or None when no architecture of the tables has its shape.

    First NVIDIA's copy for a model of the same shape (the NVFP4 checkpoint for NVFP4: it says which matrices stay
    wide), else a Mixtral-shaped configuration from our numbers.
    """
    packaged = _packaged(model, precision)
    if packaged:
        return ConfigFolder(folder=_copy(packaged), is_nvfp4=packaged.endswith("-NVFP4"))
    if _is_mixtral_shaped(model):
        return ConfigFolder(folder=_write(_mixtral(model)), relabelled="Mixtral")
    return None


@cache
def _package_configs() -> Path | None:
    """Folder of the packaged configurations; found without importing the package."""
    spec = find_spec("aiconfigurator_core")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model_configs" if places else None


@cache
def _packaged_ids() -> Mapping[str, str]:
    """Packaged Hugging Face ids by their lower-case form."""
    folder = _package_configs()
    names = sorted(path.name for path in folder.glob("*_config.json")) if folder else []
    ids = [name.removesuffix("_config.json").replace("--", "/") for name in names if "_hf_quant_config" not in name]
    return MappingProxyType({model_id.lower(): model_id for model_id in ids})


@lru_cache(maxsize=512)
def _packaged(model: Model, precision: str) -> str:
    """Packaged id of a model of the same shape, or ""."""
    twins = [other.id for other in models().values() if other.id != model.id and shape_key(other) == shape_key(model)]
    known = models().get(model.id)
    ids = [model.id, *twins] if known and shape_key(known) == shape_key(model) else twins
    for as_nvfp4 in (True, False) if precision == "nvfp4" else (False,):
        for model_id in ids:
            for name in _names(model_id, as_nvfp4=as_nvfp4):
                if name in _packaged_ids():
                    return _packaged_ids()[name]
    return ""


def _names(model_id: str, *, as_nvfp4: bool) -> Iterator[str]:
    """Ids under which the shape of ``model_id`` may be packaged, best first, in lower case."""
    derived = f"nvidia/{model_id.rsplit('/', 1)[-1].lower().removesuffix('-bf16')}"
    if not as_nvfp4:
        yield model_id.lower()
        yield f"{derived}-fp8"
    yield f"{derived}-nvfp4"


def _is_mixtral_shaped(model: Model) -> bool:
    """Every layer routes to gated experts, none shared, and every layer is full attention."""
    mlp = 3.0 * model.hidden_size * model.moe_intermediate_size * model.experts
    every_layer = model.is_moe and model.moe_layers == model.layers and not model.shared_experts
    return every_layer and _is_plain(model) and _adds_up(model, mlp)


def _is_plain(model: Model) -> bool:
    """Keys and values of every token in every layer: no latent, sliding or linear attention."""
    return model.attention != "mla" and model.full_layers == model.layers


def _adds_up(model: Model, mlp: float) -> bool:
    """Whether attention, ``mlp`` and embeddings explain the parameter count within ``PARAMETER_TOLERANCE``."""
    attention = model.hidden_size * model.head_dim * 2.0 * (model.heads + model.kv_heads)
    embeddings = model.vocab_size * model.hidden_size * (1 if model.tie_embeddings else 2)
    counted = model.layers * (attention + mlp) + embeddings
    return abs(counted / model.params_total - 1.0) <= PARAMETER_TOLERANCE


def _mixtral(model: Model) -> dict[str, object]:
    return {
        "architectures": ["MixtralForCausalLM"],
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden_size,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.moe_intermediate_size,
        "num_local_experts": model.experts,
        "num_experts_per_tok": model.experts_per_token,
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.tie_embeddings,
        "max_position_embeddings": model.max_context or DEFAULT_CONTEXT,
    }


@cache
def _root() -> Path:
    """Temporary folder of this process, removed when it ends."""
    root = Path(tempfile.mkdtemp(prefix="sizing-kernel-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@cache
def _copy(packaged_id: str) -> str:
    """Folder with the packaged configuration of ``packaged_id``."""
    source = _package_configs()
    assert source is not None
    folder = _root() / packaged_id.replace("/", "--")
    folder.mkdir(exist_ok=True)
    for kind in ("config.json", "hf_quant_config.json"):
        packaged = source / f"{folder.name}_{kind}"
        if packaged.is_file():
            shutil.copyfile(packaged, folder / kind)
    return str(folder)


def _write(config: dict[str, object]) -> str:
    """Folder with ``config``; the same content gives the same folder."""
    text = json.dumps(config, sort_keys=True)
    folder = _root() / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text, encoding="utf-8")
    return str(folder)
