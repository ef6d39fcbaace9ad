"""An accelerator of one's own: one type with one set of bounds, units, formats, link, and its name in the answer."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharing.form.fields import FIELDS
from sharing.form.read import OWN_GPU, to_scenario
from sharing.form.write import from_scenario
from sizing.base.errors import InvalidScenario
from sizing.catalog import generic_system, gpus
from sizing.decision.outcome import Answers
from sizing.decision.text import in_words
from sizing.planning.analytic import analytic_plan
from sizing.question.own_gpu import gpu_of
from sizing.question.understand import understand
from sizing.scenario.file import scenario_from
from sizing.scenario.schema import CustomGpu
from tests.sizing.asking import raw

SHEET = {"id": "my_gpu", "name": "My GPU 9000", "memory_gb": 96, "bandwidth_gbs": 4000, "fp16_tflops": 900}
RATES = ("bf16_tflops", "fp8_tflops", "int8_tops", "fp4_tflops")
WHOLE = SHEET | dict.fromkeys(RATES, 1800) | {"link_gbs": 800, "domain_gpus": 4, "tdp_watts": 700, "price_usd": 20_000}


def card(**change: object) -> CustomGpu:
    return CustomGpu.model_validate(SHEET | change)


def asked(**change: object) -> dict[str, object]:
    return raw(deployment={"gpus": ["my_gpu"], "custom_gpus": [SHEET | change]})


def test_datasheet_units_become_engine_units():
    gpu = gpu_of(card(fp8_tflops=1800, link_gbs=800, domain_gpus=4, tdp_watts=700))
    assert (gpu.id, gpu.name, gpu.vendor) == ("my_gpu", "My GPU 9000", "custom")
    assert (gpu.family, gpu.custom) == ("custom", True)
    assert (gpu.memory_bytes, gpu.memory_bandwidth, gpu.fp16_flops, gpu.fp8_flops) == (96e9, 4e12, 9e14, 1.8e15)
    assert (gpu.link_bytes_per_s, gpu.domain_gpus, gpu.has_fast_link) == (400e9, 4, True)
    assert gpu.sizable


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_that_is_given_is_a_format_that_is_supported(rate: str):
    gpu, width = gpu_of(card(**{rate: 1800})), rate.partition("_")[0]
    supported = {name: getattr(gpu, f"supports_{name.partition('_')[0]}") for name in RATES}
    assert supported == {name: name == rate for name in RATES}
    assert {getattr(gpu, f"{width}_{unit}", None) for unit in ("flops", "ops")} == {1.8e15, None}


def test_weights_of_16_bit_run_in_bf16_where_the_datasheet_has_it():
    found = [analytic_plan(scenario_from(asked(**more))) for more in ({}, {"bf16_tflops": 900})]
    assert [one.deployment.weight_precision for one in found] == ["fp16", "bf16"]


def test_without_a_link_there_is_only_pcie():
    gpu = gpu_of(card())
    assert (gpu.link_bytes_per_s, gpu.domain_gpus, gpu.has_fast_link) == (None, 1, False)
    assert generic_system(gpu).gpus == 8
    assert generic_system(gpu).assumed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memory_gb": 0.5}, "memory_gb: must be at least 1"),
        ({"memory_gb": 10_001}, "memory_gb: must be at most 10000"),
        ({"memory_gb": "lots"}, "memory_gb: must be a number"),
        ({"bandwidth_gbs": 9}, "bandwidth_gbs: must be at least 10"),
        ({"fp16_tflops": -5}, "fp16_tflops: must be greater than 0"),
        ({"bf16_tflops": 1e12}, "bf16_tflops: must be at most 1e+06"),
        ({"fp16_tflops": None}, "fp16_tflops"),
        ({"link_gbs": 100_001}, "link_gbs: must be at most 100000"),
        ({"domain_gpus": 8}, "domain_gpus needs link_gbs"),
        ({"memory_gib": 3}, "Did you mean memory_gb"),
        ({"price_usd": -1}, "price_usd: must be at least 0"),
    ],
)
def test_a_fault_is_one_sentence_that_names_the_field(change: dict[str, object], said: str):
    with pytest.raises(InvalidScenario) as caught:
        scenario_from(asked(**change))
    (problem,) = caught.value.problems
    assert said in problem


KEYS = st.sampled_from([*SHEET, *RATES, "link_gbs", "domain_gpus"])


@given(st.dictionaries(KEYS, st.integers() | st.floats() | st.text() | st.none()))
def test_whatever_a_file_lets_in_can_be_planned_with(change: dict[str, object]):
    with contextlib.suppress(InvalidScenario):
        (own,) = scenario_from(asked(**change)).deployment.custom_gpus
        assert gpu_of(own).sizable


def test_it_is_called_by_its_name_else_by_its_id():
    question = understand(scenario_from(asked()))
    assert question.gpu_name("my_gpu") == "My GPU 9000"
    assert question.gpu_name("h200_sxm") == gpus()["h200_sxm"].name
    assert question.gpu_name("elsewhere") == "elsewhere"
    assert understand(scenario_from(asked(name=" "))).gpu_name("my_gpu") == "my_gpu"


def test_the_answer_names_it():
    assert "My GPU 9000" in analytic_plan(scenario_from(asked())).answer


@pytest.mark.parametrize("called", ["My GPU 9000", " my gpu 9000 ", "my_gpu"])
def test_it_is_found_by_its_name_beside_a_gpu_of_the_catalogue(called: str) -> None:
    scenario = scenario_from(asked())
    keys = scenario.model_dump(mode="json")
    keys["deployment"]["gpus"] = [called, "h100_sxm"]
    again = scenario_from(keys)
    assert again.deployment.gpus == ["my_gpu", "h100_sxm"]
    assert [gpu.name for gpu in understand(again).gpus] == ["My GPU 9000", gpus()["h100_sxm"].name]


def test_what_is_compared_calls_it_by_its_name() -> None:
    outcome = Answers(analytic_plan).outcome(scenario_from(asked()))
    assert outcome.gpu == "my_gpu"
    assert in_words(outcome).startswith(f"{outcome.gpus} x My GPU 9000")


def test_the_form_keeps_every_figure_of_the_datasheet():
    scenario = scenario_from(raw(deployment={"gpus": [OWN_GPU], "custom_gpus": [WHOLE | {"id": OWN_GPU}]}))
    again = scenario_from(to_scenario(from_scenario(scenario)))
    assert again.deployment.custom_gpus == scenario.deployment.custom_gpus


def test_the_form_has_a_field_for_every_figure():
    shown = {field.leaf for field in FIELDS.values() if field.path.startswith("deployment.custom_gpus.")}
    assert shown == set(CustomGpu.model_fields) - {"id"}
