"""Result files as people bring them: versions, units, packings, prefixes of logs; written by hand from sources."""

import gzip
import io
import json
import zipfile

import pytest

from collectors.benchmarks import NotAResultFile, read_benchmark
from collectors.benchmarks.files import read_benchmarks
from collectors.benchmarks.records import BenchmarkRun

VLLM = {
    "date": "20251120-101010",
    "endpoint_type": "openai-comp",
    "model_id": "Qwen/Qwen3-8B",
    "num_prompts": 200,
    "request_rate": 4.0,
    "burstiness": 1.0,
    "max_concurrency": None,
    "duration": 50.0,
    "completed": 200,
    "total_input_tokens": 204_800,
    "total_output_tokens": 25_600,
    "request_throughput": 4.0,
    "output_throughput": 512.0,
    "total_token_throughput": 4608.0,
    "mean_ttft_ms": 80.0,
    "median_ttft_ms": 75.0,
    "p99_ttft_ms": 200.0,
    "mean_tpot_ms": 9.0,
}
BLOCK = """============ Serving Benchmark Result ============
Successful requests:                     100
Failed requests:                         0
Maximum request concurrency:             16
Benchmark duration (s):                  41.24
Total input tokens:                      99744
Total generated tokens:                  100000
Request throughput (req/s):              2.43
Request goodput (req/s):                 2.10
Output token throughput (tok/s):         2425.01
Peak output token throughput (tok/s):    2742.00
Total token throughput (tok/s):          4843.81
Mean TTFT (ms):                          60.77
Median TTFT (ms):                        55.12
P99 TTFT (ms):                           120.00
Mean TPOT (ms):                          6.50
P99 probe E2EL (ms):                     30.00
Acceptance length:                       2.20
==================================================
"""


def one(text: str | bytes, name: str) -> BenchmarkRun:
    (point,) = read_benchmark(text if isinstance(text, bytes) else text.encode(), name).points
    return point


def renamed(ending: str, scale: float) -> dict[str, object]:
    others = {key: value for key, value in VLLM.items() if not key.endswith("_ms")}
    latencies = {"mean_ttft": 80.0, "median_ttft": 75.0, "p99_ttft": 200.0, "mean_tpot": 9.0}
    return others | {key + ending: value * scale for key, value in latencies.items()}


@pytest.mark.parametrize(
    "values",
    [
        VLLM,
        renamed("", 1e-3),
        renamed("_s", 1e-3),
        renamed("_us", 1e3),
        {key: value for key, value in VLLM.items() if key != "total_token_throughput"} | {"input_throughput": 4096.0},
        VLLM | {"request_goodput:": None, "backend": "vllm", "best_of": 1},
    ],
    ids=["ms", "no unit", "s", "us", "throughputs apart", "0.6"],
)
def test_vllm_results_of_any_unit_and_version(values: dict[str, object]) -> None:
    run = one(json.dumps(values), "a.json")
    assert (run.ttft_ms.mean, run.ttft_ms.at(50.0), run.ttft_ms.at(99.0)) == pytest.approx((80.0, 75.0, 200.0))
    assert run.tpot_ms.mean == pytest.approx(9.0)
    assert (run.output_tokens_per_s, run.total_tokens_per_s) == (512.0, 4608.0)


def test_vllm_results_as_a_table_of_a_sweep() -> None:
    rows = [VLLM, VLLM | {"request_rate": "inf", "max_concurrency": 32}]
    head = ",".join(VLLM)
    lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    first, second = read_benchmark("\n".join([head, *lines]).encode(), "summary.csv").points
    assert (first.mode, first.request_rate_rps, first.ttft_ms.mean) == ("fixed_rate", 4.0, 80.0)
    assert (second.mode, second.concurrency) == ("fixed_concurrency", 32.0)


def test_metadata_that_was_typed_as_text_is_read() -> None:
    run = one(json.dumps(VLLM | {"tensor_parallel_size": "4", "version": "0.11.0", "tp": "4"}), "a.json")
    assert (run.tp, run.engine_version) == (4, "0.11.0")


