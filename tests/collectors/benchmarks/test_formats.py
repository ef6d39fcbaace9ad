"""Formats without a real file here: their shape after the public sources, with made-up numbers."""

import json

import pytest
import yaml

from collectors.benchmarks import LatencyStats, NotAResultFile, read_benchmark
from collectors.benchmarks.reader import TOOLS, engine_of_tool
from sizing.catalog.engines import engines


def changed(samples, name, **changes):
    """The point of a JSON sample with other values at the top."""
    values = json.loads((samples / name).read_text()) | changes
    return read_benchmark(json.dumps(values).encode(), name).points[0]


def test_genai_perf_json(point):
    run = point("made_up/profile_export_genai_perf.json")
    assert (run.tool, run.mode, run.concurrency) == ("GenAI-Perf", "fixed_concurrency", 5.0)
    assert run.model == "meta-llama/Llama-3.1-8B-Instruct"
    assert run.engine is None, "“tensorrtllm” is only a default unless Triton itself was asked"
    assert run.tpot_ms == LatencyStats(mean=11.2, percentiles={"p50": 11.0, "p90": 13.0, "p95": 14.0, "p99": 15.0})
    assert run.duration_s == 30.0
    # 404 + 4 requests/s x 550 tokens
    assert run.total_tokens_per_s == 2604.0


def test_genai_perf_older_options_and_rate(samples):
    config = {"model": ["m"], "concurrency": 1, "request_rate": 7.5, "service_kind": "triton", "backend": "tensorrtllm"}
    run = changed(samples, "made_up/profile_export_genai_perf.json", input_config=config)
    assert (run.model, run.mode, run.request_rate_rps, run.engine) == ("m", "fixed_rate", 7.5, "trtllm")


def test_genai_perf_csv_equals_json_and_takes_the_load_from_its_name(point):
    by_csv = point("made_up/llama-openai-chat-concurrency5_genai_perf.csv")
    by_json = point("made_up/profile_export_genai_perf.json")
    assert (by_csv.mode, by_csv.concurrency) == ("fixed_concurrency", 5.0)
    assert (by_csv.ttft_ms, by_csv.tpot_ms, by_csv.e2e_ms) == (by_json.ttft_ms, by_json.tpot_ms, by_json.e2e_ms)
    assert by_csv.e2e_ms.mean == 1200.0, "written 1,200.00"


def test_genai_perf_raw_requests_are_refused():
    with pytest.raises(NotAResultFile, match=r"_genai_perf\.json"):
        read_benchmark(b'{"service_kind": "openai", "endpoint": "x", "experiments": []}', "profile_export.json")


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("sec", 1e3)])
def test_unit_of_a_block_is_obeyed(samples, unit, factor):
    block = {"unit": unit, "avg": 80.0, "p50": 70.0}
    run = changed(samples, "made_up/profile_export_genai_perf.json", time_to_first_token=block)
    assert run.ttft_ms == LatencyStats(
        mean=pytest.approx(80.0 * factor), percentiles={"p50": pytest.approx(70.0 * factor)}
    )


def test_unknown_unit_is_a_row_error(samples):
    values = json.loads((samples / "made_up/profile_export_genai_perf.json").read_text())
    values["time_to_first_token"]["unit"] = "fortnights"
    errors = read_benchmark(json.dumps(values).encode(), "x.json").errors
    assert [error.message for error in errors] == ["time_to_first_token.unit is not a unit of time: “fortnights”"]


def test_aiperf_older_load_generator(samples):
    loadgen = {"concurrency": 100, "request_rate_mode": "concurrency_burst"}
    config = {"endpoint": {"model_names": ["m"]}, "loadgen": loadgen}
    run = changed(samples, "aiperf_server_tokens.json", input_config=config)
    assert (run.model, run.mode, run.concurrency) == ("m", "fixed_concurrency", 100.0)


