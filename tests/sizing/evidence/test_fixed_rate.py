"""An open loop is answered by the simulation of a plan: it agrees with the closed loop, with plans, and with itself."""

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario, plan
from sizing.evidence.ends import FRONT_END
from sizing.evidence.open_loop import SAME_RATE, stretched_rate
from sizing.evidence.point_table import mixed_times, point_table
from sizing.evidence.points import points_of
from sizing.evidence.predict import OVERLOADED, predict_points
from sizing.evidence.uncertainty import intervals
from sizing.steps.mixture import mixture
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

ROW: dict[str, Any] = {"engine": "vllm", "gpu": "h100_sxm", "mode": "fixed_rate"}
SMALL = {"model": LLAMA_8B, "weight_precision": "bf16", "gpus": 1, "tp": 1}
LARGE = {"model": LLAMA_70B, "weight_precision": "fp8", "gpus": 4, "tp": 4}
MOE = {"model": "deepseek-ai/DeepSeek-R1", "weight_precision": "fp8", "gpu": "h200_sxm", "gpus": 8, "tp": 8, "ep": 8}
SYSTEMS: list[dict[str, Any]] = [
    {**SMALL, "isl": 1000, "osl": 200},
    {**SMALL, "isl": 200, "osl": 1000},
    {**LARGE, "isl": 2000, "osl": 300},
    {**MOE, "isl": 1000, "osl": 1000},
]


def predict(*rows: dict[str, Any]) -> pd.DataFrame:
    return predict_points(pd.DataFrame([{**ROW, **one} for one in rows]))


@pytest.mark.parametrize("row", SYSTEMS, ids=lambda row: f"{row['model']}, {row['isl']}/{row['osl']}")
def test_closed_and_open_loop_agree_by_littles_law(row: dict[str, Any]) -> None:
    """At the rate of so many in flight the open loop has as many, and then the ITL of the closed loop.

    Up to 80 % of what is carried for ever, from 8 in flight: with two the requests that come at random meet more of
    each other than two that take turns. Further apart, by 9 to 18 %: prompts of 8,000 tokens before answers of 300, for
    the same reason, and two pipeline stages.
    """
    stable, shares = predict(row).loc[0, "requests_per_s"], []
    closed = {**row, "mode": "fixed_concurrency"}
    for count in (8, 16, 32, 64, 128):
        rate = (
            count
            / predict({**closed, "concurrency_or_batch": count, "num_prompts": 100 * count}).loc[0, "e2e_ms"]
            * 1e3
        )
        if rate > 0.8 * stable:
            break
        found = predict({**row, "request_rate_rps": rate}).loc[0]
        met = found["requests_per_s"] * found["e2e_ms"] / 1e3
        same = predict({**closed, "concurrency_or_batch": met, "num_prompts": 100 * met}).loc[0]
        assert found["itl_ms"] == pytest.approx(same["itl_ms"], rel=0.05)
        shares.append(rate / stable)
    assert len(shares) >= 3


@cache
def at(share: float, number: int) -> pd.Series:
    """A system at a share of what it carries for ever."""
    row = SYSTEMS[number]
    stable = predict(row).loc[0, "requests_per_s"]
    return predict({**row, "request_rate_rps": share * stable}).loc[0]


@given(
    number=st.integers(0, len(SYSTEMS) - 1),
    shares=st.lists(st.integers(1, 105), min_size=2, max_size=2, unique=True).map(sorted),
)
def test_latency_never_falls_with_the_rate(number: int, shares: list[int]) -> None:
    """The requests are the same at every rate, so that little is left to chance."""
    less, more = (at(share / 100, number) for share in shares)
    for name in ("ttft_ms", "itl_ms", "e2e_ms", "itl_ms_p99"):
        assert more[name] >= 0.99 * less[name]
    assert more["ttft_ms_p99"] >= 0.95 * less["ttft_ms_p99"]
    assert more["requests_per_s"] >= less["requests_per_s"]


