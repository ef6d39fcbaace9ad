"""An accelerator typed in: units, support flags, link, and one sentence per fault."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import InvalidScenario
from sizing.catalog import generic_system, gpu_from_spec

SPEC = {"name": "My GPU 9000", "memory_gb": 96, "bandwidth_gbs": 4000, "fp16_tflops": 900}


def test_datasheet_units_become_engine_units():
    gpu = gpu_from_spec({**SPEC, "fp8_tflops": 1800, "link_gbs": 800, "domain_gpus": 4, "tdp_watts": 700})
    assert (gpu.id, gpu.name, gpu.vendor) == ("my_gpu_9000", "My GPU 9000", "custom")
    assert (gpu.family, gpu.custom) == ("custom", True)
    assert (gpu.memory_bytes, gpu.memory_bandwidth, gpu.fp16_flops, gpu.fp8_flops) == (96e9, 4e12, 9e14, 1.8e15)
    assert (gpu.link_bytes_per_s, gpu.domain_gpus, gpu.has_fast_link) == (400e9, 4, True)
    assert gpu.sizable


def test_a_rate_that_is_given_is_a_format_that_is_supported():
    gpu = gpu_from_spec({**SPEC, "bf16_tflops": 900, "int8_tflops": 1800})
    assert (gpu.supports_bf16, gpu.supports_int8, gpu.supports_fp8, gpu.supports_fp4) == (True, True, False, False)


def test_without_a_link_there_is_only_pcie():
    gpu = gpu_from_spec(SPEC)
    assert (gpu.link_bytes_per_s, gpu.domain_gpus, gpu.has_fast_link) == (None, 1, False)
    assert generic_system(gpu).gpus == 8
    assert generic_system(gpu).assumed


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"memory_gb": 0}, "memory_gb = 0"),
        ({"memory_gb": "lots"}, "memory_gb = 'lots'"),
        ({"memory_gb": True}, "memory_gb = True"),
        ({"bandwidth_gbs": float("nan")}, "bandwidth_gbs = nan"),
        ({"fp16_tflops": -5}, "fp16_tflops = -5"),
        ({"fp16_tflops": 1e12}, "fp16_tflops = 1000000000000.0"),
        ({"fp16_tflops": None}, "fp16_tflops = None"),
        ({"name": " "}, "give the accelerator a name"),
        ({"domain_gpus": 8}, "domain_gpus needs link_gbs"),
        ({"memory_gib": 3}, "Did you mean memory_gb"),
        ({"price_usd": -1}, "price_usd = -1"),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_field(change, match):
    with pytest.raises(InvalidScenario, match=match) as caught:
        gpu_from_spec({**SPEC, **change})
    assert len(caught.value.problems) == 1


def test_every_fault_is_reported_at_once():
    with pytest.raises(InvalidScenario) as caught:
        gpu_from_spec({"name": "x"})
    assert len(caught.value.problems) == 3


KEYS = st.sampled_from([*SPEC, "link_gbs", "domain_gpus", "fp8_tflops"])


@given(st.dictionaries(KEYS, st.integers() | st.floats() | st.text() | st.none()))
def test_any_specification_is_a_gpu_or_refused(change):
    with contextlib.suppress(InvalidScenario):
        assert gpu_from_spec({**SPEC, **change}).sizable


def test_something_else_than_a_group_of_fields_is_refused():
    with pytest.raises(InvalidScenario, match="group of fields"):
        gpu_from_spec(5)
