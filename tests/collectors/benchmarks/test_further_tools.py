"""Results of llm-d-benchmark, LMDeploy, EvalScope, TGI and Triton, retyped from their sources and published tables."""

import json

import pytest

from collectors.benchmarks import NotAResultFile, read_benchmark
from collectors.benchmarks.files import read_benchmarks

LLMD_1 = """metrics:
  latency:
    inter_token_latency: {mean: 0.029, p50: 0.0238, p90: 0.0272, p95: 0.0274, p99: 0.16, units: s/token}
    request_latency: {mean: 31.2, p50: 30.8, p90: 36.3, p95: 38.5, p99: 39.0, units: s}
    time_to_first_token: {mean: 250.0, p50: 200.0, p90: 300.0, p95: 400.0, p99: 500.0, units: ms}
  requests:
    failures: 2
    input_length: {mean: 7576.4, units: count}
    output_length: {mean: 941.9, units: count}
    total: 502
  throughput: {output_tokens_per_sec: 9000.0, requests_per_sec: 9.6, total_tokens_per_sec: 82000.0}
  time: {duration: 52.0}
scenario:
  host:
    accelerator: [{count: 2, model: NVIDIA-H100-80GB-HBM3, parallelism: {dp: 1, ep: 1, pp: 1, tp: 2}}]
    type: [replica]
  load:
    args: {load: {stages: [{rate: 3, duration: 50}, {rate: 10, duration: 50}]}}
    metadata: {stage: 1}
    name: inference-perf
  model: {name: Qwen/Qwen3-32B}
  platform: {engine: [{name: vllm, version: 0.11.0}]}
version: '0.1'
"""
LLMD_2 = {
    "version": "0.2",
    "scenario": {
        "stack": [
            {
                "metadata": {"kind": "inference_engine"},
                "standardized": {
                    "tool": "vllm",
                    "tool_version": "0.11.0",
                    "replicas": 2,
                    "model": {"name": "Qwen/Qwen3-32B"},
                    "accelerator": {"model": "H100", "count": 2, "parallelism": {"tp": 2, "pp": 1, "dp": 1, "ep": 1}},
                },
            },
            {"metadata": {"kind": "generic"}, "standardized": {"tool": "gateway"}},
        ],
        "load": {"standardized": {"tool": "guidellm", "rate_qps": None, "concurrency": 32}},
    },
    "results": {
        "request_performance": {
            "aggregate": {
                "requests": {
                    "total": 300,
                    "failures": 0,
                    "input_length": {"mean": 1000, "units": "count"},
                    "output_length": {"mean": 200, "units": "count"},
                },
                "latency": {
                    "time_to_first_token": {"units": "s", "mean": 0.1, "p50": 0.09, "p99": 0.3},
                    "time_per_output_token": {"units": "ms/token", "mean": 20.0},
                },
                "throughput": {
                    "output_token_rate": {"units": "tokens/s", "mean": 1500.0},
                    "requests_rate": {"units": "queries/s", "mean": 7.5},
                },
            }
        }
    },
}


def one(text, name):
    (point,) = read_benchmark(text.encode(), name).points
    return point


def test_a_report_of_llm_d_in_yaml_keeps_units_and_stage():
    point = one(LLMD_1, "benchmark_report,_stage_1.yaml")
    assert (point.mode, point.request_rate_rps, point.requests_completed, point.requests_failed) == (
        "fixed_rate",
        10.0,
        500,
        2,
    )
    assert (point.model, point.engine, point.gpus, point.tp) == ("Qwen/Qwen3-32B", "vllm", 2, 2)
    assert (point.ttft_ms.at(50), point.itl_ms.at(50), point.e2e_ms.mean) == pytest.approx((200.0, 23.8, 31200.0))
    assert (point.isl_mean, point.total_tokens_per_s, point.duration_s) == (7576.4, 82000.0, 52.0)


def test_a_report_of_llm_d_of_the_second_schema_counts_all_replicas():
    point = one(json.dumps(LLMD_2), "benchmark_report_v0.2.json")
    assert (point.mode, point.concurrency, point.gpus, point.tp) == ("fixed_concurrency", 32.0, 4, 2)
    assert (point.ttft_ms.at(99), point.tpot_ms.mean, point.requests_per_s) == pytest.approx((300.0, 20.0, 7.5))


