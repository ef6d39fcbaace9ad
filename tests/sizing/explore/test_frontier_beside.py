"""What stands beside a frontier: load bands, measured points, the user's own benchmark; every field has a label."""

import re

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.quantity import Result
from sizing.explore.frontier import FrontierCurve, OperatingPoints
from sizing.explore.length_map import LengthCell, LengthMap
from sizing.explore.load_band import LoadBand, load_band
from sizing.explore.measured_points import COMPARABLE, FARTHEST, MeasuredPoint, measured_points, own_measurements
from sizing.explore.operating_point import OperatingPoint, Performance
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sizing.explore.frontiers import large_model, scenario


def test_the_load_band_of_pools_encloses_their_load_curve() -> None:
    known = Answer.of(large_model())
    answer, band = known.plan, load_band(known)
    assert answer.deployment
    assert answer.deployment.serving == "disaggregated"
    assert band.slow[-1].rps <= answer.load_curve[-1].rps <= band.fast[-1].rps
    for name in ("itl_ms", "e2e_ms"):
        low, middle, high = (
            np.interp(band.slow[-1].rps * 0.5, [p.rps for p in curve], [getattr(p, name) for p in curve])
            for curve in (band.fast, answer.load_curve, band.slow)
        )
        assert low <= middle <= high


def test_the_load_band_encloses_the_load_curve() -> None:
    known = Answer.of(scenario())
    answer, band = known.plan, load_band(known)
    for fast, now, slow in zip(band.fast, answer.load_curve, band.slow, strict=True):
        assert fast.concurrency == now.concurrency == slow.concurrency
        assert slow.rps <= now.rps <= fast.rps
        assert fast.itl_ms <= now.itl_ms <= slow.itl_ms


def test_a_measured_record_has_no_band() -> None:
    measured = scenario(measured={"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 900, "itl_ms": 20})
    known = Answer.of(measured)
    assert known.plan.deployment is not None
    assert known.chosen == ()
    assert load_band(known) == LoadBand(fast=(), slow=())


def test_measured_points_are_comparable_and_say_where_they_come_from() -> None:
    asked = scenario(
        model="Qwen/Qwen3-32B",
        workload={"input_tokens": 8192, "output_tokens": 1024, "peak_rps": 4},
        deployment={"gpus": ["h100_sxm"]},
    )
    found = measured_points(asked, ["h100_sxm"])
    assert found
    for point in found:
        assert point.gpu == "h100_sxm"
        assert point.source
        assert point.distance <= FARTHEST
        assert 1 / COMPARABLE <= point.input_tokens / 8192 <= COMPARABLE
        assert 1 / COMPARABLE <= point.output_tokens / 1024 <= COMPARABLE
    assert [p.distance for p in found] == sorted(p.distance for p in found)


def test_a_gpu_nobody_measured_has_no_measured_points() -> None:
    assert measured_points(scenario(deployment={"gpus": ["gaudi3"]}), ["gaudi3"]) == ()


def own_benchmark(**changes: object) -> dict[str, object]:
    """A closed loop at two loads, an overloaded open loop, and a closed loop of far longer prompts."""
    loop = {"mode": "fixed_concurrency", "input_tokens": 1000, "output_tokens": 500}
    points = [
        {**loop, "concurrency": 8, "itl_ms": 15.0, "ttft_ms": 100.0, "output_tokens_per_s": 520.0},
        {**loop, "concurrency": 64, "itl_ms": 20.0, "ttft_ms": 300.0},
        {**loop, "mode": "fixed_rate", "request_rate_rps": 50, "requests_per_s": 10, "itl_ms": 90.0},
        {**loop, "input_tokens": 30_000, "concurrency": 4, "itl_ms": 18.0, "ttft_ms": 900.0},
    ]
    return {
        "source": "vLLM bench serve (run.json)",
        "gpu": "h100_sxm",
        "engine": "vllm",
        "weight_precision": "fp8",
        "tp": 4,
        "points": points,
        **changes,
    }


def asked_with(benchmark: dict[str, object]) -> Scenario:
    return scenario(
        model="meta-llama/Llama-3.3-70B-Instruct",
        benchmark=benchmark,
        workload={"input_tokens": 1000, "output_tokens": 500, "peak_rps": 4},
        deployment={"gpus": ["h100_sxm"]},
    )


def test_the_own_benchmark_stands_beside_the_estimates() -> None:
    found = [p for p in measured_points(asked_with(own_benchmark()), ["h100_sxm"]) if p.own]
    assert [p.concurrency for p in found] == [8, 64], "neither the overloaded run nor that of other lengths"
    assert [p.source for p in found] == ["Your benchmark: vLLM bench serve (run.json)"] * 2
    assert found[0].tokens_per_s_per_user == pytest.approx(1000 / 15)
    assert found[0].output_tokens_per_s_per_gpu == pytest.approx(520 / 4)
    e2e_s = (300 + 499 * 20) / 1e3
    assert found[1].output_tokens_per_s_per_gpu == pytest.approx(64 * 500 / e2e_s / 4)


def test_a_benchmark_of_something_else_is_not_shown() -> None:
    other_gpu = measured_points(asked_with(own_benchmark()), ["l40s"])
    other_model = measured_points(asked_with(own_benchmark(model="Qwen/Qwen3-32B")), ["h100_sxm"])
    assert not any(p.own for p in (*other_gpu, *other_model))


def test_own_measurements_are_ordered_by_load_and_lengths() -> None:
    near = own_measurements(understand(asked_with(own_benchmark())), 64.0)
    assert [n.measurement.concurrency for n in near] == [64, 8, 4]
    assert near[0].distance == 0
    assert near[1].distance == pytest.approx(0.7 * 3), "three doublings of the load"


RESULTS: tuple[type[Result], ...] = (
    Performance,
    OperatingPoint,
    FrontierCurve,
    OperatingPoints,
    LengthCell,
    LengthMap,
    LoadBand,
    MeasuredPoint,
)


@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.__name__)
def test_every_field_carries_its_label_help_and_for_a_number_unit_and_formula(result: type[Result]) -> None:
    for name, info in result.model_fields.items():
        assert isinstance(info.json_schema_extra, dict)
        meta = info.json_schema_extra["quantity"]
        assert isinstance(meta, dict)
        assert meta["label"], name
        assert (info.description or "").endswith("."), name
        if re.search(r"\b(int|float)\b", str(info.annotation)):
            assert meta["unit"], name
            assert meta["formula"], name
