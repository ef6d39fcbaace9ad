"""What cannot be concluded is said in a sentence: no data, another model, few requests, no limits, no plan."""

import numpy as np
import pytest

from collectors.questions.details import Details
from collectors.reading.observation import State
from reality.compare import planned_of
from reality.diagnosis.diagnose import Reading, diagnose
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