def test_a_unit_of_a_report_that_nobody_knows_refuses_it():
    changed = json.loads(json.dumps(LLMD_2))
    changed["results"]["request_performance"]["aggregate"]["latency"]["time_to_first_token"]["units"] = "min"
    (error,) = read_benchmark(json.dumps(changed).encode(), "r.json").errors
    assert "“min”" in error.message


LMDEPLOY_CSV = """batch,num_promts,RPS,RPM,FTL(ave)(s),FTL(min)(s),FTL(max)(s),50%(s),75%(s),95%(s),99%(s),\
throughput(out tok/s),throughput(total tok/s)
128,3000,15.000,900.000,0.500,0.050,2.100,0.030,0.035,0.060,0.100,3000.000,6000.000
256,3000,20.000,1200.000,-,-,-,-,-,-,-,4000.000,8000.000
"""
LMDEPLOY_PRINTED = """--------------------------------------------------
concurrency: 128
elapsed_time: 200.000s

first token latency(s)(min, max, ave): 0.050, 2.100, 0.500
per-token latency(s) percentile(50, 75, 95, 99): [0.03, 0.035, 0.06, 0.1]

number of prompt tokens: 600000
number of completion tokens: 600000
token throughput (completion token): 3000.000 token/s
token throughput (prompt + completion token): 6000.000 token/s
RPS (request per second): 15.000 req/s
RPM (request per minute): 900.000 req/min
--------------------------------------------------
"""


@pytest.mark.parametrize("text", [LMDEPLOY_CSV, LMDEPLOY_PRINTED, f"INFO start\n{LMDEPLOY_PRINTED}"])
def test_lmdeploy_is_in_seconds(text):
    point = read_benchmark(text.encode(), "profile_throughput.csv").points[0]
    assert (point.engine, point.concurrency, point.isl_mean, point.osl_mean) == ("lmdeploy", 128.0, 200.0, 200.0)
    assert (point.ttft_ms.mean, point.itl_ms.at(50), point.itl_ms.at(99)) == pytest.approx((500.0, 30.0, 100.0))
    assert (point.duration_s, point.total_tokens_per_s) == (200.0, 6000.0)


def test_lmdeploy_without_streaming_has_no_latencies():
    silent = read_benchmark(LMDEPLOY_CSV.encode(), "p.csv").points[1]
    assert not silent.ttft_ms.stated
    assert not silent.itl_ms.stated
    assert silent.output_tokens_per_s == 4000.0


def summary(unit, scale):
    return {
        "Time taken for tests (s)": 282.0,
        "Number of concurrency": 5,
        "Request rate (req/s)": -1,
        "Total requests": 10,
        "Succeed requests": 10,
        "Failed requests": 0,
        "Output token throughput (tok/s)": 36.6,
        "Total token throughput (tok/s)": 37.6,
        "Request throughput (req/s)": 0.0355,
        "Average latency (s)": 112.8,
        f"Average time to first token ({unit})": 22.1 * scale,
        f"Average time per output token ({unit})": 0.0865 * scale,
        "Average input tokens per request": 28.3,
        "Average output tokens per request": 1057.2,
    }


@pytest.mark.parametrize(("unit", "scale"), [("s", 1.0), ("ms", 1000.0)])
def test_evalscope_in_either_unit_with_its_percentiles(unit, scale):
    rows = [
        {"Percentiles": f"{p}%", f"TTFT ({unit})": t * scale, f"TPOT ({unit})": 0.08 * scale, "Latency (s)": 100.0 + t}
        for p, t in ((50, 20.0), (90, 30.0), (99, 40.0))
    ]
    files = [("run/benchmark_summary.json", summary(unit, scale)), ("run/benchmark_percentile.json", rows)]
    read = read_benchmarks([(name, json.dumps(value).encode()) for name, value in files])
    (point,) = read.points
    assert (point.mode, point.concurrency, point.requests_completed, point.isl_mean) == (
        "fixed_concurrency",
        5,
        10,
        28.3,
    )
    assert (point.ttft_ms.at(90), point.tpot_ms.at(50), point.e2e_ms.at(99)) == pytest.approx((30000.0, 80.0, 140000.0))
    assert point.duration_s == 282.0


