"""Scenarios whose frontiers are tested."""

from sizing import Scenario
from sizing.explore.operating_point import MORE_IS_BETTER, Performance

AXES = [
    (x, y)
    for x in ("tokens_per_s_per_user", "ttft_ms", "e2e_ms")
    for y in ("output_tokens_per_s_per_gpu", "usd_per_million_output_tokens_at_full_load", "output_tokens_per_s_per_kw")
]


def scenario(**changes: object) -> Scenario:
    raw: dict[str, object] = {
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 20},
        "deployment": {"gpus": ["h100_sxm", "h200_sxm"]},
    }
    return Scenario.model_validate({**raw, **changes})


def good(performance: Performance, axis: str) -> float:
    value = float(getattr(performance, axis))
    return value if axis in MORE_IS_BETTER else -value


def large_model(**deployment: object) -> Scenario:
    return Scenario.model_validate(
        {
            "model": "deepseek-ai/DeepSeek-R1",
            "limits": {"ttft_ms": 2000, "itl_ms": 30},
            "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
            "deployment": {"gpus": ["h200_sxm"], **deployment},
        }
    )
