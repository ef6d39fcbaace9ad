import math
from dataclasses import replace

import pandas as pd
import pytest

from sizing import Scenario, plan
from sizing.catalog import gpus, resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.measured import FEWEST, measurements, well_measured
from sizing.catalog.precisions import resolve_precision
from sizing.evidence.cases import case_of, layout_kinds
from sizing.evidence.extrapolation import BY_RULE, EXTRAPOLATIONS, extrapolated, extrapolations, in_words, widening
from sizing.evidence.predict import predict_points
from sizing.evidence.uncertainty import intervals
from sizing.question.configuration import Configuration
from tests.sizing.asking import raw

LLAMA = resolve_model("meta-llama/Llama-3.3-70B-Instruct").model

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


def on(gpu, engine="vllm", precision="fp8", **parallelism):
    return Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision(precision),
        kv_precision="fp16",
        **({"tp": 8} | parallelism),
    )


@pytest.mark.parametrize(
    ("configuration", "kinds"),
    [
        (on("h100_sxm"), ()),
        (on("h100_sxm", pp=2), ("pipeline",)),
        (on("l40s", tp=4), ("tensor_apart",)),
        (on("h100_nvl", tp=2), ()),
        (on("h100_nvl", tp=4), ("tensor_apart",)),
        (on("h100_sxm", tp=16), ("tensor_apart",)),
        (on("gb200", tp=1, dp=32, ep=32), ("attention_dp",)),
        (on("h200_sxm", tp=1, dp=16, ep=16), ("expert_apart", "attention_dp")),
        (on("l40s", tp=2, pp=4), ("pipeline", "tensor_apart")),
    ],
)
def test_what_is_hard_about_a_layout_is_where_it_leaves_the_fast_links(configuration, kinds):
    assert layout_kinds(configuration) == kinds


def test_blackwell_is_two_generations():
    data_centre, workstation = (resolve_gpu(name).generation for name in ("b200_sxm", "rtx_pro_6000_server"))
    assert data_centre != workstation
    assert resolve_gpu("gb300").generation == data_centre
    assert {data_centre, workstation} <= well_measured("generations")


@pytest.mark.parametrize(
    ("configuration", "unlike"),
    [
        (on("h100_sxm"), ()),
        (on("a10g", tp=1), ("new_gpu",)),
        (on("a30", tp=1), ("new_gpu",)),
        (on("rtx_pro_6000_server", tp=1), ()),
        (on("rtx_5090", tp=1), ("new_gpu",)),
        (on("gaudi3"), ("new_generation",)),
        (on("h100_sxm", "tgi"), ("new_engine",)),
        (on("h100_sxm", "sglang", pp=2), ("pipeline",)),
        (on("rtx_pro_6000_server", tp=4), ("tensor_apart",)),
    ],
)
def test_evidence_is_that_of_the_product_the_engine_and_the_layout(configuration, unlike):
    assert extrapolated(case_of(LLAMA, configuration)) == unlike


def test_few_measurements_of_a_gpu_are_as_good_as_none():
    few = [gpu for gpu, count in measurements("gpus").items() if count < FEWEST]
    assert few
    assert not set(few) & well_measured("gpus")
    assert len(well_measured("gpus")) > 10


def test_an_engine_that_borrows_step_times_has_no_measurements_of_its_own():
    """vLLM's are of vLLM: TGI, whose steps are taken from it, is never measured, and its interval is wider."""
    own, borrowed = (intervals("decode", LLAMA, [on("h100_sxm", engine)])[0] for engine in ("vllm", "tgi"))
    assert own.near == "configuration"
    assert borrowed.near == "none"
    assert "very configuration" not in borrowed.basis
    assert EXTRAPOLATIONS["new_engine"] in borrowed.basis
    assert borrowed.high_factor > own.high_factor
    assert borrowed.low_factor < own.low_factor


@pytest.mark.parametrize("metric", ["decode", "prefill", "throughput"])
def test_what_nobody_measured_is_never_surer(metric):
    known = intervals(metric, LLAMA, [on("h100_sxm")])[0]
    for other in (on("gaudi3"), on("h100_sxm", "tgi"), on("h100_sxm", pp=2), on("a30")):
        found = intervals(metric, LLAMA, [other])[0]
        assert found.extrapolated
        assert found.high_factor >= known.high_factor
        assert found.low_factor <= known.low_factor
        assert found.high_95 >= found.high_factor


def test_independent_doubts_add_as_squares():
    gpu, engine = (extrapolations()[name].factors["itl"] for name in ("new_gpu", "new_engine"))
    assert widening("itl", ()) == 1.0
    assert widening("itl", ("new_gpu",)) == pytest.approx(gpu)
    both = widening("itl", ("new_gpu", "new_engine"))
    assert both == pytest.approx((gpu**2 + engine**2 - 1.0) ** 0.5)
    assert max(gpu, engine) <= both <= gpu * engine + 1e-9


def test_every_extrapolation_has_a_width_and_says_where_it_is_a_rule():
    assert set(extrapolations()) == set(EXTRAPOLATIONS)
    for name, one in extrapolations().items():
        assert min(one.factors.values()) >= 1.0
        assert (BY_RULE in in_words("itl", [name])[0]) == ("itl" in one.by_rule)
        for metric in one.by_rule:
            stands_in = "new_generation" if len(one.by_rule) == len(one.factors) else "new_gpu"
            assert one.factors[metric] == extrapolations()[stands_in].factors[metric]
    assert {"new_gpu", "new_generation"}.isdisjoint(n for n, one in extrapolations().items() if one.by_rule)


def test_a_case_without_its_format_is_near_by_another():
    case = case_of(LLAMA, on("h100_sxm"))
    assert case.near == "configuration"
    assert replace(case, parallelism="TP16 PP3").near == "format"
    assert replace(case, precision="w3").near == "deployment"
    assert replace(case, gpu="h100_pcie_of_another_kind").near == "none"


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
