"""Random valid scenarios: what a file may hold, from the ordinary to the bounds of the schema."""

import math
from typing import Any, get_args

from hypothesis import strategies as st

from sizing.base.choices import Objective, Routing
from tests.sizing.asking import raw

MODELS = st.sampled_from(
    [
        "meta-llama/Meta-Llama-3-8B-Instruct",
        "meta-llama/Llama-3.3-70B-Instruct",
        "google/gemma-3-27b-it",
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
        "openai/gpt-oss-120b",
        "Qwen/Qwen3-30B-A3B",
        "deepseek-ai/DeepSeek-V3",
        {"name": "in-house", "params_b": 43},
    ]
)
GPUS = st.sampled_from(["h100_sxm", "a100_sxm_80g", "b200_sxm", "mi300x", "l40s", "h200_sxm", "gb200_nvl72"])
OBJECTIVES, ROUTINGS = st.sampled_from(get_args(Objective)), st.sampled_from(get_args(Routing))


def logarithmic(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers whose logarithm is spread evenly: as many between 1 and 10 as between 1,000 and 10,000."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))


@st.composite
def lengths(draw: st.DrawFn, low: float, high: float) -> float | dict[str, float]:
    """A length in tokens, alike for every request or spread."""
    p50 = draw(logarithmic(low, high))
    return draw(st.just(p50) | st.floats(1, 8).map(lambda spread: {"p50": p50, "p95": min(p50 * spread, 1e6)}))


@st.composite
def bursts(draw: st.DrawFn) -> dict[str, dict[str, float]]:
    """On and off periods, the on ones the busier."""
    on, off = draw(logarithmic(0.1, 3_600)), draw(logarithmic(0.1, 3_600))
    return {"bursts": {"on_s": on, "off_s": off, "share_on": draw(st.floats(on / (on + off), 1))}}


ARRIVALS = (
    st.just("poisson")
    | st.builds(lambda cv: {"gamma": {"cv": cv}}, st.floats(0, 10))
    | st.builds(lambda day: {"profile": day}, st.lists(st.floats(0.01, 10), min_size=24, max_size=24))
    | bursts()
)
RATES = (
    st.builds(lambda rate: {"peak_rps": rate}, logarithmic(0.001, 100_000))
    | st.builds(
        lambda rate, p: {"average_rps": rate, "peak_percentile": p}, logarithmic(0.01, 1_000), st.floats(50, 99.9)
    )
    | st.builds(lambda users: {"users": {"daily_users": users}}, logarithmic(10, 1e7))
)
LIMITS = st.fixed_dictionaries(
    {
        "ttft_ms": st.none() | logarithmic(20, 60_000),
        "itl_ms": st.none() | logarithmic(2, 1_000),
        "e2e_ms": st.none() | logarithmic(200, 600_000),
        "percentile": st.sampled_from([50, 90, 95, 99, 99.9]),
    }
)
DEPLOYMENTS = st.fixed_dictionaries(
    {"gpus": st.lists(GPUS, min_size=1, max_size=3, unique=True)},
    optional={
        "spare_instances": st.integers(0, 4),
        "max_utilization": st.floats(0.3, 1),
        "location": st.sampled_from(["on_prem", "cloud"]),
        "objective": OBJECTIVES,
        "routing": ROUTINGS,
        "serving": st.sampled_from([["aggregated"], ["disaggregated"], ["aggregated", "disaggregated"]]),
        "engines": st.sampled_from([["vllm"], ["sglang"], ["tensorrt_llm"]]),
        "precisions": st.sampled_from([["bf16"], ["fp8"]]),
        "tp": st.sampled_from([[1], [2, 4], [8]]),
        "batch_limits": st.lists(st.integers(1, 512), min_size=1, max_size=2),
    },
)


@st.composite
def valid_scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """The keys of any scenario that can be asked, on up to three GPU types."""
    workload = {
        "input_tokens": draw(lengths(1, 60_000)),
        "output_tokens": draw(lengths(1, 8_000)),
        "peak_rps": None,
        "arrivals": draw(ARRIVALS),
        "mode": draw(st.sampled_from(["streaming", "streaming", "streaming", "sequential", "offline"])),
        **draw(RATES),
    }
    if draw(st.booleans()):
        prompt = workload["input_tokens"]
        shortest = prompt["p50"] if isinstance(prompt, dict) else prompt
        workload["prefix_cached_tokens"] = shortest * draw(st.floats(0, 0.95))
    return raw(draw(MODELS), workload=workload, limits=draw(LIMITS), deployment=draw(DEPLOYMENTS))
