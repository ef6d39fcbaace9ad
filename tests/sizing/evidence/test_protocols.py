"""Closed forms of the protocols, worked out by hand from step times that are plain numbers."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sizing.evidence.protocols import (
    CHAT_VARIATION,
    STARTING,
    FrontEnd,
    ProtocolLengths,
    burst_sizes,
    fixed_concurrency,
    offline_burst,
    offline_max_throughput,
    prompt_steps_share,
    static_batch,
    sustained,
)
from sizing.steps.times import StepTimes

AT_ONCE = FrontEnd(request_s=np.zeros((1, 1)), prompt_token_s=0.0, first_token_steps=np.zeros((1, 1)))


def column(value):
    return np.array([[float(value)]])


def times(decode=0.01, prefill=0.2, work=0.1, fixed=0.0, stall=0.0, ranks=1.0):
    return StepTimes(
        decode_s=column(decode),
        prefill_s=np.array([prefill]),
        prefill_work_s=np.array([work]),
        source="by hand",
        prompt_step_s=column(fixed),
        stall_s=np.array([stall]),
        ranks=np.array([ranks]),
    )


def lengths(new=1000, output=101, budget=8192, variation=CHAT_VARIATION, together=False):
    return ProtocolLengths(
        new=column(new), output=column(output), budget=column(budget), variation=variation, together=together
    )


def test_a_burst_lasts_until_its_longest_answer_ends():
    """Steps of 10 ms at any batch: 100 requests last as long as the answer that 1 in 100 exceeds, 5.05 times the mean
    of a gamma distribution of shape 1 / 1.2 (its 99 % quantile is 5.0542); prompts of 0.1 s come before."""
    sent, room = column(100), column(1000)
    grid = burst_sizes(sent, room)
    steps = replace(times(), decode_s=np.full_like(grid, 0.01))
    steady = offline_max_throughput(times(), lengths(), sent)
    found = offline_burst(steps, steady, lengths(), sent, room)
    assert found.e2e_s.item() == pytest.approx(100 * 0.1 + 101 * 5.0542 * 0.01, rel=1e-3)
    assert found.rps.item() == pytest.approx(100 / found.e2e_s.item())


def test_equal_answers_of_a_burst_end_together():
    sent, room = column(100), column(1000)
    steps = replace(times(), decode_s=np.full_like(burst_sizes(sent, room), 0.01))
    equal = lengths(variation=0.0)
    found = offline_burst(steps, offline_max_throughput(times(), equal, sent), equal, sent, room)
    assert found.e2e_s.item() == pytest.approx(100 * 0.1 + 101 * 0.01, rel=0.01)


def test_answers_of_a_burst_vary_as_a_published_run_of_sharegpt_does():
    """At 5 requests/s decode is even: E2E less TTFT is answer length x TPOT, whose own variation comes off."""
    path = Path("tests/collectors/benchmarks/samples/sglang_bench_serving.jsonl")
    run = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    decoding = run["mean_e2e_latency_ms"] - run["mean_ttft_ms"]
    whole = (run["std_e2e_latency_ms"] ** 2 - run["std_ttft_ms"] ** 2) / decoding**2
    step = (run["std_tpot_ms"] / run["mean_tpot_ms"]) ** 2
    assert (whole - step) / (1.0 + step) == pytest.approx(CHAT_VARIATION, abs=0.05)
    median = (run["median_e2e_latency_ms"] - run["median_ttft_ms"]) / decoding
    assert stats.gamma(1 / CHAT_VARIATION, scale=CHAT_VARIATION).median() == pytest.approx(median, abs=0.02)


def test_a_burst_beyond_memory_runs_steadily_until_the_rest_fits():
    sent, room = column(1000), column(50)
    grid = burst_sizes(sent, room)
    steps = replace(times(), decode_s=np.full_like(grid, 0.01))
    steady = offline_max_throughput(times(), lengths(), room)
    found = offline_burst(steps, steady, lengths(), sent, room)
    alone = offline_burst(steps, steady, lengths(), room, room)
    assert found.e2e_s.item() == pytest.approx(950 / steady.rps.item() + alone.e2e_s.item())
    endless = offline_burst(steps, steady, lengths(), column(np.nan), room)
    assert endless.rps.item() == steady.rps.item()


def test_a_full_step_holds_the_sequences_that_its_prompts_replace():
    """A step of 2,048 tokens holds a prompt of 1,948 and a token each of 100 sequences, of which one ends. Two ranks
    have two such steps; answers of one token beside prompts longer than a step leave one sequence."""
    slots = [sustained(lengths(new=1948, output=100, budget=2048), column(batches)).item() for batches in (1, 2)]
    assert slots == pytest.approx([100.0, 200.0])
    assert sustained(lengths(new=32000, output=1, budget=2048), column(1)).item() == 1.0


def test_static_batch_is_one_prefill_and_the_decode_steps():
    found = static_batch(times(), lengths(), column(4), column(100))
    assert found.ttft_s.item() == pytest.approx(0.2 + 3 * 0.1)
    assert found.e2e_s.item() == pytest.approx(0.5 + 100 * 0.01)
    assert found.rps.item() == pytest.approx(4 / 1.5)


def test_a_static_batch_fills_attention_dp_ranks_evenly():
    """20 ms of experts and 80 ms on its own rank, of four: five prompts take 5 x 20 + 2 x 80 ms, four 4 x 20 + 80."""
    even, stall = 0.02 + 0.08 / 4, 0.08 * 3 / 4
    for batch, expected in ((1, 0.1), (4, 0.16), (5, 0.26), (8, 0.32)):
        found = static_batch(times(prefill=0.1, work=even, stall=stall, ranks=4.0), lengths(), column(batch), column(9))
        assert found.ttft_s.item() == pytest.approx(expected)


def test_a_closed_loop_waits_for_the_fullest_rank_and_an_offline_run_does_not():
    """31 in flight and answers of 101 tokens begin 0.307 prompts a step: more than one falls into a step rarely."""
    even, stall = 0.04, 0.06
    ranked, flat = (times(work=even, stall=s, ranks=4.0) for s in (stall, 0.0))
    waits, plain = (fixed_concurrency(t, lengths(), column(31), column(100), AT_ONCE) for t in (ranked, flat))
    more = (waits.itl_s - plain.itl_s).item() / (30 * stall / 101)
    a = 31 / 101 / 4  # prompts per rank and step
    below = [np.exp(-a), np.exp(-a) * (1 + a), np.exp(-a) * (1 + a + a**2 / 2)]  # P(at most 0, 1, 2 on a rank)
    largest = sum(1 - p**4 for p in below)
    assert more == pytest.approx((largest / (4 * a) - 1 / 4) / (3 / 4), rel=2e-3)
    assert waits.ttft_s.item() > plain.ttft_s.item(), "those that begin the run together wait, too"
    offline = [offline_max_throughput(t, lengths(), column(31)).rps.item() for t in (ranked, flat)]
    assert offline[0] == offline[1]


def test_a_batch_too_large_for_memory_runs_in_waves():
    whole, waves = (static_batch(times(), lengths(), column(b), column(4)) for b in (4, 8))
    assert waves.rps.item() == pytest.approx(whole.rps.item())
    assert waves.ttft_s.item() == pytest.approx(whole.ttft_s.item() + whole.e2e_s.item() / 2)


def test_closed_loop_of_one_is_never_interrupted():
    found = fixed_concurrency(times(), lengths(), column(1), column(100), AT_ONCE)
    assert found.itl_s.item() == pytest.approx(0.01)
    assert found.e2e_s.item() == pytest.approx(0.205 + 100 * 0.01)


def test_requests_that_stay_together_wait_for_all_prompts_and_then_decode_undisturbed():
    """Prompts of 0.1 s, two to a step that takes 0.01 s beside them, of eight requests: 0.84 s in four steps. They end
    after 0.21, 0.42 ... s; what the first wait for the last is their stall: 0.315 s in the mean, over 100 gaps."""
    two = lengths(budget=2000, together=True)
    found = fixed_concurrency(times(fixed=0.01), two, column(8), column(100), AT_ONCE)
    assert found.ttft_s.item() == pytest.approx(np.mean([0.21, 0.42, 0.63, 0.84]))
    assert found.itl_s.item() == pytest.approx(0.01 + 0.315 / 100)


def test_closed_loop_conserves_work():
    found = fixed_concurrency(times(), lengths(), column(11), column(100), AT_ONCE)
    assert found.itl_s.item() == pytest.approx(0.01 + 10 * 0.1 / 101)
    assert found.rps.item() == pytest.approx(0.978 * 11 / found.e2e_s.item()), "the last requests leave slots idle"


def test_closed_loop_first_token_adds_every_delay():
    front = FrontEnd(request_s=column(0.03), prompt_token_s=1e-5, first_token_steps=column(1.5))
    found = fixed_concurrency(times(), lengths(), column(11), column(100), front)
    by_hand = 0.03 + 1000 * 1e-5 + 0.2 + (0.5 + 1.5) * 0.01 + STARTING * 10 * 0.1
    assert found.ttft_s.item() == pytest.approx(by_hand)


def test_requests_beyond_memory_wait_for_a_stay():
    fits, waits = (fixed_concurrency(times(), lengths(), column(b), column(10), AT_ONCE) for b in (10, 20))
    assert waits.itl_s.item() == pytest.approx(fits.itl_s.item())
    assert waits.e2e_s.item() == pytest.approx(2 * fits.e2e_s.item())
    assert waits.rps.item() == pytest.approx(fits.rps.item())


def test_prompt_steps_cost_their_fixed_time_as_often_as_they_occur():
    plain, fixed = (fixed_concurrency(times(fixed=f), lengths(), column(4), column(9), AT_ONCE) for f in (0.0, 0.005))
    share = 1 - np.exp(-3 / 101)
    assert prompt_steps_share(lengths(), column(3)).item() == pytest.approx(share)
    assert fixed.itl_s.item() - plain.itl_s.item() == pytest.approx(share * 0.005)


def test_offline_rate_is_slots_over_the_stay():
    found = offline_max_throughput(times(), lengths(), column(50))
    assert found.rps.item() == pytest.approx(50 / (101 * 0.01 + 50 * 0.1))
    alone = offline_max_throughput(times(), lengths(), column(1))
    assert alone.rps.item() == pytest.approx(1 / (0.1 + 101 * 0.01)), "its own prompt takes time, too"
