"""A benchmark of the user's own in plans and predictions: where it counts, and what the plan says of it."""

import numpy as np
import pandas as pd
import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.calibration.benchmark import calibrated_configuration, calibration_note, calibration_points
from sizing.calibration.fit import fit_calibration
from sizing.calibration.protocol_points import CalibrationPoint, prepare
from sizing.evidence.points import points_of
from sizing.evidence.predict import predict_points
from sizing.planning.analytic import analytic_plan
from sizing.question.understand import understand
from sizing.scenario.file import scenario_from
from sizing.steps.mixture import mixture
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask, raw
from tests.sizing.calibration.benchmarks import H100, benchmark, predicted_itl_ms


def test_what_no_calibration_explains_is_not_used_and_the_plan_says_so():
    asked = Scenario.model_validate(raw(LLAMA_70B, benchmark=benchmark(1e-3), deployment=H100))
    assert calibrated_configuration(understand(asked)) is None
    (note,) = [a for a in analytic_plan(asked).assumptions if "imported benchmark" in a]
    assert "which no calibration explains: it is not used" in note
    assert "times as fast as predicted" in note


def test_a_closed_loop_is_predicted_as_predict_does():
    found = predicted_itl_ms()
    scenario = Scenario.model_validate(raw(LLAMA_70B, benchmark=benchmark(kv_precision="fp8")))
    own = calibration_points(understand(scenario).benchmark)
    (part,) = prepare([a.point for a in own], mixture())
    assert 1e3 * part.expected(part.times).itl_s[:, 0] == pytest.approx(found["itl_ms"].to_numpy())


def test_an_open_loop_is_read_at_the_rate_that_was_asked():
    row = {
        "model": LLAMA_8B,
        "gpu": "h100_sxm",
        "gpus": 1,
        "tp": 1,
        "engine": "vllm",
        "isl": 1000,
        "osl": 200,
        "mode": "fixed_rate",
    }
    points, _ = points_of(pd.DataFrame([{**row, "request_rate_rps": r} for r in (1, 5, 1000)]))
    (part,) = prepare(points, mixture())
    found, stated = part.expected(part.times), part.stated(part.times)
    assert found.rps[:2, 0] == pytest.approx([1, 5])
    assert found.rps[2, 0] < 1000, "beyond the capacity only the capacity is served"
    assert found.itl_s[0, 0] < found.itl_s[1, 0] < found.itl_s[2, 0]
    assert (found.ttft_p99_s[:, 0] > found.ttft_s[:, 0]).all()
    assert stated.itl_s[:2, 0] == pytest.approx(found.itl_s[:2, 0]), "what the fit starts from is the simulation"
    assert np.isnan(stated.itl_s[2, 0]), "there a queue grows without end"
    predicted = predict_points(pd.DataFrame([{**row, "request_rate_rps": r} for r in (1, 5)]))
    assert 1e3 * stated.itl_s[:2, 0] == pytest.approx(predicted["itl_ms"].to_numpy())


def offline(**changes):
    row = {"model": LLAMA_8B, "gpu": "h100_sxm", "gpus": 1, "tp": 1, "engine": "vllm", "weight_precision": "bf16"}
    return {**row, "isl": 217.4, "osl": 201.4, "mode": "offline_max_throughput", **changes}


def test_a_burst_is_predicted_as_predict_does():
    """Two bursts and a run without end in one table: each as it is alone, and as ``predict`` answers it."""
    rows = [offline(requests=1000), offline(requests=50, output_variation=0.0), offline()]
    points, _ = points_of(pd.DataFrame(rows))
    (part,) = prepare(points, mixture())
    found = part.expected(part.times).rps[:, 0]
    assert found == pytest.approx(predict_points(pd.DataFrame(rows))["requests_per_s"].to_numpy())
    for row, rate in zip(rows, found, strict=True):
        (alone,) = prepare(points_of(pd.DataFrame([row]))[0], mixture())
        assert alone.expected(alone.times).rps.item() == pytest.approx(rate)


def test_a_burst_that_ran_as_predicted_calibrates_nothing():
    """Without the number of its requests the same run would pass for an engine that is a third slower."""
    measured = predict_points(pd.DataFrame([offline(requests=1000)]))["output_tokens_per_s"].item()
    run = {"mode": "offline", "input_tokens": 217.4, "output_tokens": 201.4, "output_tokens_per_s": measured}
    named = {"gpu": "h100_sxm", "engine": "vllm", "weight_precision": "bf16", "model": LLAMA_8B}

    def calibrated(**more):
        asked = raw(LLAMA_8B, benchmark={**named, "points": [{**run, **more}]})
        return fit_calibration(calibration_points(understand(Scenario.model_validate(asked)).benchmark))

    assert calibrated(requests=1000).ratio == pytest.approx(1.0, abs=0.01)
    assert calibrated().ratio > 1.3


