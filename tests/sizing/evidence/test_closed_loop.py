"""Closed loops as they are run: by hand, against the steady state, and short ones."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sizing.evidence.closed_loop import DRAWN, ENDING, ROUNDS, lengths, lognormal, runs, spread
from sizing.evidence.expected import expected, steady
from sizing.evidence.open_loop import systems
from sizing.evidence.point_table import point_table
from sizing.evidence.points import Point, points_of
from sizing.evidence.predict import NEAR, SURELY_UNSTABLE, predict_points
from sizing.simulator.closed_loop import closed_loop
from sizing.simulator.fleet import Replica
from sizing.steps.roofline import roofline
from tests.sizing.simulator.building import grid

ROW: dict[str, Any] = {
    "model": "meta-llama/Meta-Llama-3-8B-Instruct",
    "weight_precision": "bf16",
    "gpu": "h100_sxm",
    "gpus": 1,
    "tp": 1,
    "engine": "vllm",
    "isl": 1000,
    "osl": 200,
}
CLOSED = {**ROW, "mode": "fixed_concurrency", "concurrency_or_batch": 16}
OPEN = {**ROW, "mode": "fixed_rate"}


def predict(*rows: dict[str, Any]) -> pd.DataFrame:
    return predict_points(pd.DataFrame(list(rows)))


def point(**cells: Any) -> Point:
    found, errors = points_of(pd.DataFrame([{**CLOSED, **cells}]))
    assert errors == {}
    return found[0]


def test_one_user_takes_turns_with_nobody() -> None:
    """Prompts of 10 ms and ten steps of 10 ms, and 5 ms before the engine has a request: 115 ms each, one by one."""
    engine = Replica(
        grid=grid(4, decode=lambda n, c: 0.01, row_s=1e-4),
        max_sequences=4,
        token_budget=1000,
        request_s=0.004,
        prompt_token_s=1e-5,
    )
    requests = np.tile([[100.0], [11.0], [0.0], [-1.0]], 5)
    found = closed_loop(engine, requests, 1)
    assert found["arrived"] == pytest.approx(0.115 * np.arange(5))
    assert found["first"] - found["arrived"] == pytest.approx(0.015)
    assert found["finished"] - found["arrived"] == pytest.approx(0.115)


def test_all_requests_of_all_users_are_served_and_no_more_are_in_flight() -> None:
    engine = Replica(
        grid=grid(64, decode=lambda n, c: 0.01 + 1e-4 * n, row_s=2e-5), max_sequences=64, token_budget=2000
    )
    requests = lengths(point(concurrency_or_batch=16, osl=50.5), engine, 160)
    found = closed_loop(engine, requests, 16)
    assert sorted(found["id"]) == list(range(160))
    events = sorted(
        [(t, 1) for t in found["arrived"]] + [(t, -1) for t in found["finished"]], key=lambda e: (e[0], e[1])
    )
    assert max(np.cumsum([step for _, step in events])) == 16


@pytest.mark.parametrize("users", [32, 64, 128])
def test_equal_answers_stay_together_where_prompts_have_steps_of_their_own(users: int) -> None:
    """SGLang: all prompts, then all answers. The simulation of the run agrees with the closed form of a round."""
    row = {**CLOSED, "engine": "sglang", "concurrency_or_batch": users}
    table = point_table(points_of(pd.DataFrame([row]))[0])
    simulated, by_hand = expected(table, roofline()), steady(table, roofline())
    assert simulated.ttft_s.item() == pytest.approx(by_hand.ttft_s.item(), rel=0.1)
    assert simulated.itl_s.item() == pytest.approx(by_hand.itl_s.item(), rel=0.05)
    varied = predict({**row, "osl": 200.5}).loc[0]
    assert varied["itl_ms"] > simulated.itl_s.item() * 1e3, "prompts interrupt those that do not wait for them together"
    assert varied["ttft_ms"] < simulated.ttft_s.item() * 1e3


@pytest.mark.parametrize("engine", ["vllm", "trtllm"])
def test_a_long_run_is_the_steady_state(engine: str) -> None:
    row = {**CLOSED, "engine": engine, "osl": 200.5, "concurrency_or_batch": 32, "num_prompts": 6400}
    table = point_table(points_of(pd.DataFrame([row]))[0])
    simulated, by_hand = expected(table, roofline()), steady(table, roofline())
    assert simulated.itl_s.item() == pytest.approx(by_hand.itl_s.item(), rel=0.03)
    assert simulated.rps.item() == pytest.approx(by_hand.rps.item(), rel=0.06)


def test_a_run_without_a_number_has_ten_requests_for_each_user() -> None:
    found = predict({**CLOSED, "num_prompts": ROUNDS * 16}, CLOSED)
    pd.testing.assert_series_equal(found.loc[0], found.loc[1], check_names=False)


def test_a_short_run_is_its_start_and_its_end() -> None:
    """One round: all queue for their prompts, and the last answers leave slots idle."""
    once, ten, hundred = (predict({**CLOSED, "osl": 200.5, "num_prompts": 16 * n}).loc[0] for n in (1, 10, 100))
    assert once["ttft_ms"] > ten["ttft_ms"] > hundred["ttft_ms"]
    assert once["requests_per_s"] < ten["requests_per_s"] < hundred["requests_per_s"]
    few = predict({**CLOSED, "num_prompts": 4}).loc[0]
    assert few["itl_ms"] < once["itl_ms"], "four requests are never sixteen"


def test_a_run_of_a_duration_has_the_requests_that_begin_in_it() -> None:
    by_time = predict({**CLOSED, "duration_s": 60}).loc[0]
    number = round(by_time["requests_per_s"] * 60)
    counted = predict({**CLOSED, "num_prompts": number}).loc[0]
    for name in ("ttft_ms", "itl_ms", "requests_per_s"):
        assert by_time[name] == pytest.approx(counted[name], rel=0.06)


def test_an_open_loop_that_ends_has_latencies_whatever_its_rate() -> None:
    stable = predict(OPEN).loc[0, "requests_per_s"]
    rows = [{**OPEN, "request_rate_rps": 3 * stable, "num_prompts": n} for n in (50, 500, 5000)]
    short, longer, longest = (predict(row).loc[0] for row in rows)
    assert short["ttft_ms"] < longer["ttft_ms"] < longest["ttft_ms"]
    assert longest["requests_per_s"] == pytest.approx(stable, rel=0.1)
    assert "carried" not in longest["source"]
    long_run = predict({**OPEN, "request_rate_rps": 0.5 * stable, "num_prompts": 20_000}).loc[0]
    endless = predict({**OPEN, "request_rate_rps": 0.5 * stable}).loc[0]
    timed = predict({**OPEN, "request_rate_rps": 0.5 * stable, "duration_s": 20_000 / (0.5 * stable)}).loc[0]
    for name in ("ttft_ms", "itl_ms", "ttft_ms_p99"):
        assert long_run[name] == pytest.approx(endless[name], rel=0.05)
        assert timed[name] == pytest.approx(long_run[name], rel=0.01)


def test_near_its_capacity_an_open_loop_has_a_probability_and_a_range() -> None:
    stable = predict(OPEN).loc[0, "requests_per_s"]
    shares = (0.8, 0.9, 1.0, 1.09)
    found = predict(*({**OPEN, "request_rate_rps": share * stable} for share in shares))
    said = [
        float(text.partition(" % sure that")[0].rpartition(" ")[2]) / 100 if " sure that" in text else 1.0
        for text in found["source"]
    ]
    assert shares[0] < NEAR
    assert said[0] == 1.0
    assert said == sorted(said, reverse=True)
    assert said[2] == pytest.approx(0.5, abs=0.01)
    assert said[3] >= SURELY_UNSTABLE
    assert found[["itl_ms", "itl_ms_low", "itl_ms_high", "ttft_ms_p99"]].notna().all(axis=None)


def test_lengths_have_the_mean_that_was_asked() -> None:
    rng = np.random.default_rng(1)
    drawn = spread(300.5, DRAWN, 999, rng)
    assert drawn.mean() == pytest.approx(300.5, rel=1e-3)
    assert drawn.min() >= round(300.5 * (1 - DRAWN))
    assert drawn.max() <= round(300.5 * (1 + DRAWN))
    chat = lognormal(300.0, 1.2).sample(rng, 200_000)
    assert chat.mean() == pytest.approx(300.0, rel=0.02)
    assert (chat.std() / chat.mean()) ** 2 == pytest.approx(1.2, rel=0.1)
    engine = Replica(grid=grid(4), max_sequences=4, token_budget=1000)
    apart = replace(engine, prompts_apart=True)
    assert np.ptp(lengths(point(), apart, 100)[1]) == 0.0
    assert np.ptp(lengths(point(), engine, 100)[1]) == pytest.approx(2 * ENDING * 200, rel=0.02)
    assert np.ptp(lengths(point(output_variation=0.5), engine, 100)[1]) > 200


def test_the_median_first_token_of_a_run_is_told_beside_the_mean() -> None:
    table = point_table([point(osl=200.5, num_prompts=160)])
    (run,) = runs(table, roofline())
    assert run.ttft_p50_s < run.ttft_s, "those that begin the run together wait longest"
    assert run.e2e_s == pytest.approx(run.ttft_s + 199.5 * run.itl_s, rel=0.01)
    assert math.isfinite(systems(table, roofline())[0].stable_rps)
