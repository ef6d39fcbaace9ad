"""Deployments whose truth is known: observations made from the simulator itself, and from the demo."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import sizing
from collectors.demo.feed import DemoFeed
from collectors.prometheus.answers import Bucket
from collectors.prometheus.histograms import HistogramQuantiles, distribution
from collectors.questions.deployments import KvSettings, LoadOverTime, ObservedDeployment
from collectors.reading.observation import Observation, State, unknown_distributions, unknown_numbers, without_data
from collectors.reading.remarks import RemarkKind, remark
from collectors.vocabulary import engine_vocabularies
from reality.compare import Planned, compare_source, planned_of
from reality.result import FigureVerdict, RealityComparison
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.scenario.file import load_scenario
from sizing.scenario.schema import Scenario
from sizing.search.replicas import as_replica, lengths_of
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet
from sizing.simulator.layout import BIN_RATIO, BINS, E2E, ITL, QUEUE, SMALLEST_S, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan

NOW = 1_800_000_000.0
HOUR = 3600.0
DEMO_SCENARIO = Path(sizing.__file__).parents[1] / "reality" / "data" / "demo_scenario.yaml"
TOKEN_EDGES = [m * 10.0**e for e in range(6) for m in (1, 2, 5)]
SERVED = "meta-llama/Llama-3.3-70B-Instruct"
PINNED = {
    "gpus": ["h100_sxm"],
    "engines": ["vllm"],
    "precisions": ["fp8"],
    "kv_precisions": ["fp16"],
    "tp": [2],
    "speculation": "off",
}
"""What is deployed: no drafts, so that its step times are known as well as those of any measured configuration."""


def scenario(**workload: Any) -> Scenario:
    asked = {"input_tokens": {"p50": 1500, "p95": 3500}, "output_tokens": {"p50": 200, "p95": 600}, "peak_rps": 12.0}
    return Scenario.model_validate(
        {
            "name": "test",
            "model": SERVED,
            "workload": asked | workload,
            "limits": {"ttft_ms": 2000, "itl_ms": 80},
            "deployment": PINNED,
        }
    )


def planned(asked: Scenario) -> Planned:
    return planned_of(Answer(understand(asked), sizing.plan(asked)))


KV = KvSettings(block_tokens=16, blocks=14_288, cache_type="auto", engines=4)


def deployed(
    *,
    model: str = SERVED,
    product: str = "NVIDIA H100 80GB HBM3",
    by: str = "pod",
    models: tuple[str, ...] = (),
    gpu_products: tuple[str, ...] = (),
    kv: tuple[KvSettings, ...] = (KV,),
    load: LoadOverTime | None = None,
) -> ObservedDeployment:
    """What is deployed: one model on one product, unless several are named."""
    return ObservedDeployment(
        models=models or (model,), gpu_products=gpu_products or (product,), gpus_by=by, kv=kv, load=load
    )


def observation(
    numbers: dict[str, float | None] | None = None,
    distributions: dict[str, HistogramQuantiles] | None = None,
    *,
    engine: str = "vllm",
    window_s: float = HOUR,
) -> Observation:
    return Observation(
        name="truth",
        state=State.OK,
        at_s=NOW,
        window_s=window_s,
        scrape_interval_s=15.0,
        engine=engine,
        numbers=unknown_numbers() | (numbers or {}),
        distributions=unknown_distributions() | (distributions or {}),
    )


def silent(state: State, reason: str = "It is silent.") -> Observation:
    return without_data(
        name="truth", state=state, cause=remark(RemarkKind.SOURCE_FAILED, error=reason), at_s=NOW, window_s=HOUR
    )


def in_buckets(values: np.ndarray, weights: np.ndarray, edges: Sequence[float]) -> HistogramQuantiles:
    """What a server's histogram would show of these values."""
    bounds = [0.0, *edges, np.inf]
    place = np.searchsorted(np.asarray(edges), values, side="left")
    counts = np.bincount(place, weights=weights, minlength=len(edges) + 1)
    buckets = [Bucket(low=a, high=b, count=float(c)) for a, b, c in zip(bounds[:-1], bounds[1:], counts, strict=True)]
    total = float(weights.sum())
    return distribution(buckets, rate_sum=float((values * weights).sum()), rate_count=total, window_s=1.0, scale=1.0)


