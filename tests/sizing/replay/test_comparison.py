"""Why simulated and analytic percentiles differ: said when they do, not when they agree."""

from typing import Any

import pytest

from sizing import Plan, Scenario, plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.replay.simulate import simulate
from sizing.replay.simulation_result import SimulationResult
from sizing.replay.what_if import AS_PLANNED, WhatIf, differences
from tests.sizing.asking import LLAMA_8B


def asked(deployment: Any = None, **workload: Any) -> Scenario:
    lengths = {"input_tokens": 1000, "output_tokens": 200, "peak_rps": 5.0, **workload}
    hardware = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], **(deployment or {})}
    return Scenario.model_validate({"model": LLAMA_8B, "workload": lengths, "deployment": hardware})


def said(
    scenario: Scenario,
    found: SimulationResult,
    what_if: WhatIf = AS_PLANNED,
    *,
    replayed: bool = False,
    answer: Plan | None = None,
) -> str:
    return " ".join(
        differences(
            found, Answer.of(scenario, lambda _: answer) if answer else Answer.of(scenario), what_if, replayed=replayed
        )
    )


def scaled(found: SimulationResult, factor: float) -> SimulationResult:
    """The result as if every TTFT had been so many times as long."""
    one = found.ttft_ms.at_percentile
    at = one.model_copy(update={"value": one.value * factor, "low": one.low * factor, "high": one.high * factor})
    return found.model_copy(update={"ttft_ms": found.ttft_ms.model_copy(update={"at_percentile": at})})


@pytest.fixture(scope="module")
def found() -> SimulationResult:
    return simulate(asked(), hours=0.5)


def test_values_within_ten_per_cent_agree(found: SimulationResult) -> None:
    latency = plan(asked()).latency
    same = scaled(found, latency.ttft_ms.at_percentile / found.ttft_ms.at_percentile.value)
    assert "TTFT" not in said(asked(), same)


def test_a_difference_names_both_values_and_a_reason(found: SimulationResult) -> None:
    text = said(asked(), scaled(found, 3.0))
    assert "p95 differs: TTFT" in text
    assert "simulated" in text
    assert "in the plan" in text
    assert "The plan simulates one instance" in text
    estimated = said(asked(), scaled(found, 3.0), answer=analytic_plan(asked()))
    assert "The analytic model knows means and variances" in estimated


def test_a_run_of_the_plan_as_it_is_agrees_with_it(found: SimulationResult) -> None:
    assert said(asked(), found).startswith("Agrees with the plan")


@pytest.mark.parametrize(
    ("scenario", "what_if", "replayed", "reason"),
    [
        (asked(), AS_PLANNED, True, "brings its own arrivals"),
        (asked(), WhatIf(fail_minutes=3), False, "An instance fails"),
        (asked(), WhatIf(static_batching=True), False, "takes in-flight batching"),
        (asked(input_tokens={"p50": 1000, "p95": 2000}), AS_PLANNED, False, "Lengths vary"),
    ],
)
def test_every_cause_is_named(
    found: SimulationResult, scenario: Scenario, what_if: WhatIf, replayed: bool, reason: str
) -> None:
    assert reason in said(scenario, scaled(found, 10.0), what_if, replayed=replayed, answer=analytic_plan(scenario))


def test_routing_evictions_and_heavy_load_are_named(found: SimulationResult) -> None:
    odd = scaled(found, 10.0).model_copy(
        update={
            "routing": "round_robin",
            "instances": 3,
            "preempted": 1234,
            "offered_rps": 0.95 * (found.largest_stable_rps or 0.0),
        }
    )
    text = said(asked(), odd, answer=analytic_plan(asked()))
    for reason in ("spreads requests more evenly", "full 1,234 times", "The load is 95 % of what can be carried"):
        assert reason in text


def test_what_has_no_latency_is_not_compared(found: SimulationResult) -> None:
    assert said(asked(), found.model_copy(update={"ttft_ms": None})) == ""
