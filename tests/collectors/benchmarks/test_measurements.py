"""Imported points go through the engine's own reader of points."""

import json
from statistics import mean, pstdev

import pandas as pd
import pytest

from collectors.benchmarks import MeasuredSystem, read_benchmark, read_benchmarks, to_measurements
from sizing.evidence.points import points_of
from sizing.evidence.published import evidence_frame

NOT_OF_A_FILE = {"quality", "source_url_or_repo_path", "source_date_or_version", "max_sequences"}
"""Columns of the evidence library that say what was made of a source, which no result file knows."""
BESIDE = {"output_variation"}
"""What files say and the library does not."""


def test_columns_are_those_of_the_evidence_library(read):
    (row, _) = to_measurements(read("inferencex_agg_bmk.json").points)
    library = [column for column in evidence_frame().columns if column not in NOT_OF_A_FILE]
    assert [column for column in row if column not in BESIDE] == library
    assert set(row) > BESIDE


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