def test_a_rate_that_was_ramped_up_is_no_mode() -> None:
    ramp = {"request_rate": "inf", "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9}
    run = one(json.dumps(VLLM | ramp), "a.json")
    assert run.mode is None
    assert "ramped up" in run.notes[0]


def test_goodput_and_drafts_are_said() -> None:
    run = one(json.dumps(VLLM | {"request_goodput": 3.5, "spec_decode_acceptance_length": 2.4}), "a.json")
    assert run.notes == (
        "3.5 requests/s were within the limits that the tool was given",
        "speculative decoding accepted 2.4 tokens per step",
    )


def test_the_form_for_pytorch_names_the_file_to_import() -> None:
    rows = [{"benchmark": {"name": "vLLM"}, "model": {"name": "m"}, "metric": {"name": "mean_ttft_ms"}}]
    with pytest.raises(NotAResultFile, match="--save-result"):
        read_benchmark(json.dumps(rows).encode(), "a.pytorch.json")


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("\n", "\r\n"),
        "".join(f"\x1b[32m{line}\x1b[0m\n" for line in BLOCK.splitlines()),
        "".join(f"2025-11-20T10:10:10.123456789Z stdout F {line}\n" for line in BLOCK.splitlines()),
        "".join(f"2025-11-20 10:10:10,123 INFO bench.py:42 | {line}\n" for line in BLOCK.splitlines()),
        "".join(f"[pod/bench-x7k/bench] {line}\n" for line in BLOCK.splitlines()),
        "".join(f"> {line}\n" for line in BLOCK.splitlines()),
        "".join(f"{' '.join(line.split())}\n" for line in BLOCK.splitlines()),
        BLOCK.replace(":   ", ":\t"),
        BLOCK.split("\n", 1)[1],
        BLOCK.replace("99744", "99,744").replace("2425.01", "2,425.01"),
        f"My run on H100:\n\n```\n{BLOCK}```\nAny idea?\n",
    ],
    ids=[
        "plain",
        "crlf",
        "colours",
        "cri",
        "log",
        "kubectl",
        "mail",
        "trimmed",
        "tabs",
        "headless",
        "commas",
        "markdown",
    ],
)
def test_a_pasted_block_is_read_whatever_stands_around_it(text: str) -> None:
    run = one(text, "pasted.txt")
    assert (run.mode, run.concurrency) == ("fixed_concurrency", 16.0)
    assert (run.isl_mean, run.osl_mean) == pytest.approx((997.44, 1000.0))
    assert (run.ttft_ms.mean, run.ttft_ms.at(50.0), run.ttft_ms.at(99.0)) == (60.77, 55.12, 120.0)
    assert (run.output_tokens_per_s, run.total_tokens_per_s) == (2425.01, 4843.81)
    assert not run.e2e_ms.stated, "the probe is no request of the load"
    assert len(run.notes) == 2


@pytest.mark.parametrize(("unit", "factor"), [("s", 1000.0), ("us", 0.001)])
def test_a_block_in_another_unit_is_converted(unit: str, factor: float) -> None:
    assert one(BLOCK.replace("(ms)", f"({unit})"), "pasted.txt").ttft_ms.mean == pytest.approx(60.77 * factor)


def test_two_blocks_without_headlines_are_two_runs() -> None:
    body = BLOCK.split("\n", 1)[1].replace("=" * 50 + "\n", "")
    first, second = read_benchmark((body + body.replace("16\n", "32\n")).encode(), "two.txt").points
    assert (first.concurrency, second.concurrency) == (16.0, 32.0)


OFFLINE = """Throughput: 25.10 requests/s, 28915.20 total tokens/s, 3212.80 output tokens/s
Total num prompt tokens:  1024000
Total num output tokens:  128000
"""


