"""Malformed files give one sentence; a bad row is an error of its own and leaves the good ones."""

import json
import re

import pytest

from collectors.benchmarks import BenchmarkFileError, NotAResultFile, read_benchmark
from collectors.benchmarks.documents import MAX_BYTES, MAX_COLUMNS, MAX_ROWS
from collectors.benchmarks.rows import MAX_ERRORS


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (b"", "a.json", "a.json is empty."),
        (b" \n ", "a.json", "a.json is empty."),
        (b'{"a": 1', "a.json", "a.json is cut off: its JSON ends too early, in line 1."),
        (b"[1, 2\n", "a.json", "a.json is cut off: its JSON ends too early, in line 2."),
        (b'{"a": 1 "b": 2}', "a.json", "a.json is not valid JSON: expecting ',' delimiter in line 1, column 9."),
        (
            b'{"a": ' + b"9" * 5000 + b"}",
            "a.json",
            "a.json is not valid JSON: it holds a number of thousands of digits.",
        ),
        (b"\xff\x00\x81", "a.csv", "a.csv is not a text file in UTF-8: save it as CSV (UTF-8)."),
        (b"%PDF-1.4\n\xe2\xe3\xcf\xd3", "a.pdf", "a.pdf is not a text file in UTF-8."),
        (b"a\x00b", "a.csv", "a.csv is not a text file."),
        (b"PK\x03\x04rest", "a.zip", "a.zip is an archive: unpack it, or import the zip as a set of files."),
        (b"benchmarks: [a\n", "a.yaml", "a.yaml is not valid YAML or JSON at line 1."),
        (b"isl_tokens,mode\n1,offline\n", "a.csv", "a.csv lacks the column osl_tokens: see docs/BENCHMARK_CSV.md."),
        (b"mode,isl,osl,isl\n", "a.csv", "a.csv has the column isl_tokens twice."),
        (
            b'{"benchmarks": [], "metadata": {"guidellm_version": "0.8"}}',
            "a.json",
            "a.json is a report of GuideLLM without benchmarks.",
        ),
    ],
)
def test_malformed_file_gives_one_sentence(data, name, sentence):
    with pytest.raises(BenchmarkFileError) as caught:
        read_benchmark(data, name)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("data", [b"hello", b"a,b\n1,2\n", b'{"a": 1}', b"[]", b"{}", b"[1, 2]", b"null", b"3"])
def test_other_files_are_not_results(data):
    with pytest.raises(NotAResultFile, match=r"BENCHMARK_CSV\.md"):
        read_benchmark(data, "x")


def test_too_large_file():
    with pytest.raises(BenchmarkFileError, match="larger than 64 MB"):
        read_benchmark(b" " * (MAX_BYTES + 1), "a.json")


def test_deep_json_is_refused():
    for depth in (100, 100_000):
        with pytest.raises(BenchmarkFileError, match="nested deeper"):
            read_benchmark(b"[" * depth + b"]" * depth, "a.json")


def test_yaml_bomb_is_refused_or_harmless():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    bomb = "\n".join([*lines, "benchmarks:", "- metrics: *a39", "metadata: {guidellm_version: *a39}"])
    with pytest.raises(BenchmarkFileError):
        read_benchmark(bomb.encode(), "a.yaml")
    with pytest.raises(BenchmarkFileError, match="nested deeper"):
        read_benchmark(b"benchmarks: &a [*a]\n", "a.yaml")


def test_too_many_rows_and_columns():
    with pytest.raises(BenchmarkFileError, match="more than 100,000 rows"):
        read_benchmark(b"[" + b"0," * MAX_ROWS + b"0]", "a.json")
    with pytest.raises(BenchmarkFileError, match="more than 2,000 columns"):
        read_benchmark(b"mode,isl" + b"," * MAX_COLUMNS, "a.csv")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mean_ttft_ms", float("nan"), "mean_ttft_ms is not a finite number"),
        ("mean_ttft_ms", float("inf"), "mean_ttft_ms is not a finite number"),
        ("mean_ttft_ms", -1, "mean_ttft_ms is negative: -1"),
        ("mean_ttft_ms", "12", "mean_ttft_ms is not a number: “12”"),
        ("mean_ttft_ms", True, "mean_ttft_ms is not a number: true"),
        ("mean_ttft_ms", [1], "mean_ttft_ms is not a number: a list"),
        ("mean_ttft_ms", {"a": 1}, "mean_ttft_ms is not a number: a group of keys"),
        ("mean_ttft_ms", "\x1b[31m\u202e\ud800", "mean_ttft_ms is not a number: “\\x1b[31m\\u202e\\ud800”"),
        ("mean_ttft_ms", 10**400, "mean_ttft_ms is too large"),
        ("mean_ttft_ms", 1e300, "mean_ttft_ms is too large: 1e+300"),
        ("completed", 1.5, "completed must be a whole number, not 1.5"),
        ("completed", 0, "no request was completed"),
        ("p99_ttft_ms", 1.0, "ttft: p99 (1 ms) is below p95 (917.037 ms)"),
        ("model_id", {}, "model_id is not text"),
        ("request_rate", "fast", "request_rate is not a number: “fast”"),
        ("request_rate", 0, "request_rate is 0"),
        ("ttfts", ["1"], "ttfts is not a list of numbers"),
    ],
)
def test_bad_field_is_an_error_of_its_row_and_leaves_the_others(samples, field, value, message):
    good = json.loads((samples / "vllm/bench_rate10.json").read_text())
    bad = good | {field: value}
    imported = read_benchmark("\n".join(json.dumps(row) for row in (good, bad, good)).encode(), "runs.jsonl")
    assert [point.row for point in imported.points] == [1, 3]
    assert [(error.file, error.row, error.message) for error in imported.errors] == [("runs.jsonl", 2, message)]


