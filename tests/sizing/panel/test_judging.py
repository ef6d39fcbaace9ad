"""The panel itself: each rule and each field of what is accepted finds the fault that is planted for it."""

import dataclasses
from typing import Any

import pytest

from sizing import Scenario
from sizing.catalog import resolve_model
from tests.sizing.asking import ask
from tests.sizing.panel.answers import Answer, Layout, alternatives, first_choice
from tests.sizing.panel.question import Accepted, Question, questions
from tests.sizing.panel.rules import RULES, Case, broken
from tests.sizing.panel.support import generations, status

ONE = Layout(tp=1, pp=1, ep=1, dp=1)
GOOD = Answer(
    gpu="h100_sxm",
    engine="vllm",
    weights="fp8",
    kv="fp8",
    layouts=(ONE,),
    instances=8,
    gpus=8,
    bought=8,
    system="DGX H100",
    systems=1,
    usd=6000.0,
    kv_share=0.5,
)
LLAMA_8B, V32 = "meta-llama/Meta-Llama-3.1-8B", "deepseek-ai/DeepSeek-V3.2"


def layout(**degrees: int) -> Layout:
    return dataclasses.replace(ONE, **degrees)


def case(*others: Answer, model: str = LLAMA_8B, deployment: dict[str, Any] | None = None, **first: Any) -> Case:
    scenario = Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": 1500, "output_tokens": 400, "peak_rps": 5},
            "deployment": deployment or {},
        }
    )
    answer = dataclasses.replace(GOOD, **first)
    return Case(scenario=scenario, model=resolve_model(model).model, first=answer, others=others)


ON_L40S = {"gpu": "l40s", "system": "4x L40S PCIe server", "bought": 4, "gpus": 4}
PLANTED: dict[str, list[Case]] = {
    "archived_or_dropped": [
        case(engine="tgi"),
        case(gpu="v100_sxm", weights="fp16"),
        case(gpu="rtx_4090"),
        case(gpu="vr200"),
        case(gpu="inf2"),
    ],
    "unsaid": [
        case(gpu="rtx_4090"),
        case(gpu="vr200"),
        case(gpu="gb200", system="NVL72", bought=72),
        case(engine="tgi", deployment={"engines": ["tgi"]}),
        case(gpu="v100_sxm", weights="fp16", deployment={"gpus": ["v100_sxm"]}),
        case(engine="trtllm", weights="int8_wo", deployment={"precisions": ["int8_wo"]}),
    ],
    "unsupported": [
        case(engine="trtllm", weights="int8_sq", gpu="a100_sxm_80g"),
        case(model=V32, gpu="a100_sxm_80g", weights="fp8"),
        case(engine="sglang", gpu="t4", weights="bf16"),
        case(engine="vllm", gpu="t4", weights="bf16"),
        case(engine="trtllm", gpu="mi300x"),
        case(engine="nim", gpu="mi300x"),
    ],
    "unknown_before_supported": [case(GOOD, engine="trtllm", weights="int8_wo")],
    "lossy_format": [case(weights="w4a8_awq"), case(weights="int4_gptq"), case(weights="int4_awq")],
    "no_fabric": [case(layouts=(layout(tp=2, pp=2),), bought=4, systems=2, system="gpu_2x_h100")],
    "pipeline_over_pcie": [
        case(dataclasses.replace(GOOD, usd=6500.0), layouts=(layout(pp=2),), **ON_L40S),
        case(layouts=(layout(pp=4),), **ON_L40S),
    ],
    "apart_over_pcie": [case(layouts=(ONE, ONE), **ON_L40S)],
    "no_room_for_kv": [case(kv_share=0.03)],
    "evidence_unmarked": [case(gpu="rtx_6000_ada", system="2x RTX 6000 Ada")],
    "mislabelled": [case(gpu="v100_sxm", system="verda 1V100.6V", weights="fp16")],
    "other_price_basis": [case(gpu="mi355x", system="8x MI355X OAM platform")],
    "no_price": [case(usd=None)],
    "link_of_one_gpu": [case(warnings=frozenset({"tp_without_nvlink"}))],
}


def test_every_rule_has_a_planted_fault() -> None:
    assert list(PLANTED) == [rule.__name__ for rule in RULES]


@pytest.mark.parametrize("rule", PLANTED)
def test_a_rule_finds_what_is_planted(rule: str) -> None:
    assert [rule in broken(planted) for planted in PLANTED[rule]] == [True] * len(PLANTED[rule])


def test_a_good_answer_breaks_no_rule() -> None:
    assert broken(case(dataclasses.replace(GOOD, gpu="l40s", usd=5900.0))) == {}


@pytest.mark.parametrize(
    "asked_for",
    [
        case(engine="tgi", warnings=frozenset({"engine_archived"}), deployment={"engines": ["tgi"]}),
        case(
            gpu="v100_sxm",
            weights="fp16",
            warnings=frozenset({"no_evidence", "gpu_dropped"}),
            deployment={"gpus": ["v100_sxm"]},
        ),
        case(weights="int4_awq", deployment={"precisions": ["int4_awq"]}),
        case(layouts=(layout(pp=2),), deployment={"pp": [2]}, **ON_L40S),
        case(model="moonshotai/Kimi-K2.5", weights="int4_wo"),
    ],
    ids=["engine", "gpu", "format", "pipeline", "own format"],
)
def test_what_is_asked_for_by_name_or_is_the_checkpoint_breaks_no_rule(asked_for: Case) -> None:
    assert broken(asked_for) == {}