def test_evalscope_alone_and_in_an_unknown_unit():
    point = one(json.dumps(summary("s", 1.0)), "benchmark_summary.json")
    assert (point.ttft_ms.mean, point.tpot_ms.mean, point.e2e_ms.mean) == pytest.approx((22100.0, 86.5, 112800.0))
    (error,) = read_benchmark(json.dumps(summary("min", 1.0)).encode(), "benchmark_summary.json").errors
    assert "“min”" in error.message


TGI = """| Parameter          | Value             |
|--------------------|-------------------|
| Model              | meta-llama/Llama-2-7b-hf |
| Sequence Length    | 500               |
| Decode Length      | 128               |


| Step           | Batch Size | Average    | Lowest     | Highest    | p50        | p90        | p99        |
|----------------|------------|------------|------------|------------|------------|------------|------------|
| Prefill        | 1          | 345.72 ms  | 342.55 ms  | 348.42 ms  | 345.88 ms  | 348.42 ms  | 348.42 ms  |
|                | 4          | 673.80 ms  | 666.73 ms  | 678.06 ms  | 675.55 ms  | 678.06 ms  | 678.06 ms  |
| Decode (token) | 1          | 12.38 ms   | 12.02 ms   | 15.06 ms   | 12.08 ms   | 12.12 ms   | 12.12 ms   |
|                | 4          | 17.57 ms   | 16.28 ms   | 19.94 ms   | 18.84 ms   | 16.34 ms   | 16.34 ms   |
| Decode (total) | 1          | 1571.76 ms | 1526.99 ms | 1912.55 ms | 1534.09 ms | 1538.85 ms | 1538.85 ms |
|                | 4          | 2231.80 ms | 2034.91 ms | 2513.82 ms | 2039.47 ms | 2046.08 ms | 2046.08 ms |


| Step    | Batch Size | Average            | Lowest             | Highest            |
|---------|------------|--------------------|--------------------|--------------------|
| Prefill | 1          | 2.89 tokens/secs   | 2.87 tokens/secs   | 2.92 tokens/secs   |
| Decode  | 1          | 80.80 tokens/secs  | 66.41 tokens/secs  | 83.17 tokens/secs  |
"""


def test_tables_of_tgi_are_batches():
    points = read_benchmark(TGI.encode(), "tgi.md").points
    assert [(p.concurrency, p.ttft_ms.mean, p.tpot_ms.mean) for p in points] == [
        (1.0, 345.72, 12.38),
        (4.0, 673.8, 17.57),
    ]
    assert (points[0].model, points[0].isl_mean, points[0].osl_mean) == ("meta-llama/Llama-2-7b-hf", 500.0, 128.0)
    assert points[1].output_tokens_per_s == pytest.approx(4 * 128 / (0.6738 + 2.2318))


def test_one_batch_of_tgi_leaves_the_size_of_its_steps_out():
    head, _, _ = TGI.partition("|                | 4  ")
    single = head + "\n".join(
        [
            "| Decode (token) |            | 121.88 ms | 1 ms | 1 ms | 1 ms | 1 ms | 1 ms |",
            "| Decode (total) |            | 1219.00 ms | 1 ms | 1 ms | 1 ms | 1 ms | 1 ms |",
        ]
    )
    (point,) = read_benchmark(single.encode(), "tgi.md").points
    assert (point.concurrency, point.tpot_ms.mean) == (1.0, 121.88)


@pytest.mark.parametrize(
    "text",
    [
        "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Client Recv,p50 latency\n"
        "1,69.2,225,2148,64,0,13891\n",
        "Request Rate,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency\n10,10,1,1,400,500\n",
        "*** Measurement Settings ***\n  Batch size: 1\nRequest concurrency: 1\n  Client:\n    Throughput: 69.6\n",
    ],
)
def test_perf_analyzer_counts_no_tokens_and_says_so(text):
    with pytest.raises(NotAResultFile, match="perf_analyzer, which counts requests and no tokens"):
        read_benchmark(text.encode(), "perf.csv")
