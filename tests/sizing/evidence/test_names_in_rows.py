"""Names of model, weight format and parallelism as people write them in a table."""

import numpy as np
import pandas as pd
import pytest

from sizing.evidence.points import points_of
from sizing.evidence.predict import predict_points

GOOD = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "h100_sxm",
    "engine": "vllm",
    "gpus": 1,
    "tp": 1,
    "isl": 1000,
    "osl": 200,
    "mode": "fixed_concurrency",
    "concurrency_or_batch": 8,
}


def table(*changes):
    return pd.DataFrame([{**GOOD, **change} for change in changes])


def test_what_was_taken_from_names_is_said():
    silent = {"model": "nvidia/Llama-3.1-8B-Instruct-FP8"}
    remark = {"weight_precision": "fp8 (sliding-window layers bf16)"}
    fine_tune = {"model": "nvidia/AceMath-7B-Instruct", "weight_precision": "bf16"}
    found = predict_points(table(silent, remark, fine_tune, {"weight_precision": "fp8"}))
    assert found["error"].tolist() == [""] * 4
    assert found["source"][0].endswith("; assumed: The name tells weights in FP8 (W8A8).")
    assert "“sliding-window layers bf16”" in found["source"][1]
    assert "Qwen2.5-7B" in found["source"][2]
    assert "assumed" not in found["source"][3]


@pytest.mark.parametrize(("precision", "kept"), [("fp8", "mxfp4"), ("mxfp4", "mxfp4"), ("bf16", "bf16"), ("", "mxfp4")])
def test_fp8_beside_weights_trained_in_four_bits_is_what_they_multiply_in(precision, kept):
    """TensorRT-LLM's tables call gpt-oss on Hopper FP8; its only weights are MXFP4."""
    points, _ = points_of(table({"model": "openai/gpt-oss-20b", "weight_precision": precision}))
    assert points[0].configuration.precision.id == kept
    assumed = predict_points(table({"model": "openai/gpt-oss-20b", "weight_precision": precision}))["source"][0]
    assert ("Weights in MXFP4" in assumed and "not FP8" in assumed) == (precision == "fp8")


@pytest.mark.parametrize(
    ("changes", "variation", "said"),
    [
        ({"requests": 500, "osl": 201.4}, 1.2, "vary as those of ShareGPT"),
        ({"requests": 500}, 0.0, "to be equal"),
        ({"requests": 500, "output_variation": 0.3}, 0.3, None),
        ({}, 0.0, None),
        ({"requests": 500, "mode": "fixed_concurrency"}, 0.0, None),
    ],
)
def test_how_the_answers_of_a_burst_vary_is_stated_or_assumed_and_said(changes, variation, said):
    row = table({"mode": "offline_max_throughput", **changes})
    points, _ = points_of(row)
    assert points[0].output_variation == variation
    source = predict_points(row)["source"][0]
    assert said in source if said else "burst" not in source


@pytest.mark.parametrize("none", [0, 0.0, "0", np.nan, ""])
@pytest.mark.parametrize("degree", ["ep", "pp", "dp"])
def test_a_degree_of_zero_is_none(degree, none):
    points, errors = points_of(table({degree: none}))
    assert errors == {}
    layout = points[0].configuration
    assert (layout.ep, layout.pp, layout.dp) == (1, 1, 1)


@pytest.mark.parametrize(
    "name",
    [
        "nvidia/DeepSeek-R1-0528-FP4-V2",
        "nvidia/AceMath-7B-Instruct",
        "zai-org/GLM-4.7-Flash",
        "Qwen/Qwen3.5-9B",
        "google/gemma-4-E4B-it",
    ],
)
@pytest.mark.parametrize("gpu", ["b200_sxm", "h20", "h800_sxm", "gh200_96g", "mi350x", "arc_b60"])
def test_rows_with_names_that_people_type_are_answered(name, gpu):
    found = predict_points(table({"model": name, "gpu": gpu, "gpus": 8, "tp": 8}))
    assert found["error"].tolist() == [""]
    assert found["itl_ms"][0] > 0
