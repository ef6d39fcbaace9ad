"""Turns: each expression of a fleet is asked once a minute, and is about the full minute before its turn."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.queries.ttl import FIRST, GRID_S, SECOND, Turn
from collectors.reading.engine_values import engine_queries
from collectors.reading.gpu_join import place_queries
from collectors.reading.layout import layout_queries
from collectors.vocabulary import engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.detect import Choice, DetectedExporter
from collectors.vocabulary.expressions import Scope

NOON = 1_800_000_000.0
QUARTERS = st.integers(0, 40).map(lambda n: NOON + 15.0 * n)
PHASED = st.builds(Turn, period_s=st.sampled_from([60.0, 300.0]), phase_s=st.sampled_from([0.0, 15.0, 30.0, 45.0]))


def test_a_turn_is_about_the_full_minute_before_it() -> None:
    turn = Turn(period_s=60.0, phase_s=30.0)
    assert [turn.about(NOON + s) - NOON for s in (0, 15, 29, 30, 45, 89, 90)] == [-60, -60, -60, 0, 0, 0, 60]
    assert turn.holds(NOON, NOON + 89)
    assert not turn.holds(NOON, NOON + 90)


def test_what_was_read_fresh_within_the_minute_stands_until_the_next_turn() -> None:
    turn = Turn(period_s=60.0, phase_s=45.0)
    opened = NOON + 10
    assert turn.holds(opened, NOON + 45)
    assert not turn.holds(opened, NOON + 105)


@given(turn=PHASED, held_s=QUARTERS, at_s=QUARTERS)
def test_nothing_stands_for_longer_than_period_and_phase(turn: Turn, held_s: float, at_s: float) -> None:
    assert turn.phase_s is not None
    assert turn.about(at_s) % GRID_S == 0
    assert 0 <= at_s - turn.about(at_s) < turn.period_s + GRID_S
    if turn.holds(held_s, at_s):
        assert 0 <= at_s - held_s < turn.period_s + GRID_S
    elif held_s <= at_s:
        assert turn.about(at_s) > held_s


@given(held_s=QUARTERS, at_s=QUARTERS)
def test_what_is_long_ago_is_not_followed_but_read_anew(held_s: float, at_s: float) -> None:
    turn = Turn(period_s=60.0, phase_s=15.0)
    if turn.follows(held_s, at_s):
        assert held_s <= turn.about(at_s) <= held_s + 60.0


def test_points_of_a_line_wait_for_their_turn_where_both_are_every_minute() -> None:
    assert SECOND.lag(GRID_S, fleet=True) == 15.0
    assert SECOND.lag(600.0, fleet=True) == 0.0
    assert SECOND.lag(GRID_S, fleet=False) == 0.0
    assert FIRST.lag(GRID_S, fleet=True) == 0.0


def test_replicas_are_asked_for_at_every_refresh_and_all_that_is_many_series_in_turns() -> None:
    fleet = [DetectedExporter(vocabulary=vocabulary) for vocabulary in gpu_vocabularies().values()]
    scope = Scope(window_s=300.0)
    queries = layout_queries("x{}", scope, fleet=True) + place_queries(tuple(fleet), (), fleet=True)
    for vocabulary in engine_vocabularies().values():
        choices = {
            key: Choice(concept=concept, candidate=concept.use[0])
            for key, concept in vocabulary.concepts.items()
            if concept.use
        }
        queries += engine_queries(choices, scope)
    every_time = {query.subject.label for query in queries if query.ttl.turn(fleet=True) is None}
    assert every_time == {"live", "seen", "newest_now"}
