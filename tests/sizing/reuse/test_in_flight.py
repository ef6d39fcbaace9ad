"""What requests in flight have in common: in closed form of kinds of beginnings, and counted of a trace."""

from collections import Counter, OrderedDict, deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.choices import CacheRouting
from sizing.reuse.block_trace import BlockTrace, different_at, different_shares, hit_curve
from sizing.reuse.in_flight import NOTHING_IN_COMMON, beginnings, different, of_windows
from sizing.reuse.sessions import SessionShape, SessionTraffic
from tests.sizing.reuse.invented_sessions import BLOCK, as_trace

RNG = np.random.default_rng(4)


@pytest.mark.parametrize(("kinds", "drawn"), [(1, 7), (5, 3), (20, 40), (150, 75)])
def test_different_ones_among_those_drawn_are_as_counted(kinds: int, drawn: int) -> None:
    counted = [len(np.unique(RNG.integers(0, kinds, drawn))) for _ in range(4000)]
    assert float(different(kinds, np.float64(drawn))) == pytest.approx(np.mean(counted), rel=0.01)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True), min_size=4, max_size=16),
    st.integers(1, 4),
)
def test_the_tokens_of_a_row_are_those_of_its_different_blocks(prompts: list[list[int]], at_once: int) -> None:
    named = [[tuple(prompt[: i + 1]) for i in range(len(prompt))] for prompt in prompts]
    trace = BlockTrace.of([8.0 * len(p) for p in prompts], named, 8)
    rows = range(len(prompts) - at_once + 1)
    distinct = sum(len({block for one in named[i : i + at_once] for block in one}) for i in rows)
    whole = sum(len(one) for i in rows for one in named[i : i + at_once])
    assert different_shares(trace, [at_once]).tolist() == pytest.approx([distinct / whole])


def of_groups(kinds: int) -> BlockTrace:
    """Requests of 6 blocks of a group and one of their own, groups at random."""
    groups = RNG.integers(0, kinds, 20_000).tolist()
    return BlockTrace.of([700.0] * 20_000, [[*((g, b) for b in range(6)), n] for n, g in enumerate(groups)], 100)


@pytest.mark.parametrize("replicas", [1, 4])
def test_a_trace_of_groups_has_in_common_what_their_closed_form_says(replicas: int) -> None:
    counts = [2**n for n in range(12)]
    counted = of_windows(counts, different_at(of_groups(40), replicas, counts).tolist(), 700.0)
    stated = beginnings(600.0, 40)
    assert counted.tokens == pytest.approx(600.0, abs=2.0)
    for at_once in (1, 8, 32, 100, 1000):
        assert counted.held_of(at_once) == pytest.approx(stated.held_of(at_once), rel=0.03)


def test_requests_that_fill_a_room_take_their_own_and_what_they_have_in_common() -> None:
    for common in (NOTHING_IN_COMMON, beginnings(600.0, 1), beginnings(600.0, 40)):
        found = [common.requests_in(room, 100.0) for room in (1e3, 1e4, 1e5)]
        assert all(few < many for few, many in pairwise(found))
        for room, requests in zip((1e3, 1e4, 1e5), found, strict=True):
            assert requests * 100.0 + common.held_of(requests) == pytest.approx(room, rel=1e-3)


def test_nothing_that_comes_again_is_nothing_in_common() -> None:
    trace = BlockTrace.of([8.0] * 64, [[n] for n in range(64)], 8)
    counts = [1, 2, 4, 8]
    assert of_windows(counts, different_at(trace, 1, counts).tolist(), 8.0) == NOTHING_IN_COMMON


@pytest.mark.parametrize("routing", ["random", "prefix_aware"])
def test_hits_of_groups_are_those_of_a_replay(routing: CacheRouting) -> None:
    """Single requests of 40 groups: stated as sessions of one turn, and replayed."""
    shape = SessionShape(
        turns=1, first_prompt=700, growth=0, answer=1, shared=600, think_s=0, tool_s=0, shared_kinds=40
    )
    traffic, trace = SessionTraffic(shape=shape, sessions_per_s=2.0), of_groups(40)
    for capacity in (12_000.0, 40_000.0, 80_000.0):
        exact = float(hit_curve(trace, 4, routing).at(capacity))
        assert traffic.rows(capacity, 4, routing).hit_share == pytest.approx(exact, abs=0.03)


def while_running(trace: BlockTrace, room: int, at_once: int, answer: int) -> float:
    """Hit share of one cache of ``room`` blocks in which each request keeps its blocks, and ``answer`` more, until so
    many later ones have come."""
    used: Counter[object] = Counter()
    idle: OrderedDict[object, None] = OrderedDict()
    running: deque[list[object]] = deque()
    hits = 0
    for request in range(len(trace)):
        if len(running) == at_once:
            for block in reversed(running.popleft()):
                used[block] -= 1
                if not used[block]:
                    del used[block]
                    idle[block] = None
        mine: list[object] = trace.blocks[trace.starts[request] : trace.starts[request + 1]].tolist()
        hits += next((i for i, block in enumerate(mine) if block not in used and block not in idle), len(mine))
        running.append([*mine, *((request, n) for n in range(answer))])
        for block in running[-1]:
            used[block] += 1
            idle.pop(block, None)
        while len(used) + len(idle) > room and idle:
            idle.popitem(last=False)
    return hits / len(trace.blocks)


@pytest.mark.parametrize("at_once", [2, 12])
def test_running_requests_take_the_room_of_their_answers_alone(at_once: int) -> None:
    """Their prompts are what was asked for last, which a replay without running times counts already."""
    sessions = SessionShape(turns=6, first_prompt=1024, growth=384, answer=128, shared=0, think_s=20, tool_s=0)
    trace = as_trace(sessions, 0.5, 1500.0)
    for room in (300, 500):
        exact = while_running(trace, room, at_once, answer=1)
        counted = float(hit_curve(trace).at(float((room - at_once) * BLOCK)))
        assert counted == pytest.approx(exact, abs=0.03)
