"""Prompts up to a million tokens: what fits, what context parallelism gives, and predicted beside published times."""

import statistics

import numpy as np
import pytest

from sizing import Scenario
from sizing.catalog import gpus, resolve_model
from sizing.catalog.context import extension_of
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.planning.analytic import analytic_plan
from sizing.planning.long_context import MEASURED_SHARE, kept_copies, longest
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.steps.mixture import mixture
from tests.sizing.asking import raw

QWEN, DEEPSEEK = "Qwen/Qwen3-235B-A22B", "deepseek-ai/DeepSeek-V3.1"
PUBLISHED = {
    "LMSYS, 8 stages of TP4": [
        ((QWEN, "h20", "sglang", "fp8", {"tp": 4, "pp": 8}), tokens, seconds)
        for tokens, seconds in ((131_072, 10.54), (262_144, 32.68), (524_288, 114.33), (1_048_576, 420.91))
    ],
    "LMSYS, others": [
        ((QWEN, "h20", "sglang", "fp8", {"tp": 4}), 131_072, 55.5),
        ((DEEPSEEK, "h20", "sglang", "fp8", {"tp": 8}), 131_072, 48.5),
        ((DEEPSEEK, "h20", "sglang", "fp8", {"tp": 8, "pp": 4}), 131_072, 15.5),
    ],
    "llm-d": [
        (("openai/gpt-oss-120b", "h200_sxm", "vllm", "mxfp4", {"tp": 1}), 49_152, 1.988),
        (("zai-org/GLM-5.2", "h200_sxm", "vllm", "fp8", {"tp": 1, "dp": 8, "ep": 8}), 45_000, 5.7),
    ],
    "Mooncake": [((QWEN, "h20", "sglang", "bf16", {"tp": 8}), 32_768, 3.26)],
}
"""Seconds to the first token of one prompt alone: LMSYS blog 2026-01-15 (chunked pipeline, 32 H20), llm-d blogs
2026-08-15 and 2026-07-22, Mooncake docs 2026-07-15."""


def configured(model: str, gpu: str, engine: str, precision: str, layout: dict[str, int]) -> Configuration:
    return Configuration(
        gpu=gpus()[gpu], engine=engines()[engine], precision=precisions()[precision], kv_precision="fp16", **layout
    )


def predicted_s(row: Configuration, model: str, tokens: int) -> float:
    traffic = Traffic(input_tokens=float(tokens), output_tokens=1.0)
    times = mixture().times(resolve_model(model).model, table([row]), traffic, np.ones((1, 1)))
    return float(times.prefill_s[0])


def test_published_prompts_took_the_stated_share_of_what_is_predicted():
    shares = {
        source: statistics.median(s / predicted_s(configured(*which), which[0], n) for which, n, s in runs)
        for source, runs in PUBLISHED.items()
    }
    low, high = MEASURED_SHARE
    assert all(low * 0.95 <= share <= high * 1.05 for share in shares.values()), shares


def test_prompts_grow_by_a_linear_and_a_square_part():
    """a n + b n^2 through two lengths gives a third: attention alone is more than proportional."""
    row = configured(QWEN, "h20", "sglang", "fp8", {"tp": 8})
    sizes = np.array([131_072.0, 262_144.0, 524_288.0, 1_048_576.0])
    seconds = np.array([predicted_s(row, QWEN, int(n)) for n in sizes])
    coefficients = np.linalg.solve(np.stack([sizes[:2], sizes[:2] ** 2], axis=1), seconds[:2])
    assert np.all(coefficients > 0.0)
    assert seconds[2:] == pytest.approx(coefficients[0] * sizes[2:] + coefficients[1] * sizes[2:] ** 2, rel=0.03)


def test_the_longest_context_just_fits():
    model, row = resolve_model(QWEN).model, configured(QWEN, "h200_sxm", "vllm", "fp8", {"tp": 8})
    tokens = longest(model, row)
    fits = [bool(memory_fit(model, table([row]), float(n)).fits[0]) for n in (tokens, tokens + 1)]
    assert fits == [True, False]
    assert longest(model, configured(QWEN, "h100_sxm", "vllm", "fp8", {"tp": 1})) == 0


@pytest.mark.parametrize(
    ("model", "tp", "copies"), [(QWEN, 4, 1.0), (QWEN, 8, 2.0), (DEEPSEEK, 8, 8.0), ("openai/gpt-oss-120b", 8, 1.0)]
)
def test_keys_and_values_are_kept_as_often_as_heads_cannot_be_split(model, tp, copies):
    assert kept_copies(resolve_model(model).model, tp) == copies


def asked(tokens: float, model: str = DEEPSEEK, engine: str = "vllm") -> set[str]:
    deployment = {"gpus": ["h200_sxm"], "engines": [engine], "tp": [8], "pp": [1], "ep": [1], "dp": [1]}
    workload = {"input_tokens": tokens, "output_tokens": 300, "peak_rps": 0.01}
    limits = {"ttft_ms": 600_000, "itl_ms": None}
    keys = raw(model, workload=workload, deployment={**deployment, "serving": ["aggregated"]}, limits=limits)
    return {w.code for w in analytic_plan(Scenario.model_validate(keys), alternatives=0).warnings}


def test_rules_speak_of_long_prompts_alone():
    rules = {"longest_context", "context_parallelism", "prefill_context_parallelism", "long_prompts"}
    assert rules <= asked(120_000)
    assert not rules & asked(8_000)


def test_prompts_are_said_to_be_split_where_an_engine_can_split_them():
    """vLLM splits prompts of MLA models alone, SGLang of any, TensorRT-LLM of none."""
    code = "prefill_context_parallelism"
    assert code not in asked(120_000, QWEN, "vllm")
    assert code in asked(120_000, QWEN, "sglang")
    assert code not in asked(120_000, QWEN, "trtllm")


def test_a_window_that_its_authors_extend_says_so():
    model = resolve_model("Qwen/Qwen3.5-27B").model
    extension = extension_of(model)
    assert extension.extended == 1_010_000
    keys = raw(model.id, workload={"input_tokens": 600_000, "output_tokens": 300, "peak_rps": 0.01})
    limits = {"ttft_ms": None, "itl_ms": None}
    plan = analytic_plan(Scenario.model_validate(keys | {"limits": limits}), alternatives=0)
    message = next(w.message for w in plan.warnings if w.code == "context_exceeded")
    assert "extend it to 1,010,000 tokens by YaRN" in message
    assert extension_of(resolve_model("meta-llama/Llama-3.3-70B-Instruct").model) is None
