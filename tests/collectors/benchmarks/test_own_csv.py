import os
from dataclasses import fields, replace
from pathlib import Path

import pytest

from collectors.benchmarks import LatencyStats, MeasuredSystem, read_benchmark
from collectors.benchmarks.csv_columns import COLUMNS, TEMPLATE, document
from collectors.benchmarks.tools.own_csv import STATED, write_csv

DOCUMENT = Path(__file__).parents[3] / "docs" / "BENCHMARK_CSV.md"
HEAD = "model,isl_tokens,osl_tokens,mode,concurrency,request_rate_rps,ttft_ms_mean"

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


def test_rows_and_errors(read):
    imported = read("made_up/own.csv")
    assert [(p.row, p.mode, p.concurrency) for p in imported.points] == [
        (2, "fixed_concurrency", 16.0),
        (4, "offline", None),
    ]
    assert [(e.row, e.message) for e in imported.errors] == [
        (3, "request_rate_rps is not a number: “fast”"),
        (5, "ttft_ms_mean is negative: -1"),
    ]
    assert imported.notes == ("The column colour is not known and left out.",)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_byte_order_mark_and_line_ends(separator):
    text = f"\ufeff{HEAD}\r\nm,100,20,offline,,,5.5\r\n".replace(",", separator)
    run = read_benchmark(text.encode(), "a.csv").points[0]
    assert (run.model, run.isl_mean, run.ttft_ms.mean) == ("m", 100.0, 5.5)


def test_utf_16_of_a_spreadsheet_is_read():
    text = f"{HEAD}\nm,100,20,offline,,,5.5\n".replace(",", "\t")
    assert read_benchmark(text.encode("utf-16"), "a.txt").points[0].osl_mean == 20.0


def test_a_line_of_more_cells_than_columns_is_an_error_of_its_row():
    """Otherwise a price or a model with a comma in it would shift what follows into other columns."""
    text = f"{HEAD}\nm,100,20,offline,,,5.5\nm,100,20,fixed_concurrency,1,000,,5.5\nm,100,20,offline,,,5.5,,\n"
    imported = read_benchmark(text.encode(), "a.csv")
    assert [p.row for p in imported.points] == [2, 4]
    assert [(e.row, e.message) for e in imported.errors] == [
        (3, "8 cells for 7 columns: quote a cell that holds the delimiter")
    ]


def test_an_instance_larger_than_the_system_is_an_error_of_its_row():
    text = "isl,osl,mode,ttft_ms_mean,gpus,tp,pp\n1,2,offline,5,8,8,\n1,2,offline,5,8,8,2\n"
    imported = read_benchmark(text.encode(), "a.csv")
    assert [p.tp for p in imported.points] == [8]
    assert [(e.row, e.message) for e in imported.errors] == [(3, "tp 8 x pp 2 is more than gpus 8")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("m,100,20,,,,5", "mode is empty"),
        ("m,100,20,burst,,,5", "mode is not fixed_concurrency, fixed_rate or offline: “burst”"),
        ("m,100,20,fixed_concurrency,,,5", "concurrency is empty, which fixed_concurrency needs"),
        ("m,100,20,fixed_rate,,,5", "request_rate_rps is empty, which fixed_rate needs"),
        ("m,,20,offline,,,5", "isl_tokens is empty or zero"),
        ("m,100,20,offline,,,", "neither a latency nor a throughput is stated"),
        ("m,100,20,offline,,,nan", "ttft_ms_mean is not a finite number"),
        ('m,100,20,offline,,,"1,5"', "ttft_ms_mean is not a number: “1,5”; write the decimal sign as a point"),
        ("m,100,20,static_batch,8,,5", "mode is not fixed_concurrency, fixed_rate or offline: “static_batch”"),
    ],
)
def test_row_errors(row, message):
    imported = read_benchmark(f"{HEAD}\n{row}\n".encode(), "a.csv")
    assert imported.points == ()
    assert [(e.row, e.message) for e in imported.errors] == [(2, message)]


def test_unknown_column_names_the_nearest():
    imported = read_benchmark(f"{HEAD},ttft_ms_p9\nm,100,20,offline,,,5,1\n".encode(), "a.csv")
    assert imported.notes == ("The column ttft_ms_p9 is not known and left out. Did you mean ttft_ms_p99?",)


def test_names_of_the_evidence_library():
    text = "model,isl,osl,mode,concurrency_or_batch,itl_ms_mean,source\nm,100,20,offline_max_throughput,,4,x\n"
    imported = read_benchmark(text.encode(), "a.csv")
    assert imported.notes == ()
    assert (imported.points[0].mode, imported.points[0].itl_ms.mean) == ("offline", 4.0)


def test_the_example_is_read():
    imported = read_benchmark(TEMPLATE.encode(), "example.csv")
    assert len(imported.points) == 2
    assert (imported.errors, imported.notes) == ((), ())


def test_what_a_user_may_state_of_a_deployment_has_a_column():
    assert set(STATED) < {column.name for column in COLUMNS if column.group == "system"}


def test_the_document_is_what_the_columns_say():
    """RENEW_GOLDEN=1 writes it anew."""
    if os.environ.get("RENEW_GOLDEN"):
        DOCUMENT.write_text(document(), encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == document()


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
