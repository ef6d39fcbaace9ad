"""Scenarios that prefill/decode pools answer."""

from typing import Any

from sizing import Plan, Scenario
from tests.sizing.asking import LLAMA_70B, raw

H100: dict[str, Any] = {"gpus": ["h100_sxm"]}
TIGHT: dict[str, Any] = {"ttft_ms": 3000, "itl_ms": 30}
ONLY = {**H100, "serving": ["disaggregated"]}


def scenario(model: str = LLAMA_70B, **sections: Any) -> Scenario:
    return Scenario.model_validate(raw(model, **{"limits": TIGHT, "deployment": H100, **sections}))


def gpus(found: Plan) -> int:
    assert found.deployment
    return found.deployment.gpus
