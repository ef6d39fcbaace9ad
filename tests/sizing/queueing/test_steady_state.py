"""The analytic load model against queueing theory and against hand calculation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sizing.question.traffic import Traffic, TrafficColumns, Variability
from sizing.queueing.steady_state import concurrency_grid, steady_state
from sizing.steps.times import StepTimes

POISSON = Variability()
BUDGET = np.array([8192.0])


def column(*values):
    return np.array(values, dtype=float)[:, None]


def at(concurrency):
    """A grid (1, 2) whose first point is ``concurrency``; slopes need a second."""
    return np.array([[concurrency, 1.5 * concurrency]])


def toy(grid, decode_s=0.01, prefill_s=0.1, work_s=0.08, per_sequence=0.0):
    """One candidate whose decode step takes decode_s + per_sequence x B."""
    return StepTimes(
        decode_s=decode_s + per_sequence * grid,
        prefill_s=np.array([prefill_s]),
        prefill_work_s=np.array([work_s]),
        source="toy",
    )


def under(times, grid, traffic, variability=POISSON, slots=1024.0):
    return steady_state(times, grid, np.array([slots]), BUDGET, traffic, variability)


def test_one_request_in_flight_by_hand():
    """A closed loop of one request: prefill 100 ms, then 10 gaps of 10 ms: 5 requests/s."""
    one = at(1.0)
    state = under(toy(one), one, Traffic(input_tokens=1000, output_tokens=11))
    assert state.rps[0, 0] == pytest.approx(1 / (0.1 + 10 * 0.01))


def test_the_front_end_delays_first_token_and_end_to_end_alone():
    some, traffic = at(8.0), Traffic(input_tokens=1000, output_tokens=101)
    plain, delayed = (under(replace(toy(some), front_s=front), some, traffic) for front in (0.0, np.array([0.02])))
    assert delayed.ttft_s(99) == pytest.approx(plain.ttft_s(99) + 0.02)
    assert delayed.e2e_mean_s == pytest.approx(plain.e2e_mean_s + 0.02)
    assert delayed.itl_mean_s == pytest.approx(plain.itl_mean_s)
    assert delayed.rps == pytest.approx(plain.rps)


def test_little_s_law_holds_when_idle():
    """Few requests in flight: rate = B / (prefill + gaps x decode step)."""
    few = at(0.05)
    state = under(toy(few), few, Traffic(input_tokens=1000, output_tokens=101))
    assert state.rps[0, 0] * (0.1 + 100 * 0.01) == pytest.approx(0.05)


def test_ttft_when_idle_is_the_prefill_and_the_rest_of_a_running_step():
    few = at(0.001)
    state = under(toy(few), few, Traffic(input_tokens=1000, output_tokens=501))
    assert state.ttft_floor_s[0, 0] == pytest.approx(0.1)  # prefill alone has streamed the weights already
    assert state.ttft_mean_s[0, 0] == pytest.approx(0.1 + 0.01 / 2, rel=0.01)
    assert state.itl_mean_s[0, 0] == pytest.approx(0.01, rel=0.01)


def test_work_is_conserved_when_saturated():
    """With B in flight every request costs its prefill work, and its share of decode steps."""
    many = at(512.0)
    state = under(toy(many, work_s=0.08, prefill_s=0.08), many, Traffic(input_tokens=1000, output_tokens=101))
    per_request = 0.08 + 100 * 0.01 / 512
    assert state.rps[0, 0] == pytest.approx(1 / per_request, rel=1e-9)
    assert state.prefill_load[0, 0] + state.rps[0, 0] * 100 * 0.01 / 512 == pytest.approx(1.0)


def test_offline_maximum_is_the_plateau_of_the_load_curve():
    grid = concurrency_grid(np.array([256.0]))
    state = under(toy(grid, per_sequence=1e-4), grid, Traffic(input_tokens=2000, output_tokens=200), slots=256.0)
    b = grid[0, -1]
    itl = 0.01 + 1e-4 * b + b * 0.08 / 199
    assert state.rps[0, -1] == pytest.approx(b / (199 * itl), rel=0.01)
    assert np.all(np.diff(state.rps[0]) > 0)
    assert state.rps[0, -1] / state.rps[0, -2] < 1.1


def test_prompts_alone_load_the_engine_like_an_m_d_1_queue():
    """One output token: nothing decodes, so TTFT is the wait of an M/D/1 queue plus the prefill."""
    grid = at(0.5)
    state = under(toy(grid, prefill_s=0.1, work_s=0.1), grid, Traffic(input_tokens=1000, output_tokens=1))
    load = state.rps[0, 0] * 0.1
    assert load == pytest.approx(0.5)
    assert state.ttft_mean_s[0, 0] == pytest.approx(0.1 + load * 0.1 / (2 * (1 - load)))
    assert state.e2e_mean_s[0, 0] == pytest.approx(state.ttft_mean_s[0, 0])


def test_an_answer_of_one_token_has_no_gap_to_interrupt():
    grid = at(8.0)
    state = under(toy(grid), grid, Traffic(input_tokens=1000, output_tokens=1))
    assert state.itl_mean_s[0, 0] == pytest.approx(0.01)
    assert np.isfinite(state.rps).all()


def test_no_prompt_interrupts_an_engine_that_admits_one_request():
    """Gaps of 10 ms at any load, as spread as none; with two places prompts of 80 ms interrupt ten gaps."""
    grid, traffic = at(0.9), Traffic(input_tokens=1000, output_tokens=11)
    one, two = (under(toy(grid), grid, traffic, slots=slots) for slots in (1.0, 2.0))
    assert one.itl_mean_s[0, 0] == pytest.approx(0.01)
    assert one.itl_s(99.0)[0, 0] == pytest.approx(0.01, rel=0.01)
    assert two.itl_mean_s[0, 0] > 0.017


def test_cached_prompt_tokens_need_no_budget():
    """A shorter prompt takes fewer steps, each of which it shares with the sequences that are decoding."""
    grid = at(4.0)
    plain = under(toy(grid, per_sequence=1e-3), grid, Traffic(input_tokens=40_000, output_tokens=100))
    few = Traffic(input_tokens=40_000, output_tokens=100, cached_tokens=39_000)
    cached = under(toy(grid, per_sequence=1e-3), grid, few)
    assert cached.ttft_floor_s[0, 1] < plain.ttft_floor_s[0, 1]


def test_mean_e2e_is_ttft_plus_gaps_times_itl():
    grid = concurrency_grid(np.array([64.0]))
    state = under(toy(grid), grid, Traffic(input_tokens=1000, output_tokens=201), slots=64.0)
    assert np.allclose(state.e2e_mean_s, state.ttft_mean_s + 200 * state.itl_mean_s)


@given(
    decode=st.floats(1e-4, 0.2),
    per_sequence=st.floats(0, 1e-3),
    prefill=st.floats(1e-4, 20),
    share=st.floats(0.1, 1),
    isl=st.floats(1, 200_000),
    osl=st.floats(1, 20_000),
    slots=st.integers(1, 4096),
    cv2=st.floats(0, 16),
    prompt=st.floats(0, 4),
    output=st.floats(0, 4),
)
def test_any_system_is_stable_finite_and_ordered(
    decode, per_sequence, prefill, share, isl, osl, slots, cv2, prompt, output
):
    grid = concurrency_grid(np.array([float(slots)]))
    times = toy(grid, decode, prefill, prefill * share, per_sequence)
    state = under(
        times,
        grid,
        Traffic(input_tokens=isl, output_tokens=osl),
        Variability(arrivals=cv2, prompt=prompt, output=output),
        float(slots),
    )
    assert (np.diff(state.rps[0]) > -1e-9 * state.rps[0, -1]).all()
    assert (state.rps * times.prefill_work_s[:, None] <= 1 + 1e-9).all()
    for name in ("ttft_s", "itl_s", "e2e_s"):
        p50, p95, p99 = (getattr(state, name)(p) for p in (50, 95, 99))
        assert np.isfinite(p99).all()
        assert (p50 <= p95 + 1e-12).all()
        assert (p95 <= p99 + 1e-12).all()
        assert (p50 >= 0).all()


@given(few=st.floats(0.1, 30), more=st.floats(0.1, 30))
def test_more_in_flight_is_never_faster(few, more):
    assume(few + more < 60)
    grid = np.array([[few, few + more]])
    state = under(toy(grid, per_sequence=1e-4), grid, Traffic(input_tokens=1000, output_tokens=100), slots=64.0)
    assert state.ttft_mean_s[0, 0] <= state.ttft_mean_s[0, 1] + 1e-12
    assert state.itl_mean_s[0, 0] <= state.itl_mean_s[0, 1]


def test_concurrency_grid_spans_idle_to_the_maximum():
    grid = concurrency_grid(np.array([1.0, 500.0]))
    assert grid.shape == (2, 30)
    assert (np.diff(grid, axis=1) > 0).all()
    assert grid[1, -1] == pytest.approx(500, rel=0.002)
    assert (grid[:, 0] < 0.1).all()


def test_rows_with_lengths_of_their_own_are_as_each_alone():
    lengths = [(1000.0, 1.0, 0.0), (1000.0, 1.5, 200.0), (300.0, 400.0, 0.0), (9000.0, 2.0, 100.0)]
    grid = np.repeat(concurrency_grid(np.array([64.0])), len(lengths), axis=0)
    one = toy(grid, per_sequence=1e-4)
    times = StepTimes(decode_s=one.decode_s, prefill_s=np.full(4, 0.1), prefill_work_s=np.full(4, 0.08), source="toy")
    columns = TrafficColumns(
        **{
            name: column(*values)
            for name, values in zip(
                ("input_tokens", "output_tokens", "cached_tokens"), zip(*lengths, strict=True), strict=True
            )
        }
    )
    slots, budget = np.full(4, 64.0), np.full(4, 8192.0)
    together = steady_state(times, grid, slots, budget, columns, POISSON)
    for n, (isl, osl, cached) in enumerate(lengths):
        traffic = Traffic(input_tokens=isl, output_tokens=osl, cached_tokens=cached)
        alone = steady_state(times.take(np.array([n])), grid[[n]], slots[[n]], budget[[n]], traffic, POISSON)
        for name, values in vars(alone).items():
            assert getattr(together, name)[n] == pytest.approx(values[0], rel=1e-12), name


def on_ranks(grid, ranks=8.0):
    """One candidate whose prompts take 80 ms of their own rank and 10 ms of the experts of all."""
    times = toy(grid, prefill_s=0.11, work_s=0.01 + 0.08 / ranks, per_sequence=1e-4)
    return replace(times, stall_s=np.array([0.08 * (1.0 - 1.0 / ranks)]), ranks=np.array([ranks]))


def test_a_prompt_alone_on_its_rank_interrupts_all_sequences_for_its_whole_time():
    """One in flight per 1,000 tokens: ITL grows by 1 / 1000 of 10 + 80 ms, of 10 + 10 ms with even ranks."""
    grid, traffic = at(1.0), Traffic(input_tokens=1000, output_tokens=1001)
    waits, even = (under(t, grid, traffic) for t in (on_ranks(grid), replace(on_ranks(grid), stall_s=0.0)))
    decode = 0.01 + 1e-4
    assert waits.itl_mean_s[0, 0] == pytest.approx(decode + 0.09 / 1000, rel=1e-5)
    assert even.itl_mean_s[0, 0] == pytest.approx(decode + 0.02 / 1000, rel=1e-5)


@given(st.floats(0.1, 3000.0), st.integers(100, 20_000), st.integers(2, 2000), st.sampled_from([2.0, 4.0, 8.0, 16.0]))
def test_ranks_that_wait_are_never_faster_than_even_ones_nor_slower_than_one_that_works_alone(b, isl, osl, ranks):
    grid, traffic = at(b), Traffic(input_tokens=isl, output_tokens=osl)
    times = on_ranks(grid, ranks)
    even, alone = replace(times, stall_s=0.0), replace(times, prefill_work_s=times.prefill_work_s + times.stall_s)
    best, found, worst = (under(t, grid, traffic, slots=1e4) for t in (even, times, replace(alone, stall_s=0.0)))
    low, here, high = (s.itl_mean_s[0, 0] for s in (best, found, worst))
    assert low <= here * (1 + 1e-9)
    assert here <= high * (1 + 1e-9)
    assert worst.rps[0, 0] <= found.rps[0, 0] * (1 + 1e-9)
    assert found.rps[0, 0] <= best.rps[0, 0] * (1 + 1e-9)
    assert found.rps[0, 0] < found.rps[0, 1] * (1 + 1e-9)


def test_prompts_on_other_ranks_share_the_steps_of_a_prompt():
    """1,000 in flight and answers of 1,000 gaps begin a prompt a step; 7 of 8 are on other ranks and take 20 ms."""
    grid, traffic = at(1000.0), Traffic(input_tokens=1000, output_tokens=1001)
    found = under(on_ranks(grid), grid, traffic, slots=1e6)
    assert found.ttft_floor_s[0, 0] == pytest.approx(0.11 + 7 / 8 * 0.02)
    one_token = under(on_ranks(grid), grid, Traffic(input_tokens=1000, output_tokens=1), slots=1e6)
    assert one_token.ttft_floor_s[0, 0] == pytest.approx(0.11), "nothing decodes beside it"
