"""Plans of a scenario that brings its own benchmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.calibration.benchmark import calibration_note
from sizing.planning.analytic import analytic_plan
from sizing.planning.second_opinion import second_opinion
from sizing.question.understand import understand
from sizing.scenario.file import scenario_from
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask, raw
from tests.sizing.calibration.test_calibration import H100, benchmark, calibrated


def test_plan_uses_the_measured_step_times_and_a_narrower_interval():
    plain = ask(LLAMA_70B, deployment=H100)
    slower = ask(LLAMA_70B, deployment=H100, benchmark=benchmark(1.4))
    assert slower.source == "measured benchmark test run (3 calibration points) on roofline"
    assert plain.source.startswith("roofline")
    assert "3 measured points of this very configuration" in slower.confidence
    assert slower.per_instance.max_rps < 0.9 * plain.per_instance.max_rps
    light = {"peak_rps": 1}
    plain = ask(LLAMA_70B, deployment=H100, workload=light)
    found = ask(LLAMA_70B, deployment=H100, workload=light, benchmark=benchmark(1.2))
    assert relative_width(found) < relative_width(plain)


def relative_width(found):
    itl = found.latency.itl_ms
    return (itl.high - itl.low) / itl.at_percentile


def test_other_deployments_keep_the_prediction_and_the_plan_says_so():
    deployment = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"]}
    plain = ask(LLAMA_70B, deployment=deployment, alternatives=100)
    found = ask(LLAMA_70B, deployment=deployment, benchmark=benchmark(1.4), alternatives=100)
    rates = {(a.deployment.tp, a.deployment.pp): a.max_rps for a in plain.alternatives}
    sources = {(a.deployment.tp, a.deployment.pp): a.source for a in found.alternatives}
    assert [key for key, source in sources.items() if "measured benchmark" in source] in ([(4, 1)], [])
    for other in found.alternatives:
        key = (other.deployment.tp, other.deployment.pp)
        if key in rates and key != (4, 1):
            assert other.max_rps == pytest.approx(rates[key])
    assert any("calibrates the step times of H100" in text for text in found.assumptions)
    assert any(w.code == "not_measured" and "1.4 times" in w.message for w in found.warnings)


def test_measured_beats_the_kernel_tables_and_they_remain_a_second_opinion():
    keys = raw(LLAMA_70B, deployment={**H100, "step_times": "kernel"}, benchmark=benchmark(1.4))
    found = analytic_plan(Scenario.model_validate(keys))
    assert found.source.startswith("measured benchmark")
    check = second_opinion(Scenario.model_validate(keys), found)
    assert "measured" not in check.source


def test_a_benchmark_of_another_model_is_not_used():
    plain, found = ask(LLAMA_8B), ask(LLAMA_8B, benchmark=benchmark(1.4, model=LLAMA_70B))
    assert found.answer == plain.answer
    assert any(f"is of {LLAMA_70B}, not of meta-llama/Meta-Llama-3-8B" in text for text in found.assumptions)


def test_a_benchmark_works_for_a_model_known_by_its_size_alone():
    model = {"name": "NeMo 43B GPT", "params_b": 43}
    found = ask(model, deployment=H100, benchmark=benchmark(1.0))
    assert found.source.startswith("measured benchmark")


def test_what_was_measured_needs_no_evidence_from_others():
    gaudi = {"gpus": ["gaudi3"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [8], "pp": [1]}
    points = [{"mode": "fixed_concurrency", "concurrency": 8, "input_tokens": 1000, "output_tokens": 500, "itl_ms": 25}]
    own = {"gpu": "gaudi3", "engine": "vllm", "weight_precision": "bf16", "tp": 8, "points": points}
    codes = [
        {w.code for w in ask(LLAMA_70B, deployment=gaudi, workload={"peak_rps": 1}, **more).warnings}
        for more in ({}, {"benchmark": own})
    ]
    assert "no_evidence" in codes[0]
    assert "no_evidence" not in codes[1]


def test_kv_precision_counts_only_when_it_is_stated():
    found, stated = calibrated(), calibrated(kv_precision="fp16")
    row = found.configuration
    assert found.covers(replace(row, kv_precision="fp16"))
    assert not stated.covers(row)
    assert not found.covers(replace(row, pp=2))


def test_a_measured_record_wins_over_a_benchmark():
    record = {"system": "dgx_h100", "rps_per_system": 2.4}
    assert ask(LLAMA_70B, measured=record, benchmark=benchmark()).source.startswith("measured: record")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gpu": "H100 SMX9"}, "benchmark.gpu: Unknown"),
        ({"engine": "vlmm"}, "benchmark.engine: Unknown engine “vlmm”. Did you mean vllm"),
        ({"weight_precision": "fp9"}, "benchmark.weight_precision: Unknown"),
        ({"gpu": "a100_sxm_80g"}, "benchmark.weight_precision: A100 SXM4 80GB does not run FP8 (W8A8)."),
        ({"tp": 8, "gpus": 4}, "benchmark.gpus: 4 GPUs are no whole number of instances of 8 (TP x PP x DP)."),
        ({"gpu": "L4", "tp": 1}, "needs 72.7 GB per GPU, and L4 24GB has 25.8 GB: this cannot have run."),
        ({"points": []}, "benchmark.points: "),
        ({"points": [{"mode": "fixed_rate", "input_tokens": 1, "output_tokens": 9, "itl_ms": 3}]}, "request_rate_rps"),
        ({"points": [{"mode": "offline", "input_tokens": 1, "output_tokens": 9}]}, "nothing was measured"),
        ({"tpp": 3}, "benchmark.tpp: unknown key. Did you mean tp"),
    ],
)
def test_a_bad_benchmark_is_one_sentence(changes, sentence):
    with pytest.raises(InvalidScenario) as refused:
        understand(scenario_from(raw(LLAMA_70B, benchmark=benchmark(**changes))))
    (problem,) = refused.value.problems
    assert sentence in problem


def test_the_note_names_what_is_calibrated():
    scenario = Scenario.model_validate(raw(LLAMA_70B, benchmark=benchmark()))
    (note,) = calibration_note(understand(scenario))
    assert "3 points" in note
    assert "H100 SXM5 80GB, vLLM, FP8 (W8A8), TP4 only" in note