def test_open_loops_of_a_slower_engine_calibrate_it():
    """All step times a quarter longer than predicted: the fit finds as much, and the simulation follows."""
    rates = (1, 4, 8, 11)
    row = {"model": LLAMA_8B, "gpu": "h100_sxm", "gpus": 1, "tp": 1, "engine": "vllm", "mode": "fixed_rate"}
    lengths = {"isl": 1000, "osl": 200, "weight_precision": "bf16"}
    points, _ = points_of(pd.DataFrame([{**row, **lengths, "request_rate_rps": r} for r in rates]))
    (part,) = prepare(points, mixture())
    quarter = np.full(len(rates), 1.25)
    slower = part.stated(part.times.scaled(quarter, quarter))
    measured = [
        CalibrationPoint(point=point, itl_s=float(itl), ttft_s=float(ttft))
        for point, itl, ttft in zip(points, slower.itl_s[:, 0], slower.ttft_s[:, 0], strict=True)
    ]
    fitted = fit_calibration(measured)
    found = part.stated(fitted.scaled(part.times, part.grid))
    assert found.itl_s[:, 0] == pytest.approx(slower.itl_s[:, 0], rel=0.05)
    assert fitted.after < 0.3 * fitted.before


def test_an_overloaded_open_loop_shows_its_capacity_only():
    point = {
        "mode": "fixed_rate",
        "request_rate_rps": 40,
        "requests_per_s": 8,
        "input_tokens": 1000,
        "output_tokens": 1000,
        "itl_ms": 500,
        "ttft_ms": 90_000,
    }
    scenario = Scenario.model_validate(raw(LLAMA_70B, benchmark=benchmark(points=[point])))
    (calibration_point,) = calibration_points(understand(scenario).benchmark)
    assert (calibration_point.itl_s, calibration_point.ttft_s, calibration_point.rps) == (None, None, 8)


def test_plan_uses_the_measured_step_times_and_a_narrower_interval():
    plain = ask(LLAMA_70B, deployment=H100)
    slower = ask(LLAMA_70B, deployment=H100, benchmark=benchmark(1.4))
    assert slower.source == "measured benchmark test run (3 calibration points) on predicted step times"
    assert plain.source.startswith("roofline")
    assert "3 measured points of this very configuration" in slower.how_sure
    assert slower.per_instance.max_rps < 0.9 * plain.per_instance.max_rps
    light = {"peak_rps": 1}
    plain = ask(LLAMA_70B, deployment=H100, workload=light)
    found = ask(LLAMA_70B, deployment=H100, workload=light, benchmark=benchmark(1.2))
    assert relative_width(found) < relative_width(plain)


def relative_width(found):
    itl = found.latency.itl_ms
    return (itl.high - itl.low) / itl.at_percentile


def test_neighbours_have_what_is_carried_over_and_the_plan_says_so():
    deployment = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"]}
    plain = ask(LLAMA_70B, deployment=deployment, alternatives=100)
    found = ask(LLAMA_70B, deployment=deployment, benchmark=benchmark(1.4), alternatives=100)
    together = [a for a in found.alternatives if a.deployment.serving == "aggregated"]
    rates = {(a.deployment.tp, a.deployment.pp): a.max_rps for a in plain.alternatives}
    assert len(together) > 2
    for other in together:
        key = (other.deployment.tp, other.deployment.pp)
        measured = "measured benchmark" in other.source
        assert measured == (key == (4, 1))
        assert measured or "carried over" in other.source
        if key in rates and not measured:
            assert other.max_rps < rates[key]
    assert any("calibrates the step times of H100" in text for text in found.assumptions)
    assert (found.deployment.tp, found.deployment.pp) == (4, 1) or any(
        w.code == "not_measured" and "1.4 times" in w.message for w in found.warnings
    )


def test_measured_beats_the_kernel_tables_and_they_remain_a_second_opinion():
    keys = raw(LLAMA_70B, deployment={**H100, "step_times": "kernel"}, benchmark=benchmark(1.4))
    found = analytic_plan(Scenario.model_validate(keys), second_opinion=True)
    assert found.source.startswith("measured benchmark")
    assert "measured" not in found.cross_check.source


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
        ({"gpu": "L4", "tp": 1}, "needs 67.7 GiB per GPU, and L4 24GB has 22.5 GiB: this cannot have run."),
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
    assert "H100 SXM5 80GB, vLLM, FP8 (W8A8), TP4; other layouts" in note