@pytest.mark.parametrize("peak", [36, 75])
def test_a_benchmark_at_the_rate_of_a_plan_has_its_percentiles(peak: int) -> None:
    """Mean lengths only, as in the smallest scenario; what differs is how many more requests were simulated. A row of
    several replicas is one of them with its share of random arrivals, as behind a router that knows of no load."""
    deployment = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "routing": "random"}
    scenario = raw(
        LLAMA_8B,
        workload={"input_tokens": 1000, "output_tokens": 200, "peak_rps": peak},
        limits={"ttft_ms": 1000, "itl_ms": 50, "percentile": 95},
        deployment=deployment,
    )
    planned = plan(Scenario.model_validate(scenario))
    chosen, latency = planned.deployment, planned.latency
    assert chosen
    assert latency
    assert chosen.dp == chosen.pp == 1
    row = {"model": LLAMA_8B, "weight_precision": chosen.weight_precision, "kv_precision": chosen.kv_precision}
    row |= {"tp": chosen.tp, "gpus": chosen.instances * chosen.tp, "isl": 1000, "osl": 200}
    found = predict({**row, "request_rate_rps": peak}).loc[0]
    assert found["ttft_ms"] == pytest.approx(latency.ttft_ms.at(50), rel=0.01)
    assert found["ttft_ms_p99"] == pytest.approx(latency.ttft_ms.at(99), rel=0.02)
    assert found["itl_ms_p99"] == pytest.approx(latency.itl_ms.at(99), rel=0.01)


def test_little_load_is_one_request_alone() -> None:
    alone = predict({**SYSTEMS[0], "mode": "fixed_concurrency", "concurrency_or_batch": 1}).loc[0]
    assert at(0.01, 0)["itl_ms"] == pytest.approx(alone["itl_ms"], rel=0.03)


LATENCIES = ["ttft_ms", "itl_ms", "e2e_ms", "ttft_ms_p99", "itl_ms_p99"]


def test_beyond_the_largest_stable_rate_that_rate_is_given_and_no_latency() -> None:
    """A row without a rate is asked for the largest; one just above it cannot be told from it."""
    stable = predict(SYSTEMS[0]).loc[0, "requests_per_s"]
    rates = (math.nan, 0.8 * stable, 0.999 * SAME_RATE * stable, 3.0 * stable)
    largest, below, near, beyond = (predict({**SYSTEMS[0], "request_rate_rps": r}).loc[0] for r in rates)
    assert below["requests_per_s"] == pytest.approx(rates[1])
    assert near["requests_per_s"] == beyond["requests_per_s"] == stable
    assert near["itl_ms"] > below["itl_ms"]
    assert beyond[LATENCIES].isna().all()
    assert largest[LATENCIES].isna().all()
    sentence = f"the largest stable rate is {stable:.3g} requests/s"
    assert [sentence in found["source"] for found in (largest, below, near, beyond)] == [True, False, True, True]
    assert " sure that " in near["source"]
    assert "; unstable at " in beyond["source"]
    assert beyond["error"] == "", "the rate is an answer"


def test_the_interval_is_the_same_load_with_step_times_at_their_ends() -> None:
    """Decode steps as far off as closed loops are, prompts as static batches: an engine that is so fast, or so slow."""
    row = {**ROW, **SYSTEMS[0], "request_rate_rps": 0.5 * predict(SYSTEMS[0]).loc[0, "requests_per_s"]}
    points = point_table(points_of(pd.DataFrame([row]))[0])
    point = points.points[0]
    loads = np.array([[math.nan, 1000.0, 200.0]])
    apart = mixed_times(points, np.ones((1, 1)), mixture()).times.apart_of(np.array([0]))
    asked = (("decode", point.model, [point.configuration]), ("prefill", point.model, [point.configuration]))
    steps = [one for each in asked for one in intervals(*each, loads=loads, apart=apart)]
    found = predict(row).loc[0]
    for end in ("low", "high"):
        factors = [np.array([getattr(one, f"{end}_factor")]) for one in steps]
        front = FRONT_END if end == "high" else 1 / FRONT_END
        simulated = stretched_rate(points, mixture(), *factors, front)
        assert found[f"itl_ms_{end}"] == pytest.approx(1e3 * simulated.itl_s[0, 0])
        assert found[f"e2e_ms_{end}"] == pytest.approx(1e3 * simulated.e2e_s[0, 0])
        assert found[f"ttft_ms_{end}"] == pytest.approx(1e3 * simulated.ttft_s[0, 0])


