"""One question, one answer at every door: what prices the mixed fleet, and what keeps one fleet and says so."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from api.questions import comparison_of
from reality.compare import compare as beside_reality
from reality.money import planned_cost
from sharing.report.content import Paragraph, Released
from sharing.report.materials import materials
from sharing.report.sensitivity import sensitivity
from sharing.report.subject import subject_of
from sizing import Scenario, plan
from sizing.cli import main
from sizing.decision.comparison import Comparison, compare
from sizing.decision.lever_text import as_text
from sizing.decision.optimised import optimised
from sizing.decision.outcome import Answers, Outcome, advised, priced
from sizing.decision.text import in_words
from sizing.decision.tornado import tornado
from sizing.economics.cost import cost, month_of_plan
from sizing.mixed.text import BESIDE_ONE_FLEET, MATERIALS_OF_ONE_FLEET, OF_ONE_FLEET, of_one_fleet
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.reality.truths import planned as planned_there
from tests.reality.truths import scenario as scenario_there
from tests.reality.truths import simulated_truth
from tests.sizing.mixed import cheaper, pools

ONE_FLEET = Scenario.model_validate(
    cheaper.KEYS | {"deployment": cheaper.KEYS["deployment"] | {"mixed": 1}, "name": "one fleet"}
)


def in_process() -> Comparison:
    return compare([ONE_FLEET, cheaper.answer()])


def by_api() -> Comparison:
    return comparison_of([ONE_FLEET.model_dump(mode="json"), cheaper.KEYS])


@pytest.mark.parametrize("asked", [in_process, by_api])
def test_a_comparison_has_the_cost_of_the_mixed_fleet(asked: Callable[[], Comparison]) -> None:
    one, mix = asked().scenarios
    answered = cost(cheaper.answer())
    assert mix.outcome.usd_per_month == answered.usd_per_month
    assert mix.outcome.mixed
    assert one.outcome.usd_per_month == month_of_plan(cheaper.answer())["usd_per_month"]
    assert not one.outcome.mixed
    (driver,) = mix.drivers
    assert driver.key == "deployment.mixed"
    assert driver.usd_per_month == pytest.approx(mix.usd_more)
    assert mix.usd_more < 0


def test_the_command_line_compares_as_the_cost_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "one.yaml", tmp_path / "mix.yaml"]
    for path, keys in zip(files, (ONE_FLEET.model_dump(mode="json"), cheaper.KEYS), strict=True):
        path.write_text(yaml.safe_dump(keys))
    assert main(["compare", *map(str, files), "--json"]) == 0
    one, mix = json.loads(capsys.readouterr().out)["scenarios"]
    assert mix["outcome"]["usd_per_month"] == cost(cheaper.answer()).usd_per_month
    assert mix["outcome"]["mixed"] is True
    assert "mixed" not in one["outcome"]


@pytest.mark.parametrize("module", [cheaper, pools])
def test_several_fleets_are_counted_together(module: ModuleType) -> None:
    answer: Answer = module.answer()
    both, each = advised(answer), answer.fleets if answer.pools is None else (answer.pools,)
    deployed = [one for part in each if (one := part.plan.deployment) is not None]
    assert both.gpus == sum(one.gpus for one in deployed) == cost(answer).gpus
    assert both.gpus_bought == sum(one.gpus_bought for one in deployed)
    assert both.systems == sum(one.systems for one in deployed)
    assert len(both.gpu.split(" and ")) == 2
    assert both.usd_per_month == cost(answer).usd_per_month
    slowest = max(part.plan.latency.ttft_ms.at_percentile or 0.0 for part in each if part.plan.latency)
    assert both.ttft_ms == slowest
    assert " and " in in_words(both)
    assert priced(answer).usd_per_month == month_of_plan(answer)["usd_per_month"]


def test_brief_plans_are_given_their_mix_before_they_are_compared() -> None:
    brief = Answers(lambda scenario: plan(scenario, alternatives=0, brief=True))
    assert brief.answer(cheaper.SCENARIO).plan.mixed is None
    assert brief.advised(cheaper.SCENARIO).usd_per_month == cost(cheaper.answer()).usd_per_month


def test_a_running_deployment_is_held_against_what_the_answer_costs() -> None:
    usd = cost(cheaper.answer()).usd_per_month
    assert planned_cost(cheaper.answer()).usd_per_hour == pytest.approx(usd / 730)


class Unmoved(Answers):
    """Answers that no input moves, because these tests are about what is said beside them."""

    def outcome(self, scenario: Scenario) -> Outcome:
        return priced(cheaper.answer())


def test_moved_inputs_keep_one_fleet_and_say_so() -> None:
    assert tornado(cheaper.SCENARIO, unmoved()).base.usd_per_month == month_of_plan(cheaper.answer())["usd_per_month"]
    assert of_one_fleet(cheaper.SCENARIO) == OF_ONE_FLEET
    assert of_one_fleet(ONE_FLEET) == ""
    section = sensitivity(subject_of(cheaper.answer(), Released.OWN_PRICES), unmoved())
    first = section.blocks[0]
    assert isinstance(first, Paragraph)
    assert first.text.endswith(OF_ONE_FLEET)


def unmoved() -> Answers:
    answers = Unmoved(analytic_plan)
    answers.knows(cheaper.answer())
    return answers


def test_levers_keep_one_fleet_and_say_so() -> None:
    shown = optimised(cheaper.SCENARIO, analytic_plan)
    assert not shown.plan.mixed
    assert shown.mix_left_out
    assert as_text(shown).splitlines()[1] == OF_ONE_FLEET
    assert OF_ONE_FLEET not in as_text(optimised(ONE_FLEET, analytic_plan))


def test_materials_are_of_one_fleet_and_say_so() -> None:
    section = materials(subject_of(cheaper.answer(), Released.OWN_PRICES))
    assert section.blocks[0] == Paragraph(text=MATERIALS_OF_ONE_FLEET)


def test_what_stands_beside_a_running_deployment_is_one_fleet_and_says_so() -> None:
    asked = scenario_there()
    observed, seen = simulated_truth(asked, rps=10.0, replicas=1, window_s=600.0)
    alone = planned_there(asked)
    mixed = cheaper.answer().plan.mixed
    answer = replace(alone.answer, plan=alone.answer.plan.model_copy(update={"mixed": mixed}))
    assert BESIDE_ONE_FLEET in beside_reality(replace(alone, answer=answer), observed, seen).assumptions
    assert BESIDE_ONE_FLEET not in beside_reality(alone, observed, seen).assumptions
