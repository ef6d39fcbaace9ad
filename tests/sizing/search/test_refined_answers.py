"""Answers of the simulation: warnings, spares, what is not simulated, and that more load never gets less."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from sizing import Scenario, plan
from sizing.cli import main
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.planning.figures import not_confirmed
from sizing.question.limits import LatencyLimits
from sizing.question.understand import understand
from sizing.replay.simulate import planned
from sizing.search import decide as decide_module
from sizing.search.decide import decide
from sizing.search.instances import Needed, NotMet, needed
from sizing.search.refine import refine
from sizing.search.serving import screened
from sizing.simulator.outcome import SimulationCounts
from tests.sizing.asking import LLAMA_8B, raw
from tests.sizing.search.simulated import H100, VARY, instances, scenario

EVERY = {"gpus": ["h200_sxm"], "accurate_formats_only": False, "routing": "random"}


def at_ttft(limit_ms: float) -> Scenario:
    return scenario(
        workload={**VARY, "peak_rps": 20},
        limits={"ttft_ms": limit_ms, "itl_ms": None, "percentile": 99},
        deployment={**H100, "pp": [1], "confidence": 50},
    )


def tightest_estimated_ttft_ms() -> float:
    """The smallest p99 TTFT limit that the estimate can serve, by bisection."""
    broken, held = 1.0, 60_000.0
    while held > 1.001 * broken:
        middle = math.sqrt(broken * held)
        broken, held = (broken, middle) if analytic_plan(at_ttft(middle)).feasible else (middle, held)
    return held


def test_what_no_simulation_confirms_is_no_answer() -> None:
    """So near to what idle instances reach, the tail of the lengths alone breaks the limit."""
    asked = at_ttft(1.05 * tightest_estimated_ttft_ms())
    screen, found = analytic_plan(asked), plan(asked)
    assert found.deployment == screen.deployment
    assert screen.feasible
    assert not found.feasible
    assert found.sentences[0].about == "infeasible"
    (warning,) = [w for w in found.warnings if w.code == "not_confirmed"]
    assert warning.severity == "error"
    assert "p99 TTFT" in warning.message
    assert "relax the limit" in warning.message
    assert "Not confirmed" in found.how_sure
    assert warning.fix
    relaxed = asked.model_copy(update={"limits": asked.limits.model_copy(update={"ttft_ms": warning.fix.value})})
    assert plan(relaxed).feasible
    severities = [w.severity for w in found.warnings]
    assert severities == sorted(severities, key=("error", "warning", "info").index)


def test_what_no_work_was_left_to_confirm_is_not_listed_before_what_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search ended with the dearer of two that were simulated, since it alone was certain."""
    deployment = {"gpus": ["h200_sxm"], "serving": ["aggregated"], "confidence": 50}
    asked = scenario(workload={"peak_rps": 500}, deployment=deployment)
    seen = screened(understand(asked))
    refined = refine(seen.together, 0)
    cheapest, dearer = refined.position, int(refined.deployments.order()[-1])
    index, guess = int(refined.deployments.index[dearer]), int(refined.deployments.instances[dearer])
    refined.search.results[index] = needed(refined.search.case(index), guess)
    assert isinstance(refined.search.results[index], Needed)
    monkeypatch.setattr(decide_module, "refine", lambda *_: replace(refined, first=dearer))
    decided = decide(seen, 0)
    assert decided.ranked[0] == dearer
    assert cheapest not in decided.ranked
    assert decided.left_out > 0


def test_a_count_that_is_known_not_to_carry_the_load_is_not_asked_for_again() -> None:
    """Of the cheapest by the estimate 6 instances were simulated, and 7 known to be overloaded; the search took 7 for
    open and went round until nothing was confirmed, which without limits was no sentence either."""
    found = plan(
        scenario(
            workload={"input_tokens": {"p50": 8500, "p95": 25_500}, "output_tokens": 1, "peak_rps": 29.494226133928},
            limits={"ttft_ms": None, "itl_ms": None, "percentile": 50},
            deployment={"gpus": ["h100_sxm"]},
        )
    )
    assert found.decided_by == "simulation"
    assert not [w for w in found.warnings if w.code == "not_confirmed"]


def test_without_limits_it_is_the_load_that_is_not_carried() -> None:
    limits = LatencyLimits(ttft_s=math.inf, itl_s=math.inf, e2e_s=math.inf, percentile=50.0)
    tried = NotMet(
        instances=7,
        fewest_possible=None,
        bounded=True,
        broken_rps=4.2,
        outcome=SimulationCounts.__new__(SimulationCounts),
    )
    assert "One does not carry the load with 7 instances." in not_confirmed(limits, [("One", tried)]).message


def test_the_same_question_gives_the_same_bytes() -> None:
    asked = scenario(workload={"peak_rps": 12})
    assert plan(asked).model_dump_json() == plan(asked).model_dump_json()


@pytest.mark.parametrize("cv", [0.5, 1.0, 3.0])
def test_more_load_never_needs_fewer_instances(cv: float) -> None:
    one_gpu = {**H100, "pp": [1]}
    counts = [
        instances(plan(scenario(deployment=one_gpu, workload={"peak_rps": rate, "arrivals": {"gamma": {"cv": cv}}})))
        for rate in (3, 9, 14, 27, 60)
    ]
    assert counts == sorted(counts)


