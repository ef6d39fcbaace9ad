"""What benchmark tools print, shortened from published consoles of 2023 to 2026: every run and figure is read."""

import pytest

from collectors.benchmarks import NotAResultFile, read_benchmark
from collectors.benchmarks.records import BenchmarkRun
from tests.collectors.benchmarks.conftest import SAMPLES


def printed(name: str) -> str:
    return (SAMPLES / "printed" / name).read_text()


def runs(text: str) -> list[BenchmarkRun]:
    imported = read_benchmark(text.encode(), "console.txt")
    assert imported.errors == ()
    return list(imported.points)


GUIDELLM_2 = printed("guidellm_0_2.txt")
GUIDELLM_5 = printed("guidellm_0_5.txt")


def test_guidellm_of_2025_prints_its_latency_in_seconds_under_ms() -> None:
    slow, everything, steady = runs(GUIDELLM_2)
    assert (slow.mode, slow.concurrency, slow.isl_mean, slow.osl_mean) == ("fixed_concurrency", 1.0, 512.3, 256.0)
    assert (slow.e2e_ms.mean, slow.e2e_ms.at(99.0)) == (4360.0, 4910.0)
    assert (everything.mode, everything.output_tokens_per_s) == ("offline", 996.1)
    assert (steady.mode, steady.request_rate_rps, steady.requests_per_s) == ("fixed_rate", 0.69, 0.65)
    assert (steady.ttft_ms.mean, steady.ttft_ms.at(50.0), steady.tpot_ms.at(99.0)) == (71.9, 73.5, 17.7)
    assert (steady.requests_completed, steady.requests_cut_off, steady.requests_failed) == (30, 2, 1)


def test_guidellm_of_2026_prints_medians_and_no_rates() -> None:
    low, high = runs(GUIDELLM_5)
    assert (low.concurrency, high.concurrency, high.total_tokens_per_s) == (32.0, 64.0, 2418.8)
    assert (high.ttft_ms.at(50.0), high.tpot_ms.at(95.0), high.e2e_ms.at(50.0)) == (2212.2, 103.0, 28300.0)
    assert (high.isl_mean, high.osl_mean, high.requests_per_s) == (546.0, 256.0, 1.3)
    assert any("medians" in note for note in high.notes)


def test_two_reports_of_guidellm_are_told_apart() -> None:
    assert len(runs(GUIDELLM_5 + "\n" + GUIDELLM_5)) == 4
    (steady, _) = runs(GUIDELLM_5.replace("concurrent", "constant  "))
    assert (steady.mode, steady.request_rate_rps) == ("fixed_rate", None)
    assert any("does not print the rate" in note for note in steady.notes)


GENAI_OLD = printed("genai_perf_2024.txt")


def test_genai_perf_of_2024_has_its_rates_below_and_numbers_cut_off() -> None:
    first, second = runs(GENAI_OLD)
    assert (first.model, first.concurrency, first.isl_mean, first.osl_mean) == ("gpt2", 1.0, 199.0, 104.0)
    assert first.ttft_ms.mean == pytest.approx(13.266974)
    assert (first.output_tokens_per_s, first.requests_per_s) == (460.42, 4.44)
    assert (second.model, second.concurrency, second.requests_per_s) == ("llama3", 4.0, 0.92)
    assert not second.e2e_ms.stated
    assert any("cut numbers off" in note for note in second.notes)


LLMPERF = printed("llmperf.txt")


def test_llmperf_prints_its_summary_in_seconds() -> None:
    (run,) = runs(LLMPERF)
    assert (run.concurrency, run.isl_mean, run.osl_mean) == (1.0, 10_000.0, 1787.92)
    assert run.ttft_ms.at(95.0) == pytest.approx(2445.11, abs=0.01)
    assert run.e2e_ms.mean == pytest.approx(73_192.08, abs=0.01)
    assert run.requests_per_s == pytest.approx(0.8195336846889548 / 60)
    again, other = runs(LLMPERF + LLMPERF.replace("requests 1", "requests 8"))
    assert (again.concurrency, other.concurrency) == (1.0, 8.0)


MLPERF = printed("mlperf_log_summary.txt")


