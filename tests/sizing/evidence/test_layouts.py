"""What a benchmark's GPUs and degrees of parallelism say of one instance."""

import pandas as pd
import pytest

from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.precisions import precisions
from sizing.evidence.layouts import gpus_holding, one_instance
from sizing.evidence.points import points_of
from sizing.evidence.predict import predict_points

R1 = {"model": "deepseek-ai/DeepSeek-R1", "gpu": "h200_sxm", "engine": "sglang", "weight_precision": "fp8"}
SMALL = {"model": "openai/gpt-oss-20b", "gpu": "h200_sxm", "engine": "vllm", "weight_precision": "mxfp4"}
LOAD = {"isl": 3200, "osl": 800, "mode": "fixed_concurrency", "concurrency_or_batch": 64}


def layout(**cells):
    points, errors = points_of(pd.DataFrame([{**R1, **LOAD, **cells}]))
    assert errors == {}
    [point] = points
    c = point.configuration
    return c.tp, c.ep, c.dp, point.instances


def test_the_weights_of_deepseek_r1_take_five_h200():
    """671 x 10^9 parameters of one byte on GPUs of 141 GB: 4.8."""
    model, gpu = resolve_model("deepseek-ai/DeepSeek-R1").model, resolve_gpu("h200_sxm")
    assert gpus_holding(model, precisions()["fp8"], gpu) == 5


@pytest.mark.parametrize("tp", [None, 1, 8])
def test_ranks_too_small_for_the_weights_are_of_one_instance(tp):
    """DeepSeek-R1 in FP8 on 8 H200 with DP 8: no GPU holds it, so that attention-DP is meant, however TP is counted."""
    assert layout(gpus=8, dp=8, tp=tp) == (1, 8, 8, 1.0)


def test_ranks_that_hold_the_weights_are_replicas():
    assert layout(gpus=16, dp=2, tp=8) == (8, 1, 1, 2.0)
    assert layout(model="openai/gpt-oss-20b", weight_precision="mxfp4", gpus=8, dp=8) == (1, 1, 1, 8.0)


def test_ranks_too_small_together_stay_as_they_were_stated():
    assert one_instance(2, 1, 1, 1, 2, moe=True, fewest=5) == (1, 1, 1)
    assert one_instance(8, 1, 1, 1, 8, moe=False, fewest=5) == (1, 1, 1)


@pytest.mark.parametrize("mode", ["fixed_concurrency", "static_batch"])
def test_replicas_without_a_request_serve_none(mode):
    """Three requests on eight replicas of one GPU are one each on three."""
    row = {**SMALL, **LOAD, "mode": mode, "tp": 1}
    counts = ((8, 3), (1, 1))
    rows = [{**row, "gpus": n, "concurrency_or_batch": c} for n, c in counts]
    few, one = (answer for _, answer in predict_points(pd.DataFrame(rows)).iterrows())
    assert few["itl_ms"] == pytest.approx(one["itl_ms"])
    assert few["requests_per_s"] == pytest.approx(3 * one["requests_per_s"])
