import pytest

from sizing import uncertainty
from sizing.candidates import Configuration
from sizing.catalog import resolve_gpu, resolve_model
from sizing.engines import resolve_engine
from sizing.precision import resolve_precision
from sizing.uncertainty import MEASURES, in_words, interval, strata, stratum_interval, stratum_keys

LLAMA = resolve_model("meta-llama/Llama-3.3-70B-Instruct")[0]


def on(gpu, engine="vllm"):
    return Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision("bf16"),
        kv_precision="fp16",
        tp=8,
    )


@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("gpu", ["h100_sxm", "mi300x", "l4", "tpu_v6e", "gaudi3"])
def test_every_interval_holds_the_prediction_and_says_why(metric, gpu):
    found = interval(metric, on(gpu), LLAMA)
    assert 0 < found.low_factor <= 1 <= found.high_factor < 20
    assert found.rows > 0
    assert "cross-validated" in found.basis


@pytest.mark.parametrize("metric", MEASURES)
def test_95_percent_is_no_narrower_than_80(metric):
    narrow, wide = (interval(metric, on("h100_sxm"), LLAMA, level) for level in (80, 95))
    assert wide.low_factor <= narrow.low_factor
    assert wide.high_factor >= narrow.high_factor


def test_a_family_without_measurements_is_widened():
    known = stratum_interval("itl", "fixed_concurrency", "dense", "nobody", "hopper")
    unknown = stratum_interval("itl", "fixed_concurrency", "dense", "nobody", "tpu")
    assert "widened" in unknown.basis
    assert "widened" not in known.basis
    whole = strata()["itl, fixed_concurrency, dense"].interval("", 80)
    assert unknown.high_factor == pytest.approx(whole.high_factor**uncertainty.WIDENING)


def test_the_narrowest_stratum_with_rows_is_taken():
    keys = stratum_keys("itl", "fixed_concurrency", "MoE", "vllm", "hopper")
    assert keys[0] in strata()
    found = stratum_interval("itl", "fixed_concurrency", "MoE", "vllm", "hopper")
    assert in_words(keys[0]) in found.basis
    assert in_words(keys[0]) == "closed-loop ITL, MoE, vllm on hopper"
    assert found.rows == strata()[keys[0]].rows


def test_every_metric_has_a_last_resort():
    assert {"ttft", "itl", "e2e", "throughput"} <= set(strata())
