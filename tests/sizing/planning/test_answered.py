"""A question with its own plan, and no other."""

import pickle
from dataclasses import replace

import pytest

from sizing.base.errors import ForeignPlan
from sizing.base.result import Plan
from sizing.economics.cost import cost
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer, as_answer
from sizing.question.understand import understand
from sizing.replay.simulate import simulate
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw
from tests.sizing.explore.frontiers import large_model

H100 = {"gpus": ["h100_sxm"], "engines": ["vllm"]}


def asked(model: str = LLAMA_8B, **sections: object) -> Scenario:
    return Scenario.model_validate(raw(model, deployment=H100) | sections)


def test_a_plan_of_another_scenario_is_refused_in_a_sentence() -> None:
    small, large = asked(name="support"), asked(LLAMA_70B, name="research")
    with pytest.raises(
        ForeignPlan,
        match=r"^This plan answers another scenario than “research”, which differs in model: plan “research” itself\.$",
    ):
        Answer(understand(large), analytic_plan(small))
    answer = Answer.of(small, analytic_plan)
    with pytest.raises(ForeignPlan):
        replace(answer, question=understand(large))
    busier = small.model_copy(update={"workload": small.workload.model_copy(update={"peak_rps": 90.0})})
    with pytest.raises(ForeignPlan, match="differs in workload"):
        replace(answer, question=understand(busier))


def test_a_plan_that_was_read_from_a_file_says_not_what_it_answers() -> None:
    plan = analytic_plan(asked())
    read = Plan.model_validate_json(plan.model_dump_json())
    assert read == plan
    with pytest.raises(ForeignPlan, match="plan the scenario again"):
        Answer(understand(asked()), read)


def test_copies_and_other_processes_keep_what_a_plan_was_made_for() -> None:
    plan = analytic_plan(asked())
    for same in (plan.model_copy(update={"answer": "in short"}), pickle.loads(pickle.dumps(plan))):
        (row,) = Answer(understand(asked()), same).chosen
        assert row.label == Answer(understand(asked()), plan).chosen[0].label


def test_plans_that_say_the_same_are_equal_whatever_was_asked() -> None:
    scenario = asked()
    named = scenario.model_copy(update={"name": "another"})
    assert analytic_plan(scenario) == analytic_plan(named)


def test_what_a_plan_was_made_for_is_not_written() -> None:
    assert not {"made_for", "_made_for"} & set(analytic_plan(asked()).model_dump())


def test_constants_of_cost_and_the_name_do_not_move_a_plan() -> None:
    answer = Answer.of(asked(), analytic_plan)
    answer = answer.at_costs(Costs(leave_out=("staff",)))
    dearer = answer.at_costs(Costs(staff_usd_per_month=10_000))
    assert dearer.plan is answer.plan
    assert cost(dearer).usd_per_month == pytest.approx((cost(answer).usd_per_month or 0.0) + 10_000)
    assert Answer(understand(asked(name="renamed")), answer.plan).plan is answer.plan


@pytest.mark.parametrize("scenario", [asked(), large_model(serving=["disaggregated"])], ids=["together", "apart"])
def test_the_chosen_configurations_are_those_of_the_deployment(scenario: Scenario) -> None:
    answer = Answer.of(scenario, analytic_plan)
    deployed = answer.plan.deployment
    assert len(answer.chosen) == len(deployed.kinds)
    for row, kind in zip(answer.chosen, deployed.kinds, strict=True):
        assert (row.tp, row.pp, row.ep, row.dp) == (kind.tp, kind.pp, kind.ep, kind.dp)
        assert (row.gpu.id, row.engine.id, row.precision.id) == (
            deployed.gpu,
            deployed.engine,
            deployed.weight_precision,
        )
        assert row.kv_precision == deployed.kv_precision
        assert row.batch_limit == deployed.batch_limit


def test_nothing_is_chosen_where_nothing_serves() -> None:
    answer = Answer.of(asked(limits={"ttft_ms": 0.001}), analytic_plan)
    assert not answer.plan.feasible
    assert answer.chosen == ()


def test_an_answer_that_is_known_is_not_made_again() -> None:
    answer = Answer.of(asked(), analytic_plan)
    assert as_answer(answer, lambda _: pytest.fail("planned again")) is answer

    def elsewhere(scenario: Scenario) -> Plan:
        assert scenario.deployment.location != answer.scenario.deployment.location, "planned again"
        return analytic_plan(scenario)

    assert cost(answer, planner=elsewhere).gpus == answer.plan.deployment.gpus


def test_the_planned_deployment_is_simulated_under_other_traffic() -> None:
    answer = Answer.of(asked(), analytic_plan)
    half = asked().model_copy(deep=True)
    half = half.model_copy(update={"workload": half.workload.model_copy(update={"peak_rps": 0.5})})
    own, calm = simulate(answer, hours=0.1), simulate(answer, traffic=half, hours=0.1)
    assert calm.instances == own.instances
    assert calm.offered_rps < own.offered_rps
