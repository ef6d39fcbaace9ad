"""Scenarios of the tests: the README's, and files that are wrong in one way each."""

from typing import Any

SCENARIO: dict[str, Any] = {
    "schema_version": 1,
    "model": "meta-llama/Meta-Llama-3-8B-Instruct",
    "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
    "limits": {"ttft_ms": 3000, "itl_ms": 50, "percentile": 95},
    "deployment": {"gpus": ["h100_sxm"]},
}
OTHER = {**SCENARIO, "name": "On L40S", "deployment": {"gpus": ["l40s"]}}


def changed(**keys: Any) -> dict[str, Any]:
    return {**SCENARIO, **keys}


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a rate below 0": (
        changed(workload={"input_tokens": 3500, "output_tokens": 500, "peak_rps": -1}),
        ["workload.peak_rps"],
    ),
    "two required keys missing": (
        changed(workload={"peak_rps": 1}),
        ["workload.input_tokens", "workload.output_tokens"],
    ),
    "an unknown key": (changed(limitz={}), ["limitz"]),
    "an unknown GPU": (changed(deployment={"gpus": ["h100_sxx"]}), ["deployment.gpus"]),
    "an unknown model and engine": (
        changed(model="unheard of", deployment={"engines": ["vlln"]}),
        ["model", "deployment.engines"],
    ),
    "a measured system that nobody sells": (
        changed(measured={"system": "dgx_h1000", "rps_per_system": 2.4}),
        ["measured.system"],
    ),
    "a price of nothing": (changed(prices={"system": "dgx_h1000", "system_usd": 1.0}), ["prices.system"]),
    "a schema of the future": (changed(schema_version=99), ["schema_version"]),
    "no rate at all": (changed(workload={"input_tokens": 1, "output_tokens": 1}), ["workload"]),
}
"""What is wrong: the scenario, and the paths of its fields that are to blame."""


NAMING_FILES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a file of the server as configuration": (
        changed(model={"name": "x", "config": "pyproject.toml"}),
        ["model.config"],
    ),
    "a file of the server as trace": (
        changed(workload={"input_tokens": 1, "output_tokens": 1, "arrivals": {"trace": "pyproject.toml"}}),
        ["workload.arrivals"],
    ),
}
"""Scenarios that a file may hold, which then name one beside it; from elsewhere no file of this machine is read."""