@pytest.mark.parametrize(
    "options",
    [
        "Namespace(model='m/x', input_len=1024, output_len=128, num_prompts=1000, tensor_parallel_size=2)\n",
        "$ vllm bench throughput --model m/x --input-len 1024 --output-len 128 --num-prompts 1000 -tp 2\n",
        "vllm bench throughput -m=m/x --random-input-len=1024 --random-output-len=128 --num-prompts=1000 -tp=2\n",
    ],
)
def test_options_of_an_offline_run_are_read_as_printed_and_as_typed(options: str) -> None:
    second = options.replace("1000", "500") + OFFLINE.splitlines()[0] + "\n"
    one_run, other = read_benchmark((options + OFFLINE + second).encode(), "offline.txt").points
    for run, requests in ((one_run, 1000), (other, 500)):
        assert (run.model, run.tp, run.requests_completed) == ("m/x", 2, requests)
        assert (run.isl_mean, run.osl_mean, run.output_tokens_per_s) == (1024.0, 128.0, 3212.8)


SGLANG_OFFLINE = {
    "backend": "engine",
    "successful_requests": 10,
    "total_latency": 12.5,
    "total_input_tokens": 2560,
    "total_output_tokens": 4096,
    "request_throughput": 0.8,
    "input_throughput": 204.8,
    "output_throughput": 327.68,
}
SGLANG_CONSOLE = """====== Offline Throughput Benchmark Result =======
Backend:                                 engine
Successful requests:                     10
Benchmark duration (s):                  12.50
Total input tokens:                      2560
Total generated tokens:                  4096
Last generation throughput (tok/s):      510.20
Request throughput (req/s):              0.80
Input token throughput (tok/s):          204.80
Output token throughput (tok/s):         327.68
==================================================
"""


@pytest.mark.parametrize("text", [json.dumps(SGLANG_OFFLINE), SGLANG_CONSOLE], ids=["file", "console"])
def test_sglang_offline_throughput(text: str) -> None:
    run = one(text, "offline.jsonl")
    assert (run.mode, run.isl_mean, run.osl_mean, run.duration_s) == ("offline", 256.0, 409.6, 12.5)
    assert (run.output_tokens_per_s, run.total_tokens_per_s) == pytest.approx((327.68, 532.48))


BATCH = {"run_name": "default", "batch_size": 16, "input_len": 1024, "output_len": 128}
STEPS = """python -m sglang.bench_one_batch --model-path m/x --batch-size 16 --input-len 1024 --output-len 128 --tp 2
Prefill. latency: 0.20000 s, throughput:  81920.00 token/s
Decode.  latency: 0.01300 s, throughput:   1230.77 token/s
Decode.  median latency: 0.01200 s, median throughput:   1333.33 token/s
Total. latency:  1.724 s, throughput:  10691.41 token/s
"""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(BATCH | {"prefill_latency": 0.2, "median_decode_latency": 0.012, "total_latency": 1.724}),
        json.dumps(BATCH | {"latency": 1.724, "last_ttft": 0.2, "overall_throughput": 10691.4, "acc_length": -1.0}),
        STEPS,
    ],
    ids=["one batch", "server", "console"],
)
def test_sglang_batches(text: str) -> None:
    run = one(text, "result.jsonl")
    assert (run.mode, run.concurrency, run.isl_mean, run.osl_mean) == (None, 16.0, 1024.0, 128.0)
    assert (run.ttft_ms.mean, run.tpot_ms.mean, run.e2e_ms.mean) == pytest.approx((200.0, 12.0, 1724.0))
    assert run.output_tokens_per_s == pytest.approx(16 * 128 / 1.724)


MULTI_TURN = """\x1b[93mParameters:\x1b[0m
model=Qwen/Qwen3-8B
num_clients=2
\x1b[93mStatistics summary:\x1b[0m
runtime_sec = 215.810
requests_per_sec = 0.769
                   count     mean     std      min      25%      50%      75%      90%      99%      max
ttft_ms            166.0    78.22   67.63    45.91    59.94    62.26    64.43    69.66   353.18   567.54
tpot_ms            166.0    25.37    0.57    24.40    25.07    25.31    25.50    25.84    27.50    28.05
latency_ms         166.0  2591.07  326.90  1998.53  2341.62  2573.01  2860.10  3003.50  3268.46  3862.94
input_num_turns    166.0     7.43    4.57     1.00     3.00     7.00    11.00    13.00    17.00    17.00
input_num_tokens   166.0  2006.20  893.56   522.00  1247.75  2019.00  2718.00  3233.00  3736.45  3899.00
output_num_tokens  166.0   100.01   11.80    80.00    91.00    99.00   109.75   116.00   120.00   120.00
"""


