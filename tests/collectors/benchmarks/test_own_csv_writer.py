"""Every sample, written as our own CSV and read again, is the same runs."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from collectors.benchmarks import LatencyStats, MeasuredSystem, read_benchmark
from collectors.benchmarks.tools.own_csv import write_csv

SAMPLES = Path(__file__).parent / "samples"
COMPLETE = (
    "vllm/bench_rate8.json",
    "sglang_bench_serving.jsonl",
    "inferencex_agg_bmk.json",
    "made_up/own.csv",
    "made_up/trtllm_report.json",
    "inference-perf/stage_3_lifecycle_metrics.json",
    "guidellm/guidellm_rate4.json",
)
NOT_IN_CSV = {"file", "row", "concurrency_mean", "requests_cut_off", "notes"}


@pytest.mark.parametrize("name", COMPLETE)
def test_written_runs_read_back(name):
    points = read_benchmark((SAMPLES / name).read_bytes(), name).points
    again = read_benchmark(write_csv(points).encode(), "again.csv")
    assert not again.errors
    assert not again.notes
    for before, after in zip(points, again.points, strict=True):
        for item in fields(before):
            if item.name in NOT_IN_CSV:
                continue
            old, new = getattr(before, item.name), getattr(after, item.name)
            if isinstance(old, LatencyStats):
                for statistic in ("mean", "p50", "p90", "p95", "p99"):
                    assert new.named(statistic) == about(old.named(statistic)), item.name
            else:
                assert new == about(old), item.name


def about(value):
    """Floats are written with six digits."""
    return pytest.approx(value, rel=1e-5) if isinstance(value, float) else value


def test_what_the_user_states_is_written():
    points = read_benchmark((SAMPLES / "vllm/bench_rate8.json").read_bytes(), "a.json").points
    again = read_benchmark(write_csv(points, MeasuredSystem(gpu="h100_sxm", tp=2)).encode(), "b.csv").points[0]
    assert (again.gpu, again.tp, again.model) == ("h100_sxm", 2, "tiny-llama")


def test_commas_quotes_and_line_ends_survive():
    point = read_benchmark((SAMPLES / "vllm/bench_rate8.json").read_bytes(), "a.json").points[0]
    odd = replace(point, model='a, "b"; c', notes=("first, second",))
    assert read_benchmark(write_csv([odd]).encode(), "b.csv").points[0].model == 'a, "b"; c'
