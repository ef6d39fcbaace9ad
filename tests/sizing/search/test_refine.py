"""The plan whose number of instances is decided by simulation."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario, plan
from sizing.planning.analytic import analytic_plan
from sizing.question.understand import understand
from sizing.replay.simulate import simulate
from sizing.search.aggregated import aggregated, most_before, smallest_aggregated
from sizing.search.instances import RESOLUTION, Needed, NotMet, between, fewest, needed
from sizing.search.refine import Refined, refine
from sizing.search.screen import all_configurations, evaluate
from sizing.search.trials import (
    FAR_ADDEND,
    FAR_FACTOR,
    MOST_TRIED,
    NEARLY_IDLE,
    Case,
    Tries,
    limited,
    looked_at,
    run,
    share_of,
)
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.quantiles import sampled_share
from sizing.simulator.run_length import HEAVIEST, relaxation
from tests.sizing.asking import LLAMA_8B, raw
from tests.sizing.search.simulated import GAMMA, H100, VARY, instances, scenario


@given(true=st.integers(1, 500), guess=st.integers(1, 500), most=st.none() | st.integers(1, 500))
def test_the_search_finds_the_smallest_count_within_its_resolution(true: int, guess: int, most: int | None) -> None:
    tried: list[int] = []

    def met(n: int) -> bool:
        tried.append(n)
        return n >= true

    found = fewest(met, guess=guess, most=most)
    largest = NEARLY_IDLE * (guess + FAR_ADDEND) if most is None else most
    assert len(tried) <= 3 + 2 * math.ceil(math.log2(largest + 1))
    assert max(tried) <= largest
    if true > largest:
        assert found is None
        return
    assert true <= found <= true + int(RESOLUTION * found)


def test_a_candidate_that_cannot_come_first_costs_one_look() -> None:
    tried: list[int] = []
    assert fewest(lambda n: bool(tried.append(n)), guess=9, most=4) is None
    assert tried == [4]


@pytest.mark.parametrize(("guess", "most"), [(3, 6), (3, 3)])
def test_a_guess_that_holds_spares_the_look_at_the_largest(guess: int, most: int) -> None:
    tried: list[int] = []
    assert fewest(lambda n: bool(tried.append(n)) or n >= 3, guess=guess, most=most) == 3
    assert tried == [3, 2]


@given(true=st.integers(1, 60), guess=st.integers(1, 59))
def test_nothing_is_looked_at_below_a_count_that_does_not_hold(true: int, guess: int) -> None:
    tried: list[int] = []

    def met(n: int) -> bool:
        tried.append(n)
        return n >= true

    assert between(met, 0, 60, guess=guess) == true
    assert guess >= true or min(tried) == guess


def test_what_cannot_carry_the_load_is_not_simulated() -> None:
    question = understand(scenario(workload={**VARY, "peak_rps": 40}, limits={"ttft_ms": 60_000, "itl_ms": 500}))
    found = refine(smallest_aggregated(question, evaluate(question, all_configurations(question))), seed=0)
    tries = Tries(found.search.case(found.winner))
    assert found.best
    assert tries.met(found.best.instances + 1)
    assert not tries.met(1)
    assert set(tries.trials) == {found.best.instances + 1}
    assert not Tries(tries.case).met(1)  # simulated where nothing else was: something must be counted


def test_requests_that_go_anywhere_at_random_are_poisson_at_each_instance() -> None:
    assert share_of(Arrivals(rate_rps=30.0), 1 / 3) == Arrivals(rate_rps=10.0)
    with pytest.raises(ValueError, match="share of the arrivals"):
        share_of(Arrivals(rate_rps=30.0), 3)
    bursty = share_of(Arrivals(rate_rps=30.0, cv=3.0), 1 / 4)
    assert bursty.cv**2 == pytest.approx(3.0)
    assert share_of(Arrivals(rate_rps=30.0, cv=0.0), 1).cv == 0.0


def test_a_queue_forgets_slower_the_fuller_it_is() -> None:
    assert relaxation(0.81) == pytest.approx(100.0)
    assert relaxation(0.9604) == pytest.approx(2500.0)


def test_the_answer_is_simulated_and_meets_its_limits() -> None:
    asked = scenario(workload={**VARY, "peak_rps": 40}, limits={"ttft_ms": 1000, "itl_ms": 40})
    found = plan(asked)
    assert found.latency
    assert found.per_instance
    assert "simulated" in found.source
    assert "simulated" in found.how_sure
    for latency, limit in ((found.latency.ttft_ms, 1000.0), (found.latency.itl_ms, 40.0)):
        assert latency.at_percentile == pytest.approx(latency.at(95))
        assert latency.at(50) < latency.at(95) < latency.at(99)
        assert latency.low <= latency.at_percentile <= limit
    assert found.per_instance.rps <= found.per_instance.max_rps
    assert found.gpus_low <= found.deployment.gpus
    assert found.gpus_high is None or found.gpus_high >= found.deployment.gpus
    assert any("analytic load model" in a for a in analytic_plan(asked).assumptions)
    assert not any("Percentiles come from the analytic" in a for a in found.assumptions)


def test_one_instance_fewer_would_break_a_limit() -> None:
    asked = scenario(workload={**VARY, "peak_rps": 40}, limits={"ttft_ms": 1000, "itl_ms": 40})
    found = plan(asked)
    most = found.per_instance.max_rps
    assert 40 / instances(found) <= most < 40 / (instances(found) - 1)


def test_a_long_simulation_of_the_plan_confirms_it() -> None:
    asked = scenario(workload={**VARY, "peak_rps": 20}, limits={"ttft_ms": 1000, "itl_ms": 40})
    result = simulate(asked, seed=7)
    assert result.instances == instances(plan(asked))
    assert result.meets_limits


HARD: tuple[dict[str, Any], ...] = (
    # By load, equal lengths would not do: requests that came to an instance together leave it together, and the next do
    # as they did, which goes on growing for a hundred thousand requests.
    {
        "workload": {"peak_rps": 45},
        "limits": {"ttft_ms": 900, "itl_ms": 40, "percentile": 95},
        "deployment": {"routing": "random"},
    },
    {"workload": {"output_tokens": {"p50": 470, "p95": 700}, "peak_rps": 45}, "limits": {"ttft_ms": 900, "itl_ms": 40}},
    {"workload": {**VARY, "peak_rps": 60}, "limits": {"ttft_ms": 800, "itl_ms": 30, "percentile": 99}},
    {"workload": GAMMA, "limits": {"ttft_ms": 900, "itl_ms": 30, "percentile": 99}},
    {"workload": {**GAMMA, "mode": "sequential"}, "limits": {"ttft_ms": None, "itl_ms": None, "e2e_ms": 15000}},
    # Nothing but the stability limit keeps the load down.
    {"workload": {**VARY, "peak_rps": 40}, "limits": {"ttft_ms": None, "itl_ms": None, "e2e_ms": 600000}},
)


DECIDED_WITHIN = 0.002
"""Share of requests by which a count may miss the asked percentile: a tenth of the decisions at the very limit may."""


def least_margin(case: Case, instances: int) -> float:
    """Share of the requests within the limit that is kept least, beyond the asked one, in a long run."""
    outcome, asked = run(case, instances, 300_000), case.limits.percentile / 100.0
    return min(sampled_share(outcome, metric, limit).value - asked for metric, limit in limited(case.limits))


@pytest.mark.parametrize("sections", HARD)
def test_a_long_run_agrees_that_the_count_is_the_smallest_or_it_is_said_to_be_uncertain(sections: Any) -> None:
    deployment = {**H100, "pp": [1], "serving": ["aggregated"], **sections.get("deployment", {})}
    question = understand(scenario(**{**sections, "deployment": deployment}))
    refined = refine(smallest_aggregated(question, evaluate(question, all_configurations(question))), seed=0)
    case = replace(refined.search.case(refined.winner), seed=1)
    assert least_margin(case, refined.best.instances) > -DECIDED_WITHIN
    fewer = refined.best.fewest_possible - 1
    if question.demand.peak_rps / max(fewer, 1e-9) < HEAVIEST * refined.best.stable_rps:
        assert least_margin(case, fewer) < DECIDED_WITHIN
    confidence = plan(question.scenario).how_sure
    assert ("fewer may be enough" in confidence) == (refined.best.fewest_possible < refined.best.instances)


@pytest.mark.parametrize("deployment", [{"routing": "random"}, {"confidence": 50}])
def test_candidates_given_up_early_would_not_have_come_first(deployment: dict[str, Any]) -> None:
    refined = two_close(**deployment)
    given_up = [i for i, one in refined.search.results.items() if isinstance(one, NotMet) and one.bounded]
    passed_over = refined.search.behind - set(refined.search.results)
    assert given_up or passed_over
    best = refined.deployments.usd_per_hour[refined.position]
    for index in (*given_up, *passed_over):
        found = needed(refined.search.case(index), 1, None, refined.search.first)  # runs as long as those of the search
        if isinstance(found, Needed):
            rows, counts = np.array([index]), np.array([found.instances])
            again = aggregated(refined.search.question, refined.deployments.evaluated, rows, counts)
            assert again.usd_per_hour[0] >= best


def two_close(**deployment: Any) -> Refined:
    limits = {"ttft_ms": 700, "itl_ms": 30, "percentile": 99}
    keys = raw(LLAMA_8B, workload={**GAMMA, "peak_rps": 20}, limits=limits, deployment=deployment)
    question = understand(Scenario.model_validate(keys))
    return refine(smallest_aggregated(question, evaluate(question, all_configurations(question))), seed=0)


def test_moving_a_few_capacities_sizes_as_sizing_all_again() -> None:
    search = two_close().search
    moved = search.corrected()
    one = search.screened.resized(moved, np.array(list(search.results), dtype=np.intp))
    all_again = smallest_aggregated(search.question, moved)
    for name in ("index", "instances", "rps", "gpus", "systems", "usd_per_hour", "e2e_s", "power_kw", "options"):
        np.testing.assert_array_equal(getattr(one, name), getattr(all_again, name))


def test_alternatives_that_were_tried_are_simulated_and_say_so() -> None:
    found = plan(Scenario.model_validate(raw(LLAMA_8B, deployment={"gpus": ["h100_sxm", "h200_sxm", "l40s"]})))
    assert found.decided_by == "simulation"
    for one in found.alternatives:
        assert (one.decided_by == "simulation") == ("simulated" in one.source)
    assert any(one.decided_by == "analytic" for one in found.alternatives)
    simulated = {e.name for e in found.explained if "requests simulated" in e.source}
    assert simulated == {"ttft_ms", "itl_ms", "e2e_ms", "max_rps"}
    step_times = [e.source for e in found.explained if e.name in ("decode_step_ms", "prefill_ms")]
    assert len(step_times) == 2
    assert not any("simulated" in source for source in step_times)


@pytest.mark.parametrize("guess", [700, 1_700, 60_000])
def test_few_of_many_numbers_of_instances_are_priced_and_nothing_is_missed(guess: int) -> None:
    question = understand(scenario(workload={"peak_rps": 30_000}, deployment={"gpus": ["h100_sxm", "l40s"]}))
    evaluated = evaluate(question, all_configurations(question))
    first, rival = evaluated.capacity.rps.argsort()[[-1, -20]]
    every = np.arange(1, FAR_FACTOR * guess + FAR_ADDEND + 1)
    most = most_before(question, evaluated, int(rival), every, {int(first): guess})
    tried = looked_at(guess)
    assert len(tried) <= MOST_TRIED
    assert (tried[0], tried[-1]) == (every[0], every[-1])
    assert most_before(question, evaluated, int(rival), tried, {int(first): guess}) == most
    assert 0 < most < every[-1]
