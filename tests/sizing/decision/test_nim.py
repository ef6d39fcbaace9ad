"""NIM beside the engine inside it: the same hardware, the licence by hand, and profiles as listed."""

from typing import Any, get_args

import pytest

from sizing.base.errors import InvalidScenario
from sizing.catalog import models
from sizing.catalog.engines import engines
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.precisions import precisions
from sizing.decision.added_up import nim_added_up
from sizing.decision.nim import NimComparison, NimProfile, NimTopic, nim_beside_open_source
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
    licence = one.licensed.gpus_bought * LICENCE_USD_PER_GPU_YEAR / 12
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
def test_profiles(model: str, deployment: dict[str, Any], profile: NimProfile) -> None:
    one = compared(asked(model, **deployment))
    assert one.profile == profile
    assert bool(one.profiles) == bool(one.profile_source) == (profile != "not_read")
    assert len(nim_sentences(one)) == 3


def test_what_nobody_measured_is_planned_as_surely() -> None:
    one = compared(asked("meta-llama/Llama-3.3-70B-Instruct", gpus=["b200_sxm"], speculation="off"))
    assert one.nim.gpus > one.open_source.gpus == one.in_its_format == one.without_drafts
    said = nim_sentences(one)[0]
    assert f"less is measured of NIM, and as sure it has to be ({one.nim.gpus} for {one.open_source.gpus})" in said
    assert "no drafts" not in said
    assert "in place of" not in said


def test_drafts_of_the_engine_alone_are_told_apart_from_what_is_measured() -> None:
    """The engine in NIM's format without drafts is planned by itself: the steps of the sentence are those plans."""
    scenario = asked(gpus=["l4"])
    one = compared(scenario)
    bare = scenario.deployment.model_copy(update={"engines": ("vllm",), "precisions": ("fp8",), "speculation": "off"})
    plan = analytic_plan(scenario.model_copy(update={"deployment": bare}), alternatives=0)
    assert one.nim.precision == one.open_source.precision == "fp8"
    assert one.in_its_format == one.open_source.gpus
    assert one.without_drafts == plan.deployment.gpus != one.in_its_format
    assert f"no drafts, with which vLLM is planned (without: {plan.deployment.gpus})" in nim_sentences(one)[0]


def test_every_reason_that_applies_is_told_and_no_other() -> None:
    one = compared(asked(gpus=["l4"]))
    nim = one.nim.model_copy(update={"gpus": 9, "precision": "bf16"})
    each = {"nim": nim, "open_source": one.open_source.model_copy(update={"gpus": 4, "precision": "fp8"})}
    both = nim_sentences(one.model_copy(update={**each, "in_its_format": 6, "without_drafts": 6}))[0]
    assert "BF16 in place of FP8" in both
    assert "(vLLM in it: 6)" in both
    assert "(9 for 6)" in both
    format_alone = nim_sentences(one.model_copy(update={**each, "in_its_format": 9, "without_drafts": 9}))[0]
    assert "(vLLM in it: 9)" in format_alone
    assert "less is measured" not in format_alone
    unserved = nim_sentences(one.model_copy(update={**each, "in_its_format": None, "without_drafts": None}))[0]
    assert "in which vLLM holds no limits" in unserved


def test_as_many_gpus_need_no_reason() -> None:
    one = compared(asked(precisions=["fp8"], tp=[1]))
    assert one.nim.gpus == one.open_source.gpus
    assert one.in_its_format is None
    assert "Planned by what is measured" not in nim_sentences(one)[0]


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


@pytest.mark.parametrize(
    ("gpu", "said"), [("h200_nvl", "H200 NVL 141GB comes with it for five years."), ("h100_sxm", "a month more.")]
)
def test_a_licence_that_comes_with_the_gpu_is_said_to(gpu: str, said: str) -> None:
    sentence = nim_sentences(nim_added_up(compared(asked(gpus=[gpu]))))[1]
    assert sentence.startswith(("NVIDIA AI Enterprise", "With NVIDIA AI Enterprise"))
    assert sentence.endswith(said)
