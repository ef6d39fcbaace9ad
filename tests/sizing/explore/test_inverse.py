"""What given hardware serves, and how far a question can be pushed: consistent with plans of the same scenario."""

import re
from dataclasses import dataclass

import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario, SizingError
from sizing.explore.inverse import (
    LAST_STEP,
    LEAST_RPS,
    largest_load,
    longest_prompt,
    owning,
    served_by_budget,
    served_by_gpus,
    served_by_power,
    served_by_systems,
    systems_to_own,
    tightest_limit,
)
from sizing.planning.analytic import analytic_plan

MOST_QUESTIONS = 80
"""Of one search. Doubling from the least load to 1,000 requests/s takes 35, both halvings together fewer than 35."""


def scenario(**changes: object) -> Scenario:
    raw = {
        "model": "meta-llama/Meta-Llama-3-8B",
        "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 20},
        "deployment": {"gpus": ["h100_sxm"], "precisions": ["fp8"], "objective": "gpus"},
    }
    return Scenario.model_validate({**raw, **changes})


def with_peak(rps: float) -> Scenario:
    return scenario(workload={"input_tokens": 2000, "output_tokens": 200, "peak_rps": rps})


@pytest.mark.parametrize("gpus", [1, 3, 8, 17])
def test_gpus_serve_a_load_that_a_plan_needs_exactly_them_for(gpus: int) -> None:
    served = served_by_gpus(scenario(), gpus)
    at_it = analytic_plan(with_peak(served.requests_per_s * 0.999)).deployment
    beyond = analytic_plan(with_peak(served.requests_per_s * 1.01)).deployment
    assert at_it.gpus <= gpus < beyond.gpus


def test_more_gpus_never_serve_less() -> None:
    rates = [served_by_gpus(scenario(), n).requests_per_s for n in range(1, 20)]
    assert rates == sorted(rates)


