"""Routing and speculative decoding in a scenario: what the plan makes of them, by hand and against the simulator."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario, plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.speculation import Speculation
from sizing.question.understand import at_lengths, understand
from sizing.replay.simulate import planned, simulate
from sizing.scenario.file import scenario_from
from sizing.search.screen import all_configurations, evaluate
from sizing.search.trials import share_of, together
from sizing.simulator.arrivals import Arrivals
from tests.sizing.asking import LLAMA_8B

HARDWARE = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "pp": [1]}
DRAFTS = {"draft_tokens": 3, "acceptance": 0.7}


def keys(deployment: Any = None, **workload: Any) -> dict[str, Any]:
    asked = {"input_tokens": 500, "output_tokens": 300, "peak_rps": 6, **workload}
    return {
        "model": LLAMA_8B,
        "workload": asked,
        "limits": {"ttft_ms": 500, "itl_ms": 40},
        "deployment": {**HARDWARE, **(deployment or {})},
    }


def asked(deployment: Any = None, **workload: Any) -> Scenario:
    return Scenario.model_validate(keys(deployment, **workload))


def test_expected_tokens_of_a_step_by_hand() -> None:
    """Leviathan et al. 2023, equation 1: k = 3, a = 0.7: 1 + 0.7 + 0.49 + 0.343 = 2.533."""
    assert Speculation(draft_tokens=3, acceptance=0.7).tokens_per_step == pytest.approx(2.533)
    assert Speculation(draft_tokens=4, acceptance=1.0).tokens_per_step == 5.0
    assert Speculation(draft_tokens=4, acceptance=0.0).tokens_per_step == 1.0
    assert Speculation().tokens_per_step == 1.0


def test_a_lonely_sequence_gains_what_the_equation_says() -> None:
    """At batch 1 verification is nearly free: ITL falls by tokens per step / (1 + k c) = 2.533 / 1.15."""
    plain, drafted = (understand(asked(d)) for d in (None, {"speculative_decoding": DRAFTS}))
    itl = [float(evaluate(q, all_configurations(q)).state.itl_mean_s[0, 0]) for q in (plain, drafted)]
    assert itl[0] / itl[1] == pytest.approx(2.533 / 1.15, rel=0.02)


def test_drafts_that_are_never_right_only_cost() -> None:
    worse = {"speculative_decoding": {"draft_tokens": 4, "acceptance": 0.0}}
    plain, drafted = analytic_plan(asked()), analytic_plan(asked(worse))
    assert plain.per_instance
    assert drafted.per_instance
    assert drafted.per_instance.max_rps < plain.per_instance.max_rps
    assert drafted.latency.itl_ms.at(50) > plain.latency.itl_ms.at(50)


@pytest.mark.parametrize("rps", [2.0, 6.0, 12.0])
def test_screen_and_simulation_agree_on_speculative_decoding(rps: float) -> None:
    scenario = asked({"speculative_decoding": DRAFTS}, peak_rps=rps)
    screen, simulated = analytic_plan(scenario), simulate(scenario, hours=0.5)
    assert screen.latency.itl_ms.at(50) == pytest.approx(simulated.itl_ms.at(50).value, rel=0.12)
    assert screen.latency.e2e_ms.at(50) == pytest.approx(simulated.e2e_ms.at(50).value, rel=0.12)


def test_kernel_times_with_drafts_reach_the_simulator() -> None:
    question = understand(asked({"speculative_decoding": DRAFTS, "step_times": "kernel"}))
    chosen = planned(Answer(question, plan(question.scenario)))
    assert chosen.replica.speculation.tokens_per_step == pytest.approx(2.533)


def test_assumptions_say_what_drafts_and_routing_are_taken_to_be() -> None:
    found = analytic_plan(asked({"speculative_decoding": DRAFTS, "routing": "least_loaded"})).assumptions
    assert any("2.53 tokens a step" in a and "Leviathan" in a for a in found)
    assert any("fewest requests" in a and "the simulation includes it" in a for a in found)
    assert not any("Speculative" in a or "asked for" in a for a in analytic_plan(asked()).assumptions)
    record = {
        **keys({"routing": "round_robin", "speculative_decoding": DRAFTS}),
        "measured": {"system": "dgx_h100", "rps_per_system": 5},
    }
    said = analytic_plan(Scenario.model_validate(record)).assumptions
    assert "routing and speculative_decoding have no effect: the measured record holds as it was taken." in said


@pytest.mark.parametrize(
    ("deployment", "said"),
    [
        ({"routing": "sticky"}, "deployment.routing: must be 'random', 'round_robin', 'weighted', 'least_loaded'"),
        ({"speculative_decoding": {"acceptance": 0.7}}, "deployment.speculative_decoding.draft_tokens: is required."),
        (
            {"speculative_decoding": {"draft_tokens": 3, "acceptance": 1.2}},
            "deployment.speculative_decoding.acceptance: must be at most 1",
        ),
        (
            {"speculative_decoding": {"draft_tokens": 99, "acceptance": 0.5}},
            "deployment.speculative_decoding.draft_tokens: must be at most 16",
        ),
    ],
)
def test_what_cannot_be_is_a_sentence(deployment: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".*") as caught:
        scenario_from(keys(deployment))
    assert said in str(caught.value)


def test_every_other_request_has_half_the_variation() -> None:
    both = Arrivals(rate_rps=10.0, cv=1.0)
    assert share_of(both, 0.5, in_turn=True).cv ** 2 == pytest.approx(0.5)
    assert share_of(both, 0.5).cv == 1.0
    assert share_of(Arrivals(rate_rps=10.0, cv=3.0), 0.25).cv ** 2 == pytest.approx(1 + (9 - 1) / 4)


@given(st.integers(1, 200))
def test_only_choices_by_load_need_several_instances(instances: int) -> None:
    assert together("random", instances) == together("round_robin", instances) == 1
    assert together("least_loaded", instances) == min(instances, 8)


@pytest.mark.parametrize("routing", ["random", "round_robin", "least_loaded"])
def test_the_simulated_plan_holds_for_the_whole_fleet(routing: str) -> None:
    """One instance, or eight, under their share: the percentiles of all instances behind the same front end."""
    scenario = asked({"routing": routing}, peak_rps=120, output_tokens={"p50": 200, "p95": 600})
    part = plan(scenario)
    whole = simulate(Answer(understand(scenario), part), hours=0.5)
    assert part.latency.ttft_ms.at(95) == pytest.approx(whole.ttft_ms.at(95).value, rel=0.1)


def test_smoother_routing_shortens_the_tail() -> None:
    tails = {r: simulate(asked({"routing": r}, peak_rps=60), hours=0.2).ttft_ms for r in ("random", "round_robin")}
    assert tails["round_robin"].at(95).value < tails["random"].at(95).value


def test_other_lengths_keep_their_spread() -> None:
    question = understand(asked(output_tokens={"p50": 200, "p95": 900}))
    assert at_lengths(question, 100.0, 50.0).traffic.output_variation == question.traffic.output_variation > 0
