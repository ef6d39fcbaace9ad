"""What vLLM and dcgm-exporter would have shown of a deployment of known causes, at every scrape."""

import math
from collections.abc import Iterator

import numpy as np

from collectors.vocabulary import engine_vocabularies
from tests.tools.deployment_truth import Floats, History, Served

_VLLM = engine_vocabularies()["vllm"].buckets
TTFT_EDGES, GAP_EDGES, E2E_EDGES = _VLLM["ttft"], _VLLM["itl"], _VLLM["e2e"]
TOKEN_EDGES = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))[:-1]
CLOCK_MHZ, HOT = 1980.0, 0x40


Row = tuple[str, tuple[tuple[str, str], ...], Floats]
"""A series: name, sorted labels, one value a scrape."""


def series_of(history: History, *, model: str, product: str, gpus: int) -> Iterator[Row]:
    """Every series of the history as vLLM and dcgm-exporter name them; one pod a replica."""
    slow = [*history.world.slowness, *([1.0] * len(history.replicas))]
    for i, one in enumerate(history.replicas):
        pod = f"server-{i}"
        own = (("engine", "0"), ("instance", f"{pod}:8000"), ("job", "vllm"), ("model_name", model), ("pod", pod))
        yield from _engine_series(history, one, own)
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


def _engine_series(history: History, one: Served, own: tuple[tuple[str, str], ...]) -> Iterator[Row]:
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
    blocks = history.world.kv_tokens // 16
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
        ("vllm:time_to_first_token_seconds", one.first, one.first - one.arrive, TTFT_EDGES),
        ("vllm:request_time_per_output_token_seconds", one.ended, zero_gap, GAP_EDGES),
        ("vllm:e2e_request_latency_seconds", one.ended, one.ended - one.arrive, E2E_EDGES),
        ("vllm:request_queue_time_seconds", one.ended, one.started - one.arrive, E2E_EDGES),
        ("vllm:request_prompt_tokens", one.ended, one.prompt, TOKEN_EDGES),
        ("vllm:request_generation_tokens", one.ended, one.output, TOKEN_EDGES),
    ):
        yield from _histogram(name, own, at, values, edges, marks)
    counts = one.gaps[: len(marks)].cumsum(axis=0)
    name = "vllm:inter_token_latency_seconds"
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
    name: str, own: tuple[tuple[str, str], ...], at: Floats, values: Floats, edges: tuple[float, ...], marks: Floats
) -> Iterator[Row]:
    for edge in (*edges, math.inf):
        yield f"{name}_bucket", _with(own, "le", _edge(edge)), _summed(at, (values <= edge).astype(float), marks)
    yield f"{name}_count", own, _summed(at, np.ones(len(at)), marks)
    yield f"{name}_sum", own, _summed(at, np.nan_to_num(values), marks)


def _edge(edge: float) -> str:
    return "+Inf" if math.isinf(edge) else repr(float(edge))


def _with(labels: tuple[tuple[str, str], ...], key: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((*labels, (key, value))))