def test_spares_are_taken_off_what_gpus_serve() -> None:
    spared = scenario(
        deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"], "tp": [1], "pp": [1], "spare_instances": 1}
    )
    plain = scenario(deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"], "tp": [1], "pp": [1]})
    assert served_by_gpus(spared, 4).requests_per_s == pytest.approx(served_by_gpus(plain, 3).requests_per_s)


def test_a_budget_buys_whole_systems_only() -> None:
    # HGX H100 with four GPUs by rule: 4 x 30,339 + 55,125 = 176,481 USD over 5 years of 8,760 h at 730 h a month =
    # 2,941 USD a month; with eight 316,212 USD, 5,270 USD a month
    assert served_by_budget(scenario(), 2_900).requests_per_s == 0
    half, one, two = (served_by_budget(scenario(), b) for b in (3_000, 5_300, 10_600))
    assert (half.systems, one.systems, two.systems) == (1, 1, 2)
    assert half.requests_per_s < one.requests_per_s
    assert two.requests_per_s == pytest.approx(2 * one.requests_per_s)


@pytest.mark.parametrize("servers", [1, 3])
def test_servers_that_are_there_serve_what_their_gpus_do(servers: int) -> None:
    served = served_by_systems(scenario(), servers, "dgx_h100")
    assert served.requests_per_s == pytest.approx(served_by_gpus(scenario(), 8 * servers).requests_per_s)
    assert (served.systems, served.gpus_given) == (servers, 8 * servers)


def test_servers_are_there_wherever_the_scenario_would_run() -> None:
    rented = scenario(deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"], "location": "cloud"})
    assert served_by_systems(rented, 1, "dgx_h100").requests_per_s > 0


def test_no_layer_is_split_over_two_servers() -> None:
    small = next(one for one in systems_to_own(scenario(deployment={"gpus": ["h200_nvl"]})).values() if one.gpus == 2)
    wide = scenario(deployment={"gpus": ["h200_nvl"], "tp": [4]})
    with pytest.raises(SizingError, match="no TP of the scenario fits"):
        owning(wide, small)
    assert owning(scenario(deployment={"gpus": ["h200_nvl"]}), small).deployment.tp == [1, 2]


def test_power_is_that_of_whole_systems() -> None:
    # A DGX H100 draws 10.2 kW at most: 10 kW run none of them, and an HGX H100 of four GPUs less.
    less, one = (served_by_power(scenario(), kw).requests_per_s for kw in (10.1, 10.3))
    assert 0 < less < one
    assert one == pytest.approx(served_by_gpus(scenario(), 8).requests_per_s)


@pytest.mark.parametrize("kilowatts", [0.0, -1.0, float("nan"), 1e9])
def test_absurd_powers_are_refused(kilowatts: float) -> None:
    with pytest.raises(SizingError):
        served_by_power(scenario(), kilowatts)


def test_servers_of_other_gpus_are_refused() -> None:
    with pytest.raises(SizingError, match="no system of the GPUs considered"):
        served_by_systems(scenario(), 1, "dgx_b200")


def test_the_longest_prompt_fits_and_a_longer_one_does_not() -> None:
    found = longest_prompt(with_peak(40), 4).value
    assert found is not None
    for tokens, fits in ((found, True), (found * 1.03, False)):
        answer = analytic_plan(scenario(workload={"input_tokens": tokens, "output_tokens": 200, "peak_rps": 40}))
        assert (answer.deployment.gpus <= 4) is fits


def test_the_tightest_limit_is_met_and_a_tighter_one_is_not() -> None:
    found = tightest_limit(scenario(), "ttft_ms", 4).value
    assert found is not None
    for limit, fits in ((found * 1.01, True), (found * 0.9, False)):
        answer = analytic_plan(scenario(limits={"ttft_ms": limit}))
        assert (answer.feasible and answer.deployment is not None and answer.deployment.gpus <= 4) is fits


def test_what_cannot_be_served_says_so() -> None:
    impossible = scenario(limits={"ttft_ms": 0.001})
    assert served_by_gpus(impossible, 8).requests_per_s == 0
    assert "cannot serve" in served_by_gpus(impossible, 8).message
    assert longest_prompt(with_peak(100_000), 1).value is None
    assert tightest_limit(with_peak(100_000), "itl_ms", 1).value is None


@pytest.mark.parametrize("gpus", [0, -1, 10**9])
def test_absurd_gpu_counts_are_refused(gpus: int) -> None:
    with pytest.raises(SizingError):
        served_by_gpus(scenario(), gpus)


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_absurd_budgets_are_refused(budget: float) -> None:
    with pytest.raises(SizingError):
        served_by_budget(scenario(), budget)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidScenario):
        served_by_gpus(scenario(model="no such model"), 8)
    with pytest.raises(SizingError):
        tightest_limit(scenario(), "latency", 8)


APART = {"gpus": ["h200_sxm"], "serving": ["disaggregated"], "objective": "gpus", "accurate_formats_only": False}
LENGTHS = {"input_tokens": 3500, "output_tokens": 500}


def large_model(serving: list[str], rps: float = 31, **limits: object) -> Scenario:
    return scenario(
        model="deepseek-ai/DeepSeek-R1",
        workload={**LENGTHS, "peak_rps": rps},
        limits={"ttft_ms": 2000, "itl_ms": 30, **limits},
        deployment={**APART, "serving": serving},
    )


@pytest.mark.parametrize("e2e_ms", [None, 20_000])
def test_pools_of_gpus_serve_a_load_that_a_plan_of_pools_needs_exactly_them_for(e2e_ms: float | None) -> None:
    planned = analytic_plan(large_model(["disaggregated"], e2e_ms=e2e_ms)).deployment
    served = served_by_gpus(large_model(["disaggregated"], e2e_ms=e2e_ms), planned.gpus)
    assert served.requests_per_s >= 31 * (1 - 1e-9)
    assert served.gpus <= served.gpus_given == planned.gpus
    assert "prefill" in served.message
    at_it = analytic_plan(large_model(["disaggregated"], served.requests_per_s * 0.999, e2e_ms=e2e_ms)).deployment
    beyond = analytic_plan(large_model(["disaggregated"], served.requests_per_s * 1.02, e2e_ms=e2e_ms)).deployment
    assert at_it.gpus <= planned.gpus < beyond.gpus


def test_the_better_of_both_kinds_of_serving_answers() -> None:
    either = served_by_gpus(large_model([]), 64)
    alone = {kind: served_by_gpus(large_model([kind]), 64).requests_per_s for kind in ("aggregated", "disaggregated")}
    assert either.requests_per_s == pytest.approx(max(alone.values()), rel=0.003)
    assert alone["disaggregated"] > alone["aggregated"]
    bought = [served_by_budget(large_model(kind), 100_000).requests_per_s for kind in ([], ["aggregated"])]
    assert bought[0] > bought[1] > 0


def test_what_can_be_pushed_is_pushed_as_far_as_pools_let_it() -> None:
    """Of 256 GPUs, which carry the peak either way."""
    both, together = (longest_prompt(large_model(kind), 256).value for kind in ([], ["aggregated"]))
    assert both > together
    both, together = (tightest_limit(large_model(kind), "itl_ms", 256).value for kind in ([], ["aggregated"]))
    assert both < together


def test_a_batch_limit_that_a_plan_needs_counts_here_too() -> None:
    asked = scenario(
        model="meta-llama/Llama-3.1-70B-Instruct",
        workload={**LENGTHS, "peak_rps": 31},
        limits={"ttft_ms": 2000, "itl_ms": 16},
        deployment={"gpus": ["b300_sxm"], "objective": "gpus", "serving": ["aggregated"]},
    )
    planned = analytic_plan(asked).deployment
    assert planned.batch_limit is not None
    served = served_by_gpus(asked, planned.gpus)
    assert served.requests_per_s >= 31
    assert "batch limit" in served.configuration


def test_beyond_the_context_window_no_gpus_serve_anything():
    """Memory and speed would do; the model cannot read the prompt."""
    scenario = Scenario.model_validate(
        {
            "model": "meta-llama/Llama-3.3-70B-Instruct",
            "limits": {"ttft_ms": 600_000, "itl_ms": 1000},
            "workload": {"input_tokens": 200_000, "output_tokens": 1000, "peak_rps": 0.01},
        }
    )
    for found in (served_by_gpus(scenario, 64), served_by_budget(scenario, 1e6)):
        assert found.requests_per_s == 0
        assert found.business is None
        assert "context window" in found.message
    assert tightest_limit(scenario, "ttft_ms", 64).value is None
    longest = longest_prompt(scenario, 64)
    assert longest.value < 131_072


def test_one_gpu_is_not_many():
    scenario = Scenario.model_validate(
        {
            "model": "meta-llama/Meta-Llama-3-8B-Instruct",
            "deployment": {"gpus": ["h100_sxm"]},
            "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1},
        }
    )
    assert served_by_gpus(scenario, 1).message.startswith("1 GPU serves up to ")
    assert longest_prompt(scenario, 1).message.startswith("1 GPU carries the peak ")


def test_how_an_instance_is_spread_is_said_as_in_an_answer() -> None:
    two = scenario(deployment={"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"], "tp": [2], "pp": [2]})
    said = served_by_gpus(two, 8).message
    assert said.endswith(
        "limits, by estimate: 2 instances of 4 GPUs (TP2 PP2) each on H100 SXM5 80GB, vLLM, FP8 (W8A8)."
    )
    alone = scenario(deployment={"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"], "tp": [1]})
    assert "1 instance of one GPU on H100 SXM5 80GB" in served_by_gpus(alone, 1).message
    apart = served_by_gpus(large_model(["disaggregated"]), 64).message
    assert "prefill instances of 8 GPUs (TP2 PP4) each and " in apart
    assert re.search(r"decode instances of 8 GPUs \([A-Z]+8[A-Z0-9 ]*\) each on H200 SXM 141GB", apart)


