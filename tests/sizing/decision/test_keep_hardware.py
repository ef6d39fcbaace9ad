"""What-ifs on the hardware of the plan: how many more of the same, worked out by hand where a formula says it."""

import math
from functools import partial
from typing import Any

import pytest

from sizing.base.result import Plan
from sizing.decision.columns import ComparisonColumn, columns
from sizing.decision.comparison import compare
from sizing.decision.keep_hardware import (
    FACTORS,
    at,
    movable_inputs,
    moved,
    now,
    questions,
    same_hardware,
    survives_a_server,
    what_if,
)
from sizing.decision.keep_text import kept_sentence, odd_sentence, other_sentence
from sizing.decision.odd import odd_formats
from sizing.decision.outcome import Answers
from sizing.decision.tornado import tornado
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario import Scenario
from tests.sizing.decision.test_decision import asked


def any_hardware(**workload: Any) -> Scenario:
    scenario = asked(**({"peak_rps": 60.0} | workload))
    return scenario.model_copy(update={"deployment": scenario.deployment.model_copy(update={"gpus": []})})


@pytest.fixture
def answers() -> Answers:
    return Answers(partial(analytic_plan, alternatives=8))


def test_the_plan_is_the_answer_of_its_own_hardware(answers: Answers) -> None:
    answer = answers.answer(any_hardware())
    kept = answers.answer(same_hardware(answer)).plan.deployment
    assert kept == answer.plan.deployment


OWN = {"id": "ours", "memory_gb": 80, "bandwidth_gbs": 800, "fp16_tflops": 100, "price_usd": 300_000}
POINT = {"mode": "fixed_concurrency", "concurrency": 8, "input_tokens": 1000, "output_tokens": 100, "itl_ms": 30}
NAMES_IT: tuple[dict[str, Any], ...] = (
    {"prices": {"gpu": "ours", "gpu_hour_usd": 2}},
    {"prices": {"listed": {"gpu_hours": [{"gpu": "ours", "usd": 2, "provider": "a", "source": "b"}]}}},
    {"prices": {"negotiated": {"gpu_hours": [{"gpu": "ours", "usd": 2, "provider": "a", "source": "b"}]}}},
    {"benchmark": {"gpu": "ours", "engine": "vllm", "weight_precision": "fp16", "source": "b", "points": [POINT]}},
    {"pipeline": [{"stage": "embed", "model": "BAAI/bge-m3", "tokens": 512, "gpu": "ours"}]},
)


@pytest.mark.parametrize("more", NAMES_IT)
def test_an_accelerator_that_something_else_names_stays(more: dict[str, Any]) -> None:
    whole = any_hardware().model_dump(mode="json") | more
    whole["deployment"] |= {"gpus": ["ours", "h100_sxm"], "custom_gpus": [OWN]}
    answer = Answer.of(Scenario.model_validate(whole), analytic_plan)
    assert answer.plan.deployment.gpu == "h100_sxm"
    again = analytic_plan(same_hardware(answer)).deployment
    assert again.gpu == "h100_sxm"


@pytest.mark.parametrize("name", ["twice_the_load", "longer_answers", "tighter_limits"])
def test_hardware_is_kept_and_another_choice_is_never_dearer(name: Any, answers: Answers) -> None:
    answer = answers.answer(any_hardware())
    kept = what_if(answer, name, answers)
    planned = answer.plan.deployment
    assert (kept.same.gpu, kept.same.engine, kept.same.precision) == (
        planned.gpu,
        planned.engine,
        planned.weight_precision,
    )
    assert kept.same.gpus >= kept.now.gpus
    assert kept.moved_scenario is not None
    if kept.other is not None:
        assert kept.other == answers.outcome(kept.moved_scenario)
        assert kept.other.usd_per_month < kept.same.usd_per_month
    assert f"{kept.same.gpus}" in kept_sentence(kept)


def test_twice_the_load_takes_twice_the_instances_of_a_full_fleet(answers: Answers) -> None:
    """The analytic model carries so much an instance, whatever the number of instances: ceil(2 x peak / each)."""
    answer = answers.answer(any_hardware(peak_rps=400.0))
    kept = what_if(answer, "twice_the_load", answers)
    each = answer.plan.deployment.gpus // answer.plan.deployment.instances
    assert kept.same.gpus == math.ceil(800.0 / answer.plan.per_instance.max_rps) * each


def test_one_more_server_is_what_redundancy_by_system_asks(answers: Answers) -> None:
    """One question has one answer on every door; two GPUs in two servers for one in one, and nearly twice the money."""
    answer = answers.answer(asked(peak_rps=1.0))
    kept = survives_a_server(answer, answers)
    assert kept.kept_scenario.deployment.redundancy == kept.moved_scenario.deployment.redundancy == "system"
    assert kept.same == answers.outcome(kept.kept_scenario)
    assert (kept.now.gpus, kept.now.systems) == (1, 1)
    assert (kept.same.gpus, kept.same.systems) == (2, 2)
    assert 1.4 * kept.now.usd_per_month < kept.same.usd_per_month < 2 * kept.now.usd_per_month
    assert "2 instead of 1 H100" in kept_sentence(kept)


def test_what_may_lose_a_server_already_is_enough(answers: Answers) -> None:
    base = asked(peak_rps=1.0)
    resilient = base.model_copy(update={"deployment": base.deployment.model_copy(update={"redundancy": "system"})})
    kept = survives_a_server(answers.answer(resilient), answers)
    assert (kept.same.gpus, kept.same.systems) == (kept.now.gpus, kept.now.systems) == (2, 2)
    assert kept_sentence(kept).startswith("The same 2 H100")