@pytest.mark.parametrize("number", range(3))
def test_an_open_loop_is_less_certain_the_nearer_it_is_to_its_capacity(number: int) -> None:
    """Of dense models; a mixture of experts reads more of them with every request at little load, too."""
    little, much = (at(share, number) for share in (0.1, 0.8))
    for name in ("itl_ms", "e2e_ms"):
        assert much[f"{name}_high"] / much[name] > 1.2 * little[f"{name}_high"] / little[name]
        assert much[f"{name}_low"] < much[name] < much[f"{name}_high"]


def test_an_engine_too_slow_for_the_load_is_answered_at_the_heaviest_that_it_carries() -> None:
    """Not without end: a queue that grows for ever is in no measurement."""
    found, heavier = at(0.99, 0), at(0.9, 0)
    assert found[[f"{name}_high" for name in LATENCIES[:3]]].notna().all()
    assert found["itl_ms_high"] == pytest.approx(heavier["itl_ms_high"], rel=0.01)
    assert [OVERLOADED in one["source"] for one in (found, heavier, at(0.1, 0))] == [True, True, False]


def test_replicas_share_the_rate() -> None:
    one, two = predict(
        {**SYSTEMS[0], "request_rate_rps": 8}, {**SYSTEMS[0], "gpus": 2, "dp": 2, "request_rate_rps": 16}
    ).to_dict("records")
    assert two["itl_ms"] == one["itl_ms"]
    assert two["requests_per_s"] == 2 * one["requests_per_s"]


def test_what_has_run_fits_and_a_cached_prefix_saves_its_prefill() -> None:
    """405B in 8 bit on one 4-GPU node of 141 GB has room for a few sequences only by a plan's memory."""
    row = {"model": "meta-llama/Llama-3.1-405B-Instruct", "weight_precision": "fp8", "gpu": "h200_sxm", "tp": 4}
    tight = predict({**row, "gpus": 4, "isl": 60_000, "osl": 100}).loc[0]
    assert tight["requests_per_s"] > 0
    cached, plain = (
        predict({**SMALL, "isl": 9000, "osl": 100, "prefix_cached_tokens": c, "request_rate_rps": 1}).loc[0]
        for c in (8000, 0)
    )
    assert 0 < cached["ttft_ms"] < 0.3 * plain["ttft_ms"]


def test_tokens_beyond_any_context_window_are_an_error_of_the_row() -> None:
    found = predict({**SMALL, "isl": 1e8, "osl": 10}, {**SMALL, "isl": 1e7, "osl": 10}, {**SMALL, "isl": 10, "osl": 10})
    assert found["error"].tolist() == ["isl and osl must be at most 10,000,000", "", ""]
    assert (found["requests_per_s"][1:] > 0).all(), "what was measured has run, whatever memory a plan leaves"


def test_an_instance_of_many_ranks_is_filled_before_its_largest_rate_counts() -> None:
    """64 attention-DP ranks have 65,536 slots: what fits at once says nothing of what is carried for ever."""
    row = {"model": "deepseek-ai/DeepSeek-R1", "weight_precision": "fp8", "gpu": "h200_sxm", "engine": "sglang"}
    wide = {**row, "gpus": 64, "tp": 1, "dp": 64, "ep": 64, "isl": 1000, "osl": 200}
    stable = predict(wide).loc[0, "requests_per_s"]
    queued = predict({**wide, "mode": "offline_max_throughput"}).loc[0, "requests_per_s"]
    assert stable < 2 * queued