def latencies_of(outcome: SimulationCounts, replicas: int) -> dict[str, HistogramQuantiles]:
    """The latencies of a simulation as an engine's histograms would show them for so many replicas."""
    buckets = engine_vocabularies()["vllm"].buckets
    middles = np.concatenate([[SMALLEST_S / 2], SMALLEST_S * BIN_RATIO ** (np.arange(BINS - 1) + 0.5)])
    found = {}
    for name, metric, edges in (
        ("ttft_ms", TTFT, "ttft"),
        ("tpot_ms", ITL, "itl"),
        ("e2e_ms", E2E, "e2e"),
        ("queue_ms", QUEUE, "e2e"),
    ):
        counts = outcome.histogram[metric].every_bin().astype(float) * replicas
        found[name] = in_buckets(middles * 1e3, counts, [edge * 1e3 for edge in buckets[edges]])
    return found


def simulated_truth(
    asked: Scenario, *, rps: float, replicas: int, seed: int = 7, slower: float = 1.0, window_s: float = HOUR
) -> tuple[Observation, ObservedDeployment]:
    """An hour of the planned deployment as its metrics would show it; ``slower`` times the plan's step times.

    Requests come and are drawn as in the scenario, from another seed than the prediction uses.
    """
    ready = planned(asked)
    assert ready.row is not None
    one = as_replica(ready.answer.question, ready.row)
    replica = replace(one, grid=one.grid.stretched(slower, slower))
    lengths = lengths_of(ready.answer.question)
    drawn = lengths.sample(tuple(np.random.default_rng(seed + i) for i in range(3)), 20_000)
    fleet, rate, expected = Fleet(replicas=(replica,)), rps / replicas, round(rps / replicas * window_s)
    outcome = drive(
        fleet,
        Arrivals(rate_rps=rate).stream(lengths, window_s, seed),
        MeasuredSpan(expected=expected, horizon_s=window_s, warm_up=expected // 20),
    )
    found = latencies_of(outcome, replicas)
    weights = np.full(drawn.shape[1], rps * window_s / drawn.shape[1])
    found["input_tokens"] = in_buckets(drawn[0], weights, TOKEN_EDGES)
    found["output_tokens"] = in_buckets(drawn[1], weights, TOKEN_EDGES)
    first, last = found["ttft_ms"].mean, found["e2e_ms"].mean
    assert first is not None
    assert last is not None
    tokens = outcome.generated_tokens / outcome.finished
    found["itl_ms"] = HistogramQuantiles(mean=(last - first) / (tokens - 1), count=outcome.generated_tokens * replicas)
    queue = found["queue_ms"].mean
    assert queue is not None
    numbers: dict[str, float | None] = {
        "arrivals_rps": rps,
        "finished_rps": rps,
        "generation_tokens_per_s": rps * float(drawn[1].mean()),
        "running": rps * (last - queue) / 1e3,
        "replicas": float(replicas),
        "replicas_lost": 0.0,
        "gpus": float(ready.row.gpus * replicas),
        "prefix_hit_ratio": float(drawn[2].sum() / drawn[0].sum()),
        "kv_capacity_tokens": one.kv_tokens,
        "kv_usage": float(outcome.column("kv_s").sum()) / outcome.horizon_s,
    }
    load = LoadOverTime(step_s=120.0, rps=(rps,) * 30)
    return observation(numbers, found, window_s=window_s), deployed(load=load)


@cache
def demo_plan() -> tuple[Scenario, sizing.base.result.Plan]:
    asked = load_scenario(DEMO_SCENARIO)
    return asked, sizing.plan(asked)


@cache
def demo(hour: float, hours: float = 0.3, window_s: float | None = None, replicas: int = 4) -> RealityComparison:
    """The demo at an hour of its day against what was planned for it."""
    feed = DemoFeed(hours=hours, second_of_day=hour * HOUR, clock=lambda: NOW, replicas=replicas)
    asked, plan = demo_plan()
    source = feed.source(window_s or hours * HOUR)
    return compare_source(Answer(understand(asked), plan), source, backend=feed.backend, clock=lambda: NOW)


def verdicts(found: RealityComparison) -> dict[str, FigureVerdict]:
    traffic = {row.key: row.verdict for row in found.traffic}
    return traffic | {row.key: row.verdict for row in found.performance}
