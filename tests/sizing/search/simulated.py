"""Scenarios whose answers are simulated."""

from typing import Any

from sizing import Plan, Scenario
from tests.sizing.asking import LLAMA_8B, raw

H100: dict[str, Any] = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1]}
VARY: dict[str, Any] = {"input_tokens": {"p50": 1500, "p95": 6000}, "output_tokens": {"p50": 200, "p95": 600}}


def scenario(**sections: Any) -> Scenario:
    return Scenario.model_validate(raw(LLAMA_8B, **{"deployment": H100, **sections}))


def instances(answer: Plan) -> int:
    assert answer.deployment
    return answer.deployment.instances


GAMMA: dict[str, Any] = {**VARY, "peak_rps": 30, "arrivals": {"gamma": {"cv": 2}}}
