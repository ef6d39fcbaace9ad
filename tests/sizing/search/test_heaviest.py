"""How much the chosen instances carry: what a plan says of a larger load agrees with the plan of that load."""

from itertools import pairwise
from typing import Any

import pytest

import sizing
from sizing import Plan, Scenario
from sizing.planning.analytic import analytic_plan
from sizing.question.understand import understand
from sizing.search import trials
from sizing.search.aggregated import smallest_aggregated
from sizing.search.decide import RESOLUTION, heaviest_rps, room_within
from sizing.search.instances import Needed, asked_for
from sizing.search.refine import refine
from sizing.search.screen import all_configurations, evaluate
from sizing.search.trials import Case, Tries
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.run_length import REPORTED_REQUESTS
from tests.sizing.asking import raw
from tests.sizing.search.simulated import GAMMA, scenario

PAIRS: dict[str, Any] = {
    "gpus": ["h100_nvl"],
    "engines": ["trtllm"],
    "precisions": ["fp8"],
    "kv_precisions": ["fp8"],
    "tp": [2],
    "pp": [1],
    "serving": ["aggregated"],
}


VARIED: dict[str, Any] = {"input_tokens": {"p50": 2500, "p95": 5000}, "output_tokens": {"p50": 250, "p95": 600}}


def of_pairs(rate: float, routing: str = "least_loaded", **sections: Any) -> Scenario:
    """Llama 3.3 70B on pairs of H100 NVL, 3,000 tokens in and 300 out, p99 TTFT below 2 s."""
    workload = {"input_tokens": 3000, "output_tokens": 300, "peak_rps": rate} | sections
    limits = {"ttft_ms": 2000, "itl_ms": 100, "percentile": 99}
    deployment = {**PAIRS, "routing": routing}
    asked = raw("meta-llama/Llama-3.3-70B-Instruct", workload=workload, limits=limits, deployment=deployment)
    return Scenario.model_validate(asked)


def instances(plan: Plan) -> int:
    assert plan.deployment
    return plan.deployment.instances


@pytest.mark.parametrize(
    ("asked", "rate"),
    [({"routing": "random"}, 1.0), ({"routing": "random"}, 3.0), ({}, 3.0), (VARIED, 3.0)],
    ids=["random-1", "random-3", "least_loaded-3", "varied-3"],
)
def test_as_many_instances_carry_what_the_plan_says_and_no_more(asked: dict[str, Any], rate: float) -> None:
    plan = sizing.plan(of_pairs(rate, **asked))
    assert plan.headroom_is_simulated
    assert plan.headroom
    assert plan.per_instance
    assert plan.headroom == pytest.approx(plan.per_instance.max_rps * instances(plan) / rate)
    most = rate * plan.headroom
    assert instances(sizing.plan(of_pairs(most / RESOLUTION, **asked))) == instances(plan)
    assert instances(sizing.plan(of_pairs(most * RESOLUTION**2, **asked))) > instances(plan)


def test_no_instance_is_said_to_carry_what_one_fewer_did_not() -> None:
    """By load a pair carries more than twice what one does; the number of instances is that of the stated rate."""
    plan = sizing.plan(of_pairs(1.0))
    assert plan.per_instance
    assert instances(plan) == 2
    assert 1.0 / RESOLUTION**2 < plan.per_instance.max_rps < 1.0


def test_a_room_that_was_simulated_is_not_called_an_estimate() -> None:
    simulated, estimated = sizing.plan(of_pairs(1.0)), analytic_plan(of_pairs(1.0))
    assert "Room for about" in simulated.answer
    assert "By estimate" not in simulated.answer
    assert "By estimate, room for about" in estimated.answer
    assert not estimated.headroom_is_simulated


def test_the_range_of_gpus_does_not_fall_with_longer_prompts() -> None:
    """Whole instances are rounded once: a longer prompt needs no fewer GPUs, at neither end of the range."""
    plans = [sizing.plan(of_pairs(1.0417, input_tokens=n)) for n in (3500, 3700, 3900, 4200)]
    for shorter, longer in pairwise(plans):
        assert shorter.gpus_low
        assert longer.gpus_low
        assert shorter.gpus_high
        assert longer.gpus_high
        assert shorter.gpus_low <= longer.gpus_low
        assert shorter.gpus_high <= longer.gpus_high


def decided(asked: Scenario) -> Needed:
    """What the simulation says of the deployment that comes first."""
    question = understand(asked)
    found = refine(smallest_aggregated(question, evaluate(question, all_configurations(question))), 0).best
    assert found
    return found


@pytest.mark.parametrize("factor", [0.3, 0.9, 1.1, 3.0])
def test_the_heaviest_load_is_found_from_any_guess(factor: float) -> None:
    result = decided(of_pairs(1.0))
    usual = heaviest_rps(result, 1.4, REPORTED_REQUESTS)
    assert heaviest_rps(result, 1.4 * factor, REPORTED_REQUESTS) == pytest.approx(usual, rel=RESOLUTION - 1.0)


def test_near_a_limit_enough_requests_are_simulated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    result, asked = decided(of_pairs(1.0)), list[int]()
    simulate = trials.run

    def counted(case: Case, instances: int, requests: int) -> SimulationCounts:
        asked.append(requests)
        return simulate(case, instances, requests)

    monkeypatch.setattr(trials, "run", counted)
    heaviest_rps(result, 1.4, REPORTED_REQUESTS)
    assert min(asked) >= asked_for(REPORTED_REQUESTS)


def test_bursts_stay_bursts_under_a_heavier_load() -> None:
    """Arrivals that come in clusters: what is carried lies between the load that was met and what broke a limit."""
    result = decided(scenario(workload=GAMMA))
    heavier = result.tries.under(1.5)
    assert heavier.case.arrivals.cv == result.tries.case.arrivals.cv
    assert heavier.load(1) == pytest.approx(1.5 * result.tries.load(1))
    assert result.met_rps <= heaviest_rps(result, 10.0 * result.met_rps, REPORTED_REQUESTS) <= result.broken_rps


def test_without_work_left_what_was_met_is_what_is_known() -> None:
    result = decided(of_pairs(1.0))
    result.tries.case.work.left = 0
    assert heaviest_rps(result, 1.37, REPORTED_REQUESTS) == result.met_rps


def test_the_room_within_the_limits_falls_with_the_load_and_ends_where_they_break() -> None:
    result = decided(of_pairs(1.0))
    limits = result.tries.case.limits
    rooms = []
    for factor in (1.0, 1.2, 1.6):
        tries = result.tries.under(factor)
        met = tries.met(1)
        rooms.append(room_within(tries.trials[1].outcome, limits))
        assert met == (rooms[-1] >= 0.0)
    assert rooms == sorted(rooms, reverse=True)


def test_what_is_carried_for_ever_is_simulated_once() -> None:
    result = decided(of_pairs(1.0))
    assert result.tries.under(1.1).stable_rps == result.tries.stable_rps
    assert "stable_rps" not in vars(Tries(result.tries.case))