def test_spares_and_the_utilisation_cap_are_kept() -> None:
    base = instances(plan(scenario(workload={"peak_rps": 30})))
    spared = plan(scenario(workload={"peak_rps": 30}, deployment={**H100, "spare_instances": 2}))
    assert instances(spared) == base + 2
    capped = plan(scenario(workload={"peak_rps": 30}, deployment={**H100, "max_utilization": 0.3}))
    assert capped.per_instance.rps <= 0.3 * capped.per_instance.stable_rps


def test_what_cannot_be_simulated_is_answered_by_the_screen() -> None:
    offline = scenario(workload={"mode": "offline"})
    assert plan(offline) == analytic_plan(offline)
    nothing = scenario(limits={"ttft_ms": 1})
    assert not plan(nothing).feasible
    measured = scenario(measured={"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4})
    assert plan(measured) == analytic_plan(measured)
    assert planned(Answer.of(nothing)) is None


def test_an_answer_of_one_token_has_no_gaps_to_simulate() -> None:
    found = plan(scenario(workload={"output_tokens": 1, "peak_rps": 5}))
    assert found.feasible
    assert found.latency.itl_ms is not None


def test_the_command_line_simulates_unless_told_not_to(tmp_path, capsys) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(json.dumps(raw(LLAMA_8B, deployment=H100)))
    assert main(["plan", str(path), "--json"]) == 0
    assert "simulated" in json.loads(capsys.readouterr().out)["source"]
    assert main(["plan", str(path), "--json", "--analytic"]) == 0
    assert "simulated" not in json.loads(capsys.readouterr().out)["source"]


@pytest.mark.parametrize("percentile", [95, 99, 99.9])
def test_what_is_reported_keeps_the_limits_that_a_shorter_run_kept(percentile: float) -> None:
    """Few requests hardly show what is rare: 7 instances kept p99.9 E2E in 3,547 of them, and broke it in 12,000."""
    answer = plan(
        Scenario.model_validate(
            raw(
                "google/gemma-3-27b-it",
                limits={"ttft_ms": None, "itl_ms": None, "e2e_ms": 5000, "percentile": percentile},
                workload={"input_tokens": 3500, "output_tokens": 50, "peak_rps": 31},
                deployment={
                    "gpus": ["h100_sxm"],
                    "routing": "weighted",
                    "serving": ["aggregated"],
                    "speculative_decoding": {"draft_tokens": 4, "acceptance": 0.6, "draft_cost": 0},
                },
            )
        )
    )
    assert "not_confirmed" not in {w.code for w in answer.warnings}
    assert answer.latency.e2e_ms.at_percentile <= 5000


def test_by_latency_the_one_that_was_simulated_stays_first_when_fewer_instances_turn_out_to_do() -> None:
    """Sharpening takes instances away, which makes answers later: another could come first, never simulated."""
    answer = plan(
        Scenario.model_validate(
            raw(
                LLAMA_8B,
                limits={"ttft_ms": 200, "itl_ms": 50},
                workload={"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
                deployment={"gpus": ["h100_sxm"], "objective": "latency", "serving": ["aggregated"]},
            )
        )
    )
    assert "not_confirmed" not in {w.code for w in answer.warnings}
    assert "simulated" in answer.source


def gpus_or_usd(keys: dict[str, Any], rps: float) -> float:
    """What the objective counts of the plan at so many requests/s."""
    found = plan(Scenario.model_validate({**keys, "workload": {**keys["workload"], "peak_rps": rps}}), alternatives=0)
    assert "not_confirmed" not in {w.code for w in found.warnings}
    if keys["deployment"]["objective"] == "gpus":
        return float(found.deployment.gpus_bought)
    assert found.cost.hardware_usd_per_month is not None
    return found.cost.hardware_usd_per_month


BURSTY: dict[str, Any] = {"input_tokens": 2000, "output_tokens": 300, "arrivals": {"gamma": {"cv": 3}}}
SUMMARIES: dict[str, Any] = {"input_tokens": 8192, "output_tokens": 1024}
MORE_LOAD: tuple[tuple[dict[str, Any], tuple[float, ...]], ...] = (
    # Many candidates of one GPU fail alike; another GPU does with as few, and was once not reached.
    (raw(LLAMA_8B, workload=BURSTY, limits={"ttft_ms": 1000, "itl_ms": 40, "percentile": 99}), (8, 13, 21, 34)),
    # One instance kept the limits in few requests, not in many: others had to be looked at again.
    (
        {
            "model": "Qwen/Qwen3-32B",
            "workload": SUMMARIES,
            "limits": {"ttft_ms": 2000, "itl_ms": 100, "percentile": 99},
            "deployment": {"measured_gpus_only": True, "precisions": ["bf16", "fp16", "fp8"]},
        },
        (0.3, 1, 2, 5),
    ),
    (
        {
            "model": "openai/gpt-oss-120b",
            "workload": BURSTY,
            "limits": {"ttft_ms": 1000, "itl_ms": 40, "percentile": 99},
        },
        (1, 8, 21, 89),
    ),
)


@pytest.mark.parametrize("objective", ["gpus", "cost"])
@pytest.mark.parametrize(("keys", "rates"), MORE_LOAD)
def test_more_load_never_gets_a_smaller_answer(keys: dict[str, Any], rates: tuple[float, ...], objective: str) -> None:
    asked = {**keys, "deployment": {**keys.get("deployment", {}), "objective": objective}}
    found = [gpus_or_usd(asked, rate) for rate in rates]
    assert found == sorted(found)
