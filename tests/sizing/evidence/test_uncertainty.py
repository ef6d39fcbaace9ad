import math
from dataclasses import replace

import numpy as np
import pytest

from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.precisions import resolve_precision
from sizing.evidence.cases import case_of
from sizing.evidence.extrapolation import widening
from sizing.evidence.published import measurements_alike
from sizing.evidence.uncertainty import (
    DIFFICULTIES,
    MEASURES,
    MOST_DOUBLINGS,
    Stratum,
    beyond,
    difficulties,
    doublings_outside,
    in_words,
    intervals,
    ranges,
    strata,
    stratum_interval,
    stratum_keys,
    weights,
)
from sizing.question.configuration import Configuration

LLAMA = resolve_model("meta-llama/Llama-3.3-70B-Instruct").model


def on(gpu, engine="vllm", precision="bf16"):
    return Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision(precision),
        kv_precision="fp16",
        tp=8,
    )


@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("gpu", ["h100_sxm", "mi300x", "l4", "tpu_v6e", "gaudi3"])
def test_every_interval_holds_the_prediction_and_says_why(metric, gpu):
    (found,) = intervals(metric, LLAMA, [on(gpu)])
    assert 0 < found.low_factor <= 1 <= found.high_factor < 30
    assert found.rows > 0
    assert "cross-validated" in found.basis


@pytest.mark.parametrize("metric", MEASURES)
def test_95_percent_is_no_narrower_than_80(metric):
    (found,) = intervals(metric, LLAMA, [on("h100_sxm")])
    assert found.low_95 <= found.low_factor
    assert found.high_95 >= found.high_factor


def test_shorter_than_measured_is_faster_in_doubt_but_no_slower():
    """At the shortest measured lengths, at half and at a quarter of them, and at four times the longest."""
    low, high = (end.copy() for end in ranges()["fixed_concurrency"])
    loads = np.array([low, low / 2.0, low / 4.0, high * 4.0])
    loads[:, 0] = np.nan
    edge, half, quarter, far = intervals("decode", LLAMA, [on("h100_sxm")] * 4, loads=loads)
    assert quarter.low_factor < half.low_factor < edge.low_factor
    assert edge.high_factor == half.high_factor == quarter.high_factor < far.high_factor
    assert edge.high_95 == half.high_95 == quarter.high_95 < far.high_95


def test_an_interval_is_the_stratum_to_the_power_of_the_scale():
    plain = Stratum(rows=9, configurations=3, low_80=-0.1, high_80=0.2, low_95=-0.3, high_95=0.4)
    found = plain.interval("x", 2.0)
    assert (found.low_factor, found.high_factor) == pytest.approx((math.exp(-0.2), math.exp(0.4)))
    assert (found.low_95, found.high_95) == pytest.approx((math.exp(-0.6), math.exp(0.8)))


def test_an_engine_on_a_gpu_without_measurements_is_widened_and_says_so():
    measured, not_measured = intervals("decode", LLAMA, [on(gpu) for gpu in ("h100_sxm", "gaudi3")])
    hard = [difficulties(case_of(LLAMA, on(gpu))) for gpu in ("h100_sxm", "gaudi3")]
    assert hard[1]["new_platform"] > hard[0]["new_platform"] == 0.0
    added = sum(weight * (hard[1][name] - hard[0][name]) for name, weight in weights("itl").items())
    scale = math.log(not_measured.high_factor) / math.log(measured.high_factor)
    assert scale == pytest.approx(math.exp(added) * widening("itl", ["new_generation"]))
    assert "widened" in not_measured.basis


def test_evidence_of_the_very_configuration_narrows_and_names_its_rows():
    """Llama 3 70B in FP8 by vLLM on H100 was measured, in TP8 too; on Gaudi 3 by nobody."""
    near, far = (case_of(LLAMA, on(gpu, precision="fp8")) for gpu in ("h100_sxm", "gaudi3"))
    assert (near.near, far.near) == ("configuration", "none")
    rows = measurements_alike(LLAMA, on("h100_sxm", precision="fp8"))
    assert {(m.configuration.gpu.id, m.configuration.precision.id) for m in rows} == {("h100_sxm", "fp8")}
    assert measurements_alike(LLAMA, on("gaudi3")) == ()
    other = replace(near, engine="atom")
    for metric in ("ttft", "itl", "e2e", "throughput"):
        spared = sum(weights(metric)[name] for name in ("new_configuration", "new_format", "new_deployment"))
        known, unknown = (stratum_interval(metric, "fixed_concurrency", c) for c in (near, other))
        assert known.high_factor <= unknown.high_factor
        assert (known.near == "configuration") == (spared > math.log(1.05)) == ("very configuration" in known.basis)


def test_tables_that_contradict_the_roofline_widen():
    agree, differ = (
        stratum_interval("itl", "fixed_concurrency", case_of(LLAMA, on("h100_sxm"), 0.0, apart)) for apart in (0.0, 1.6)
    )
    assert differ.high_factor > agree.high_factor
    assert DIFFICULTIES["apart"] in differ.basis
    assert DIFFICULTIES["apart"] not in agree.basis


def test_loads_outside_the_measured_range_are_widened_by_doublings():
    low, high = ranges()["fixed_concurrency"]
    loads = np.array([[64.0, 1000.0, 500.0], [high[0] * 4, high[1] * 2, 500.0], [math.nan, 1000.0, 500.0]])
    assert beyond("fixed_concurrency", loads) == pytest.approx([0.0, 3.0, 0.0])
    near, wide, _ = intervals("decode", LLAMA, [on("h100_sxm")] * 3, loads=loads)
    assert wide.high_factor > near.high_factor
    assert DIFFICULTIES["beyond"] in wide.basis
    assert doublings_outside(np.array([low[0] / 8]), low[:1], high[:1]) == pytest.approx(3.0)


def test_nothing_is_harder_than_what_lies_farthest_outside_of_the_rest():
    """A prompt of one token with two tokens to answer lies 13 doublings outside: its steps are not 25 times as hard."""
    far, farther = beyond("fixed_concurrency", np.array([[64.0, 1.0, 100.0], [64.0, 1.0, 2.0]]))
    assert far == farther == MOST_DOUBLINGS


def test_difficulties_are_those_of_the_file_and_none_makes_an_interval_narrower():
    for metric in ("ttft", "itl", "e2e", "throughput"):
        assert set(weights(metric)) == set(DIFFICULTIES)
        assert min(weights(metric).values()) >= 0.0
    assert set(difficulties(case_of(LLAMA, on("h100_sxm")))) == set(DIFFICULTIES)


def test_the_narrowest_stratum_with_rows_is_taken():
    keys = stratum_keys("itl", "fixed_concurrency")
    assert keys == (("itl", "fixed_concurrency"), ("itl",))
    found = stratum_interval("itl", "fixed_concurrency", case_of(LLAMA, on("h100_sxm")))
    assert found.rows == strata()[keys[0]].rows
    assert in_words(keys[0]) == "closed-loop ITL"
    assert in_words(keys[0]) in found.basis


def test_every_metric_has_a_last_resort():
    assert {"ttft", "itl", "e2e", "throughput"} <= {key[0] for key in strata() if len(key) == 1}
