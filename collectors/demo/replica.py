"""Counters and histograms of one vLLM replica of the demo, as its /metrics page shows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from statistics import NormalDist

import numpy as np

from collectors.demo.queue import BLOCK_TOKENS, KV_TOKENS, MAX_SEQUENCES, Outcome, ReplicaState
from collectors.scrape.text import PageSample
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
# The middle of each twelfth of a lognormal with mean 1: how the gaps of one second lie around their mean.
ITL_FACTORS = tuple(math.exp(NormalDist(-(ITL_SPREAD**2) / 2, ITL_SPREAD).inv_cdf((i + 0.5) / 12)) for i in range(12))

Labels = tuple[tuple[str, str], ...]
Row = tuple[str, Labels, float]
Family = tuple[str, str, list[Row]]
"""Name, type, and rows of series name, sorted labels and value."""


class Histogram:
    """Counts per bucket, and the sum. Observations are sorted into buckets when somebody looks: many at once."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.sum = 0.0
        self._sorted = np.zeros(len(edges) + 1)
        self._values: list[float] = []
        self._times: list[int] = []

    def add(self, value: float, times: int = 1) -> None:
        """Observe ``value`` some times."""
        self._values.append(value)
        self._times.append(times)
        self.sum += value * times

    @property
    def counts(self) -> list[float]:
        """Observations in each bucket so far."""
        if self._values:
            places = np.searchsorted(self.edges, self._values)
            self._sorted += np.bincount(places, self._times, len(self._sorted))
            self._values, self._times = [], []
        counts: list[float] = self._sorted.tolist()
        return counts

    @property
    def count(self) -> float:
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
        return f"demo-{self.number}"

    def record(self, out: Outcome, *, cache_hits: float, rng: np.random.Generator) -> None:
        """Count what happened in one step."""
        self.last = out
        counters, seen = self.counters, self.histograms
        for value in out.ttft_s:
            seen["time_to_first_token_seconds"].add(value)
        if out.tokens:
            each, more = divmod(out.tokens, len(ITL_FACTORS))
            first = int(rng.integers(len(ITL_FACTORS)))  # the remainder falls elsewhere every time
            for i, factor in enumerate(ITL_FACTORS):
                seen["inter_token_latency_seconds"].add(out.itl_s * factor, each + ((i + first) % 12 < more))
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

    def families(self) -> Iterator[Family]:
        """What the metrics page shows, family by family."""
        state, waiting = self.state, float(len(self.state.waiting))
        own = self._labels
        yield "process_start_time_seconds", "gauge", [("process_start_time_seconds", self._pod, self.started_s)]
        for name, value in (
            ("vllm:num_requests_running", float(state.count)),
            ("vllm:num_requests_waiting", waiting),
            ("vllm:kv_cache_usage_perc", min(1.0, state.kv_tokens() / KV_TOKENS)),
        ):
            yield name, "gauge", [(name, own, value)]
        name = "vllm:num_requests_waiting_by_reason"
        reasons = (("capacity", waiting), ("deferred", 0.0))
        yield name, "gauge", [(name, _with(own, "reason", reason), number) for reason, number in reasons]
        for counter, value in self.counters.items():
            yield f"vllm:{counter}", "counter", [(f"vllm:{counter}", own, float(value))]
        name = "vllm:request_success_total"
        finished = [(name, _with(own, "finished_reason", reason), float(n)) for reason, n in self.finished.items()]
        yield name, "counter", finished
        for family, histogram in self.histograms.items():
            yield f"vllm:{family}", "histogram", _histogram_rows(f"vllm:{family}", own, histogram)
        yield "vllm:cache_config_info", "gauge", [("vllm:cache_config_info", _cache_config(self.pod), 1.0)]
        name = "http_requests_total"
        answered = [
            (name, _with(_handled(self.pod), "status", status), float(n)) for status, n in self.statuses.items()
        ]
        yield name, "counter", answered

    @property
    def _pod(self) -> Labels:
        return (("pod", self.pod),)

    @property
    def _labels(self) -> Labels:
        return (("engine", "0"), ("model_name", MODEL), ("pod", self.pod))

    def samples(self) -> list[PageSample]:
        """The samples of the metrics page."""
        return [PageSample(*row) for _, _, rows in self.families() for row in rows]

    def page(self) -> str:
        """The metrics page."""
        return written(self.families())


def written(families: Iterable[Family]) -> str:
    """A metrics page in the text format."""
    lines = []
    for name, kind, rows in families:
        lines.append(f"# TYPE {name} {kind}")
        lines += [f"{series_text(sample, labels)} {value!r}" for sample, labels, value in rows]
    return "\n".join(lines) + "\n"


@cache
def series_text(name: str, labels: Labels) -> str:
    """A series as a page writes it."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels)
    return f"{name}{{{inside}}}"


@cache
def _with(labels: Labels, key: str, value: str) -> Labels:
    return tuple(sorted((*labels, (key, value))))


@cache
def _edges(labels: Labels, edges: tuple[float, ...]) -> tuple[Labels, ...]:
    return tuple(_with(labels, "le", "+Inf" if edge == float("inf") else repr(float(edge))) for edge in edges)


def _histogram_rows(name: str, labels: Labels, histogram: Histogram) -> list[Row]:
    bucket, edges = f"{name}_bucket", _edges(labels, (*histogram.edges, float("inf")))
    totals = accumulate(histogram.counts, initial=0.0)
    next(totals)
    rows = [(bucket, edge, total) for edge, total in zip(edges, totals, strict=True)]
    return [*rows, (f"{name}_count", labels, rows[-1][2]), (f"{name}_sum", labels, histogram.sum)]


def _handled(pod: str) -> Labels:
    return (("handler", "/v1/chat/completions"), ("method", "POST"), ("pod", pod))


@cache
def _cache_config(pod: str) -> Labels:
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
    return tuple((key, str(value)) for key, value in labels.items())
