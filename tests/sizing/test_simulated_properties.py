"""What must hold for the simulated plan of every valid scenario, checked on random ones."""

import pytest
from hypothesis import assume, given

from sizing import Scenario, plan
from sizing.planning.compose import compose
from sizing.question.understand import understand
from sizing.search.decide import decide
from sizing.search.serving import screened
from sizing.simulator.stability import MOST_EVENTS
from sizing.simulator.work import MOST_WORK, WORK_PER_RUN, Work
from tests.sizing.asking import raw
from tests.sizing.random_scenarios import valid_scenarios

LIMITED = {"streaming": ("ttft_ms", "itl_ms", "e2e_ms"), "sequential": ("e2e_ms",), "offline": ()}
COUNTED = {
    "cost": lambda one: one.usd_per_month if hasattr(one, "usd_per_month") else one.cost.usd_per_month,
    "gpus": lambda one: one.deployment.gpus,
}
ALIKE = 1.0 + 1e-6

PROMISED_LESS = {
    "one GPU type, fewest GPUs": raw(
        "deepseek-ai/DeepSeek-V3",
        workload={"input_tokens": 900, "output_tokens": 400, "peak_rps": 100, "arrivals": {"gamma": {"cv": 6}}},
        limits={"ttft_ms": 800, "itl_ms": 40, "percentile": 99},
        deployment={"gpus": ["h200_sxm"], "objective": "gpus", "serving": ["aggregated"]},
    ),
    "two GPU types, by cost": raw(
        "Qwen/Qwen3-30B-A3B",
        workload={"input_tokens": {"p50": 900, "p95": 7000}, "output_tokens": 700, "peak_rps": 60},
        limits={"ttft_ms": 200, "itl_ms": 8, "percentile": 99.9},
        deployment={"gpus": ["h100_sxm", "a100_sxm_80g"], "serving": ["aggregated"]},
    ),
}
"""Ordinary questions of which estimates promise less than the simulation keeps."""


def planned(keys):
    return plan(Scenario.model_validate(keys))


def promised_less(keys, found):
    """Alternatives beside a simulated plan that count less by what decides."""
    count = COUNTED.get(keys["deployment"].get("objective", "cost"))
    if found.decided_by != "simulation" or count is None or count(found) is None:
        return []
    return [one for one in found.alternatives if count(one) is not None and count(one) * ALIKE < count(found)]


@given(keys=valid_scenarios())
def test_a_plan_carries_what_it_states_for_ever(keys):
    found = planned(keys)
    assume(found.deployment is not None)
    for instance in (found.per_instance, found.per_prefill_instance):
        if instance is not None:
            assert instance.rps <= instance.stable_rps * ALIKE
            assert instance.max_rps <= instance.stable_rps * ALIKE


@given(keys=valid_scenarios())
def test_a_simulated_plan_keeps_its_limits(keys):
    found = planned(keys)
    assume(found.feasible and found.decided_by == "simulation")
    for name in LIMITED[keys["workload"]["mode"]]:
        value = getattr(found.latency, name).at_percentile
        if keys["limits"][name] is not None and value is not None:
            assert value <= keys["limits"][name] * ALIKE


@given(keys=valid_scenarios())
def test_no_alternative_of_a_simulated_plan_promises_less(keys):
    assert promised_less(keys, planned(keys)) == []


@pytest.mark.parametrize("keys", PROMISED_LESS.values(), ids=PROMISED_LESS)
def test_estimates_that_promise_less_are_left_out_and_counted(keys):
    question = understand(Scenario.model_validate(keys))
    decided = decide(screened(question), seed=0)
    found = planned(keys)
    assert promised_less(keys, found) == []
    assert ("left out" in found.how_sure) == (decided.left_out > 0)


@given(keys=valid_scenarios())
def test_every_pool_has_the_spares_asked_for(keys):
    found = planned(keys)
    assume(found.deployment is not None)
    spares, pools = keys["deployment"].get("spare_instances", 0), (found.deployment.prefill, found.deployment.decode)
    if found.deployment.serving == "aggregated":
        assert found.deployment.spare_instances == spares
    else:
        assert [pool.spare_instances for pool in pools] == [spares, spares]
        assert any("in either pool" in text for text in found.assumptions) == (spares > 0)


@given(keys=valid_scenarios())
def test_the_work_behind_a_plan_is_bounded(keys):
    work = Work()
    decide(screened(understand(Scenario.model_validate(keys))), 0, work)
    assert work.left >= -(MOST_EVENTS + 2 * WORK_PER_RUN) - MOST_WORK // 10


def test_without_work_left_the_answer_is_the_estimate_and_says_so():
    seen = screened(understand(Scenario.model_validate(raw())))
    found = compose(seen, decide(seen, 0, Work(left=1)), 3)
    assert found.decided_by == "analytic"
    assert found.provenance.not_simulated == "work_limit"
    assert "not_simulated" in {warning.code for warning in found.warnings}
    assert planned(raw()).provenance.not_simulated is None


@pytest.mark.parametrize("serving", ["aggregated", "disaggregated"])
def test_little_work_decides_the_same_or_nothing(serving):
    """What is decided does not depend on how much more might have been simulated."""
    seen = screened(understand(Scenario.model_validate(raw(deployment={"gpus": ["h100_sxm"], "serving": [serving]}))))
    whole = compose(seen, decide(seen, 0), 3).deployment
    for left in (50_000, 150_000, 500_000):
        decided = decide(seen, 0, Work(left=left))
        assert decided.not_simulated == "work_limit" or compose(seen, decided, 3).deployment == whole


def test_an_answer_of_one_token_has_no_gap_between_tokens():
    found = planned(raw(workload={"output_tokens": 1}, limits={"ttft_ms": 1000, "itl_ms": 1e-3}))
    assert found.feasible
    assert found.latency.itl_ms.at_percentile is None
    assert {one.itl_ms for one in found.alternatives} <= {None}
