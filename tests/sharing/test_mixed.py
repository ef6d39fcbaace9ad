"""A mix of GPU types in the form, in links and in a report."""

import pytest

from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults
from sharing.form.read import faults, to_scenario
from sharing.form.write import from_scenario
from sharing.report.content import Facts, Released, Section, Table
from sharing.report.mixed import mixed
from sharing.report.subject import subject_of
from sizing.base.mixed import FleetPart, MixedFleet, PromptRange
from sizing.base.result import Plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B, raw
from tests.sizing.mixed import pools


def scenario_of(**deployment: object) -> Scenario:
    return Scenario.model_validate(raw(LLAMA_8B, deployment={"gpus": ["h100_sxm"], **deployment}))


def with_parts(plan: Plan) -> Plan:
    """The plan with a mix of itself, for what is shown of one."""
    parts = tuple(
        FleetPart(
            ranges=(PromptRange(from_tokens=low, below_tokens=high),),
            share=share,
            rps=31 * share,
            deployment=plan.deployment,
            latency=plan.latency,
            usd_per_month=1234.0,
            probability_within_limits=0.9,
        )
        for low, high, share in ((None, 2000.0, 0.25), (2000.0, None, 0.75))
    )
    fleet = MixedFleet(
        outcome="cheaper",
        parts=parts,
        gpus=2 * plan.deployment.gpus,
        systems=2 * plan.deployment.systems,
        usd_per_month=2468.0,
        one_fleet_usd_per_month=3000.0,
        saved_share=1 - 2468 / 3000,
        unserved=(),
        assumptions=("Something is assumed.",),
    )
    return plan.model_copy(update={"mixed": fleet})


def chapter(released: Released, *, parts: bool = True) -> Section | None:
    scenario = scenario_of()
    plan = analytic_plan(scenario)
    return mixed(subject_of(Answer(understand(scenario), with_parts(plan) if parts else plan), released))


def test_a_form_and_a_link_carry_the_number_of_fleets() -> None:
    values = from_scenario(scenario_of(mixed=3))
    assert values["mixed"] == "3"
    assert Scenario.model_validate(to_scenario(values)).deployment.mixed == 3
    opened = from_parameters(to_parameters(values))
    assert not opened.problems
    assert Scenario.model_validate(to_scenario({**defaults(), **opened.values})).deployment.mixed == 3
    assert "mixed" not in to_parameters(from_scenario(scenario_of()))


@pytest.mark.parametrize("typed", ["0", "9", "1.5", "two"])
def test_a_number_of_fleets_that_cannot_be_is_said_at_its_field(typed: str) -> None:
    (fault,) = faults({**defaults(), "mixed": typed})
    assert fault.fields == {"mixed"}


def test_a_report_has_a_chapter_on_the_mix_and_no_money_where_none_is_released() -> None:
    shown = chapter(Released.LIST_PRICES)
    (table,) = (block for block in shown.blocks if isinstance(block, Table))
    assert [row[:2] for row in table.rows] == [("below 2,000 tokens", "25 %"), ("from 2,000 tokens on", "75 %")]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert any(column.holds == "money" for column in table.columns)
    bare = chapter(Released.NOTHING)
    assert "$" not in bare.model_dump_json()
    (facts,) = (block for block in bare.blocks if isinstance(block, Facts))
    assert [fact.label for fact in facts.facts] == ["GPUs of the mixed fleet"]
    assert chapter(Released.LIST_PRICES, parts=False) is None


def test_a_report_shows_pools_on_two_gpu_types() -> None:
    answer = pools.answer()
    shown = mixed(subject_of(answer, Released.LIST_PRICES))
    assert shown is not None
    own = mixed(subject_of(answer, Released.OWN_PRICES))
    (table,) = (block for block in own.blocks if isinstance(block, Table))
    assert [row[2] for row in table.rows] == ["64 x H100 SXM5 80GB", "136 x H20 SXM5 96GB"]
    assert "a month of hardware" in table.title
    bare = mixed(subject_of(answer, Released.NOTHING))
    assert "$" not in bare.model_dump_json()


def test_pools_that_cost_no_less_are_a_sentence_alone() -> None:
    answer = pools.answer()
    fleet = answer.plan.mixed
    dear = fleet.model_copy(update={"apart": fleet.apart.model_copy(update={"saved_share": 0.0, "advised": False})})
    shown = mixed(
        subject_of(Answer(answer.question, answer.plan.model_copy(update={"mixed": dear})), Released.OWN_PRICES)
    )
    assert not any(isinstance(block, Table) for block in shown.blocks)
    assert "would cost no less than the plan" in shown.model_dump_json()


def test_released_pools_are_still_what_is_priced() -> None:
    subject = subject_of(pools.answer(), Released.OWN_PRICES)
    assert subject.answer.pools is not None
    assert subject.cost.mixed.by == "phase"