@dataclass(frozen=True)
class Carrier:
    rps: float


@pytest.mark.parametrize("most", [2e-6, 0.037, 1.0, 137.7, 1000.0])
@pytest.mark.parametrize("creep", [0.0, 1e-9, 1e-7, 3e-6, 1e-4])
def test_a_load_found_in_tiny_steps_takes_few_questions(most: float, creep: float) -> None:
    """Deployments that carry hardly more than is asked: stepping from one to the next would take thousands."""
    asked = []

    def at(rps: float) -> Carrier | None:
        asked.append(rps)
        return Carrier(rps * (1.0 + creep)) if rps <= most else None

    best = largest_load(at, None)
    assert most * (1.0 - 2.0 * LAST_STEP) <= best.rps <= most * (1.0 + creep)
    assert len(asked) <= MOST_QUESTIONS


def test_a_limit_that_is_found_exactly_is_asked_about_once_more() -> None:
    asked = []

    def at(rps: float) -> Carrier | None:
        asked.append(rps)
        return Carrier(50.0) if rps <= 50.0 else None

    best = largest_load(at, None)
    assert best == Carrier(50.0)
    assert asked[0] == LEAST_RPS
    assert asked[-1] == pytest.approx(50.0 * (1.0 + LAST_STEP), rel=1e-12)
    assert len([rps for rps in asked if rps > 50.0]) == len(asked) - 1


def test_nothing_carried_is_nothing_found() -> None:
    assert largest_load(lambda rps: None, None) is None
    assert largest_load(lambda rps: None, Carrier(3.0)) == Carrier(3.0)
