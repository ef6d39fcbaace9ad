"""Plans that suffice with a chance that was asked for: what caution costs, and the chance that they state."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from sizing import Plan, Scenario, plan
from sizing.base.choices import Confidence
from sizing.catalog import gpus, resolve_gpu
from sizing.evidence.error_factors import ErrorFactors
from sizing.evidence.uncertainty import capacity_exponent
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.planning.compose import as_planned, as_stated
from sizing.question.understand import EXPECTED, Question, understand
from sizing.search.all_deployments import Place
from sizing.search.caution import Slowness, step_factor
from sizing.search.considered import as_considered
from sizing.search.screen import all_configurations, evaluate, expected
from sizing.search.serving import screened
from tests.sizing.asking import LLAMA_70B, answer, ask, raw

H100: dict[str, Any] = {"gpus": ["h100_sxm"], "serving": ["aggregated"]}
ONE: dict[str, Any] = {**H100, "engines": ["vllm"], "precisions": ["fp8"], "tp": [2], "pp": [1]}
ERRORS = ErrorFactors(low_factor=0.8, high_factor=1.25, low_95=0.6, high_95=1.6, basis="", rows=1)


def asked(confidence: int, **sections: Any) -> Question:
    deployment = {**ONE, **sections.pop("deployment", {}), "confidence": confidence}
    return understand(Scenario.model_validate(raw(LLAMA_70B, deployment=deployment, **sections)))


def test_steps_as_expected_are_slowed_down_by_nothing() -> None:
    found = evaluate(asked(50), all_configurations(asked(50)))
    assert np.all(found.slowness.decode == 1.0)
    assert np.all(found.slowness.prefill == 1.0)


@pytest.mark.parametrize("confidence", [80, 90, 95])
def test_what_is_slowed_down_is_as_expected_without(confidence: int) -> None:
    cautious, plain = asked(confidence), asked(50)
    slow = evaluate(cautious, all_configurations(cautious))
    assert np.all(slow.slowness.decode > 1.0)
    back, known = expected(cautious, slow), evaluate(plain, all_configurations(plain))
    assert back.times.decode_s == pytest.approx(known.times.decode_s)
    assert back.capacity.rps == pytest.approx(known.capacity.rps)
    assert np.all(slow.capacity.rps < known.capacity.rps)


def test_the_factor_is_the_quantile_of_the_errors_widened_as_capacities_were() -> None:
    at_90, at_95 = (step_factor(ERRORS, c) for c in (0.9, 0.975))
    assert at_95 > at_90
    assert at_90 == pytest.approx(1.25 ** capacity_exponent(0.9))
    assert at_95 == pytest.approx(1.6 ** capacity_exponent(0.975), rel=1e-3)
    assert step_factor(replace(ERRORS, own=True), 0.9) == pytest.approx(1.25)
    surer = [step_factor(ERRORS, c / 100) for c in range(1, 100)]
    assert surer == sorted(surer)
    assert step_factor(ERRORS, EXPECTED) == 1.0
    assert step_factor(ERRORS, 0.1) < 1.0


def test_more_certainty_never_takes_less() -> None:
    needed = [ask(LLAMA_70B, deployment={**H100, "confidence": c}).deployment for c in get_args(Confidence)]
    counts = [d.gpus for d in needed if d is not None]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_the_range_of_gpus_and_what_is_expected_hold_whatever_is_asked() -> None:
    for confidence in get_args(Confidence):
        found = plan(asked(confidence).scenario)
        assert found.gpus_high is not None
        assert found.gpus_low <= found.gpus_expected <= found.deployment.gpus <= found.gpus_high
        assert found.confidence == confidence
        assert found.probability_within_limits >= confidence / 100


def test_latencies_are_stated_as_expected_and_lie_within_the_limits() -> None:
    found = plan(asked(90).scenario)
    assert found.latency.itl_ms.at_percentile < 100
    question = asked(50)
    as_likely = evaluate(question, all_configurations(question))
    steps = as_likely.times.decode_s[0]
    assert steps.min() * 1e3 <= (found.per_instance.decode_step_ms or 0.0) <= steps.max() * 1e3


def without_limits(confidence: int) -> Question:
    """Capacity is the stable rate alone, which is inverse to the time of all steps."""
    return asked(confidence, limits={"ttft_ms": None, "itl_ms": None}, workload={"peak_rps": 40})


def test_without_limits_the_chance_is_that_of_steps_just_slow_enough() -> None:
    """rate(f) = rate / f where decode and prompts slow down alike, so the chance is that of a factor of the room."""
    question = without_limits(50)
    seen = screened(question)
    (one,) = as_stated([Place(seen.together, seen.together.first())])
    same = replace(one.evaluated, slowness=Slowness.none(len(one.evaluated)))
    assert same.capacity.rps[0] == pytest.approx(one.evaluated.capacity.rps[0])
    rooms = one.rooms(np.array([0.25, EXPECTED, 0.75]))
    assert rooms[1] == pytest.approx(one.headroom, rel=1e-6)
    assert rooms[0] > rooms[1] > rooms[2]


def test_an_accelerator_nobody_measured_pays_for_its_own_doubt() -> None:
    """Two cards with one datasheet: the one without a benchmark is planned with slower steps."""
    known = resolve_gpu("h100_sxm")
    twin = {
        "id": "twin",
        "name": "Twin of the H100",
        "memory_gb": known.memory_bytes / 1e9,
        "bandwidth_gbs": known.memory_bandwidth / 1e9,
        "fp16_tflops": (known.bf16_flops or 0.0) / 1e12,
        "fp8_tflops": (known.fp8_flops or 0.0) / 1e12,
        "link_gbs": 900,
        "domain_gpus": 8,
    }
    keys = raw(LLAMA_70B, deployment={**ONE, "gpus": ["h100_sxm", "twin"], "custom_gpus": [twin]})
    question = understand(Scenario.model_validate(keys))
    found = evaluate(question, all_configurations(question))
    slow = {row.gpu.id: float(found.slowness.decode[i]) for i, row in enumerate(found.candidates.rows)}
    assert slow["twin"] > slow["h100_sxm"]


def test_what_nothing_can_hold_so_surely_names_the_chance_that_it_can() -> None:
    """A limit between what idle instances do as expected and as slow as in 1 of 10 cases."""
    plain = asked(50)
    idle_ms = 1e3 * float(evaluate(plain, all_configurations(plain)).latencies.itl_s[:, 0].min())
    found = answer(raw(LLAMA_70B, deployment={**ONE, "confidence": 95}, limits={"itl_ms": idle_ms * 1.05}))
    assert not found.feasible
    (warning,) = [w for w in found.warnings if w.code == "confidence_out_of_reach"]
    assert warning.fix.key == "deployment.confidence"
    assert warning.fix.value in (50, 80, 90)
    eased = answer(
        raw(LLAMA_70B, deployment={**ONE, "confidence": warning.fix.value}, limits={"itl_ms": idle_ms * 1.05})
    )
    assert eased.feasible
    assert "slow enough to be 95 % sure" in found.excluded[0].reason


def test_expected_cost_ranks_by_what_is_expected_and_sizes_as_surely() -> None:
    def by(objective: str) -> Plan:
        return analytic_plan(Scenario.model_validate(raw(LLAMA_70B, deployment={"objective": objective})))

    sure, likely = by("cost"), by("expected_cost")
    assert likely.probability_within_limits >= 0.9
    assert (sure.cost.hardware_usd_per_month or 0.0) <= (likely.cost.hardware_usd_per_month or 0.0)


def test_what_a_plan_deploys_is_looked_at_again_as_expected() -> None:
    found = plan(asked(90).scenario)
    again = as_considered(asked(90).as_expected(), found.deployment, Answer(asked(90), found).chosen)
    assert again is not None
    one = as_planned(Place(again, 0))
    assert one.per_instance().decode_step_ms == pytest.approx(found.per_instance and found.per_instance.decode_step_ms)
    assert gpus()[found.deployment.gpu].id == "h100_sxm"


NEAR_THE_FLOOR = {
    "gpus": ["l4"],
    "engines": ["trtllm"],
    "precisions": ["int4_awq"],
    "tp": [4],
    "pp": [1],
    "serving": ["aggregated"],
}
"""Steps of a 32B model that may be so slow, to be sure, that one request at once takes the whole ITL limit."""


def near_the_floor(confidence: int, itl_ms: float) -> Plan:
    keys = raw("Qwen/Qwen2.5-32B-Instruct", limits={"ttft_ms": 2000, "itl_ms": itl_ms})
    keys["workload"] = {"input_tokens": 1000, "output_tokens": 300, "peak_rps": 1}
    keys["deployment"] = {**NEAR_THE_FLOOR, "confidence": confidence}
    return plan(Scenario.model_validate(keys), alternatives=0)


def test_what_is_expected_is_what_a_plan_as_likely_as_not_takes() -> None:
    """A simulation adds much to the capacity near the fastest token; that is not carried over to faster steps, which
    said that one of the three instances was expected to be enough."""
    sure, likely = near_the_floor(90, 48.0), near_the_floor(50, 48.0)
    assert sure.deployment is not None
    assert likely.deployment is not None
    assert sure.gpus_expected == likely.deployment.gpus
    assert sure.deployment.gpus > 3 * sure.gpus_expected


def test_it_is_said_where_doubt_and_not_the_load_decides_what_is_bought() -> None:
    by_doubt = {one.code: one for one in near_the_floor(90, 48.0).warnings}["doubt_decides"]
    assert by_doubt.fix is not None
    assert (by_doubt.fix.key, by_doubt.fix.value) == ("deployment.confidence", 50)
    assert "4 GPUs (TP4)" in by_doubt.message
    for other in (near_the_floor(50, 48.0), near_the_floor(90, 150.0)):
        assert "doubt_decides" not in {one.code for one in other.warnings}
