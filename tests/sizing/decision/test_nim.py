"""NIM beside the engine inside it: the same hardware, the licence by hand, and profiles as listed."""

from typing import Any, get_args

import pytest

from sizing.base.errors import InvalidScenario
from sizing.catalog import models
from sizing.catalog.engines import engines
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions
from sizing.decision.nim import NimComparison, NimTopic, Profile, nim_beside_open_source
from sizing.decision.nim_text import nim_sentences
from sizing.decision.outcome import Answers
from sizing.planning.analytic import analytic_plan
from sizing.scenario import Scenario

LICENCE_USD_PER_GPU_YEAR = 4500.0
"""tco.csv, NVIDIA AI Enterprise subscription."""


def asked(model: str = "meta-llama/Llama-3.1-8B-Instruct", **deployment: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 20},
            "limits": {"ttft_ms": 2000, "itl_ms": 50},
            "deployment": {"gpus": ["h100_sxm"], **deployment},
        }
    )


def compared(scenario: Scenario) -> NimComparison:
    return nim_beside_open_source(scenario, Answers(lambda one: analytic_plan(one, alternatives=0)))


def test_both_need_the_same_hardware_and_the_licence_is_the_difference() -> None:
    """GPUs of a system x 4,500 USD / 12, and the interest on a year that is paid in advance."""
    one = compared(asked())
    assert (one.inside, one.inside_version) == ("vllm", engines()["nim"].built_on_since[-1][1])
    assert one.licensed.gpus == one.open_source.gpus
    assert one.licensed.gpus_bought is not None
    licence = one.licensed.gpus_bought * LICENCE_USD_PER_GPU_YEAR / 12
    assert one.usd_more is not None
    assert licence <= one.usd_more <= 1.02 * licence


@pytest.mark.parametrize(
    ("model", "deployment", "profile"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", {"tp": [1], "precisions": ["fp8"]}, "listed"),
        ("meta-llama/Llama-3.1-8B-Instruct", {"tp": [2], "precisions": ["fp8"]}, "other_layout"),
        ("meta-llama/Llama-3.3-70B-Instruct", {"tp": [4], "precisions": ["fp8"]}, "other_format"),
        ("openai/gpt-oss-120b", {"tp": [2], "gpus": ["h100_pcie"]}, "other_gpu"),
        ("openai/gpt-oss-120b", {"tp": [2]}, "listed"),
        ("Qwen/Qwen3-8B", {}, "not_read"),
        ("meta-llama/Llama-3.1-8B-Instruct", {"gpus": ["mi300x"]}, "not_planned"),
    ],
)
def test_profiles(model: str, deployment: dict[str, Any], profile: Profile) -> None:
    one = compared(asked(model, **deployment))
    assert one.profile == profile
    assert bool(one.profiles) == bool(one.profile_source) == (profile != "not_read")
    assert len(nim_sentences(one)) == 3


def test_what_nobody_measured_is_planned_as_surely() -> None:
    one = compared(asked(precisions=["fp8"], tp=[1]))
    assert one.nim.gpus is not None
    assert one.open_source.gpus is not None
    assert one.nim.gpus >= one.open_source.gpus
    assert ("less is known of NIM" in nim_sentences(one)[0]) == (one.nim.gpus != one.open_source.gpus)


def test_gpus_that_nim_does_not_run_on_have_no_licence_to_name() -> None:
    one = compared(asked(gpus=["mi300x"]))
    assert not one.nim.feasible
    assert one.open_source.feasible
    assert one.usd_more is None
    assert "not known" in nim_sentences(one)[1]


def test_what_the_file_names_is_known_and_has_sources() -> None:
    read = read_yaml("nim.yaml")
    for model, listed in read["profiles"].items():
        assert model in models()
        assert set(listed["formats"]) <= set(precisions())
        assert set(listed.get("gpus", ())) <= set(gpus())
        assert listed["source"]
        assert listed["date"]
    assert set(read["facts"]) == set(get_args(NimTopic))
    assert all(fact.source and fact.date for fact in compared(asked()).facts)


def test_a_measured_record_is_refused() -> None:
    measured = asked().model_dump(mode="json", exclude_none=True)
    measured["measured"] = {"system": "dgx_h100", "rps_per_system": 2.4}
    with pytest.raises(InvalidScenario, match="holds for its own deployment alone"):
        compared(Scenario.model_validate(measured))
