"""Hits of prefix caches: exact for a trace, by the characteristic time for sessions that are only stated."""

import csv
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.reuse_accuracy import TABLE, replayed
from sizing.base.choices import CacheRouting
from sizing.reuse.block_trace import BlockTrace, hit_curve
from sizing.reuse.sessions import SecondTier, SessionShape, SessionTraffic
from tests.sizing.reuse.invented_sessions import BLOCK, as_trace

AGENT = SessionShape(turns=8, first_prompt=3200, growth=896, answer=128, shared=1280, think_s=20, tool_s=10)
PER_S = 0.5
ROUTINGS: tuple[CacheRouting, ...] = ("random", "session_affinity", "prefix_aware")
POINTS = 0.03


def test_a_hand_checked_trace() -> None:
    trace = BlockTrace.of([4, 4, 4], [["a", "b"], ["a", "c"], ["a", "b"]], 2)
    curve = hit_curve(trace)
    assert curve.at(np.array([1.0, 2.0, 4.0, 6.0])).tolist() == pytest.approx([0.0, 4 / 12, 4 / 12, 6 / 12])
    assert curve.unlimited == pytest.approx(0.5)


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True), min_size=1, max_size=20),
    st.integers(1, 9),
)
def test_one_pass_says_what_a_replay_of_each_size_says(prompts: list[list[int]], room: int) -> None:
    named = [[tuple(prompt[: i + 1]) for i in range(len(prompt))] for prompt in prompts]  # a block names all before it
    trace = BlockTrace.of([8.0 * len(p) for p in prompts], named, 8)
    assert float(hit_curve(trace).at(8.0 * room)) == pytest.approx(replayed(trace, 1, "random", 8.0 * room))


@pytest.mark.parametrize(("routing", "replicas"), list(itertools.product(ROUTINGS, (1, 4))))
def test_traces_and_stated_sessions_agree_with_a_replay(routing: CacheRouting, replicas: int) -> None:
    trace = as_trace(AGENT, PER_S, 4000.0)
    stated = SessionTraffic(shape=AGENT, sessions_per_s=PER_S)
    for share in (0.25, 0.75):
        capacity = share * stated.working_set
        exact = replayed(trace, replicas, routing, capacity, followed_from=1 + int(AGENT.shared) // BLOCK)
        assert float(hit_curve(trace, replicas, routing).at(capacity)) == pytest.approx(exact, abs=POINTS)
        assert stated.rows(capacity, replicas, routing).hit_share == pytest.approx(exact, abs=POINTS)


def test_the_mooncake_trace_is_held_within_three_points_of_its_replay() -> None:
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["routing"] for row in rows} == set(ROUTINGS)
    assert all(abs(float(row["model_percent"]) - float(row["replay_percent"])) <= 3.0 for row in rows)
    one = {int(row["capacity_tokens"]): float(row["model_percent"]) for row in rows if row["replicas"] == "1"}
    assert (one[512_000], one[2_048_000], one[8_192_000]) == pytest.approx((4.5, 8.8, 26.8), abs=0.1)


def test_more_room_never_holds_less_and_more_replicas_at_random_never_more() -> None:
    stated = SessionTraffic(shape=AGENT, sessions_per_s=PER_S, service_s=4.0)
    capacities = np.geomspace(0.05, 50.0, 12) * stated.working_set
    for routing, replicas in itertools.product(ROUTINGS, (1, 3, 16)):
        shares = [stated.rows(float(c), replicas, routing).hit_share for c in capacities]
        assert np.all(np.diff(shares) >= -1e-9)
    at_random = [stated.rows(stated.working_set, n, "random").hit_share for n in (1, 2, 4, 8)]
    assert np.all(np.diff(at_random) < 0)


def test_all_is_held_without_limit_and_only_what_was_said_before_is() -> None:
    stated = SessionTraffic(shape=AGENT, sessions_per_s=PER_S)
    prompts = AGENT.prompt(np.arange(1.0, 9.0))
    again = AGENT.shared + float((prompts[:-1] + AGENT.answer).sum())
    assert stated.rows(1e12, 1, "prefix_aware").hit_share == pytest.approx(again / float(prompts.sum()), rel=1e-3)
    assert stated.rows(0.0, 1, "prefix_aware").hit_share == 0.0


def test_rows_are_a_distribution_of_requests_shorter_cached_than_asked() -> None:
    for turns, replicas in itertools.product((1, 2, 8, 300), (1, 5)):
        stated = SessionTraffic(shape=replace(AGENT, turns=turns), sessions_per_s=PER_S, service_s=2.0)
        rows = stated.rows(stated.working_set, replicas, "random")
        assert float(rows.share.sum()) == pytest.approx(1.0)
        assert np.all(rows.cached < rows.prompt)
        assert float(rows.share[rows.first].sum()) == pytest.approx(1.0 / turns)
        mean = AGENT.first_prompt + (turns - 1) / 2 * (AGENT.growth + AGENT.answer)
        assert float(rows.share @ rows.prompt) == pytest.approx(mean, rel=1e-6)


def test_working_set_is_the_sessions_at_once_times_their_history() -> None:
    stated = SessionTraffic(shape=AGENT, sessions_per_s=PER_S)
    history = AGENT.prompt(np.arange(1.0, 8.0)) + AGENT.answer - AGENT.shared
    assert stated.at_once == pytest.approx(PER_S * 7 * 30)
    assert stated.working_set == pytest.approx(stated.at_once * float(history.mean()) + AGENT.shared)


def test_idle_sessions_and_running_ones_take_room_from_each_other() -> None:
    quick, slow = (SessionTraffic(shape=AGENT, sessions_per_s=PER_S, service_s=s) for s in (0.0, 20.0))
    room = 0.8 * quick.working_set
    assert slow.running > 0.0 == quick.running
    assert slow.rows(room, 1, "prefix_aware").hit_share < quick.rows(room, 1, "prefix_aware").hit_share


def test_a_second_tier_is_the_larger_cache_and_loading_costs_what_it_takes() -> None:
    stated = SessionTraffic(shape=AGENT, sessions_per_s=PER_S)
    first, second = 0.3 * stated.working_set, 1.0 * stated.working_set
    at_once = SecondTier(capacity=second, of_all=False, start_s=0.0, token_s=0.0, computed_token_s=1e-5)
    for routing, replicas in itertools.product(ROUTINGS, (1, 4)):
        both = stated.rows(first, replicas, routing, at_once)
        assert float(both.share.sum()) == pytest.approx(1.0)
        assert both.hit_share == pytest.approx(stated.rows(second, replicas, routing).hit_share, abs=0.005)
        slow = replace(at_once, start_s=0.001, token_s=0.5e-5)
        assert stated.rows(first, replicas, routing).hit_share < stated.rows(first, replicas, routing, slow).hit_share
        assert stated.rows(first, replicas, routing, slow).hit_share < both.hit_share
    of_all = replace(at_once, of_all=True)
    assert stated.rows(first, 8, "random", of_all).hit_share > stated.rows(second, 8, "random").hit_share
    tier = SecondTier(capacity=1.0, of_all=False, start_s=0.01, token_s=1e-6, computed_token_s=1e-5)
    assert tier.pays_from == pytest.approx(0.01 / 9e-6)
    assert tier.saves(np.array([0.0, 500.0, 10_000.0])).tolist() == pytest.approx([0.0, 0.0, 10_000 - 0.02 / 1e-5])
