"""Accelerators that no fit has seen: predicted tokens/s of an 8B model beside published ones and beside bandwidth."""

import math

import pandas as pd
import pytest

from sizing import Scenario, plan
from sizing.catalog import gpus
from sizing.evidence.predict import predict_points
from tests.sizing.asking import raw

PUBLISHED = [
    ("rx_7900_xtx", "llamacpp", "q4_k_m", 105.8),  # ggml-org/llama.cpp pull request 26284: llama 8B Q4_K_M, tg64
    ("jetson_thor", "vllm", "nvfp4", 54.9),  # TensorRT Edge-LLM 0.4.0 documents, Llama 3.1 8B, batch 1
    ("jetson_thor", "vllm", "int4_awq", 50.8),  # as above
]
WEIGHTS = {"bf16": 16.06e9, "q4_k_m": 4.9e9}
ALONE = [
    *((gpu, "vllm", "bf16") for gpu in ("rtx_a5000", "rtx_4500_ada", "r9700", "rx_7900_xtx", "w7900", "jetson_thor")),
    *((gpu, "vllm", "bf16") for gpu in ("jetson_orin", "mi300a", "tpu_v4", "trn1", "ascend_910b", "ascend_910c")),
    *((gpu, "llamacpp", "q4_k_m") for gpu in ("p100", "mi100", "b580", "rtx_2080_ti", "r9700")),
]


def one_request(gpu: str, engine: str, precision: str) -> pd.Series:
    """The prediction for one request at a time of Llama 3.1 8B."""
    cells = {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "gpu": gpu,
        "engine": engine,
        "weight_precision": precision,
        "gpus": 1,
        "tp": 1,
        "isl": 128,
        "osl": 128,
        "mode": "fixed_concurrency",
        "concurrency_or_batch": 1,
        "request_rate_rps": math.nan,
    }
    return predict_points(pd.DataFrame([cells])).iloc[0]


@pytest.mark.parametrize(("gpu", "engine", "precision", "tokens_per_s"), PUBLISHED)
def test_published_tokens_per_second_lie_within_a_quarter_and_in_the_interval(gpu, engine, precision, tokens_per_s):
    found = one_request(gpu, engine, precision)
    assert 1000 / found.itl_ms == pytest.approx(tokens_per_s, rel=0.25)
    assert found.itl_ms_low <= 1000 / tokens_per_s <= found.itl_ms_high


@pytest.mark.parametrize(("gpu", "engine", "precision"), ALONE)
def test_one_request_reads_the_weights_at_half_to_nine_tenths_of_the_bandwidth(gpu, engine, precision):
    rate = 1000 / one_request(gpu, engine, precision).itl_ms
    assert 0.5 <= round(rate * WEIGHTS[precision] / gpus()[gpu].memory_bandwidth, 2) <= 0.9


@pytest.mark.parametrize(
    ("gpu", "engine"), [("r9700", "vllm"), ("jetson_thor", "vllm"), ("p100", "llamacpp"), ("ascend_910b", "vllm")]
)
def test_an_eight_billion_model_is_planned_on_what_runs_there(gpu, engine):
    load = {"peak_rps": 0.1, "input_tokens": 300, "output_tokens": 100}
    keys = raw("meta-llama/Llama-3.1-8B-Instruct", workload=load, deployment={"gpus": [gpu]})
    answer = plan(Scenario.model_validate(keys))
    assert answer.feasible
    assert (answer.deployment.gpu, answer.deployment.engine) == (gpu, engine)
    assert any(warning.code == "no_evidence" for warning in answer.warnings)
