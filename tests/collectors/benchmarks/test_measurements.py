"""Imported points go through the engine's own reader of points."""

import json
from statistics import mean, pstdev

import pandas as pd
import pytest

from collectors.benchmarks import MeasuredSystem, read_benchmark, read_benchmarks, to_measurements
from sizing.evidence.points import points_of

# The header of the evidence library, in its order, without the columns that describe a source.
CALIBRATION = [
    "source",
    "engine",
    "engine_version",
    "software_year",
    "model",
    "weight_precision",
    "kv_precision",
    "gpu",
    "gpus",
    "tp",
    "pp",
    "ep",
    "dp",
    "isl",
    "osl",
    "output_variation",
    "prefix_cached_tokens",
    "mode",
    "concurrency_or_batch",
    "request_rate_rps",
    "requests",
    "ttft_ms_mean",
    "ttft_ms_p50",
    "ttft_ms_p99",
    "itl_ms_mean",
    "itl_ms_p50",
    "itl_ms_p99",
    "e2e_ms_mean",
    "output_tokens_per_s",
    "total_tokens_per_s",
    "requests_per_s",
    "notes",
]


def test_columns_are_those_of_the_evidence_library(read):
    (row, _) = to_measurements(read("inferencex_agg_bmk.json").points)
    assert list(row) == CALIBRATION


def test_engine_accepts_what_the_file_states(read):
    rows = to_measurements((*read("inferencex_agg_bmk.json").points, *read("made_up/own.csv").points))
    points, errors = points_of(pd.DataFrame(rows))
    assert errors == {}
    assert {point.mode for point in points} == {"fixed_concurrency", "offline_max_throughput"}
    assert points[0].configuration.gpu.id == "h100_sxm"


def test_what_the_user_states_fills_what_the_file_lacks(samples):
    files = [(f"{rate}.json", (samples / f"vllm/bench_rate{rate}.json").read_bytes()) for rate in (4, 2)]
    imported = read_benchmarks(files)
    assert len(points_of(pd.DataFrame(to_measurements(imported.points)))[1]) == 2, "no GPU is stated"
    stated = MeasuredSystem(model="meta-llama/Llama-3.1-8B-Instruct", engine="vllm", gpu="L40S", gpus=1, tp=1)
    rows = to_measurements(imported.points, stated)
    points, errors = points_of(pd.DataFrame(rows))
    assert errors == {}
    assert [point.rate_rps for point in points] == [2.0, 4.0]
    assert [point.mode for point in points] == ["fixed_rate", "fixed_rate"]
    assert rows[0]["software_year"] == 2026.88


def test_how_many_requests_a_run_sent_and_how_its_answers_varied_go_along(samples):
    values = json.loads((samples / "vllm/bench_rate5_detail.json").read_text())
    lengths = values["output_lens"]
    (open_loop,) = to_measurements(read_benchmark(json.dumps(values).encode(), "x.json").points)
    assert open_loop["requests"] == len(lengths)
    offline = read_benchmark(json.dumps(values | {"request_rate": "inf"}).encode(), "x.json")
    (row,) = to_measurements(offline.points)
    assert row["requests"] == len(lengths)
    assert row["output_variation"] == pytest.approx(pstdev(lengths) ** 2 / mean(lengths) ** 2)


def test_itl_column_holds_tpot_where_it_was_measured(read):
    (row,) = to_measurements(read("vllm/bench_rate10.json").points)
    assert row["itl_ms_mean"] == 10.899577918540274
    assert row["notes"] == "itl_*=TPOT"
