"""From the scenario's names and units to the engine's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario
from sizing.catalog import gpus
from sizing.question.length_distributions import LognormalLength
from sizing.question.understand import understand
from tests.sizing.asking import LLAMA_8B, raw


def asked(model=LLAMA_8B, **sections):
    return understand(Scenario.model_validate(raw(model, **sections)))


def test_units_become_seconds():
    limits = asked(limits={"ttft_ms": 480, "itl_ms": 25, "e2e_ms": 9000, "percentile": 99}).limits
    assert (limits.ttft_s, limits.itl_s, limits.e2e_s, limits.percentile) == (0.48, 0.025, 9.0, 99)


def test_no_limit_is_infinite():
    limits = asked(limits={"ttft_ms": None, "itl_ms": None}).limits
    assert limits.ttft_s == limits.itl_s == limits.e2e_s == math.inf


def test_one_output_token_has_no_itl_limit():
    assert asked(workload={"output_tokens": 1}, limits={"itl_ms": 5}).limits.itl_s == math.inf
    assert asked(workload={"output_tokens": 2}, limits={"itl_ms": 5}).limits.itl_s == 0.005


def test_all_gpus_are_considered_unless_named():
    assert {g.id for g in asked().gpus} == {g.id for g in gpus().values() if not g.named_only}
    named = asked(deployment={"gpus": ["H100", "A100 80GB", "h100_sxm"]})
    assert named.gpus[0].id == "h100_sxm"
    assert len(named.gpus) == len({g.id for g in named.gpus})


CARD = {"id": "my_card", "memory_gb": 64, "bandwidth_gbs": 1600, "fp16_tflops": 300}


def test_a_custom_accelerator_is_added_to_those_considered():
    added = asked(deployment={"custom_gpus": [CARD]})
    assert {g.id for g in added.gpus} == {*(g.id for g in gpus().values() if not g.named_only), "my_card"}
    only = asked(deployment={"custom_gpus": [CARD], "gpus": ["my_card"]})
    assert [g.id for g in only.gpus] == ["my_card"]
    both = asked(deployment={"custom_gpus": [CARD], "gpus": ["l4", "my_card"]})
    assert {g.id for g in both.gpus} == {"l4", "my_card"}


def test_a_custom_accelerator_without_link_has_no_domain():
    card = asked(deployment={"custom_gpus": [CARD], "gpus": ["my_card"]}).gpus[0]
    assert card.link_bytes_per_s is None
    assert card.domain_gpus == 1
    assert card.memory_bytes == 64e9


def test_a_custom_accelerator_as_its_datasheet_states_it():
    sheet = {**CARD, "int8_tops": 600, "fp8_tflops": 600, "link_gbs": 800}
    card = asked(deployment={"custom_gpus": [sheet], "gpus": ["my_card"]}).gpus[0]
    assert card.int8_ops == card.fp8_flops == 600e12
    assert card.supports_int8
    assert card.link_bytes_per_s == 400e9  # one direction
    assert card.domain_gpus == 8


def test_lognormal_by_hand():
    """p95 = 2 x p50: sigma = ln 2 / 1.645 = 0.4214, mean = p50 x exp(sigma^2 / 2) = 1.0929 p50, cv^2 = 0.1944."""
    length = LognormalLength(p50=1000, p95=2000)
    assert length.mean == pytest.approx(1092.9, abs=0.1)
    assert length.variation == pytest.approx(0.1943, abs=2e-4)


@given(p50=st.floats(1, 1e5), ratio=st.floats(1, 20))
def test_lognormal_mean_is_above_the_median(p50, ratio):
    length = LognormalLength(p50=p50, p95=p50 * ratio)
    assert length.mean >= p50 * (1 - 1e-12)
    assert length.variation >= 0


@pytest.mark.parametrize(
    ("arrivals", "cv2"), [("poisson", 1.0), ({"gamma": {"cv": 2}}, 4.0), ({"profile": [1] * 24}, 1.0)]
)
def test_variability_of_arrivals(arrivals, cv2):
    assert asked(workload={"arrivals": arrivals}).variability.arrivals == cv2


def test_names_of_engines_and_precisions_are_forgiving():
    allowed = asked(deployment={"engines": ["TensorRT-LLM", "VLLM"], "precisions": ["BFloat16", "awq"]}).allowed
    assert allowed.engines == ("trtllm", "vllm")
    assert allowed.precisions == ("bf16", "int4_awq")


def test_what_was_assumed_is_said():
    found = " ".join(asked({"name": "NeMo 43B GPT", "params_b": 43}).assumptions)
    for part in ("layers", "31 requests/s", "Poisson", "mean prompt and output length"):
        assert part in found


@pytest.mark.parametrize("isl", [3500, 3500.0, "3500"])
def test_a_number_is_a_number_however_it_is_written(isl):
    assert asked(workload={"input_tokens": isl}).traffic.input_tokens == 3500.0
