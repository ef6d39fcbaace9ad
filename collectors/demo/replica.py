"""Counters and histograms of one vLLM replica of the demo, as its /metrics page shows them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from collectors.backends.scrape.text import PageSample
from collectors.demo.queue import BLOCK_TOKENS, KV_TOKENS, MAX_SEQUENCES, ReplicaState, StepOutcome
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
"""Sigma of the lognormal that gaps follow. Chosen: steps of an engine vary by a fifth."""
# The middle of each twelfth of a lognormal with mean 1: how the gaps of one second lie around their mean.
ITL_FACTORS = tuple(math.exp(NormalDist(-(ITL_SPREAD**2) / 2, ITL_SPREAD).inv_cdf((i + 0.5) / 12)) for i in range(12))

Floats = NDArray[np.float64]
Labels = tuple[tuple[str, str], ...]
Row = tuple[str, Labels, float]
Family = tuple[str, str, list[Row]]
"""Name, type, and rows of series name, sorted labels and value."""


class Histogram:
    """Counts per bucket, and the sum."""

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.counts: Floats = np.zeros(len(edges) + 1)
        self.sum = 0.0

    def add(self, values: Floats, times: Floats | None = None) -> None:
        """Observe each of ``values`` as often as ``times`` says (None: once)."""
        if len(values):
            self.counts += np.bincount(np.searchsorted(self.edges, values), times, len(self.counts))
            self.sum += float(values.sum() if times is None else values @ times)

    @property
    def count(self) -> float:
        """How many values were observed so far."""
        return float(self.counts.sum())


@dataclass
class ReplicaCounters:
    """What a replica has counted since it started. Observations wait until somebody looks: many are sorted at once."""

    counters: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0.0))
    histograms: dict[str, Histogram] = field(default_factory=lambda: {k: Histogram(e) for k, e in EDGES.items()})
    finished: dict[str, int] = field(default_factory=lambda: {"stop": 0, "length": 0, "abort": 0, "error": 0})
    statuses: dict[str, int] = field(default_factory=dict)
    _ttft_s: list[float] = field(default_factory=list)
    _steps: list[tuple[float, int]] = field(default_factory=list)
    _done: list[tuple[float, float, float, float, int, int]] = field(default_factory=list)

    def record(self, out: StepOutcome, *, cache_hits: float, rng: np.random.Generator) -> None:
        """Count what happened in one step."""
        counters = self.counters
        self._ttft_s += out.ttft_s
        if out.tokens:
            self._steps.append((out.itl_s, out.tokens))
        counters["prompt_tokens_total"] += out.prompt_tokens
        counters["generation_tokens_total"] += out.tokens + len(out.ttft_s)
        counters["num_preemptions_total"] += out.preemptions
        counters["prefix_cache_queries_total"] += out.prompt_tokens
        counters["prefix_cache_hits_total"] += round(out.prompt_tokens * cache_hits)
        number = len(out.finished)
        if not number:
            return
        self._done += [
            (r.arrived_s, r.admitted_s, r.first_token_s, left_s, r.input_tokens, r.output_tokens)
            for r, left_s in out.finished
        ]
        cut = int(rng.binomial(number, 0.1))
        self.finished["length"] += cut
        self.finished["stop"] += number - cut
        self.statuses["2xx"] = self.statuses.get("2xx", 0) + number
        if rng.random() < 0.01 * number:
            self.statuses["4xx"] = self.statuses.get("4xx", 0) + 1

    def sort(self) -> None:
        """Put what waits into the buckets."""
        seen = self.histograms
        seen["time_to_first_token_seconds"].add(np.array(self._ttft_s))
        if self._steps:
            itl_s, tokens = np.array(self._steps).T
            seen["inter_token_latency_seconds"].add(np.outer(itl_s, ITL_FACTORS).ravel(), _shared(tokens).ravel())
        if self._done:
            arrived, admitted, first, left, given, wanted = np.array(self._done).T
            seen["request_queue_time_seconds"].add(np.maximum(0.0, admitted - arrived))
            seen["request_prefill_time_seconds"].add(first - admitted)
            seen["request_decode_time_seconds"].add(left - first)
            seen["e2e_request_latency_seconds"].add(left - arrived)
            per_token = np.where(wanted > 1, (left - first) / np.maximum(1, wanted - 1), 0.0)
            seen["request_time_per_output_token_seconds"].add(per_token)
            seen["request_prompt_tokens"].add(given)
            seen["request_generation_tokens"].add(wanted)
        self._ttft_s, self._steps, self._done = [], [], []


def _shared(tokens: Floats) -> Floats:
    """Tokens of each step over the twelfths; the remainder falls elsewhere every time."""
    parts = len(ITL_FACTORS)
    turn = (np.arange(parts) + 5 * np.arange(len(tokens))[:, None]) % parts
    return np.asarray(tokens[:, None] // parts + (turn < tokens[:, None] % parts), dtype=np.float64)


@dataclass
class DemoReplica:
    """One replica: its queue and what it has counted since it started."""

    number: int
    started_s: float
    state: ReplicaState = field(default_factory=ReplicaState)
    tally: ReplicaCounters = field(default_factory=ReplicaCounters)
    last: StepOutcome = field(default_factory=StepOutcome)
    lost: bool = False

    @property
    def pod(self) -> str:
        """Name of its pod."""
        return pod_name(self.number)

    def record(self, out: StepOutcome, *, cache_hits: float, rng: np.random.Generator) -> None:
        """Count what happened in one step."""
        self.last = out
        self.tally.record(out, cache_hits=cache_hits, rng=rng)

    def families(self) -> Iterator[Family]:
        """What the metrics page shows, family by family."""
        state, tally, waiting = self.state, self.tally, float(len(self.state.waiting))
        tally.sort()
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
        for counter, value in tally.counters.items():
            yield f"vllm:{counter}", "counter", [(f"vllm:{counter}", own, float(value))]
        name = "vllm:request_success_total"
        finished = [(name, _with(own, "finished_reason", reason), float(n)) for reason, n in tally.finished.items()]
        yield name, "counter", finished
        for family, histogram in tally.histograms.items():
            yield f"vllm:{family}", "histogram", _histogram_rows(f"vllm:{family}", own, histogram)
        yield "vllm:cache_config_info", "gauge", [("vllm:cache_config_info", _cache_config(self.pod), 1.0)]
        name = "http_requests_total"
        answered = [
            (name, _with(_handled(self.pod), "status", status), float(n)) for status, n in tally.statuses.items()
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
        """The text that the replica's ``/metrics`` answers with."""
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
    totals: list[float] = histogram.counts.cumsum().tolist()
    rows = [(bucket, edge, total) for edge, total in zip(edges, totals, strict=True)]
    return [*rows, (f"{name}_count", labels, rows[-1][2]), (f"{name}_sum", labels, histogram.sum)]


def _handled(pod: str) -> Labels:
    return (("handler", "/v1/chat/completions"), ("method", "POST"), ("pod", pod))


def pod_name(number: int) -> str:
    """The pod of a replica."""
    return f"demo-{number}"


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
