"""A question that prefill and decode on two GPU types answer for least: prompts on H100, answers on cheap H20."""

from functools import cache
from typing import Any

from sizing import Scenario, plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sizing.asking import LLAMA_70B, raw


def _rented(gpu: str, usd: float) -> dict[str, Any]:
    return {"gpu": gpu, "usd": usd, "provider": "own", "region": "here", "gpus": 8}


def keys(engine: str) -> dict[str, Any]:
    """The keys of the scenario for one engine."""
    return raw(
        LLAMA_70B,
        workload={"input_tokens": 4000, "output_tokens": 400, "peak_rps": 30},
        limits={"ttft_ms": 1000, "itl_ms": 15},
        deployment={"gpus": ["h100_sxm", "h20"], "engines": [engine], "location": "cloud", "mixed": 2},
        prices={"negotiated": {"gpu_hours": [_rented("h20", 0.18), _rented("h100_sxm", 1.0)]}},
    )


@cache
def answer(engine: str = "vllm") -> Answer:
    """The answer, planned once."""
    scenario = Scenario.model_validate(keys(engine))
    return Answer(understand(scenario), plan(scenario))