def test_vllm_multi_turn() -> None:
    run = one(MULTI_TURN, "multi.log")
    assert (run.model, run.mode, run.concurrency, run.requests_completed) == (
        *("Qwen/Qwen3-8B", "fixed_concurrency", 2.0, 166),
    )
    assert (run.ttft_ms.at(50.0), run.ttft_ms.at(99.0), run.tpot_ms.mean) == (62.26, 353.18, 25.37)
    assert run.total_tokens_per_s == pytest.approx(0.769 * 2106.21)


GENAI = """NVIDIA GenAI-Perf | LLM Metrics
┃                         Statistic ┃      avg ┃    min ┃      max ┃      p99 ┃      p90 ┃      p50 ┃
│          Time To First Token (ms) │    18.26 │  11.22 │   106.32 │    68.82 │    27.76 │    16.62 │
│          Inter Token Latency (ms) │    11.23 │   8.80 │    13.17 │    12.48 │    11.73 │    11.37 │
│              Request Latency (ms) │ 1,487.30 │ 267.07 │ 1,769.57 │ 1,715.99 │ 1,580.83 │ 1,488.06 │
│   Output Sequence Length (tokens) │    42.83 │  24.00 │    65.00 │    64.00 │    52.00 │    44.00 │
│    Input Sequence Length (tokens) │    10.00 │  10.00 │    10.00 │    10.00 │    10.00 │    10.00 │
│ Output Token Throughput (per sec) │ 1,043.42 │    N/A │      N/A │      N/A │      N/A │      N/A │
│      Request Throughput (per sec) │    24.36 │    N/A │      N/A │      N/A │      N/A │      N/A │
│             Request Count (count) │   711.00 │    N/A │      N/A │      N/A │      N/A │      N/A │
"""
AIPERF = (
    GENAI.replace("GenAI-Perf", "AIPerf")
    .replace("Statistic", "   Metric")
    .replace(
        "│ Output Token Throughput (per sec) │",
        "│      Output Token Throughput Per │    89.23 │  75.93 │   113.60 │   102.28 │    90.91 │    90.29 │\n"
        "│             User (tokens/sec/user) │          │        │          │          │          │          │\n"
        "│ Output Token Throughput (tokens/sec) │",
    )
)
COMMAND = "CLI Command: aiperf profile --model 'Qwen/Qwen3-0.6B' --concurrency 10 --request-count 711\n"


@pytest.mark.parametrize("text", [GENAI, AIPERF, AIPERF + COMMAND], ids=["genai-perf", "aiperf", "with its command"])
def test_tables_of_nvidias_clients(text: str) -> None:
    run = one(text, "console.txt")
    assert (run.ttft_ms.mean, run.ttft_ms.at(99.0), run.tpot_ms.mean, run.e2e_ms.mean) == (18.26, 68.82, 11.23, 1487.3)
    assert (run.isl_mean, run.osl_mean, run.requests_completed) == (10.0, 42.83, 711)
    assert (run.output_tokens_per_s, run.requests_per_s) == (1043.42, 24.36)
    asked = ("Qwen/Qwen3-0.6B", "fixed_concurrency", 10.0) if "Command" in text else (None, None, None)
    assert (run.model, run.mode, run.concurrency) == asked


