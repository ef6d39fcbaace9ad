"""What cannot be concluded is said in a sentence: no data, another model, few requests, no limits, no plan."""

import numpy as np
import pytest

from collectors.questions.details import Details
from collectors.reading.observation import State
from reality.compare import planned_of
from reality.diagnosis.diagnose import Reading, diagnose
from reality.diagnosis.sentences import as_text
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario
from tests.reality.truths import deployed, in_buckets, observation, scenario, silent


@pytest.fixture(scope="module")
def ready():
    asked = scenario()
    return planned_of(Answer.of(asked, analytic_plan))


def told(ready, observed, seen=None):
    return diagnose(ready, Reading(observed=observed, deployed=seen or deployed(), details=Details()))


@pytest.mark.parametrize("state", [State.UNREACHABLE, State.NO_DATA, State.STALE])
def test_a_silent_source(ready, state):
    said = told(ready, silent(state))
    assert (said.state, said.main_cause, said.causes, said.actions) == ("unclear", None, (), ())
    assert said.headline.startswith("Nothing can be concluded: ")
    assert said.reasons


def test_another_model(ready):
    said = told(ready, observation({"arrivals_rps": 5.0}), deployed(model="Qwen/Qwen2.5-7B-Instruct"))
    assert (said.state, said.limits) == ("unclear", ())
    assert "Another model is served" in said.headline


def test_an_empty_window(ready):
    said = told(ready, observation({"arrivals_rps": 0.0}))
    assert said.state == "unclear"
    assert "No request arrived" in said.headline
    assert {row.verdict for row in said.limits} == {"unclear"}


def test_three_requests(ready):
    latency = in_buckets(np.array([1500.0, 3000.0, 9000.0]), np.ones(3), [1000.0, 2500.0, 5000.0, 10_000.0])
    seen = observation({"arrivals_rps": 3.0 / 3600.0, "replicas": 4.0}, {"ttft_ms": latency})
    said = told(ready, seen)
    assert (said.state, said.main_cause) == ("unclear", None)
    assert "only 3 requests" in said.headline


def test_no_limits():
    asked = scenario().model_copy(
        update={"limits": scenario().limits.model_copy(update={"ttft_ms": None, "itl_ms": None})}
    )
    said = told(planned_of(Answer.of(asked, analytic_plan)), observation({"arrivals_rps": 5.0}))
    assert said.state == "unclear"
    assert "no latency limit" in said.headline


def test_a_plan_that_deploys_nothing():
    asked = Scenario.model_validate(scenario().model_dump() | {"limits": {"ttft_ms": 1.0, "itl_ms": 0.01}})
    said = told(planned_of(Answer.of(asked, analytic_plan)), observation({"arrivals_rps": 5.0}))
    assert said.state == "unclear"
    assert "The plan deploys nothing" in said.headline


@pytest.mark.parametrize(
    ("numbers", "rps"),
    [
        ({"generation_tokens_per_s": 500_000.0, "running_max": 40.0}, 2_200.0),
        ({"generation_tokens_per_s": 1e300, "running_max": 1e3}, 1e300),
        ({"generation_tokens_per_s": 1e12}, 5.0),
    ],
)
def test_counters_that_contradict_the_latencies(ready, numbers, rps):
    gaps = in_buckets(np.full(1000, 45.0), np.ones(1000), [25.0, 50.0, 75.0, 100.0])
    said = told(ready, observation({"arrivals_rps": rps, "replicas": 4.0} | numbers, {"tpot_ms": gaps}))
    assert (said.state, said.main_cause, said.actions) == ("unclear", None, ())
    assert "The counters contradict the latencies" in said.headline
    assert "to ∞" not in as_text(said)  # of the TTFT, which was not measured


def test_limits_that_cannot_be_judged_are_not_said_to_hold(ready):
    few = in_buckets(np.array([45.0] * 60), np.ones(60), [25.0, 50.0, 75.0, 100.0])
    for rps in (12.0, 2.0):  # as planned, and for fewer replicas than serve
        said = told(ready, observation({"arrivals_rps": rps, "replicas": 4.0}, {"tpot_ms": few}))
        assert said.state == "unclear"
        assert all(action.change >= 0 for action in said.actions)
        assert not any("Every limit holds" in action.why for action in said.actions)
        assert [one.enough for one in said.actions if one.kind == "none"] in ([], [None])
