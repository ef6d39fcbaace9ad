"""Reports of GuideLLM from 0.1 to 0.7, by hand from its sources: where each version states the load."""

import csv
import io
import json

import pytest

from collectors.benchmarks import read_benchmark
from collectors.benchmarks.records import BenchmarkRun


def one(text: str, name: str) -> BenchmarkRun:
    (run,) = read_benchmark(text.encode(), name).points
    return run


def test_guidellm_of_2024_is_computed_from_its_requests() -> None:
    results = [
        {
            "prompt_token_count": 100,
            "output_token_count": 11,
            "start_time": 1_730_000_000.0 + start,
            "end_time": 1_730_000_001.2 + start,
            "first_token_time": 0.2,
            "decode_times": {"data": [0.1] * 10},
        }
        for start in range(5)
    ]
    report = {
        "benchmarks": [
            {"mode": "constant", "rate": 1.0, "results": results, "errors": [{}]},
            {"mode": "synchronous", "rate": None, "results": results, "errors": []},
        ],
        "args": {"model": "m/x"},
    }
    first, second = read_benchmark(json.dumps({"benchmarks": [report]}).encode(), "guidellm.json").points
    assert (first.model, first.mode, first.request_rate_rps, first.requests_failed) == ("m/x", "fixed_rate", 1.0, 1)
    assert (second.mode, second.concurrency) == ("fixed_concurrency", 1.0)
    assert (first.ttft_ms.mean, first.tpot_ms.mean, first.itl_ms.mean) == pytest.approx((200.0, 100.0, 100.0), rel=1e-4)
    assert first.requests_per_s == pytest.approx(5 / 5.2, rel=1e-4)


def guidellm_csv(strategy: str, profile: dict[str, object], run: int) -> str:
    """A report of GuideLLM 0.4 to 0.7: the strategy's value stands in the profile alone."""
    columns = {
        ("Run Info", "Run Index", ""): str(run),
        ("Run Info", "Profile", ""): json.dumps(profile),
        ("Benchmark", "Strategy", ""): strategy,
        ("Request Counts", "Successful", ""): "60",
        ("Request Latency", "Successful Sec", "Mean"): "1.5",
        ("Time to First Token", "Successful ms", "Mean"): "50",
    }
    written = io.StringIO()
    csv.writer(written).writerows([*zip(*columns, strict=True), columns.values()])
    return written.getvalue()


SWEEP = {
    "type_": "sweep",
    "completed_strategies": [
        {"type_": "synchronous"},
        {"type_": "throughput", "max_concurrency": 512},
        {"type_": "constant", "rate": 2.5, "max_concurrency": 64},
    ],
}


@pytest.mark.parametrize(
    ("strategy", "profile", "run", "load"),
    [
        ("concurrent", {"type_": "concurrent", "streams": [1, 8, 64]}, 1, ("fixed_concurrency", 8.0, None)),
        ("poisson", {"type_": "async", "rate": [2.0, 4.0]}, 1, ("fixed_rate", None, 4.0)),
        ("constant", SWEEP, 2, ("fixed_rate", None, 2.5)),
        ("throughput", SWEEP, 1, ("offline", 512.0, None)),
        ("synchronous", SWEEP, 0, ("fixed_concurrency", 1.0, None)),
        ("poisson@4.00", {"type_": "async", "rate": [2.0]}, 0, ("fixed_rate", None, 4.0)),
    ],
)
def test_guidellm_tables_state_their_load(
    strategy: str, profile: dict[str, object], run: int, load: tuple[str, float | None, float | None]
) -> None:
    point = one(guidellm_csv(strategy, profile, run), "benchmarks.csv")
    assert (point.mode, point.concurrency, point.request_rate_rps) == load
    assert (point.ttft_ms.mean, point.e2e_ms.mean, point.requests_completed) == (50.0, 1500.0, 60)


@pytest.mark.parametrize(
    ("strategy", "in_flight", "load", "said"),
    [
        ({"type_": "constant", "rate": 2.0, "max_concurrency": 64}, 63.0, ("fixed_rate", 64.0, 2.0), "at most 64"),
        ({"type_": "poisson", "rate": 2.0, "max_concurrency": 10240}, 63.0, ("fixed_rate", None, 2.0), ""),
        ({"type_": "trace", "time_scale": 1.0}, 3.0, ("fixed_rate", None, None), "as in a trace"),
        ({"type_": "concurrent", "streams": 16}, 16.0, ("fixed_concurrency", 16.0, None), ""),
    ],
)
def test_guidellm_reports_state_caps_and_traces(
    strategy: dict[str, object], in_flight: float, load: tuple[str, float | None, float | None], said: str
) -> None:
    metrics = {
        "time_to_first_token_ms": {"successful": {"mean": 50.0}},
        "request_concurrency": {"successful": {"mean": in_flight}},
        "request_totals": {"successful": 60},
    }
    benchmarks = [{"config": {"strategy": strategy}, "metrics": metrics}]
    report = {"metadata": {"guidellm_version": "0.7.3"}, "benchmarks": benchmarks}
    point = one(json.dumps(report), "benchmarks.json")
    assert (point.mode, point.concurrency, point.request_rate_rps) == load
    assert said in " ".join(point.notes)
