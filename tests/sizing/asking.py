"""Short ways to ask the engine in tests: the estimate, which takes milliseconds.

What the simulation makes of it is in test_refine.py and test_golden.py.
"""

import copy
from typing import Any

import yaml

from sizing import Plan, Scenario
from sizing.base.result import MadeFor
from sizing.base.units import GB
from sizing.catalog import resolve_model
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand

LLAMA_8B = "meta-llama/Meta-Llama-3-8B-Instruct"
LLAMA_70B = "meta-llama/Meta-Llama-3-70B-Instruct"
DEPLOYMENT = {
    "gpu",
    "engine",
    "weight_precision",
    "kv_precision",
    "tp",
    "pp",
    "ep",
    "dp",
    "instances",
    "gpus",
    "system",
    "systems",
}
"""Keys that every deployment has in JSON."""
ALL = 1000
"""As many alternatives as there are."""


def raw(model: Any = LLAMA_8B, **sections: Any) -> dict[str, Any]:
    """The keys of a scenario: 3500 tokens in, 500 out, 31 requests/s, plus or replaced by those of ``sections``."""
    workload = {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31, **sections.pop("workload", {})}
    return {"model": model, "workload": {k: v for k, v in workload.items() if v is not None}, **sections}


def changed(keys: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the keys with the one at the dotted ``path`` set."""
    out = copy.deepcopy(keys)
    *sections, last = path.split(".")
    inside = out
    for name in sections:
        inside = inside.setdefault(name, {})
    inside[last] = value
    return out


def asking(path: str, value: Any) -> str:
    """The scenario file with one key set."""
    return yaml.safe_dump(changed(raw(), path, value))


def answer(keys: dict[str, Any], alternatives: int = 0) -> Plan:
    return analytic_plan(Scenario.model_validate(keys), alternatives=alternatives)


def ask(model: Any = LLAMA_8B, *, alternatives: int = 0, **sections: Any) -> Plan:
    return answer(raw(model, **sections), alternatives)


def gpus_that_serve(found: Plan) -> set[str]:
    """GPU types of the deployment and its alternatives."""
    chosen = {found.deployment.gpu} if found.deployment else set()
    return chosen | {a.deployment.gpu for a in found.alternatives}


def model_named(name: str) -> Model:
    return resolve_model(name).model


def a_gpu(**facts: Any) -> Gpu:
    """A custom accelerator like an H100 unless said otherwise."""
    values: dict[str, Any] = {
        "id": "test_gpu",
        "name": "Test GPU",
        "vendor": "custom",
        "architecture": "custom",
        "family": "custom",
        "form_factor": "module",
        "memory_bytes": 80e9,
        "memory_bandwidth": 3.35e12,
        "fp16_flops": 989e12,
        "bf16_flops": 989e12,
        "fp8_flops": 1979e12,
        "int8_ops": 1979e12,
        "fp4_flops": None,
        "link_name": "link",
        "link_bytes_per_s": 450e9,
        "domain_gpus": 8,
        "pcie_bytes_per_s": 64e9,
        "tdp_w": 700.0,
        "supports_bf16": True,
        "supports_fp8": True,
        "supports_int8": True,
        "supports_fp4": False,
        "custom": True,
    }
    values |= facts
    return Gpu(**{"memory_gb": values["memory_bytes"] / GB} | values)


def put_beside(scenario: Scenario, plan: Plan) -> Answer:
    """A plan made by hand, or for a scenario much like it, as the answer to a scenario."""
    return Answer(understand(scenario), plan.marked(MadeFor(scenario)))