def test_support_is_of_engine_class_generation_and_format() -> None:
    llama, deepseek = resolve_model(LLAMA_8B).model, resolve_model("deepseek-ai/DeepSeek-V3").model
    assert status(llama, gpu="h100_sxm", engine="vllm", weights="fp8") == "supported"
    assert status(llama, gpu="a100_sxm_80g", engine="vllm", weights="fp8") == "supported"  # weight-only, by Marlin
    assert status(llama, gpu="a100_sxm_80g", engine="trtllm", weights="fp8") == "no"
    assert status(llama, gpu="h100_sxm", engine="nim", weights="fp8") == "supported"  # vLLM since 2.0
    assert status(deepseek, gpu="b200_sxm", engine="trtllm", weights="fp8") == "supported"
    assert status(deepseek, gpu="rtx_pro_6000_server", engine="trtllm", weights="fp8") == "no"  # block-scaled FP8
    assert status(llama, gpu="rtx_pro_6000_server", engine="trtllm", weights="fp8") == "supported"
    v4 = resolve_model("deepseek-ai/DeepSeek-V4-Flash").model
    assert status(v4, gpu="b200_sxm", engine="trtllm", weights="mxfp4") == "supported"
    assert status(v4, gpu="h200_sxm", engine="trtllm", weights="mxfp4") == "no"
    qwen = resolve_model("Qwen/Qwen3-30B-A3B").model
    assert status(qwen, gpu="l40s", engine="sglang", weights="fp8") == "supported"  # Qwen's FP8 has scales by block


def test_the_two_generations_called_blackwell_are_two() -> None:
    assert {generations()[gpu] for gpu in ("b200_sxm", "b300_sxm", "gb200", "gb300")} == {"sm100"}
    assert {generations()[gpu] for gpu in ("rtx_pro_6000_server", "rtx_5090", "gb10")} == {"sm120"}


ACCEPTED = Accepted(
    gpus=frozenset({"h100_sxm"}),
    formats=frozenset({"fp8", "int8_sq", "nvfp4"}),
    bought=(8, 16),
    tp=(1, 4),
    usd=(0, 9000),
    power_kw=(0, 10),
)


@pytest.mark.parametrize(
    "fault",
    [
        {"gpu": "l4"},
        {"weights": "bf16"},
        {"weights": "nvfp4"},
        {"weights": "int8_sq"},
        {"engine": "tgi"},
        {"bought": 24, "systems": 3},
        {"layouts": (layout(tp=8),)},
        {"layouts": (layout(pp=2),)},
        {"layouts": (ONE, ONE)},
        {"usd": 10_000.0},
        {"power_kw": 12.0},
    ],
    ids=str,
)
def test_each_field_of_what_is_accepted_refuses(fault: dict[str, Any]) -> None:
    assert ACCEPTED.refuses(GOOD) == []
    assert len(ACCEPTED.refuses(dataclasses.replace(GOOD, **fault))) == 1


def test_the_nearest_accepted_answer_says_what_is_wrong() -> None:
    question = Question(
        name="a",
        why="b",
        scenario=case().scenario,
        accept=(ACCEPTED, dataclasses.replace(ACCEPTED, gpus=frozenset({"l4"}), bought=(1, 2))),
        nothing=False,
    )
    assert question.refuses(GOOD) == []
    assert question.refuses(dataclasses.replace(GOOD, bought=24)) == ["GPUs bought 24 is outside 8 to 16"]
    assert question.refuses(None) == ["nothing serves"]


def test_what_an_expert_would_say_has_to_be_said() -> None:
    question = Question(
        name="a", why="b", scenario=case().scenario, accept=(ACCEPTED,), nothing=False, says=frozenset({"rack_power"})
    )
    assert question.refuses(GOOD) == ["nothing says rack_power"]
    assert question.refuses(dataclasses.replace(GOOD, warnings=frozenset({"rack_power"}))) == []


def test_nothing_is_an_answer_only_where_it_is_accepted() -> None:
    impossible = next(question for question in questions() if question.nothing and not question.accept)
    assert impossible.refuses(None) == []
    assert impossible.refuses(GOOD) != []


def test_an_answer_is_read_from_the_json_of_a_plan() -> None:
    plan = ask(alternatives=3, deployment={"gpus": ["h100_sxm", "l40s"]}).model_dump(mode="json")
    first, others = first_choice(plan), alternatives(plan)
    deployed = plan["deployment"]
    assert (first.gpu, first.gpus, first.usd) == (deployed["gpu"], deployed["gpus"], plan["cost"]["usd_per_month"])
    assert first.instances * first.layouts[0].gpus == first.gpus
    assert 0 < first.kv_share < 1
    assert len(others) == 3
    assert first_choice({"deployment": None}) is None
