import math
from dataclasses import replace

import numpy as np
import pytest

from sizing import Scenario
from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.precisions import resolve_precision
from sizing.evidence.cases import case_of
from sizing.evidence.error_factors import ErrorFactors
from sizing.evidence.extrapolation import widening
from sizing.evidence.published import measurements_alike
from sizing.evidence.scales import Unmeasured, scales, unit_logarithm
from sizing.evidence.uncertainty import (
    DIFFICULTIES,
    LOAD_NAMES,
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
from sizing.question.understand import understand
from sizing.search.screen import all_configurations
from tests.sizing.asking import LLAMA_70B, raw

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


@pytest.mark.parametrize("metric", ["decode", "prefill"])
@pytest.mark.parametrize("model", [LLAMA_70B, "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-8B"])
@pytest.mark.parametrize("prompt", [20, 150_000])
def test_the_scale_of_a_table_is_that_of_each_configuration(metric: str, model: str, prompt: int) -> None:
    question = understand(Scenario.model_validate(raw(model, workload={"input_tokens": prompt, "peak_rps": 1})))
    every = all_configurations(question)
    some = every.take(np.random.default_rng(7).choice(len(every), 150, replace=False))
    apart = np.where(np.arange(len(some)) % 3 > 0, np.nan, 0.1234 * (np.arange(len(some)) % 5))
    loads = np.full(
        (len(some), len(LOAD_NAMES)), (np.nan, question.traffic.input_tokens, question.traffic.output_tokens)
    )
    each = intervals(metric, question.model, some.rows, loads=loads, apart=apart)
    for confidence in (0.1, 0.2, 0.8, 0.9, 0.95):
        together = scales(metric, Unmeasured.of(question.model, some), question.traffic, apart, slow=confidence > 0.5)
        found = np.exp(unit_logarithm(metric, confidence) * together)
        assert found == pytest.approx([one.factor_at(confidence) for one in each])
    assert len(np.unique(np.round(together, 6))) > 3


def factors(low=0.8, high=1.3, low_95=0.6, high_95=2.0):
    return ErrorFactors(low_factor=low, high_factor=high, low_95=low_95, high_95=high_95, basis="x", rows=9)


@pytest.mark.parametrize(
    ("confidence", "factor"),
    [(0.5, 1.0), (0.9, 1.3), (0.1, 0.8), (0.975, 2.0), (0.025, 0.6), (0.8, 1.3 ** (0.8416 / 1.2816))],
)
def test_a_confidence_is_the_end_of_the_interval_that_leaves_the_rest_above(confidence, factor):
    assert factors().factor_at(confidence) == pytest.approx(factor, rel=1e-4)


def test_more_confidence_never_asks_for_less():
    one = factors(high=1.0, high_95=1.5)
    asked = [one.factor_at(n / 100.0) for n in range(1, 100)]
    assert asked == sorted(asked)


def test_equal_ends_do_not_promise_that_nothing_lies_beyond_them():
    one = factors(high=1.5, high_95=1.5)
    assert one.factor_at(0.999) > 1.5


def test_without_any_width_the_prediction_is_certain():
    one = factors(1.0, 1.0, 1.0, 1.0)
    assert one.factor_at(0.95) == 1.0


def test_certainty_is_no_confidence():
    with pytest.raises(ValueError, match="between 0 and 1"):
        factors().factor_at(1.0)
    assert math.isfinite(factors().factor_at(0.9999))