LLAMA = [
    {"gpu_info": "RTX 4090", "model_filename": "m.gguf", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 10240.0},
    {"gpu_info": "RTX 4090", "model_filename": "m.gguf", "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ts": 125.0},
]
LLAMA_MD = """  Device 0: RTX 4090, compute capability 8.9, VMM: yes
| model  |     size |     params | backend |            test |              t/s |
| ------ | -------: | ---------: | ------- | --------------: | ---------------: |
| m.gguf | 4.58 GiB |     8.03 B | CUDA    |           pp512 | 10240.00 ± 20.00 |
| m.gguf | 4.58 GiB |     8.03 B | CUDA    |   tg128 @ d4096 |    125.00 ± 0.50 |
"""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LLAMA),
        "\n".join(map(json.dumps, LLAMA)),
        "\n".join([",".join(LLAMA[0]), *(",".join(f'"{cell}"' for cell in row.values()) for row in LLAMA)]),
        LLAMA_MD,
    ],
    ids=["json", "jsonl", "csv", "markdown"],
)
def test_llama_bench_in_every_form(text: str) -> None:
    prefill, decode = read_benchmark(text.encode(), "bench.txt").points
    assert (prefill.isl_mean, prefill.osl_mean, prefill.ttft_ms.mean) == pytest.approx((512.0, 1.0, 50.0))
    assert (decode.isl_mean, decode.osl_mean, decode.tpot_ms.mean) == pytest.approx((4096.0, 128.0, 8.0))
    assert (decode.engine, decode.gpu, decode.model) == ("llamacpp", "RTX 4090", "m.gguf")
    assert decode.prefix_cached_tokens == 4096.0
    assert not prefill.tpot_ms.stated
    assert not decode.ttft_ms.stated


def test_llama_batched_bench() -> None:
    table = (
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
        "|   512 |    128 |    8 |   5120 |    0.400 | 10240.00 |    1.600 |   640.00 |    2.000 |  2560.00 |\n"
    )
    run = one(table, "batched.md")
    assert (run.concurrency, run.ttft_ms.mean, run.tpot_ms.mean, run.e2e_ms.mean) == (8.0, 400.0, 12.5, 2000.0)
    assert run.output_tokens_per_s == 512.0


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


def inference_perf(median: str, **load: object) -> bytes:
    latency = {"mean": 0.05, median: 0.04, "p90": 0.07}
    successes = {
        "count": 60,
        "latency": {"time_to_first_token": latency, "request_latency": latency},
        "throughput": {"requests_per_sec": 1.0},
        "prompt_tokens": {"mean": 200.0, "cached": 6000.0},
    }
    return json.dumps({"load_summary": load, "successes": successes, "failures": {"count": 0}}).encode()


@pytest.mark.parametrize(("median", "load"), [("p50", {}), ("median", {"requested_rate": 1.0, "achieved_rate": 1.0})])
def test_inference_perf_of_two_versions(median: str, load: dict[str, object]) -> None:
    run = one(inference_perf(median, count=60, **load), "stage_0_lifecycle_metrics.json")
    assert (run.ttft_ms.mean, run.ttft_ms.at(50.0), run.prefix_cached_tokens) == (50.0, 40.0, 100.0)
    assert run.request_rate_rps == load.get("requested_rate")
    assert run.notes == ()


def test_packed_files_are_unpacked() -> None:
    packed = gzip.compress(json.dumps(VLLM).encode())
    (run,) = read_benchmarks([("a.json.gz", packed)]).points
    assert (run.file, run.ttft_ms.mean) == ("a.json", 80.0)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writing:
        writing.writestr("run/a.json", json.dumps(VLLM | {"request_rate": 2.0}))
        writing.writestr("run/b.json.gz", packed)
        writing.writestr("run/server.log", "INFO started")
    read = read_benchmarks([("runs.zip", archive.getvalue())])
    assert [point.request_rate_rps for point in read.points] == [2.0, 4.0]
    assert read.errors == ()
    assert any("server.log" in note for note in read.notes)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            gzip.compress(b"a" * 257 + b"ustar" + b"\0" * 300),
            "a.gz is a tar archive: give its files, or a zip of them.",
        ),
        (gzip.compress(json.dumps(VLLM).encode())[:-20], "a.gz is a damaged gzip file: pack it again."),
        (b"\x1f\x8bnonsense", "a.gz is a damaged gzip file: pack it again."),
    ],
    ids=["tar", "cut off", "nonsense"],
)
def test_what_cannot_be_unpacked_says_so(data: bytes, said: str) -> None:
    (error,) = read_benchmarks([("a.gz", data)]).errors
    assert error.message == said
