"""What a benchmark says of the neighbours of what it measured, and which deployment is offered first."""

import math

import pytest

from sizing import Scenario, plan
from sizing.calibration.benchmark import calibrated_configuration
from sizing.calibration.carried import ENGINE, FORMAT, LAYOUT, TWIN, carried_interval, kinship, neighbours
from sizing.planning.analytic import analytic_plan
from sizing.planning.spread import intervals_of
from sizing.question.understand import understand
from sizing.search.screen import all_configurations, evaluate
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

MEASURED = [
    (LLAMA_8B, "h100_sxm", "vllm", "bf16", 1, ((1, 20.0), (8, 24.0), (32, 33.0))),
    (LLAMA_70B, "h100_sxm", "vllm", "fp8", 4, ((4, 30.0), (32, 50.0))),
    ("Qwen/Qwen3-32B", "a100_sxm_80g", "sglang", "bf16", 2, ((2, 60.0), (16, 70.0))),
]
"""Runs of three models on two GPUs, each some times as slow as predicted: model, GPU, engine, format, TP, ITL in ms."""


def asked(measured, rps=2, **deployment):
    model, gpu, engine, precision, tp, curve = measured
    points = [
        {"mode": "fixed_concurrency", "concurrency": c, "input_tokens": 1000, "output_tokens": 500, "itl_ms": itl}
        for c, itl in curve
    ]
    benchmark = {"source": "own", "gpu": gpu, "engine": engine, "weight_precision": precision, "tp": tp}
    workload = {"input_tokens": 1000, "output_tokens": 500, "peak_rps": rps}
    keys = raw(model, workload=workload, limits={"itl_ms": None}, deployment={"gpus": [gpu], **deployment})
    return Scenario.model_validate({**keys, "benchmark": {**benchmark, "points": points}})


@pytest.mark.parametrize("surprise", [-1.5, -0.1, 0.0, 0.05, 0.3, 1.4])
def test_the_more_surprising_a_run_the_more_of_it_is_carried_over(surprise):
    for kin in (TWIN, LAYOUT, FORMAT, ENGINE):
        carried = kin.carried(surprise)
        assert abs(carried) <= abs(surprise)
        assert abs(carried) >= kin.share * abs(surprise) * (1 - 1e-12)
        assert carried * surprise >= 0.0
        assert abs(surprise) - abs(carried) <= max(2 * kin.spread, 0.0) + 1e-12
    assert abs(LAYOUT.carried(surprise)) >= abs(FORMAT.carried(surprise))


@pytest.mark.parametrize("measured", MEASURED, ids=[m[0] for m in MEASURED])
def test_neighbours_are_told_apart_row_by_row_as_all_at_once(measured):
    """FP8 is named, as GPUs without matrix units for it (A100) are planned in it only where a scenario does so."""
    question = understand(asked(measured, kv_precisions=["fp16"], precisions=["bf16", "fp8"]))
    calibrated, everything = calibrated_configuration(question), all_configurations(question)
    by_row = [kinship(calibrated, row) for row in everything.rows]
    at_once = [None] * len(everything)
    for rows, kin in neighbours(calibrated, everything):
        for i in rows:
            at_once[i] = kin
    assert at_once == by_row
    assert {kin for kin in by_row if kin} >= {LAYOUT, FORMAT, ENGINE}
    covered = {i for i, row in enumerate(everything.rows) if calibrated.covers(row)}
    assert covered == set(calibrated.matching(everything).tolist())
    assert covered


def test_fp16_and_bf16_are_one_format():
    question = understand(asked(MEASURED[0], precisions=["fp16", "bf16"], tp=[1], pp=[1], engines=["vllm"]))
    evaluated = evaluate(question, all_configurations(question))
    assert {row.precision.id for row in evaluated.candidates.rows} == {"fp16", "bf16"}
    assert {source.kind for source in evaluated.sources} == {"calibration"}
    assert evaluated.times.decode_s[0] == pytest.approx(evaluated.times.decode_s[1])


@pytest.mark.parametrize("measured", MEASURED, ids=[m[0] for m in MEASURED])
def test_no_neighbour_looks_fast_because_nobody_measured_it(measured):
    """Each ran two to five times as slow as predicted: its neighbours are slower, too, in a wider interval."""
    scenario = asked(measured)
    plain = scenario.model_copy(update={"benchmark": None})
    question = understand(scenario)
    calibrated, everything = calibrated_configuration(question), all_configurations(question)
    after, before = evaluate(question, everything), evaluate(understand(plain), everything)
    slower = after.times.decode_s[:, 0] / before.times.decode_s[:, 0]
    surprise = math.exp(calibrated.decode_surprise)
    assert surprise > 1.5
    for rows, kin in neighbours(calibrated, after.candidates):
        least = math.exp(kin.carried(calibrated.decode_surprise))
        assert (slower[rows] > 1.0 + 0.3 * (least - 1.0)).all()
        row = after.candidates.rows[rows[0]]
        (own,) = intervals_of(understand(plain), "decode", [row])
        (wider,) = intervals_of(question, "decode", [row])
        assert wider == carried_interval(calibrated, row, "decode", own)
        assert wider.high_factor >= own.high_factor
        assert "carried over" in wider.basis
    whole = calibrated.interval("decode")
    assert whole.high_factor / whole.low_factor < wider.high_factor / wider.low_factor


@pytest.mark.parametrize("measured", MEASURED, ids=[m[0] for m in MEASURED])
def test_what_was_measured_comes_first_or_the_plan_says_that_it_was_not(measured):
    scenario = asked(measured)
    calibrated = calibrated_configuration(understand(scenario))
    for found in (plan(scenario), analytic_plan(scenario)):
        d, own = found.deployment, calibrated.configuration
        is_it = (d.engine, d.tp, d.pp, d.weight_precision) == (own.engine.id, own.tp, own.pp, own.precision.id)
        warned = [w for w in found.warnings if w.code == "not_measured"]
        assert bool(warned) != is_it
        assert found.source.startswith("measured benchmark" if is_it else "predicted step times, with what the")


def test_another_gpu_keeps_its_prediction_must_save_more_and_says_so():
    scenario = asked(MEASURED[1])
    other = scenario.model_copy(update={"deployment": scenario.deployment.model_copy(update={"gpus": ["h200_sxm"]})})
    found, plain = analytic_plan(other), analytic_plan(other.model_copy(update={"benchmark": None}))
    assert found.deployment == plain.deployment
    assert found.per_instance.max_rps == pytest.approx(plain.per_instance.max_rps)
    (warning,) = [w for w in found.warnings if w.code == "not_measured"]
    assert "keeps the prediction" in warning.message
