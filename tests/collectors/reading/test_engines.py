"""One page of every engine, as its sources describe it: detected, read in common units, with its gaps explained."""

import json

import pytest

from collectors.backends.backend import Vectors
from collectors.backends.scrape.text import read_page
from collectors.prometheus.answers import read_vector
from collectors.queries.query import QuantityPart, Subject
from collectors.reading.engine_values import engine_distributions
from collectors.reading.observation import Observation, State
from collectors.vocabulary import engine_vocabularies, engine_vocabulary
from collectors.vocabulary.detect import DetectedEngine, choose
from collectors.vocabulary.expressions import Scope
from tests.collectors.feeds import Feed, histogram, steady
from tests.collectors.servers import RECORDINGS, recording

M = 'model_name="m"'
D = 'model="m"'
TRT = [
    f"trtllm_num_requests_running{{{M}}} 5",
    f"trtllm_num_requests_waiting{{{M}}} 0",
    f"trtllm_kv_cache_utilization{{{M}}} 0.5",
    f"trtllm_kv_cache_max_blocks{{{M}}} 1000",
    f"trtllm_kv_cache_tokens_per_block{{{M}}} 32",
    f"trtllm_generation_tokens_total{{{M}}} @100",
    f'trtllm_request_success_total{{{M},finished_reason="stop"}} @2',
    *histogram("trtllm_time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
]
PAGES = {
    "vllm": [
        f"vllm:num_requests_running{{{M}}} 5",
        f"vllm:num_requests_waiting{{{M}}} 0",
        f"vllm:kv_cache_usage_perc{{{M}}} 0.5",
        f"vllm:generation_tokens_total{{{M}}} @100",
        f'vllm:request_success_total{{{M},finished_reason="stop"}} @2',
        *histogram("vllm:time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
    ],
    "sglang": [
        f'sglang:num_running_reqs{{{M},tp_rank="0",priority=""}} 5',
        f'sglang:num_queue_reqs{{{M},tp_rank="0",priority=""}} 0',
        f'sglang:token_usage{{{M},tp_rank="0"}} 0.5',
        f'sglang:max_total_num_tokens{{{M},tp_rank="0"}} 32000',
        f"sglang:generation_tokens_total{{{M}}} @100",
        f"sglang:num_requests_total{{{M}}} @2",
        *histogram("sglang:time_to_first_token_seconds", {0.1: 1, 0.2: 2}, 0.4, M),
    ],
    "trtllm_serve": TRT,
    "triton_trtllm": [
        f'nv_trt_llm_request_metrics{{{D},request_type="scheduled"}} 5',
        f'nv_trt_llm_request_metrics{{{D},request_type="waiting"}} 0',
        f'nv_trt_llm_kv_cache_block_metrics{{{D},kv_cache_block_type="fraction"}} 0.5',
        f"nv_llm_output_token_len_sum{{{D}}} @100",
        f"nv_inference_request_success{{{D}}} @2",
        *histogram("nv_inference_first_response_histogram_ms", {100: 1, 500: 2}, 400, D),
    ],
    "nim": [
        f"num_requests_running{{{M}}} 5",
        f"num_requests_waiting{{{M}}} 0",
        f"num_request_max{{{M}}} 64",
        f"gpu_cache_usage_perc{{{M}}} 0.5",
        f"generation_tokens_total{{{M}}} @100",
        f'request_finish_total{{{M},finished_reason="stop"}} @2',
        *histogram("time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
    ],
    "tgi": [
        "tgi_batch_current_size 5",
        "tgi_queue_size 0",
        "tgi_batch_current_max_tokens 500",
        "tgi_batch_max_total_tokens 1000",
        "tgi_request_generated_tokens_sum @100",
        "tgi_request_success @2",
        *histogram("tgi_request_queue_duration", {0.1: 2}, 0.1),
        'tgi_batch_inference_duration_sum{method="prefill"} @0.6',
        'tgi_batch_inference_duration_count{method="prefill"} @4',
    ],
    "dynamo": [
        f"dynamo_frontend_inflight_requests{{{D}}} 5",
        f"dynamo_frontend_queued_requests{{{D}}} 0",
        'dynamo_frontend_worker_active_decode_blocks{worker_id="1"} 50',
        f"dynamo_frontend_model_total_kv_blocks{{{D}}} 100",
        f"dynamo_frontend_output_tokens_total{{{D}}} @100",
        f'dynamo_frontend_requests_total{{{D},status="success"}} @2',
        *histogram("dynamo_frontend_time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, D),
    ],
    "mindie": [
        f"num_requests_running{{{M}}} 5",
        f"num_requests_waiting{{{M}}} 0",
        f"npu_cache_usage_perc{{{M}}} 0.5",
        f"request_received_total{{{M}}} @2",
        f"request_success_total{{{M}}} @2",
        f"generation_tokens_total{{{M}}} @100",
        *histogram("time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
    ],
    "lmdeploy": [
        f"lmdeploy:num_requests_running{{{M}}} 5",
        f"lmdeploy:num_requests_waiting{{{M}}} 0",
        f"lmdeploy:gpu_cache_usage_perc{{{M}}} 0.5",
        f"lmdeploy:generation_tokens_total{{{M}}} @100",
        *histogram("lmdeploy:time_to_first_token_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
        *histogram("lmdeploy:e2e_request_latency_seconds", {0.3: 1, 0.5: 2}, 0.8, M),
    ],
    "llm_d": [
        f"inference_objective_running_requests{{{M}}} 5",
        'inference_pool_average_queue_size{name="p"} 0',
        'inference_pool_ready_pods{name="p"} 3',
        'inference_pool_average_kv_cache_utilization{name="p"} 0.5',
        f"inference_objective_request_total{{{M}}} @2",
        *histogram("inference_objective_request_ttft_seconds", {0.1: 1, 0.25: 2}, 0.4, M),
    ],
}


def gateway(before: str, unit: str, second: str) -> list[str]:
    """A page of Envoy AI Gateway, or of agentgateway with words before the names and no units behind them."""
    own, failed = 'gen_ai_request_model="m",gen_ai_operation_name="chat"', 'error_type="_OTHER"'
    usage = f"{before}gen_ai_client_token_usage{unit}"
    return [
        *histogram(f"{before}gen_ai_server_request_duration{second}", {1: 1, 5: 2}, 4, own),
        *histogram(f"{before}gen_ai_server_request_duration{second}", {1: 0.5}, 0.1, f"{own},{failed}"),
        *histogram(f"{before}gen_ai_server_time_to_first_token{second}", {0.1: 1, 0.25: 2}, 0.4, own),
        *histogram(usage, {1024: 2}, 2000, f'{own},gen_ai_token_type="input"'),
        *histogram(usage, {256: 2}, 100, f'{own},gen_ai_token_type="output"'),
    ]


@pytest.mark.parametrize("page", [gateway("", "_token", "_seconds"), gateway("agentgateway_", "", "")])
@pytest.mark.parametrize("selector", [{}, {"model": "m"}])
def test_gateways_with_the_names_of_opentelemetry(page: list[str], selector: dict[str, str]) -> None:
    seen = Feed({"a:8000": steady(*page)}).read(selector={"job": "scrape", **selector})
    assert (seen.engine, seen.number("finished_rps"), seen.number("failed_rps")) == ("gen_ai", 2, 0.5)
    assert (seen.number("prompt_tokens_per_s"), seen.number("generation_tokens_per_s")) == (2000, 100)
    assert seen.distribution("ttft_ms").mean == pytest.approx(200)
    assert seen.distribution("e2e_ms").mean == pytest.approx(2000)
    assert seen.distribution("input_tokens").mean == pytest.approx(1000)
    assert seen.distribution("output_tokens").mean == pytest.approx(50)


@pytest.mark.parametrize("before", ["smg_router_", "sgl_router_"])
@pytest.mark.parametrize("label", ["token_type", "direction"])
def test_the_router_of_sglang_under_both_names(before: str, label: str) -> None:
    page = [
        f"{before}requests_total{{{D}}} @2",
        "smg_worker_requests_active 5" if before == "smg_router_" else f"{before}running_requests 5",
        f'{before}tokens_total{{{D},{label}="input"}} @2000',
        f'{before}tokens_total{{{D},{label}="output"}} @100',
        *histogram(f"{before}request_duration_seconds", {1: 1, 5: 2}, 4, D),
        *histogram(f"{before}ttft_seconds", {0.1: 1, 0.25: 2}, 0.4, D),
    ]
    seen = Feed({"a:29000": steady(*page)}).read(selector={"job": "scrape", "model": "m"})
    assert (seen.engine, seen.number("running"), seen.number("finished_rps")) == ("sglang_router", 5, 2)
    assert (seen.number("prompt_tokens_per_s"), seen.number("generation_tokens_per_s")) == (2000, 100)
    assert (seen.distribution("ttft_ms").mean, seen.distribution("e2e_ms").mean) == pytest.approx((200, 2000))
    assert seen.distribution("output_tokens").mean == pytest.approx(50)


@pytest.mark.parametrize("engine", PAGES)
def test_engine_is_detected_and_read(engine: str) -> None:
    seen = Feed({"a:8000": steady(*PAGES[engine])}).read(selector={"job": "scrape"})
    assert (seen.engine, seen.state) == (engine, State.OK), seen.reasons
    assert seen.number("running") == pytest.approx(5)
    assert seen.number("waiting") == pytest.approx(0)
    assert seen.number("kv_usage") == pytest.approx(0.5)
    assert seen.number("finished_rps") == pytest.approx(2)
    if engine != "llm_d":
        assert seen.number("generation_tokens_per_s") == pytest.approx(100)
    assert seen.distribution("ttft_ms").mean == pytest.approx(200)
    assert (seen.distribution("ttft_ms").at("p95").value is None) == (engine == "tgi")


@pytest.mark.parametrize("engine", sorted(set(PAGES) - {"tgi"}))
def test_model_name_means_the_label_of_the_engine(engine: str) -> None:
    for key in ("model", "model_name"):
        seen = Feed({"a:8000": steady(*PAGES[engine])}).read(selector={"job": "scrape", key: "m"})
        assert seen.number("running") == pytest.approx(5)
        other = Feed({"a:8000": steady(*PAGES[engine])}).read(selector={"job": "scrape", key: "other"})
        assert other.number("finished_rps") is None


def test_older_spellings() -> None:
    colon = [line.replace("trtllm_", "trtllm:") for line in TRT]
    assert Feed({"a:8000": steady(*colon)}).read().number("running") == 5
    early = [
        line.replace("dynamo_frontend_", "nv_llm_http_service_") for line in PAGES["dynamo"] if "queued" not in line
    ]
    assert Feed({"a:8000": steady(*early)}).read().number("running") == 5
    old = [line.replace("inference_objective_", "inference_model_") for line in PAGES["llm_d"]]
    assert Feed({"a:9090": steady(*old)}).read().number("finished_rps") == pytest.approx(2)


def test_capacity_in_tokens() -> None:
    assert Feed({"a:8000": steady(*TRT)}).read().number("kv_capacity_tokens") == 32000
    assert Feed({"a:8000": steady(*PAGES["sglang"])}).read().number("kv_capacity_tokens") == 32000


def test_frontend_goes_before_its_workers() -> None:
    both = Feed({"a:8000": steady(*PAGES["dynamo"]), "b:8081": steady(*PAGES["vllm"])}).read()
    assert both.engine == "dynamo"
    assert any("vllm" in note for note in both.notes)


def test_every_engine_of_the_list_has_a_vocabulary() -> None:
    assert set(engine_vocabularies()) == {
        *PAGES,
        "triton",
        "llamacpp",
        "litellm",
        "dynamo_worker",
        "gen_ai",
        "sglang_router",
    }
    for name in ("vLLM", "TensorRT-LLM", "trtllm", "Triton", "llm-d", "NIM", "text-generation-inference", "Dynamo"):
        assert engine_vocabulary(name), name


def test_missing_metric_names_its_flag() -> None:
    seen = Feed({"a:8000": steady(*[line for line in TRT if "first_token" not in line])}).read()
    (missing,) = [m for m in seen.missing if m.quantity == "ttft_ms"]
    assert "return_perf_metrics" in missing.reason


def test_verified_names_of_vllm_stand_on_a_recorded_page() -> None:
    names = {sample.name for sample in read_page(recording("vllm_overloaded"))}
    for key, concept in engine_vocabularies()["vllm"].concepts.items():
        for candidate in concept.use:
            if candidate.verified:
                assert any(name in names for name in candidate.metrics), key
                assert candidate.kind == "histogram" or set(candidate.metrics) <= names, key


def test_native_histogram_without_buckets_is_read() -> None:
    """Prometheus 3 with convert_classic_histograms_to_nhcb: _bucket, _sum and _count are gone."""
    answer = json.loads((RECORDINGS / "prom3_api" / "instant_nhcb_instant.json").read_text())["response"]
    samples = read_vector(answer, "test").samples
    engine = DetectedEngine(vocabulary=engine_vocabularies()["vllm"])
    chosen = {"ttft": choose("ttft", engine, {"vllm:time_to_first_token_seconds"}, None)}
    found = engine_distributions(
        Vectors(samples={Subject("ttft", QuantityPart.BUCKETS): samples}), chosen, Scope(window_s=1)
    )
    ttft = found["ttft_ms"]
    assert ttft.count == 336
    assert ttft.mean == pytest.approx(880.8869829177856 / 336 * 1000)
    assert (ttft.at("p95").low, ttft.at("p95").high) == (5000, 7500)


def test_s_traps_are_written_down_for_every_engine() -> None:
    for vocabulary in engine_vocabularies().values():
        assert vocabulary.verified
        assert vocabulary.source
        assert sum(bool(c.trap) for c in vocabulary.concepts.values()) >= 2, vocabulary.id


LMDEPLOY = [
    f'lmdeploy:num_requests_failed{{{M},engine="0"}} @0.5',
    f'lmdeploy:num_api_requests_waiting{{{M},engine="0"}} 3',
    *histogram("lmdeploy:iter_token_latency", {0.01: 50, 0.025: 100}, 1.2, M),
    *histogram("lmdeploy:time_per_output_token_seconds", {0.01: 100}, 0.6, M),
]


def test_lmdeploy_by_the_names_of_its_source() -> None:
    seen = Feed({"a:23333": steady(*PAGES["lmdeploy"], *LMDEPLOY)}).read()
    assert seen.distribution("itl_ms").mean == pytest.approx(12)
    assert seen.number("waiting") == pytest.approx(3)
    assert seen.number("failed_rps") == pytest.approx(0.5)
    (reason,) = [m.reason for m in seen.missing if m.quantity == "tpot_ms"]
    assert "no mean per request" in reason


def between(first: str, second: str) -> Observation:
    """What happened between two pages."""
    pages = recording(first), recording(second)
    return Feed({"a:8000": lambda elapsed: pages[elapsed >= 450]}).read(selector={"model_name": "tiny-llama"})


@pytest.mark.parametrize(
    ("first", "second", "ttft_ms", "tpot_ms", "queue_ms"),
    [("vllm_rate4", "vllm_rate6", 57, 6.6, 0), ("vllm_rate6", "vllm_rate8", 73, 5.5, 6)],
)
def test_means_of_the_recorded_sweep(first: str, second: str, ttft_ms: float, tpot_ms: float, queue_ms: float) -> None:
    seen = between(first, second)
    assert seen.distribution("ttft_ms").mean == pytest.approx(ttft_ms, rel=0.02)
    assert seen.distribution("tpot_ms").mean == pytest.approx(tpot_ms, rel=0.02)
    assert seen.distribution("queue_ms").mean == pytest.approx(queue_ms, abs=1)
    for key in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        d = seen.distribution(key)
        assert d.at("p50").low <= d.at("p50").value <= d.at("p50").high
        assert d.at("p50").value <= d.at("p95").value <= d.at("p99").value


def test_overload_is_saturated_and_the_client_saw_what_the_bucket_says() -> None:
    waiting = recording("vllm_overloaded")
    assert Feed({"a:8000": lambda _: waiting}).read().state is State.SATURATED
    d = between("vllm_overloaded", "vllm_after_overload").distribution("ttft_ms")
    assert d.at("p95").low < 6729 < d.at("p95").high  # the load generator's p95 of the overload


def test_preemptions_show_although_the_gauges_look_harmless() -> None:
    seen = between("vllm_kv_pressure", "vllm_after_kv_pressure")
    assert seen.number("preemptions_per_s") > 0
    assert seen.number("kv_usage_max") < 0.95