def test_what_the_same_hardware_cannot_do_is_said_with_the_reason(answers: Answers) -> None:
    answer = answers.answer(any_hardware())
    kept = at(answer, {"ttft_ms": 0.001}, answers)
    assert not kept.same.feasible
    assert "cannot serve it within the limits" in kept_sentence(kept)
    assert kept.why_not in kept_sentence(kept)
    assert other_sentence(kept) == "Nothing else that the scenario allows serves it, either."


def test_lengths_of_every_form_are_moved_and_the_cached_share_stays() -> None:
    spread = asked(input_tokens={"p50": 1000, "p95": 3000}, prefix_cached_tokens=500)
    longer = moved(spread, {"input_tokens": 2.0})
    assert longer.workload.input_tokens.model_dump() == {"p50": 2000, "p95": 6000}
    assert longer.workload.prefix_cached_tokens == 1000
    traced = asked(output_tokens={"trace": "a.csv", "groups": [10, 20, 30]})
    longer = moved(traced, {"output_tokens": 1.5})
    assert longer.workload.output_tokens.groups == [15, 30, 45]
    assert now(traced, "output_tokens") == 20.0
    fewer = moved(spread, {"cached": 0.8})
    assert fewer.workload.prefix_cached_tokens == 400


def test_the_load_of_a_trace_is_moved_with_its_rates() -> None:
    scenario = asked(peak_rps=None, arrivals={"trace": "a.csv", "rps": [1, 4, 2]})
    twice = moved(scenario, {"load": 2.0})
    assert twice.workload.arrivals.rps == [2, 8, 4]
    assert now(scenario, "load") == 4.0


def test_what_cannot_be_is_no_answer(answers: Answers) -> None:
    answer = answers.answer(asked())
    assert at(answer, {"input_tokens": 1e6}, answers) is None


def test_a_measured_record_is_asked_for_load_and_limits_alone() -> None:
    record = {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 1000, "itl_ms": 20}
    scenario = Scenario.model_validate({**asked().model_dump(), "measured": record})
    assert movable_inputs(scenario) == ("load", "ttft_ms", "itl_ms")
    assert questions(scenario) == ("twice_the_load", "tighter_limits")
    assert "server_fails" in questions(asked())
    assert "fewer_cache_hits" not in questions(asked())
    assert set(questions(asked(prefix_cached_tokens=100))) == set(FACTORS)


def test_a_tornado_on_the_same_hardware_buys_no_other(answers: Answers) -> None:
    drawn = tornado(any_hardware(), answers, keep_hardware=True)
    ends = [end for bar in drawn.bars for end in (bar.at_low, bar.at_high) if end is not None and end.feasible]
    assert {end.gpu for end in ends} == {drawn.base.gpu}
    free = tornado(any_hardware(), answers)
    assert drawn.base == free.base


def test_columns_at_one_click_keep_hardware_first(answers: Answers) -> None:
    answer = answers.answer(any_hardware())
    offered = columns(answer)
    twice = [one for one in offered if one.load == 2.0]
    assert [one.keep_hardware for one in twice] == [True, False]
    for one in offered:
        scenario = one.scenario(answer)
        assert scenario is not None
        if one.keep_hardware:
            assert scenario.deployment.gpus == [answer.plan.deployment.gpu]


def test_a_column_of_the_same_hardware_differs_by_its_load_alone(answers: Answers) -> None:
    """That the hardware is the same is no difference: it is neither told as one nor planned for."""
    answer = answers.answer(any_hardware())
    twice = ComparisonColumn(load=2.0, keep_hardware=True).scenario(answer)
    assert twice is not None
    asked_for = list[Scenario]()

    def planner(scenario: Scenario) -> Plan:
        asked_for.append(scenario)
        return analytic_plan(scenario)

    (_, beside) = compare([answer, twice], Answers(planner), hardware_as_one=True, keeping=[1]).scenarios
    assert [driver.key for driver in beside.drivers] == ["workload.peak_rps"]
    assert beside.drivers[0].usd_per_month == beside.usd_more
    assert len(asked_for) == 1
    (_, anew) = compare([answer, twice], answers, hardware_as_one=True).scenarios
    assert {driver.key for driver in anew.drivers} == {"deployment", "workload.peak_rps"}


def test_narrower_weights_that_need_more_gpus_say_why() -> None:
    """INT4 on H100 is widened to 16 bit: under an ITL limit that prompts in between reach, it needs more than FP8."""

    def in_format(precision: str) -> Answer:
        scenario = Scenario.model_validate(
            {
                "model": "meta-llama/Llama-3.3-70B-Instruct",
                "workload": {"input_tokens": 3500, "output_tokens": 300, "peak_rps": 3},
                "limits": {"ttft_ms": 2000, "itl_ms": 50},
                "deployment": {"gpus": ["h100_sxm"], "precisions": [precision]},
            }
        )
        return Answer.of(scenario, analytic_plan)

    int4, fp8 = in_format("int4_awq"), in_format("fp8")
    (odd,) = odd_formats([("INT4", int4), ("FP8", fp8)])
    assert (odd.one.name, odd.other.name, odd.widened) == ("INT4", "FP8", True)
    said = odd_sentence(odd)
    assert f"INT4 needs {int4.plan.deployment.gpus} GPUs where FP8 needs {fp8.plan.deployment.gpus}" in said
    assert "to 16 bit" in said
    assert odd_formats([("FP8", fp8), ("FP8 again", fp8)]) == ()
