"""Three proposals: what each is, that they agree with the plans that they stand for, and that a system may be lost."""

from typing import Any

import pytest

from sizing import Scenario, plan
from sizing.base.result import Plan, Proposal
from sizing.planning.answered import Answer
from sizing.planning.proposal_text import chance, gives_up, made_of, room
from sizing.planning.text import as_text
from sizing.replay.simulate import simulate
from sizing.replay.what_if import WhatIf
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask, raw
from tests.sizing.lost_system import MINUTES, keeps_limits, with_system_to_lose

ON_H100: dict[str, Any] = {"gpus": ["h100_sxm"], "engines": ["vllm"]}
CASES: dict[str, dict[str, Any]] = {
    "several systems": raw(LLAMA_70B, workload={"peak_rps": 40}, deployment=ON_H100),
    "one instance": raw(LLAMA_8B, workload={"peak_rps": 0.2}, deployment=ON_H100),
    "instances that span systems": raw(
        "deepseek-ai/DeepSeek-V3", workload={"peak_rps": 3}, deployment={**ON_H100, "serving": ["aggregated"]}
    ),
    "pools": raw(LLAMA_70B, workload={"peak_rps": 20}, deployment={**ON_H100, "serving": ["disaggregated"]}),
    "rented": raw(LLAMA_8B, workload={"peak_rps": 30}, deployment={"location": "cloud"}),
    "nobody waits": raw(LLAMA_8B, workload={"peak_rps": 30, "mode": "offline"}, deployment=ON_H100),
}


def scenario_of(name: str, **deployment: Any) -> Scenario:
    keys = CASES[name]
    return Scenario.model_validate({**keys, "deployment": {**keys["deployment"], **deployment}})


def three(planned: Plan) -> tuple[Proposal, Proposal, Proposal]:
    lowest, balanced, resilient = planned.proposals
    assert (lowest.name, balanced.name, resilient.name) == ("lowest_cost", "balanced", "resilient")
    return lowest, balanced, resilient


@pytest.mark.parametrize("name", CASES)
def test_each_proposal_is_what_it_says(name: str) -> None:
    planned = plan(scenario_of(name), alternatives=0)
    lowest, balanced, resilient = three(planned)
    assert balanced.deployment == planned.deployment
    assert balanced.hardware_usd_per_month == planned.cost.hardware_usd_per_month
    assert balanced.probability_within_limits == planned.probability_within_limits
    assert balanced.headroom == planned.headroom
    prices = [one.hardware_usd_per_month or 0.0 for one in (lowest, balanced, resilient)]
    assert prices == sorted(prices)
    chances = [one.probability_within_limits or 0.0 for one in (lowest, balanced, resilient)]
    assert 0.5 <= chances[0] <= chances[1]
    assert min(chances[1:]) >= 0.9
    assert resilient.deployment.redundancy == "system"
    assert resilient.systems == resilient.deployment.systems > 1


@pytest.mark.parametrize("name", CASES)
def test_the_resilient_proposal_is_the_plan_of_one_system_more_and_keeps_the_limits_without_it(name: str) -> None:
    resilient = three(plan(scenario_of(name), alternatives=0))[2]
    answer = with_system_to_lose(scenario_of(name))
    assert answer.plan.deployment == resilient.deployment
    assert answer.plan.headroom == pytest.approx(resilient.headroom, rel=0.02)
    assert answer.plan.probability_within_limits == pytest.approx(resilient.probability_within_limits, abs=0.01)
    if name != "nobody waits":
        assert keeps_limits(answer)


def test_a_plan_without_redundancy_breaks_the_limits_when_its_system_is_lost() -> None:
    """Otherwise a lost system would prove nothing."""
    keys = {**CASES["several systems"], "limits": {"ttft_ms": 1000}}
    answer = Answer.of(Scenario.model_validate(having_rate(keys, 8.0)))
    assert answer.plan.deployment.systems > 1
    found = simulate(answer, what_if=WhatIf(fail_minutes=MINUTES, fails="system"), hours=1.0)
    assert not found.failure.meets_limits


def having_rate(keys: dict[str, Any], peak_rps: float) -> dict[str, Any]:
    return {**keys, "workload": {**keys["workload"], "peak_rps": peak_rps}}


@pytest.mark.parametrize("name", ["several systems", "one instance"])
def test_the_lowest_cost_is_the_plan_that_is_as_likely_as_not_enough(name: str) -> None:
    lowest = three(plan(scenario_of(name), alternatives=0))[0]
    likely = plan(scenario_of(name, confidence=50), alternatives=0)
    assert likely.deployment == lowest.deployment
    assert likely.probability_within_limits == pytest.approx(lowest.probability_within_limits, abs=0.01)


