"""One run seen by the load generator, by the engine's own counters and by the collector."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.backends.backend import Backend
from collectors.backends.scrape.text import PageSample
from collectors.reading import read_from
from collectors.source import Source
from tests.tools.chain.counted import counted_between
from tests.tools.chain.recording import Recording

LATENCIES = ("ttft_ms", "tpot_ms", "e2e_ms")
QUANTILES = ("p50", "p95", "p99")
RANKS = (0.50, 0.95, 0.99)
"""The same as shares."""
FINISHED_SHARE = 0.02
"""Largest difference of counts. Chosen: because a scrape misses requests at the edges of the window."""
MEAN_SHARE = 0.07
"""Largest difference of a mean, as a share of it."""
HISTOGRAMS = {
    "ttft_ms": "vllm:time_to_first_token_seconds",
    "tpot_ms": "vllm:request_time_per_output_token_seconds",
    "e2e_ms": "vllm:e2e_request_latency_seconds",
}

View = dict[str, Any]
"""``finished``, ``prompt_tokens``, ``generation_tokens`` and the latencies in ms, each with mean and quantiles."""


def of_generator(result: Mapping[str, Any]) -> View:
    """The detailed result file of vLLM's load generator.

    A quantile is the request of that rank, as a histogram counts; interpolated between two requests, as the generator
    itself prints it, it may fall into the bucket below.
    """
    names = {"ttft_ms": "ttft", "tpot_ms": "tpot", "e2e_ms": "e2el"}
    ttft = 1000 * np.array(result["ttfts"])
    decode = 1000 * np.array([sum(gaps) for gaps in result["itls"]])
    requests = {"ttft_ms": ttft, "tpot_ms": decode / (np.array(result["output_lens"]) - 1), "e2e_ms": ttft + decode}
    ranked = {key: np.quantile(values, RANKS, method="inverted_cdf").tolist() for key, values in requests.items()}
    return {
        "finished": result["completed"],
        "prompt_tokens": result["total_input_tokens"],
        "generation_tokens": result["total_output_tokens"],
        **{
            key: {"mean": result[f"mean_{name}_ms"], **dict(zip(QUANTILES, ranked[key], strict=True))}
            for key, name in names.items()
        },
    }


def of_server(recording: Recording) -> View:
    """The engine's own counters: the last page less the first."""
    first, last = recording.samples(0), recording.samples(-1)

    def grown(name: str) -> float:
        return _sum(last, name) - _sum(first, name)

    return {
        "finished": grown("vllm:request_success_total"),
        "prompt_tokens": grown("vllm:prompt_tokens_total"),
        "generation_tokens": grown("vllm:generation_tokens_total"),
        **{key: {"mean": 1000 * grown(f"{name}_sum") / grown(f"{name}_count")} for key, name in HISTOGRAMS.items()},
    }


def _sum(samples: Sequence[PageSample], name: str) -> float:
    return sum(sample.value for sample in samples if sample.name == name)


def of_collector(backend: Backend, source: Source, *, start_s: float, end_s: float, clock: Callable[[], float]) -> View:
    """What the collector reads over the window: exact counts, and the distributions of its observation."""
    counted = counted_between(backend, source, start_s=start_s, end_s=end_s, clock=clock).counts
    observed = read_from(backend, source, at_s=end_s, window_s=end_s - start_s, clock=clock)
    values = observed.as_json()["values"]
    return {
        "state": observed.state.value,
        **{key: counted[key] for key in ("finished", "prompt_tokens", "generation_tokens")},
        **{key: values[key] for key in LATENCIES},
    }


@dataclass(frozen=True, kw_only=True)
class Check:
    """One comparison: two numbers, and whether they agree as they must."""

    what: str
    unit: str
    reference: float
    collector: float
    must: str
    ok: bool


def checks(generator: View, server: View, collector: View) -> list[Check]:
    """Generator against collector, then the server's own sums against collector."""
    results = [
        _check("finished requests", "", generator["finished"], collector["finished"], FINISHED_SHARE),
        _check("prompt tokens", "", generator["prompt_tokens"], collector["prompt_tokens"], 0.0),
        _check("generated tokens", "", generator["generation_tokens"], collector["generation_tokens"], 0.0),
    ]
    for key in ("tpot_ms", "e2e_ms"):
        name = key.removesuffix("_ms").upper()
        results.append(_check(f"{name} mean", "ms", generator[key]["mean"], collector[key]["mean"], MEAN_SHARE))
        results += [_inside(f"{name} {q}", generator[key][q], collector[key], q) for q in QUANTILES]
    for key in LATENCIES:
        name = key.removesuffix("_ms").upper()
        results.append(_check(f"{name} mean, of the server", "ms", server[key]["mean"], collector[key]["mean"], 1e-9))
    return results


def _check(what: str, unit: str, reference: float, collector: float, share: float) -> Check:
    must = "equal" if share < 1e-6 else f"within {share:.0%}"
    ok = abs(collector - reference) <= share * abs(reference)
    return Check(what=what, unit=unit, reference=reference, collector=collector, must=must, ok=ok)


def _inside(what: str, reference: float, distribution: Mapping[str, float | None], q: str) -> Check:
    """In the bucket that the engine counted it in; at the edge of one their clocks may differ as means do."""
    low, high, value = distribution[f"{q}_low"], distribution[f"{q}_high"], distribution[q]
    assert low is not None
    assert value is not None
    upper = "and more" if high is None else f"to {high:g}"
    inside = low <= reference and (high is None or reference <= high)
    near = low * (1 - MEAN_SHARE) <= reference and (high is None or reference <= high * (1 + MEAN_SHARE))
    must = f"in {low:g} {upper}" + ("" if inside or not near else f", or {MEAN_SHARE:.0%} beside it")
    return Check(what=what, unit="ms", reference=reference, collector=value, must=must, ok=near)
