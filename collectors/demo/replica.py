"""Counters and histograms of one vLLM replica of the demo, as its /metrics page shows them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from collectors.demo.queue import BLOCK_TOKENS, KV_TOKENS, MAX_SEQUENCES, Outcome, ReplicaState
from collectors.vocabulary import engine_vocabularies

MODEL = "demo/Llama-3.3-70B-Instruct-FP8"
_LATENCY = engine_vocabularies()["vllm"].buckets
TOKEN_EDGES = tuple(float(m * 10**e) for e in range(6) for m in (1, 2, 5))[:-1]
EDGES = {
    "time_to_first_token_seconds": _LATENCY["ttft"],
    "inter_token_latency_seconds": _LATENCY["itl"],
    "request_time_per_output_token_seconds": _LATENCY["itl"],
    "e2e_request_latency_seconds": _LATENCY["e2e"],
    "request_queue_time_seconds": _LATENCY["e2e"],
    "request_prefill_time_seconds": _LATENCY["e2e"],
    "request_decode_time_seconds": _LATENCY["e2e"],
    "request_prompt_tokens": TOKEN_EDGES,
    "request_generation_tokens": TOKEN_EDGES,
}
COUNTERS = (
    "prompt_tokens_total",
    "generation_tokens_total",
    "num_preemptions_total",
    "prefix_cache_queries_total",
    "prefix_cache_hits_total",
)
ITL_SPREAD = 0.18
HANDLER = 'handler="/v1/chat/completions",method="POST"'


class Histogram:
    """Counts per bucket, and the sum."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.counts = [0] * (len(edges) + 1)
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Observe ``value`` some times."""
        self.counts[bisect_left(self.edges, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self.counts)


@dataclass
class Replica:
    """One replica: its queue and what it has counted since it started."""

    number: int
    started_s: float
    state: ReplicaState = field(default_factory=ReplicaState)
    counters: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0.0))
    histograms: dict[str, Histogram] = field(default_factory=lambda: {k: Histogram(e) for k, e in EDGES.items()})
    finished: dict[str, int] = field(default_factory=lambda: {"stop": 0, "length": 0, "abort": 0, "error": 0})
    statuses: dict[str, int] = field(default_factory=dict)
    last: Outcome = field(default_factory=Outcome)
    lost: bool = False

    @property
    def pod(self) -> str:
        """Name of its pod."""
        return pod_name(self.number)

    def record(self, out: Outcome, *, cache_hits: float, rng: np.random.Generator) -> None:
        """Count what happened in one step."""
        self.last = out
        counters, seen = self.counters, self.histograms
        for value in out.ttft_s:
            seen["time_to_first_token_seconds"].add(value)
        if out.tokens:
            values = out.itl_s * np.exp(rng.normal(0.0, ITL_SPREAD, 12) - ITL_SPREAD**2 / 2)
            shares = rng.multinomial(out.tokens, np.full(12, 1 / 12))
            for value, times in zip(values, shares, strict=True):
                seen["inter_token_latency_seconds"].add(float(value), int(times))
        counters["prompt_tokens_total"] += out.prompt_tokens
        counters["generation_tokens_total"] += out.tokens + len(out.ttft_s)
        counters["num_preemptions_total"] += out.preemptions
        counters["prefix_cache_queries_total"] += out.prompt_tokens
        counters["prefix_cache_hits_total"] += round(out.prompt_tokens * cache_hits)
        for request, left_s in out.finished:
            decode = left_s - request.first_token_s
            seen["request_queue_time_seconds"].add(max(0.0, request.admitted_s - request.arrived_s))
            seen["request_prefill_time_seconds"].add(request.first_token_s - request.admitted_s)
            seen["request_decode_time_seconds"].add(decode)
            seen["e2e_request_latency_seconds"].add(left_s - request.arrived_s)
            per_token = decode / (request.output_tokens - 1) if request.output_tokens > 1 else 0.0
            seen["request_time_per_output_token_seconds"].add(per_token)
            seen["request_prompt_tokens"].add(request.input_tokens)
            seen["request_generation_tokens"].add(request.output_tokens)
            self.finished["length" if rng.random() < 0.1 else "stop"] += 1
            self.statuses["2xx"] = self.statuses.get("2xx", 0) + 1
        if out.finished and rng.random() < 0.01 * len(out.finished):
            self.statuses["4xx"] = self.statuses.get("4xx", 0) + 1

    def page(self) -> str:
        """The metrics page."""
        own = f'engine="0",model_name="{MODEL}",pod="{self.pod}"'
        state = self.state
        waiting = len(state.waiting)
        lines = [
            "# TYPE process_start_time_seconds gauge",
            f'process_start_time_seconds{{pod="{self.pod}"}} {self.started_s!r}',
        ]
        gauges: dict[str, float] = {
            "num_requests_running": state.count,
            "num_requests_waiting": waiting,
            "kv_cache_usage_perc": min(1.0, state.kv_tokens() / KV_TOKENS),
        }
        for name, value in gauges.items():
            lines += [f"# TYPE vllm:{name} gauge", f"vllm:{name}{{{own}}} {float(value)!r}"]
        lines.append("# TYPE vllm:num_requests_waiting_by_reason gauge")
        for reason, number in (("capacity", waiting), ("deferred", 0)):
            lines.append(f'vllm:num_requests_waiting_by_reason{{{own},reason="{reason}"}} {float(number)!r}')
        for name, value in self.counters.items():
            lines += [f"# TYPE vllm:{name} counter", f"vllm:{name}{{{own}}} {float(value)!r}"]
        lines.append("# TYPE vllm:request_success_total counter")
        lines += [
            f'vllm:request_success_total{{{own},finished_reason="{k}"}} {float(v)!r}' for k, v in self.finished.items()
        ]
        for name, histogram in self.histograms.items():
            lines += _histogram_lines(f"vllm:{name}", own, histogram)
        lines += ["# TYPE vllm:cache_config_info gauge", _cache_config(self.pod), "# TYPE http_requests_total counter"]
        lines += [
            f'http_requests_total{{{HANDLER},pod="{self.pod}",status="{k}"}} {float(v)!r}'
            for k, v in self.statuses.items()
        ]
        return "\n".join(lines) + "\n"


def _histogram_lines(name: str, labels: str, histogram: Histogram) -> list[str]:
    lines = [f"# TYPE {name} histogram"]
    total = 0
    for edge, count in zip((*histogram.edges, float("inf")), histogram.counts, strict=True):
        total += count
        shown = "+Inf" if edge == float("inf") else repr(float(edge))
        lines.append(f'{name}_bucket{{{labels},le="{shown}"}} {float(total)!r}')
    return [*lines, f"{name}_count{{{labels}}} {float(total)!r}", f"{name}_sum{{{labels}}} {histogram.sum!r}"]


def pod_name(number: int) -> str:
    """The pod of a replica."""
    return f"demo-{number}"


def _cache_config(pod: str) -> str:
    blocks = KV_TOKENS // BLOCK_TOKENS
    labels = {
        "block_size": BLOCK_TOKENS,
        "cache_dtype": "auto",
        "enable_prefix_caching": "True",
        "engine": 0,
        "gpu_memory_utilization": 0.92,
        "kv_cache_max_concurrency": KV_TOKENS / 8192,
        "kv_cache_size_tokens": KV_TOKENS,
        "max_num_seqs": MAX_SEQUENCES,
        "num_gpu_blocks": blocks,
        "pod": pod,
    }
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"vllm:cache_config_info{{{inside}}} 1.0"