def test_summaries_of_mlperf_are_in_nanoseconds() -> None:
    server, offline = runs(MLPERF)
    assert (server.mode, server.request_rate_rps, server.requests_per_s) == ("fixed_rate", 61.29, 59.86)
    assert server.ttft_ms.at(99.0) == pytest.approx(1347.438897)
    assert (server.tpot_ms.mean, server.tpot_ms.at(50.0)) == pytest.approx((67.443317, 69.554179))
    assert server.e2e_ms.at(90.0) == pytest.approx(120_200.988, abs=0.001)
    assert (offline.mode, offline.output_tokens_per_s) == ("offline", 95_004.0)
    assert offline.notes == ("LoadGen calls the result invalid",)
    (asked,) = runs(MLPERF.partition("Scenario : Offline")[0].rpartition("MLPerf Results")[0] + "target_qps : 62\n")
    assert asked.request_rate_rps == 62.0


def test_the_detailed_log_of_mlperf_names_the_summary() -> None:
    with pytest.raises(NotAResultFile, match="beside it"):
        runs(':::MLLOG {"key": "loadgen_version"}\n')


MANAGER = printed("gpt_manager_benchmark.txt")


def test_runs_and_batches_of_tensorrt_llm_are_told_apart() -> None:
    first, batch, second = runs(MANAGER)
    assert (first.request_rate_rps, first.requests_completed, second.requests_completed) == (10.0, 500, 600)
    assert first.osl_mean == pytest.approx(2870.80 / 9.55)
    assert (first.e2e_ms.mean, first.e2e_ms.at(99.0)) == (2755.07, 3108.04)
    assert (batch.concurrency, batch.isl_mean, batch.output_tokens_per_s) == (8.0, 128.0, 880.2)
    assert batch.e2e_ms.mean == pytest.approx(1163.4)


VLLM_FIRST = printed("vllm_0_2_serving.txt")


def test_the_first_serving_benchmark_of_vllm_keeps_its_rate_and_latency() -> None:
    (run,) = runs(VLLM_FIRST)
    assert (run.mode, run.request_rate_rps, run.requests_per_s, run.duration_s) == ("fixed_rate", 4.0, 3.95, 253.2)
    assert run.e2e_ms.mean == 12_410.0
    (unsaid,) = runs(VLLM_FIRST.partition("\n")[2])
    assert unsaid.mode is None
    assert any("not stated" in note for note in unsaid.notes)


def test_two_reports_of_trtllm_bench_are_two_runs() -> None:
    report = (SAMPLES / "made_up" / "trtllm_report.txt").read_text()
    first, second = runs(report + report.replace("TP Size:                1", "TP Size:                4"))
    assert (first.tp, second.tp) == (1, 4)
    assert first.requests_per_s == second.requests_per_s == runs(report)[0].requests_per_s


def test_sglang_misspelled_its_concurrency() -> None:
    block = "Backend: sglang\nTraffic request rate: inf\nMax reqeuest concurrency: 64\nSuccessful requests: 300\n"
    (run,) = runs(block + "Request throughput (req/s): 5.22\nMean E2E (ms): 100.0\n")
    assert (run.mode, run.concurrency, run.e2e_ms.mean) == ("fixed_concurrency", 64.0, 100.0)


def test_latencies_of_a_block_that_are_not_read_are_named() -> None:
    block = "Successful requests: 300\nRequest throughput (req/s): 5.22\nMean TTFT (ms): 100.0\n"
    (run,) = runs(block + "Mean AUDIO_TTFP (ms): 210.0\nP99 AUDIO_TTFP (ms): 260.0\nMax ITL (ms): 9.0\n")
    assert run.notes == ("latencies that are not read: “Mean AUDIO_TTFP”, “P99 AUDIO_TTFP”",)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ('{"metrics": {"http_req_duration": {"avg": 1.2}}, "root_group": {}}', "k6"),
        ("     http_req_duration..............: avg=1.2s min=1s med=1.1s max=3s\n", "k6"),
        ("Type,Name,Request Count,Failure Count,Median Response Time\nPOST,/v1,100,0,1200\n", "Locust"),
        ("Running 30s test @ http://localhost:8000\n  12 threads and 400 connections\n", "wrk"),
    ],
)
def test_load_generators_without_tokens_say_what_is_missing(text: str, tool: str) -> None:
    with pytest.raises(NotAResultFile, match=f"is of {tool}, which counts requests and no tokens"):
        runs(text)
