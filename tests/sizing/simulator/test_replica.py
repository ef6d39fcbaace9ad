"""The engine that leaps against one that does every step, and rules checked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.catalog.admission import NO_PROMISES, Promises
from sizing.question.speculation import Speculation
from sizing.simulator.fleet import Replica
from sizing.steps.ranks import busiest_share
from tests.sizing.simulator.building import columns, grid, simulate_all
from tests.sizing.simulator.reference import Sequence, simulate_slowly

STEPS = {
    (stages, ranks): grid(
        16,
        decode=lambda n, c: 0.005 + 0.0013 * math.sqrt(n) + 1e-6 * n * min(c, 300.0),
        row_s=3e-5,
        launch_s=0.002,
        pair_s=2e-8,
        idle_s=0.004,
        stages=stages,
        ranks=ranks,
    )
    for stages, ranks in ((1, 1), (2, 1), (4, 1), (1, 2), (1, 4), (2, 4))
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Replica, list[tuple[float, float, float, float]]]:
    """Prefix-cache hits, speculative decoding, pipeline stages, attention-DP ranks, chunks and a full KV cache, alone
    and together."""
    sequences = draw(st.integers(1, 16))
    draft = draw(st.sampled_from([0, 0, 0, 3]))
    replica = Replica(
        grid=STEPS[draw(st.sampled_from(sorted(STEPS)))],
        max_sequences=sequences,
        token_budget=draw(st.integers(16 * (draft + 1), 400)),
        kv_tokens=draw(st.sampled_from([math.inf, 900.0, 1500.0])),
        block_tokens=draw(st.sampled_from([1.0, 16.0])),
        reserve_output=draw(st.booleans()),
        prompts_apart=draw(st.booleans()),
        promises=draw(st.sampled_from([NO_PROMISES, Promises(of_new=1.0, of_running=0.1, most_tokens=100.0)])),
        sequence_tokens=draw(st.sampled_from([0.0, 0.0, 40.0])),
        speculation=Speculation(draft_tokens=draft, acceptance=0.7 if draft else 0.0),
    )
    gaps = st.floats(0.0, 1.0).map(lambda x: round(x, 3) * math.sqrt(2.0))  # never a whole number of steps
    rows = draw(
        st.lists(
            st.tuples(gaps, st.integers(1, 600), st.integers(1, 150), st.floats(0.0, 0.9)), min_size=1, max_size=40
        )
    )
    return replica, [(g, float(p), float(o), math.floor(c * p)) for g, p, o, c in rows]


@settings(max_examples=200)
@given(cases())
def test_leaping_gives_the_times_of_step_by_step(case: tuple[Replica, list[tuple[float, float, float, float]]]) -> None:
    replica, rows = case
    time = np.cumsum([r[0] for r in rows]) * 0.3
    prompt, output, cached = (np.array(c) for c in list(zip(*rows, strict=True))[1:])
    pool, found = simulate_all(replica, columns(time, prompt, output, cached))
    slow = simulate_slowly(
        replica, [Sequence(i, *x) for i, x in enumerate(zip(time, prompt, output, cached, strict=True))]
    )
    for name in ("started", "first", "finished", "preempted"):
        np.testing.assert_allclose(found[name], [getattr(s, name) for s in slow], rtol=1e-9, atol=1e-9)
    state = pool.state
    assert state["prefilled"] == pytest.approx((prompt - cached).sum() + state["recomputed"])
    assert state["generated"] == output.sum()
    assert pool.in_system == 0
    assert np.all(pool.world.replicas["kv"] == 0)


def test_a_lone_request_takes_its_prompt_and_its_decode_steps() -> None:
    steps = grid(4, decode=lambda n, c: 0.01 + 1e-5 * c, row_s=1e-4, launch_s=0.004, idle_s=0.003)
    _, found = simulate_all(Replica(grid=steps, max_sequences=4, token_budget=64), columns([5.0], 100.0, 11.0))
    # Two chunks of 64 tokens (6.4 ms) and 36 (3.6 ms, which with 3 ms for the rest hide a launch of 4), ten steps at
    # contexts 100..109.
    assert found["first"][0] - 5.0 == pytest.approx(2 * 0.003 + 64 * 1e-4 + 36 * 1e-4)
    assert found["finished"][0] - found["first"][0] == pytest.approx(sum(0.01 + 1e-5 * c for c in range(100, 110)))


def test_sequences_wait_for_prompts_that_have_steps_of_their_own() -> None:
    """A second request comes in the first one's decode step: its prompt of 100 tokens (10 ms, and 3 ms for the rest) is
    computed before the next one. Where both share a step it takes 10 + 10 ms, and the first goes on in it."""
    steps = grid(4, decode=lambda n, c: 0.01, row_s=1e-4, idle_s=0.003)
    for apart, expected in ((True, (0.033, 0.023)), (False, (0.030, 0.030))):
        replica = Replica(grid=steps, max_sequences=4, token_budget=1000, prompts_apart=apart)
        _, found = simulate_all(replica, columns([0.0, 0.014], 100.0, [3.0, 1.0]))
        first, second = found["finished"][0], found["first"][1]
        assert found["first"][0] == pytest.approx(0.013)
        assert second == pytest.approx(0.013 + expected[1])
        assert first == pytest.approx(0.013 + expected[0])


def test_a_prompt_in_the_cache_costs_only_its_rest() -> None:
    steps = grid(4, row_s=1e-4)
    replica = Replica(grid=steps, max_sequences=4, token_budget=10_000)
    _, cold = simulate_all(replica, columns([0.0], 1000.0, 1.0))
    _, warm = simulate_all(replica, columns([0.0], 1000.0, 1.0, 900.0))
    assert cold["finished"][0] == pytest.approx(0.1)
    assert warm["finished"][0] == pytest.approx(0.01)


def test_a_static_batch_keeps_its_places_until_the_longest_answer_ends() -> None:
    steps = grid(4, decode=lambda n, c: 0.01 * n)
    replica = Replica(grid=steps, max_sequences=2, token_budget=4, static_batching=True)
    _, found = simulate_all(replica, columns([0.0, 0.0, 0.0], 10.0, [3.0, 11.0, 3.0]))
    # Prompts cost nothing; steps of the first batch take 0.02 s throughout, although one sequence ends early.
    assert found["finished"].tolist() == pytest.approx([0.04, 0.2, 0.22])
    flying = Replica(grid=steps, max_sequences=2, token_budget=4)
    _, sooner = simulate_all(flying, columns([0.0, 0.0, 0.0], 10.0, [3.0, 11.0, 3.0]))
    assert sooner["finished"][2] < found["finished"][2]


def test_speculation_divides_the_steps_by_the_accepted_tokens() -> None:
    steps = grid(4)
    speculation = Speculation(draft_tokens=3, acceptance=1.0)
    replica = Replica(grid=steps, max_sequences=4, token_budget=64, speculation=speculation)
    _, found = simulate_all(replica, columns([0.0], 10.0, 41.0))
    assert speculation.tokens_per_step == 4.0
    assert found["finished"][0] == pytest.approx(10 * 0.01)


def test_the_sequence_admitted_last_is_evicted_when_the_cache_is_full() -> None:
    replica = Replica(grid=grid(4), max_sequences=4, token_budget=1000, kv_tokens=250.0)
    pool, found = simulate_all(replica, columns([0.0, 0.001], 100.0, [100.0, 100.0]))
    assert found["preempted"].tolist() == [0, 1]
    assert pool.state["recomputed"] > 100


def test_nothing_is_evicted_where_the_answer_is_reserved() -> None:
    replica = Replica(grid=grid(4), max_sequences=4, token_budget=1000, kv_tokens=250.0, reserve_output=True)
    pool, found = simulate_all(replica, columns([0.0, 0.001], 100.0, [100.0, 100.0]))
    assert pool.state["preempted"] == 0
    assert found["started"][1] == pytest.approx(found["finished"][0])


@given(st.integers(0, 1000), st.floats(1.05, 3.0))
def test_a_slower_engine_never_answers_sooner_on_average(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    chunk = columns(np.cumsum(rng.exponential(0.1, 400)), rng.integers(1, 300, 400), rng.integers(1, 60, 400))
    engines = [
        Replica(grid=g, max_sequences=8, token_budget=256) for g in (STEPS[1, 1], STEPS[1, 1].stretched(factor, factor))
    ]
    one, other = (simulate_all(engine, chunk)[1] for engine in engines)
    assert (other["finished"] - other["arrived"]).mean() > (one["finished"] - one["arrived"]).mean()


def test_a_step_lasts_as_long_as_its_fullest_rank() -> None:
    """Rows take 0.1 ms each, half of it their own rank's. Alone on one of 4 ranks 100 tokens take 5 + 4 x 5 ms; eight
    such prompts take 40 + 160 ms x the fullest rank's share; with a budget of 200 tokens a rank, a quarter."""
    steps = grid(16, row_s=1e-4, ranks=4, own=0.5)
    for prompts, budget, seconds in (
        (1, 4e4, 0.005 + 4 * 0.005),
        (8, 4e4, 0.040 + 4 * 0.040 * float(busiest_share(4)[8])),
        (8, 800.0, 0.040 + 0.040),
    ):
        replica = Replica(grid=steps, max_sequences=16, token_budget=budget)
        _, found = simulate_all(replica, columns([0.0] * prompts, 100.0, 1.0))
        assert found["finished"].tolist() == pytest.approx([seconds] * prompts)


def test_a_long_prompt_has_the_budget_of_its_rank_and_others_use_the_rest() -> None:
    """Four ranks of 50 tokens a step: 200 tokens take four steps, and a prompt of 50 behind it ends with the first."""
    replica = Replica(grid=grid(16, row_s=1e-4, ranks=4, own=0.0), max_sequences=16, token_budget=200.0)
    pool, found = simulate_all(replica, columns([0.0, 0.0], [200.0, 50.0], 1.0))
    assert found["finished"].tolist() == pytest.approx([0.025, 0.010])
    assert pool.world.replicas["steps"][0] == 4
