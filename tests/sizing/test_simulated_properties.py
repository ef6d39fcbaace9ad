"""What must hold for the simulated plan of every valid scenario, checked on random ones."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sizing import Scenario, plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.compose import compose
from sizing.question.understand import understand
from sizing.search.decide import decide
from sizing.search.serving import screened
from sizing.simulator.stability import MOST_EVENTS
from sizing.simulator.work import MOST_WORK, WORK_PER_RUN, Work
from tests.sizing.asking import changed, raw
from tests.sizing.random_scenarios import GPUS, MODELS, logarithmic, valid_scenarios

LIMITED = {"streaming": ("ttft_ms", "itl_ms", "e2e_ms"), "sequential": ("e2e_ms",), "offline": ()}
ALIKE = 1.0 + 1e-6
RESOLVED = 1.02
"""Within so much two simulated numbers of instances are alike: the search ends at 1 % of either."""

FOUR_BIT_L40S = {"gpus": ["l40s"], "precisions": ["int4_awq"]}
"""DeepSeek V3 fits two servers of L40S in 4 bit only."""

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


@st.composite
def nearly_out_of_reach(draw):
    """A scenario with a limit that idle instances hardly keep by the load model, its name, a factor to loosen it."""
    name = draw(st.sampled_from(["ttft_ms", "itl_ms"]))
    keys = raw(
        draw(MODELS),
        workload={
            "input_tokens": draw(logarithmic(100, 12_000)),
            "output_tokens": draw(logarithmic(20, 1500)),
            "peak_rps": draw(logarithmic(0.3, 100)),
        },
        limits={"percentile": draw(st.sampled_from([50, 90, 95, 99]))},
        deployment={
            "gpus": [draw(GPUS)],
            "location": draw(st.sampled_from(["on_prem", "cloud"])),
            "serving": [draw(st.sampled_from(["aggregated", "disaggregated"]))],
            "precisions": [draw(st.sampled_from(["bf16", "fp8"]))],
            "pp": [1],
        },
    )
    keys["limits"][name] = draw(st.sampled_from([1.0, 1.01, 1.03, 1.06, 1.12])) * least_by_estimate(keys, name)
    return keys, name, draw(st.sampled_from([1.01, 1.03, 1.1, 1.3]))


def least_by_estimate(keys, name):
    """The tightest limit that the load model can keep, in ms."""
    broken, held = 1.0, 60_000.0
    while held > 1.01 * broken:
        middle = math.sqrt(broken * held)
        found = analytic_plan(Scenario.model_validate(changed(keys, f"limits.{name}", middle)), alternatives=0)
        broken, held = (broken, middle) if found.feasible else (middle, held)
    return held


def planned(keys):
    return plan(Scenario.model_validate(keys))


def decided_on(keys):
    question = understand(Scenario.model_validate(keys))
    return decide(screened(question), seed=0)


def promised_less(keys, decided):
    """Places shown beside what was simulated that count less by what decides, preferences included."""
    if decided.outcome is None or keys["deployment"].get("objective", "cost") not in ("cost", "gpus"):
        return []
    counted = np.concatenate([kind.counted() for kind in decided.every.kinds])
    first, *others = decided.shortlist(3)
    return [place for place in others if counted[place] * ALIKE < counted[first]]


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


@given(asked=nearly_out_of_reach())
def test_a_limit_that_is_hardly_in_reach_is_no_cheaper_than_a_looser_one(asked):
    """An estimate that no simulation confirmed cost a third of what a looser limit did, which one confirmed.

    Not held where the tight limit is kept by a cap on the sequences in flight, which is looked for only where nothing
    holds without: just above, one more instance may be counted without a cap than with it (Mixtral 8x7B on H200, ITL
    3.8 and 3.9 ms).
    """
    keys, name, factor = asked
    tight, loose = planned(keys), planned(changed(keys, f"limits.{name}", keys["limits"][name] * factor))
    assume(tight.feasible and tight.cost.hardware_usd_per_month is not None)
    assume(tight.deployment.batch_limit is None)
    assert loose.feasible
    assert loose.cost.hardware_usd_per_month <= tight.cost.hardware_usd_per_month * RESOLVED


@pytest.mark.parametrize(
    ("model", "allowed", "serving", "limits"),
    [
        ("deepseek-ai/DeepSeek-V3", {**FOUR_BIT_L40S, "confidence": 50}, "disaggregated", (19.5, 20, 20.3, 22, 30)),
        ("deepseek-ai/DeepSeek-V3", {**FOUR_BIT_L40S, "confidence": 50}, "aggregated", (19.5, 20, 20.3, 22, 30)),
        ("deepseek-ai/DeepSeek-V3", FOUR_BIT_L40S, "disaggregated", (43, 45, 48, 52, 60)),
        ("openai/gpt-oss-120b", {"gpus": ["h200_sxm"]}, "disaggregated", (3, 3.1, 3.3, 4)),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", {"gpus": ["h200_sxm"]}, "disaggregated", (2.8, 2.83, 3, 4)),
    ],
)
def test_a_looser_itl_limit_costs_no_more(model, allowed, serving, limits):
    costs = []
    for itl in limits:
        found = planned(
            raw(
                model,
                workload={"input_tokens": 879, "output_tokens": 741, "peak_rps": 14.7},
                limits={"itl_ms": itl},
                deployment={**allowed, "location": "cloud", "serving": [serving]},
            )
        )
        costs.append(found.cost.hardware_usd_per_month if found.feasible else math.inf)
    assert all(looser <= tighter * RESOLVED for tighter, looser in itertools.pairwise(costs))
    assert math.isfinite(costs[-1])


@given(keys=valid_scenarios())
def test_no_alternative_of_a_simulated_plan_promises_less(keys):
    assert promised_less(keys, decided_on(keys)) == []


@pytest.mark.parametrize("keys", PROMISED_LESS.values(), ids=PROMISED_LESS)
def test_estimates_that_promise_less_are_left_out_and_counted(keys):
    decided, found = decided_on(keys), planned(keys)
    assert promised_less(keys, decided) == []
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