def test_what_is_asked_for_already_is_proposed_once() -> None:
    _, balanced, resilient = three(plan(scenario_of("one instance", redundancy="site"), alternatives=0))
    assert resilient.deployment == balanced.deployment
    lowest, sure, _ = three(plan(scenario_of("several systems", confidence=50), alternatives=0))
    assert lowest.deployment == sure.deployment


def test_a_measured_record_has_proposals_without_a_chance() -> None:
    planned = ask(measured={"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 500, "itl_ms": 20})
    lowest, balanced, resilient = three(planned)
    assert lowest.deployment == balanced.deployment == planned.deployment
    assert resilient.systems == balanced.systems + 1
    assert {one.probability_within_limits for one in planned.proposals} == {None}


def test_nothing_is_proposed_where_nothing_serves() -> None:
    assert plan(scenario_of("one instance"), brief=True).proposals == ()
    assert ask(limits={"ttft_ms": 0.001}).proposals == ()


def test_json_has_the_keys_of_the_contract() -> None:
    written = plan(scenario_of("one instance"), alternatives=0).model_dump(mode="json", by_alias=True)["proposals"]
    keys = {"name", "deployment", "systems", "usd_per_month", "probability_within_limits", "headroom"}
    assert [set(one) for one in written] == [keys] * 3
    assert [one["name"] for one in written] == ["lowest_cost", "balanced", "resilient"]


def test_a_second_system_is_priced_in_words() -> None:
    planned = plan(scenario_of("one instance"), alternatives=0)
    lowest, balanced, resilient = three(planned)
    assert gives_up(balanced, balanced, str).startswith("Gives up redundancy: one instance in one system")
    more = (resilient.hardware_usd_per_month or 0.0) - (balanced.hardware_usd_per_month or 0.0)
    assert f"{more} a month more" in gives_up(resilient, balanced, str)
    assert "systems instead of 1" in gives_up(resilient, balanced, None)
    assert gives_up(lowest, balanced, str) == "Nothing that costs clearly less is as likely as not enough."
    lines = as_text(planned).splitlines()
    shown = lines[lines.index("Proposals") + 3]
    assert all(words in shown for words in ("Balanced", made_of(balanced.deployment), chance(balanced), room(balanced)))


def test_a_lowest_cost_that_is_as_sure_as_asked_gives_up_what_the_plan_is_preferred_for() -> None:
    """282 GB of weights on four A100 leave little room for the KV cache: eight are planned, four cost less."""
    found = plan(
        Scenario.model_validate(
            {
                "model": "mistralai/Mixtral-8x22B-Instruct-v0.1",
                "workload": {"input_tokens": 2000, "output_tokens": 400, "peak_rps": 2},
                "deployment": {"gpus": ["a100_sxm_80g"], "location": "cloud"},
            }
        )
    )
    lowest, balanced = found.proposals[:2]
    assert lowest.headroom >= 1.0
    said = gives_up(lowest, balanced, str)
    assert said.startswith("Gives up what the plan is preferred for, such as room for the KV cache")
    assert said.endswith("it is as sure as was asked.")


@pytest.mark.parametrize("gpu", ["mi325x", "rtx_6000_ada", "t4"])
def test_the_lowest_cost_without_prices_buys_fewer_gpus_or_is_the_plan(gpu: str) -> None:
    found = plan(
        Scenario.model_validate(
            {
                "model": "Qwen/Qwen3-8B",
                "workload": {"input_tokens": 2000, "output_tokens": 400, "peak_rps": 3},
                "deployment": {"gpus": [gpu]},
            }
        )
    )
    if not found.proposals:
        return
    lowest, balanced = found.proposals[:2]
    assert lowest.hardware_usd_per_month is None
    assert (lowest.deployment == balanced.deployment) or (
        lowest.deployment.gpus_bought < balanced.deployment.gpus_bought
    )


def test_the_lowest_cost_saves_a_twentieth_at_least() -> None:
    """GLM-4.6 with a system to lose: 24 MI300X cost 30 USD a month less than the plan, for half of its chance."""
    found = plan(
        Scenario.model_validate(
            {
                "model": "zai-org/GLM-4.6",
                "workload": {"input_tokens": 20000, "output_tokens": 1000, "peak_rps": 1},
                "deployment": {"redundancy": "system"},
            }
        )
    )
    lowest, balanced = found.proposals[:2]
    assert lowest.hardware_usd_per_month is not None
    assert balanced.hardware_usd_per_month is not None
    same = lowest.deployment == balanced.deployment
    assert same or lowest.hardware_usd_per_month < 0.95 * balanced.hardware_usd_per_month
