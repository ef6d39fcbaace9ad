"""What vLLM and dcgm-exporter would have shown of a deployment of known causes, at every scrape."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from collectors.vocabulary import engine_vocabularies
from tests.tools.deployment_truth import Floats, History, Served

_VLLM = engine_vocabularies()["vllm"].buckets
TTFT_EDGES, GAP_EDGES, E2E_EDGES = _VLLM["ttft"], _VLLM["itl"], _VLLM["e2e"]
TOKEN_EDGES = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))[:-1]
SGLANG_TTFT_EDGES = engine_vocabularies()["sglang"].buckets["ttft"]
SGLANG_E2E_EDGES = (0.1, 0.3, 0.5, 0.8, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
TRTLLM_TPOT_EDGES = engine_vocabularies()["trtllm_serve"].buckets["tpot"]
TGI_EDGES = tuple(1e-3 * 1.5**k for k in range(40))
TGI_TOKEN_EDGES = tuple(80.0 * k for k in range(1, 100))
"""Of TGI: durations grow by half from bucket to bucket, and lengths have a hundred buckets of one width."""
CLOCK_MHZ, HOT = 1980.0, 0x40


Labels = tuple[tuple[str, str], ...]
Row = tuple[str, Labels, Floats]
"""A series: name, sorted labels, one value a scrape."""


def series_of(
    history: History, *, model: str, product: str, gpus: int, kv_tokens: int | None = None, engine: str = "vllm"
) -> Iterator[Row]:
    """Every series of the history as an engine (:data:`ENGINES`) and dcgm-exporter name them; one pod a replica."""
    slow = [*history.world.slowness, *([1.0] * len(history.replicas))]
    for i, one in enumerate(history.replicas):
        pod = f"server-{i}"
        own = (("engine", "0"), ("instance", f"{pod}:8000"), ("job", "vllm"), ("model_name", model), ("pod", pod))
        yield from ENGINES[engine](history, one, own, kv_tokens or history.world.kv_tokens)
        for k in range(gpus):
            hot = slow[i] > 1.0
            labels = (
                ("UUID", f"GPU-{i}-{k}"),
                ("gpu", str(i * gpus + k)),
                ("instance", "node:9400"),
                ("job", "dcgm"),
                ("modelName", product),
                ("pod", pod),
            )
            full = np.ones(len(history.marks))
            yield "DCGM_FI_DEV_SM_CLOCK", labels, full * (CLOCK_MHZ / slow[i] if hot else CLOCK_MHZ)
            yield "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", labels, full * (HOT if hot else 0.0)
            yield "DCGM_FI_DEV_GPU_UTIL", labels, full * 97.0
            yield "DCGM_FI_DEV_POWER_USAGE", labels, full * 500.0


def _vllm(history: History, one: Served, own: Labels, kv_tokens: int) -> Iterator[Row]:
    marks = history.marks
    queries = np.where(np.isnan(one.first), 0.0, one.prompt)
    yield "vllm:num_requests_running", own, one.seen[:, 0]
    yield "vllm:num_requests_waiting", own, one.seen[:, 1]
    yield "vllm:kv_cache_usage_perc", own, np.minimum(one.seen[:, 2] / history.world.kv_tokens, 1.0)
    yield "vllm:prompt_tokens_total", own, _summed(one.first, queries, marks)
    yield "vllm:prefix_cache_queries_total", own, _summed(one.first, one.prompt, marks)
    yield "vllm:prefix_cache_hits_total", own, _summed(one.first, one.cached, marks)
    first = _summed(one.first, np.ones(len(one.first)), marks)
    yield "vllm:generation_tokens_total", own, first + one.gaps.sum(axis=1)[: len(marks)].cumsum()
    yield "vllm:num_preemptions_total", own, np.zeros(len(marks))
    done = _summed(one.ended, np.ones(len(one.ended)), marks)
    yield "vllm:request_success_total", _with(own, "finished_reason", "stop"), done
    blocks = kv_tokens // 16
    config = {
        "block_size": "16",
        "cache_dtype": "auto",
        "kv_cache_size_tokens": str(blocks * 16),
        "num_gpu_blocks": str(blocks),
    }
    info = tuple(sorted([*((k, v) for k, v in own if k != "model_name"), *config.items()]))
    yield "vllm:cache_config_info", info, np.ones(len(marks))
    several = np.where(one.output > 1, one.output - 1.0, np.nan)
    zero_gap = np.where(one.output > 1, (one.ended - one.first) / several, 0.0)
    for name, at, values, edges in (
        ("vllm:time_to_first_token_seconds", one.first, one.first - one.asked, TTFT_EDGES),
        ("vllm:request_time_per_output_token_seconds", one.ended, zero_gap, GAP_EDGES),
        ("vllm:e2e_request_latency_seconds", one.ended, one.ended - one.asked, E2E_EDGES),
        ("vllm:request_queue_time_seconds", one.ended, one.started - one.arrive, E2E_EDGES),
        ("vllm:request_prefill_time_seconds", one.ended, one.first - one.started, E2E_EDGES),
        ("vllm:request_prompt_tokens", one.ended, one.prompt, TOKEN_EDGES),
        ("vllm:request_generation_tokens", one.ended, one.output, TOKEN_EDGES),
    ):
        yield from _histogram(name, own, at, values, edges, marks)
    yield from _gap_histogram("vllm:inter_token_latency_seconds", own, one, marks)


def _sglang(history: History, one: Served, own: Labels, kv_tokens: int) -> Iterator[Row]:
    """SGLang with --enable-metrics alone: no histograms of lengths."""
    marks, one_each = history.marks, np.ones(len(one.first))
    own = tuple(pair for pair in own if pair[0] != "engine")
    yield "sglang:num_running_reqs", own, one.seen[:, 0]
    yield "sglang:num_queue_reqs", own, one.seen[:, 1]
    yield "sglang:token_usage", own, np.minimum(one.seen[:, 2] / history.world.kv_tokens, 1.0)
    yield "sglang:max_total_num_tokens", own, np.full(len(marks), float(kv_tokens))
    yield "sglang:prompt_tokens_total", own, _summed(one.ended, one.prompt, marks)
    yield "sglang:cached_tokens_total", _with(own, "cache_source", "device"), _summed(one.ended, one.cached, marks)
    yield "sglang:generation_tokens_total", own, _summed(one.ended, one.output, marks)
    yield "sglang:num_requests_total", own, _summed(one.ended, one_each, marks)
    computed = _with(own, "mode", "prefill_compute"), _summed(one.first, one.prompt - one.cached, marks)
    yield "sglang:realtime_tokens_total", *computed
    yield "sglang:realtime_tokens_total", _with(own, "mode", "prefill_cache"), _summed(one.first, one.cached, marks)
    made = _summed(one.first, one_each, marks) + one.gaps.sum(axis=1)[: len(marks)].cumsum()
    yield "sglang:realtime_tokens_total", _with(own, "mode", "decode"), made
    first, ended, queued = one.first - one.asked, one.ended - one.asked, one.started - one.arrive
    yield from _histogram("sglang:time_to_first_token_seconds", own, one.first, first, SGLANG_TTFT_EDGES, marks)
    yield from _histogram("sglang:e2e_request_latency_seconds", own, one.ended, ended, SGLANG_E2E_EDGES, marks)
    yield from _histogram("sglang:queue_time_seconds", own, one.started, queued, SGLANG_TTFT_EDGES, marks)
    yield from _gap_histogram("sglang:inter_token_latency_seconds", own, one, marks)


def _trtllm(history: History, one: Served, own: Labels, kv_tokens: int) -> Iterator[Row]:
    """trtllm-serve with enable_iter_perf_stats and return_perf_metrics: counted at the end of a request."""
    marks, one_each = history.marks, np.ones(len(one.first))
    own = tuple(pair for pair in own if pair[0] != "engine")
    yield "trtllm_num_requests_running", own, one.seen[:, 0]
    yield "trtllm_num_requests_waiting", own, one.seen[:, 1]
    yield "trtllm_kv_cache_utilization", own, np.minimum(one.seen[:, 2] / history.world.kv_tokens, 1.0)
    yield "trtllm_kv_cache_max_blocks", own, np.full(len(marks), float(kv_tokens // 32))
    yield "trtllm_kv_cache_tokens_per_block", own, np.full(len(marks), 32.0)
    yield "trtllm_request_success_total", _with(own, "finished_reason", "stop"), _summed(one.ended, one_each, marks)
    yield "trtllm_prompt_tokens_total", own, _summed(one.ended, one.prompt, marks)
    yield "trtllm_generation_tokens_total", own, _summed(one.ended, one.output, marks)
    yield "trtllm_kv_cache_reused_blocks_total", own, _summed(one.started, one.cached // 32, marks)
    new = np.ceil((one.prompt - one.cached) / 32)
    yield "trtllm_kv_cache_missed_blocks_total", own, _summed(one.started, new, marks)
    several = np.where(one.output > 1, one.output - 1.0, np.nan)
    for name, values, edges in (
        ("trtllm_time_to_first_token_seconds", one.first - one.asked, TTFT_EDGES),
        ("trtllm_time_per_output_token_seconds", (one.ended - one.first) / several, TRTLLM_TPOT_EDGES),
        ("trtllm_e2e_request_latency_seconds", one.ended - one.asked, E2E_EDGES),
        ("trtllm_request_queue_time_seconds", one.started - one.arrive, E2E_EDGES),
    ):
        at = np.where(np.isnan(values), np.nan, one.ended)
        yield from _histogram(name, own, at, values, edges, marks)


def _tgi(history: History, one: Served, own: Labels, kv_tokens: int) -> Iterator[Row]:
    """TGI 3: histograms of the end of a request, and means of queue and prefill; its metrics have no labels."""
    marks, one_each = history.marks, np.ones(len(one.first))
    own = tuple(pair for pair in own if pair[0] not in ("engine", "model_name"))
    yield "tgi_batch_current_size", own, one.seen[:, 0]
    yield "tgi_queue_size", own, one.seen[:, 1]
    yield "tgi_batch_current_max_tokens", own, one.seen[:, 2]
    yield "tgi_batch_max_total_tokens", own, np.full(len(marks), float(kv_tokens))
    yield "tgi_request_count", own, _summed(one.asked, one_each, marks)
    yield "tgi_request_success", own, _summed(one.ended, one_each, marks)
    several = np.where(one.output > 1, one.output - 1.0, np.nan)
    for name, at, values, edges in (
        ("tgi_request_input_length", one.arrive, one.prompt, TGI_TOKEN_EDGES),
        ("tgi_request_generated_tokens", one.ended, one.output, TGI_TOKEN_EDGES),
        ("tgi_request_queue_duration", one.started, one.started - one.arrive, TGI_EDGES),
        ("tgi_request_inference_duration", one.ended, one.ended - one.started, TGI_EDGES),
        ("tgi_request_mean_time_per_token_duration", one.ended, (one.ended - one.first) / several, TGI_EDGES),
        ("tgi_request_duration", one.ended, one.ended - one.asked, TGI_EDGES),
    ):
        yield from _histogram(name, own, np.where(np.isnan(values), np.nan, at), values, edges, marks)
    prefill = one.first - one.started
    labels = _with(own, "method", "prefill")
    yield from _histogram("tgi_batch_inference_duration", labels, one.first, prefill, TGI_EDGES, marks)


def _nim(history: History, one: Served, own: Labels, kv_tokens: int) -> Iterator[Row]:
    """NIM 1: no prefix, gaps called per output token, and nothing about the size of the KV cache."""
    marks, one_each = history.marks, np.ones(len(one.first))
    own = tuple(pair for pair in own if pair[0] != "engine")
    yield "num_requests_running", own, one.seen[:, 0]
    yield "num_requests_waiting", own, one.seen[:, 1]
    yield "num_request_max", own, np.full(len(marks), float(history.world.slots))
    yield "gpu_cache_usage_perc", own, np.minimum(one.seen[:, 2] / kv_tokens, 1.0)
    yield "prompt_tokens_total", own, _summed(one.first, one.prompt, marks)
    made = _summed(one.first, one_each, marks) + one.gaps.sum(axis=1)[: len(marks)].cumsum()
    yield "generation_tokens_total", own, made
    yield "request_finish_total", _with(own, "finished_reason", "stop"), _summed(one.ended, one_each, marks)
    for name, at, values, edges in (
        ("time_to_first_token_seconds", one.first, one.first - one.asked, TTFT_EDGES),
        ("e2e_request_latency_seconds", one.ended, one.ended - one.asked, E2E_EDGES),
        ("request_prompt_tokens", one.ended, one.prompt, TOKEN_EDGES),
        ("request_generation_tokens", one.ended, one.output, TOKEN_EDGES),
    ):
        yield from _histogram(name, own, at, values, edges, marks)
    yield from _gap_histogram("time_per_output_token_seconds", own, one, marks)


ENGINES: Mapping[str, Callable[[History, Served, Labels, int], Iterator[Row]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "trtllm": _trtllm,
    "tgi": _tgi,
    "nim": _nim,
}
"""How each engine shows a replica of the history."""


def _gap_histogram(name: str, own: Labels, one: Served, marks: Floats) -> Iterator[Row]:
    """The gaps between tokens, which are counted in the buckets of vLLM."""
    counts = one.gaps[: len(marks)].cumsum(axis=0)
    for k, edge in enumerate((*GAP_EDGES, math.inf)):
        yield f"{name}_bucket", _with(own, "le", _edge(edge)), counts[:, : k + 1].sum(axis=1)
    yield f"{name}_count", own, counts.sum(axis=1)
    yield f"{name}_sum", own, one.gap_sum[: len(marks)].cumsum()


def _summed(at: Floats, values: Floats, marks: Floats) -> Floats:
    """What a counter of ``values`` shows at every mark."""
    known = ~np.isnan(at)
    order = np.argsort(at[known])
    total = np.concatenate([[0.0], np.cumsum(values[known][order])])
    return total[np.searchsorted(at[known][order], marks, side="right")]


def _histogram(
    name: str, own: Labels, at: Floats, values: Floats, edges: tuple[float, ...], marks: Floats
) -> Iterator[Row]:
    for edge in (*edges, math.inf):
        yield f"{name}_bucket", _with(own, "le", _edge(edge)), _summed(at, (values <= edge).astype(float), marks)
    yield f"{name}_count", own, _summed(at, np.ones(len(at)), marks)
    yield f"{name}_sum", own, _summed(at, np.nan_to_num(values), marks)


def _edge(edge: float) -> str:
    return "+Inf" if math.isinf(edge) else repr(float(edge))


def _with(labels: Labels, key: str, value: str) -> Labels:
    return tuple(sorted((*labels, (key, value))))
