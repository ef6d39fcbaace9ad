"""A mix beside a plan: its parts are plans that hold the limits, it is held against one type, and bad input is said."""

import json
import math
from functools import cache
from typing import Any

import pytest

from sizing import InvalidScenario, Plan, Scenario, plan
from sizing.base.mixed import MixedFleet
from sizing.mixed.text import lines, sentence
from sizing.planning.analytic import analytic_plan
from sizing.planning.text import as_text
from sizing.scenario.file import scenario_from
from tests.sizing.asking import LLAMA_8B, raw

SPREAD = {"input_tokens": {"p50": 900, "p95": 14000}, "output_tokens": 150, "peak_rps": 24}
CLOUD: dict[str, Any] = {"gpus": ["l4", "h100_sxm"], "location": "cloud"}
LIMITS = {"ttft_ms": 3000, "itl_ms": 80}
SESSIONS = {"turns": 3, "first_prompt_tokens": 500, "answer_tokens": 100, "sessions_per_hour": 100}


def asked(most: int = 2, **sections: Any) -> Scenario:
    deployment = {**CLOUD, **sections.pop("deployment", {}), "mixed": most}
    workload = {**SPREAD, **sections.pop("workload", {})}
    return Scenario.model_validate(raw(LLAMA_8B, workload=workload, limits=LIMITS, deployment=deployment, **sections))


@cache
def planned(most: int = 2) -> Plan:
    return plan(asked(most))


def mix(one: Plan) -> MixedFleet:
    assert one.mixed is not None
    return one.mixed


def checked(one: Plan) -> None:
    """What holds for every mix with parts."""
    mixed, cost = mix(one), one.cost
    assert mixed.one_fleet_usd_per_month == cost.hardware_usd_per_month
    if not mixed.parts:
        assert mixed.outcome in ("one_fleet", "not_held", "no_price")
        assert mixed.usd_per_month is None
        return
    assert mixed.saved_share == pytest.approx(1 - mixed.usd_per_month / mixed.one_fleet_usd_per_month)
    assert (mixed.outcome == "cheaper") == (mixed.usd_per_month < mixed.one_fleet_usd_per_month * (1 - 1e-9))
    assert math.fsum(part.share for part in mixed.parts) == pytest.approx(1.0)
    assert math.fsum(part.rps for part in mixed.parts) == pytest.approx(one.sustained_rps)
    assert mixed.gpus == sum(part.deployment.gpus for part in mixed.parts)
    assert len(mixed.parts) > 1
    for part in mixed.parts:
        for latency, limit in ((part.latency.ttft_ms, LIMITS["ttft_ms"]), (part.latency.itl_ms, LIMITS["itl_ms"])):
            assert latency.at_percentile <= limit


def test_a_mix_stands_beside_the_plan() -> None:
    one = planned()
    checked(one)
    bare = plan(asked(1))
    assert bare.mixed is None
    own = {"mixed", "answer", "sentences"}
    assert one.model_dump(exclude=own) == bare.model_dump(exclude=own)
    assert one.sentences[-1].about == "mixed"
    assert one.answer.endswith(one.sentences[-1].text)


def test_a_mix_of_the_catalogue_holds_too() -> None:
    checked(plan(asked(deployment={"gpus": []})))
    checked(plan(asked(deployment={"gpus": [], "location": "on_prem"}, workload={"peak_rps": 300})))


def test_the_same_question_gets_the_same_mix() -> None:
    assert plan(asked()).mixed == planned().mixed


def test_alike_requests_are_split_by_share() -> None:
    one = plan(asked(workload={"input_tokens": 2000, "peak_rps": 40}))
    checked(one)
    for part in mix(one).parts:
        assert part.ranges == ()


def test_what_one_system_carries_is_one_fleet() -> None:
    one = plan(asked(deployment={"gpus": ["h100_sxm"], "location": "on_prem"}, workload={"peak_rps": 2}))
    assert mix(one).outcome == "one_fleet"
    assert "One fleet for all requests is cheapest" in sentence(mix(one), str)


def test_json_and_text_say_the_mix() -> None:
    one = planned()
    written = json.loads(one.model_dump_json())["mixed"]
    assert {"outcome", "parts", "usd_per_month", "one_fleet_usd_per_month", "saved_share", "assumptions"} <= set(
        written
    )
    assert any(line.startswith("Mixed fleet") for line in as_text(one).splitlines())
    whole = len(mix(one).parts) + 2 if mix(one).parts else 1
    assert len(list(lines(mix(one), str))) == whole + (mix(one).apart is not None)


def test_without_money_no_amount_is_left() -> None:
    bare = mix(planned()).without_money()
    assert bare.usd_per_month is None
    assert bare.one_fleet_usd_per_month is None
    assert all(part.usd_per_month is None for part in bare.parts)
    assert "$" not in sentence(mix(planned()), str)


def test_brief_plans_and_estimates_have_no_mix() -> None:
    assert plan(asked(), brief=True).mixed is None
    assert analytic_plan(asked()).mixed is None


def test_nothing_that_serves_has_no_mix() -> None:
    keys = raw(LLAMA_8B, workload=SPREAD, limits={"ttft_ms": 1}, deployment={**CLOUD, "mixed": 2})
    one = plan(Scenario.model_validate(keys))
    assert not one.feasible
    assert one.mixed is None


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"deployment": {"mixed": 9}}, "deployment.mixed"),
        ({"deployment": {"mixed": 0}}, "deployment.mixed"),
        ({"deployment": {"mixed": 2}, "measured": {"system": "dgx_h100", "rps_per_system": 2.0}}, "measured record"),
        ({"deployment": {"mixed": 2}, "workload": {"sessions": SESSIONS}}, "prefix caches"),
    ],
)
def test_bad_input_is_one_sentence(keys: dict[str, Any], says: str) -> None:
    sections = dict(keys)
    workload = sections.pop("workload", None)
    given = {"model": LLAMA_8B, "workload": workload or SPREAD, **sections}
    with pytest.raises(InvalidScenario) as error:
        scenario_from(given)
    assert len(error.value.problems) == 1, error.value.problems
    assert says in error.value.problems[0]


def test_a_cached_part_that_the_shortest_prompts_do_not_have_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="cached 500 tokens are more than the shortest") as error:
        plan(asked(workload={"prefix_cached_tokens": 500}))
    assert error.value.paths == ("deployment.mixed",)