def test_a_rate_too_small_for_a_duration_leaves_it_open(samples):
    genai = (samples / "made_up/llama-openai-chat-concurrency5_genai_perf.csv").read_text()
    text = re.sub(r"(Request Throughput[^,]*),.*", r"\1,5e-324", genai)
    assert text != genai
    (run,) = read_benchmark(text.encode(), "a_genai_perf.csv").points
    assert run.duration_s is None
    stage = json.loads((samples / "inference-perf/stage_3_lifecycle_metrics.json").read_text())
    stage.pop("benchmark_time_seconds", None)
    stage["successes"]["throughput"]["requests_per_sec"] = 5e-324
    (run,) = read_benchmark(json.dumps(stage).encode(), "stage_3_lifecycle_metrics.json").points
    assert run.duration_s is None


def test_no_number_of_a_point_is_endless(samples):
    run = json.loads((samples / "aiperf_server_tokens.json").read_text())
    run["output_sequence_length"]["avg"] = 5e-324
    (error,) = read_benchmark(json.dumps(run).encode(), "profile_export_aiperf.json").errors
    assert error.message == "a number is so small that what is computed from it has no end"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("benchmarks: " + "[" * 100_000, "a.yaml is nested deeper than 64 levels"),
        ("benchmarks: [" + "1," * 400_000 + "]", "A YAML file may hold 300,000 values"),
        ("benchmarks: 0x" + "f" * 4000, "The value at line 1 cannot be read"),
        ("benchmarks: 1" + ":59" * 100_000, "a.yaml is not the result of a benchmark tool"),
    ],
    ids=["nested", "long list", "long number", "base sixty"],
)
def test_yaml_is_refused_before_it_costs_much(text, said):
    with pytest.raises(BenchmarkFileError, match=f"^{said}"):
        read_benchmark(text.encode(), "a.yaml")


def test_broken_line_of_json_lines_is_an_error_of_its_row(samples):
    line = (samples / "sglang_bench_serving.jsonl").read_text().strip()
    imported = read_benchmark(f"{line}\n{line[:-9]}\n\n{line}\n7\n".encode(), "runs.jsonl")
    assert [point.row for point in imported.points] == [1, 4]
    assert [error.row for error in imported.errors] == [2, 5]
    assert imported.errors[0].message.startswith("not valid JSON: ")
    assert imported.errors[1].message == "not a JSON object"


def test_broken_request_leaves_the_rest_of_an_aiperf_run(samples):
    lines = (samples / "aiperf_rate5/profile_export.jsonl").read_text().splitlines()
    lines[3] = lines[3].replace('"request_latency":{"value":', '"request_latency":{"value":-')
    failed = json.loads(lines[4]) | {"error": {"code": 500}}
    warmup = json.loads(lines[5])
    warmup["metadata"]["benchmark_phase"] = "warmup"
    lines[4], lines[5] = json.dumps(failed), json.dumps(warmup)
    imported = read_benchmark("\n".join(lines).encode(), "profile_export.jsonl")
    assert [error.row for error in imported.errors] == [4]
    run = imported.points[0]
    assert (run.requests_completed, run.requests_failed) == (17, 1)


def test_errors_are_counted_beyond_a_limit(samples):
    line = (samples / "sglang_bench_serving.jsonl").read_text().strip()
    imported = read_benchmark("\n".join([line, *["{}"] * (MAX_ERRORS + 50)]).encode(), "runs.jsonl")
    assert len(imported.points) == 1
    assert len(imported.errors) == MAX_ERRORS + 1
    assert imported.errors[-1].message == "50 more rows cannot be used"


def test_text_with_line_separators_inside_strings_is_one_line(samples):
    line = (samples / "sglang_bench_serving.jsonl").read_text().strip()
    text = line[:-1] + ', "generated_texts": ["a\u2028b"]}'
    assert len(read_benchmark(f"{text}\n{text}\n".encode(), "runs.jsonl").points) == 2