def test_aiperf_profiling_phase_with_a_concurrency(samples):
    phases = [
        {"name": "warmup", "kind": "warmup", "type": "concurrency", "concurrency": 10},
        {"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 50},
    ]
    run = changed(samples, "aiperf_server_tokens.json", input_config={"phases": phases})
    assert (run.mode, run.concurrency) == ("fixed_concurrency", 50.0)


def test_aiperf_load_from_the_command_line(samples):
    run = changed(samples, "aiperf_server_tokens.json", input_config={})
    assert (run.mode, run.request_rate_rps) == ("fixed_rate", 3.0)


def test_aiperf_gpu_from_telemetry(samples):
    gpus = {f"gpu_{i}": {"gpu_name": "NVIDIA H100 80GB HBM3", "metrics": {}} for i in range(2)}
    telemetry = {"endpoints": {"localhost:9400": {"gpus": gpus}}}
    run = changed(samples, "aiperf_server_tokens.json", telemetry_data=telemetry)
    assert (run.gpu, run.gpus) == ("NVIDIA H100 80GB HBM3", None)
    assert any("saw 2 GPUs" in note for note in run.notes)


def test_aiperf_client_tokens_of_varying_length_are_scaled(samples):
    """No exact way when answers differ in length: TPOT x (73 - 1) / (65 - 1)."""
    blocks = {
        "output_sequence_length": {"unit": "tokens", "avg": 73.0},
        "usage_completion_tokens": {"unit": "tokens", "avg": 65.0, "std": 3.0},
    }
    run = changed(samples, "aiperf_server_tokens.json", **blocks)
    assert run.tpot_ms.mean == pytest.approx(1.3575760956349208 * 72 / 64)


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_guidellm_older_sweep(samples, written):
    report = json.loads((samples / "made_up/guidellm_0_3.json").read_text())
    runs = read_benchmark(written(report).encode(), "report").points
    assert [(run.mode, run.concurrency, run.request_rate_rps) for run in runs] == [
        ("fixed_concurrency", 1.0, None),
        ("fixed_concurrency", 8.0, None),
        ("offline", None, None),
        ("fixed_rate", None, 2.0),
    ]
    first = runs[0]
    assert (first.model, first.duration_s) == ("meta-llama/Llama-3.1-8B-Instruct", 30.0)
    assert (first.requests_completed, first.requests_failed, first.requests_cut_off) == (50, 1, 2)
    assert first.e2e_ms.mean == 2500.0
    assert first.tpot_ms.at(99) == pytest.approx(27.0)
    assert "even intervals" in runs[3].notes[0]


def test_guidellm_older_csv():
    head = "Type,Run Id,Id,Name,Start Time,End Time,Duration,Successful Requests,Incomplete Requests,Errored Requests"
    metric = "Successful Time to first token ms"
    labels = "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"
    text = (
        f'{head},{metric} mean,{metric} median,{metric} std dev,"{metric} {labels}",Backend\n'
        "generative_benchmark,r,i,concurrent@16,2025-09-01 10:00:00,2025-09-01 10:01:00,60.0,90,0,1,"
        '100.0,95.0,3.0,"[1, 2, 3, 4, 5, 6, 110, 120, 130, 140, 150]","{""model"": ""m""}"\n'
    )
    run = read_benchmark(text.encode(), "benchmarks.csv").points[0]
    assert (run.model, run.mode, run.concurrency, run.requests_failed) == ("m", "fixed_concurrency", 16.0, 1)
    assert run.ttft_ms == LatencyStats(mean=100.0, percentiles={"p50": 95.0, "p90": 120.0, "p95": 130.0, "p99": 140.0})


def test_trtllm_report(point):
    run = point("made_up/trtllm_report.json")
    assert (run.engine, run.engine_version, run.gpu) == ("trtllm", "1.1.0", "NVIDIA H100 80GB HBM3")
    assert (run.gpus, run.tp) == (2, 2)
    assert (run.weight_precision, run.kv_precision, run.ep) == ("fp8", "fp8", None)
    # 31.7 of 1000 requests in flight: a concurrency was asked for.
    assert (run.mode, run.concurrency) == ("fixed_concurrency", 32.0)
    assert run.duration_s == 20.0
    assert run.tpot_ms == LatencyStats(mean=4.756, percentiles={"p50": 4.7, "p90": 4.9, "p95": 5.0, "p99": 5.1})


def test_trtllm_printed_report(point):
    run = point("made_up/trtllm_report.txt")
    assert (run.model, run.engine_version) == ("meta-llama/Llama-3.1-8B-Instruct", "1.1.0")
    assert (run.weight_precision, run.kv_precision) == ("bf16", None)
    # 180.5 of 200 requests in flight: all were queued at once.
    assert (run.mode, run.gpus, run.requests_completed) == ("offline", 1, 200)
    assert run.e2e_ms == LatencyStats(
        mean=2256.25, percentiles={"p50": 2250.0, "p90": 2400.0, "p95": 2450.0, "p99": 2490.0}
    )
    assert not run.ttft_ms.stated, "printed only with --streaming"
    assert run.output_tokens_per_s == 5120.0


def test_trtllm_iteration_log_is_refused():
    lines = b'{"iter": 1, "iterLatencyMS": 7.1, "numActiveRequests": 4}\n{"iter": 2, "iterLatencyMS": 7.0}\n'
    with pytest.raises(NotAResultFile, match="report_json"):
        read_benchmark(lines, "iteration.log")


def test_llmperf_summary(point):
    run = point("made_up/m_550_150_summary.json")
    assert (run.mode, run.concurrency, run.model) == ("fixed_concurrency", 16.0, "01-ai/Yi-1.5-34B-Chat")
    assert run.requests_per_s == 0.8
    assert run.duration_s == pytest.approx(140.0)
    # (15000 - 500) ms / 145 tokens
    assert run.tpot_ms == LatencyStats(mean=pytest.approx(100.0))
    # 120 + 0.8 x 550
    assert run.total_tokens_per_s == pytest.approx(560.0)


def test_llmperf_responses(point):
    run = point("made_up/m_550_150_individual_responses.json")
    assert (run.requests_completed, run.requests_failed) == (3, 1)
    # (10400 - 500) / 99, (15200 - 300) / 149 and (20600 - 700) / 199 ms: 100 each
    assert run.tpot_ms.mean == pytest.approx(100.0)
    assert run.ttft_ms.mean == pytest.approx(500.0)
    assert run.requests_per_s is None


def test_inferencex_split_deployment(samples):
    row = json.loads((samples / "inferencex_agg_bmk.json").read_text())[0]
    row |= {
        "framework": "dynamo-trt",
        "disagg": True,
        "is_multinode": True,
        "num_prefill_gpu": 8,
        "num_decode_gpu": 32,
        "hw": "gb200-nv",
        "spec_decoding": "mtp",
        "model": "deepseek-ai/DeepSeek-R1",
        "image": "nvcr.io/x/trt:1.2.0",
    }
    run = read_benchmark(json.dumps([row]).encode(), "agg_bmk.json").points[0]
    assert (run.engine, run.engine_version, run.gpu) == ("dynamo-trtllm", "1.2.0", "gb200")
    assert (run.gpus, run.tp, run.weight_precision) == (40, None, "nvfp4")
    assert run.output_tokens_per_s == pytest.approx(888.1698152 * 32), "output is per GPU that decodes"
    assert run.total_tokens_per_s == pytest.approx(8005.7655192 * 40)
    assert len(run.notes) == 2


def test_every_format_names_itself_and_is_claimed_by_one_tool(samples):
    """No sample is claimed by two formats, but AIPerf's, which look like its predecessor's and are asked first."""
    from collectors.benchmarks.documents import open_document

    for path in sorted(samples.rglob("*")):
        if path.suffix in (".json", ".jsonl", ".csv", ".yaml", ".txt") and path.name != "golden.json":
            document = open_document(path.read_bytes(), path.name)
            claimed = [tool.__name__.rpartition(".")[2] for tool in TOOLS if tool.detect(document)]
            if "aiperf" in path.name:
                claimed = [name for name in claimed if name != "genai_perf"]
            assert len(claimed) == 1, (path.name, claimed)


def test_the_own_tool_of_an_engine_names_it():
    own = {tool.FORMAT: engine_of_tool(tool.FORMAT) for tool in TOOLS if tool.ENGINE}
    assert own == {
        "vLLM bench serve": "vllm",
        "vLLM bench throughput or latency": "vllm",
        "vLLM multi-turn benchmark": "vllm",
        "SGLang bench_serving": "sglang",
        "SGLang batches": "sglang",
        "llama-bench": "llamacpp",
        "text-generation-benchmark": "tgi",
        "trtllm-bench": "trtllm",
        "gptManagerBenchmark": "trtllm",
    }
    assert set(own.values()) <= set(engines())
    assert engine_of_tool("GuideLLM") is None
    assert engine_of_tool("vllm of a colleague") is None


VLLM_BLOCK = (
    "Namespace(backend='vllm', model='Qwen/Qwen3-8B', num_prompts=100, request_rate=inf, max_concurrency=16)\n"
    "============ Serving Benchmark Result ============\n"
    "Successful requests:                     100       \n"
    "Maximum request concurrency:             16        \n"
    "Benchmark duration (s):                  41.24     \n"
    "Total input tokens:                      99744     \n"
    "Total generated tokens:                  100000    \n"
    "Request throughput (req/s):              2.43      \n"
    "Output token throughput (tok/s):         2425.01   \n"
    "Mean TTFT (ms):                          60.77     \n"
    "P99 TTFT (ms):                           1,120.00  \n"
    "Median TPOT (ms):                        6.51      \n"
    "==================================================\n"
)
SGLANG_BLOCK = (
    "[2026-11-20 10:00:00] INFO: ============ Serving Benchmark Result ============\n"
    "Backend:                                 sglang    \n"
    "Traffic request rate:                    4.0       \n"
    "Max request concurrency:                 not set   \n"
    "Successful requests:                     200       \n"
    "Benchmark duration (s):                  51.00     \n"
    "Request throughput (req/s):              3.92      \n"
    "Concurrency:                             12.50     \n"
    "Mean E2E Latency (ms):                   3190.00   \n"
    "P95 ITL (ms):                            11.00     \n"
)


def test_blocks_of_a_console_are_runs():
    first, second = read_benchmark((VLLM_BLOCK + "some log\n" + SGLANG_BLOCK).encode(), "console.txt").points
    assert (first.model, first.engine, first.mode, first.concurrency) == (
        "Qwen/Qwen3-8B",
        "vllm",
        "fixed_concurrency",
        16.0,
    )
    assert (first.isl_mean, first.osl_mean) == (997.44, 1000.0)
    assert first.ttft_ms == LatencyStats(mean=60.77, percentiles={"p99": 1120.0})
    assert first.tpot_ms == LatencyStats(percentiles={"p50": 6.51})
    assert (second.model, second.engine, second.mode, second.request_rate_rps) == (None, "sglang", "fixed_rate", 4.0)
    assert (second.concurrency_mean, second.e2e_ms.mean, second.itl_ms.at(95.0)) == (12.5, 3190.0, 11.0)


def test_a_block_with_a_word_where_a_number_stands_is_an_error_of_its_line():
    text = VLLM_BLOCK + VLLM_BLOCK.replace("60.77", "fast ")
    imported = read_benchmark(text.encode(), "console.log")
    assert len(imported.points) == 1
    assert [(error.row, error.message) for error in imported.errors] == [(15, "Mean TTFT (ms) is not a number: “fast”")]


def test_vllm_throughput_and_latency():
    text = (
        "Namespace(model='m', input_len=1000, output_len=100, num_prompts=500, tensor_parallel_size=2)\n"
        "Throughput: 7.15 requests/s, 7865.00 total tokens/s, 715.00 output tokens/s\n"
    )
    (printed,) = read_benchmark(text.encode(), "log.txt").points
    assert (printed.mode, printed.tp, printed.isl_mean, printed.osl_mean) == ("offline", 2, 1000.0, 100.0)
    assert (printed.requests_per_s, printed.total_tokens_per_s, printed.output_tokens_per_s) == (7.15, 7865.0, 715.0)
    file = {"elapsed_time": 70.0, "num_requests": 500, "requests_per_second": 7.15, "tokens_per_second": 7865.0}
    (saved,) = read_benchmark(json.dumps(file).encode(), "throughput.json").points
    assert (saved.mode, saved.requests_completed, saved.isl_mean) == ("offline", 500, None)
    batch = {"avg_latency": 1.7, "latencies": [1.7], "percentiles": {"50": 1.69, "99": 1.8}}
    (latency,) = read_benchmark(json.dumps(batch).encode(), "latency.json").points
    assert (latency.mode, latency.e2e_ms) == (
        None,
        LatencyStats(mean=1700.0, percentiles={"p50": 1690.0, "p99": 1800.0}),
    )


def test_latencies_in_seconds_and_under_other_names_are_not_lost(samples):
    """Keys without a unit are seconds, as in the arrays; what is not understood is named."""
    values = json.loads((samples / "vllm/bench_rate8.json").read_text())
    named = {key.removesuffix("_ms"): value / 1000 for key, value in values.items() if key.endswith("_ms")}
    kept = {k: v for k, v in values.items() if not k.endswith("_ms") and k not in ("ttfts", "itls")}
    (seconds,) = read_benchmark(json.dumps(kept | named).encode(), "x.json").points
    (known,) = read_benchmark(json.dumps(values).encode(), "x.json").points
    assert seconds.ttft_ms.at(99.0) == pytest.approx(known.ttft_ms.at(99.0))
    (strange,) = read_benchmark(json.dumps(kept | {"ttft_fortnights": 3.0}).encode(), "x.json").points
    assert strange.notes[-1] == "latencies that are not read: “ttft_fortnights”"


def test_a_run_that_ends_late_without_a_queue_is_short_and_not_overloaded(samples):
    """At 10 requests/s for 5 s, answers of 10 s: 3.3 requests/s are served, and nobody waited."""
    values = json.loads((samples / "vllm/bench_rate8.json").read_text())
    kept = {k: v for k, v in values.items() if k not in ("ttfts", "itls") and not k.endswith("_ttft_ms")}
    load = {"request_rate": 10.0, "request_throughput": 50 / 15.0, "completed": 50}
    fast = {"median_ttft_ms": 90.0, "mean_ttft_ms": 100.0, "p99_ttft_ms": 300.0}
    (short,) = read_benchmark(json.dumps(kept | load | fast).encode(), "x.json").points
    assert "too short to judge" in short.notes[-1]
    late = {"median_ttft_ms": 5_000.0, "mean_ttft_ms": 5_000.0, "p99_ttft_ms": 9_900.0}
    (queued,) = read_benchmark(json.dumps(kept | load | late).encode(), "x.json").points
    assert "overloaded" in queued.notes[-1]
