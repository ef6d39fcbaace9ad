"""Sessions in a scenario: what follows from them, and what is refused in one sentence."""

from typing import Any

import pytest

import sizing
from sizing.base.errors import InvalidScenario
from sizing.question.understand import understand
from sizing.scenario.demand import peak_demand
from sizing.scenario.file import load_scenario

AGENT = {
    "turns": 10,
    "first_prompt_tokens": 8000,
    "tool_tokens": 2400,
    "answer_tokens": 500,
    "tool_time_s": 13,
    "shared_prompt_tokens": 5000,
    "sessions_at_once": 200,
}


def scenario(workload: dict[str, Any] | None = None, **sessions: Any) -> Any:
    given = {key: value for key, value in (AGENT | sessions).items() if value is not None}
    return {"model": "Qwen/Qwen3-32B", "workload": {"sessions": given, **(workload or {})}}


def problem(raw: dict[str, Any]) -> str:
    with pytest.raises(InvalidScenario) as caught:
        understand(load_scenario(raw))
    (sentence,) = caught.value.problems
    return sentence


def test_lengths_follow_from_the_turns() -> None:
    workload = load_scenario(scenario()).workload
    assert workload.input_tokens.groups == [8000.0 + 2900 * turn for turn in range(10)]
    assert workload.output_tokens == 500.0


def test_the_rate_follows_by_the_hour_or_from_sessions_at_once() -> None:
    hourly = load_scenario(scenario(sessions_at_once=None, sessions_per_hour=720)).workload
    assert peak_demand(hourly).sustained_rps == pytest.approx(720 * 10 / 3600)
    at_once = load_scenario(scenario(workload={"growth_percent": 50})).workload
    service_s = 1.0 + 0.03 * 500
    assert peak_demand(at_once).sustained_rps == pytest.approx(1.5 * 200 * 10 / (10 * service_s + 9 * 13))


def test_a_scenario_with_sessions_is_read_again_as_it_was_written() -> None:
    one = load_scenario(scenario())
    assert load_scenario(one.model_dump(mode="json")) == one


def test_what_follows_from_sessions_is_not_said_twice() -> None:
    assert problem(scenario({"input_tokens": 5})) == "workload: input_tokens follows from sessions: leave it out."
    both = problem(scenario({"peak_rps": 5, "average_rps": 4}))
    assert both == "workload: peak_rps and average_rps follow from sessions: leave them out."
    assert "prefix_cached_tokens follows from sessions" in problem(scenario({"prefix_cached_tokens": 100}))


def test_one_way_to_say_how_many() -> None:
    assert "exactly one of sessions_at_once or sessions_per_hour (found both)" in problem(scenario(sessions_per_hour=9))
    assert "(found neither)" in problem(scenario(sessions_at_once=None))
    assert "must be smaller than first_prompt_tokens" in problem(scenario(shared_prompt_tokens=8000))
    no_length = problem(scenario(shared_prompt_tokens=0, shared_prompts=5))
    assert "shared_prompts needs shared_prompt_tokens" in no_length
    assert "Did you mean turns" in "".join(_all(scenario(turnes=4, turns=None)))


def _all(raw: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(InvalidScenario) as caught:
        load_scenario(raw)
    return caught.value.problems


def test_a_session_longer_than_the_context_names_the_nearest_that_works() -> None:
    plan = sizing.plan(load_scenario(scenario(turns=90)))
    assert not plan.feasible
    assert (
        "a session of 266,600 tokens exceeds its context window of 40,960; the nearest that works is 12 turns."
        in plan.answer
    )
    (fix,) = (warning.fix for warning in plan.warnings if warning.code == "context_exceeded")
    assert (fix.key, fix.value) == ("workload.sessions.turns", 12)
    assert sizing.plan(load_scenario(scenario(turns=12))).feasible
    assert "its first prompt alone is longer" in sizing.plan(load_scenario(scenario(first_prompt_tokens=60000))).answer


def test_before_a_plan_everything_is_taken_to_be_held() -> None:
    question = understand(load_scenario(scenario()))
    prompts = [8000 + 2900 * turn for turn in range(10)]
    cached = 5000 + sum(prompt + 500 for prompt in prompts[:-1])
    assert question.traffic.cached_tokens == pytest.approx(cached / 10, rel=1e-3)
    assert question.variability.prompt == pytest.approx(32_400 / 2460**2, rel=1e-3)  # 3,000 new tokens, then 2,400
