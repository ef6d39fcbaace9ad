"""A question whose cheapest answer is a mixed fleet: cheap small GPUs for short prompts, large ones for long."""

from functools import cache
from typing import Any

from sizing import Scenario, plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sizing.asking import LLAMA_8B, raw

KEYS: dict[str, Any] = raw(
    LLAMA_8B,
    workload={"input_tokens": {"p50": 500, "p95": 3000}, "output_tokens": 200, "peak_rps": 48},
    limits={"ttft_ms": 1000, "itl_ms": 100},
    deployment={"gpus": ["l4", "h100_sxm"], "location": "cloud", "mixed": 2},
    prices={"gpu": "l4", "gpu_hour_usd": 0.2},
)
SCENARIO = Scenario.model_validate(KEYS)


@cache
def answer() -> Answer:
    """The answer, planned once."""
    return Answer(understand(SCENARIO), plan(SCENARIO))
