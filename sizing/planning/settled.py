"""A plan of sessions counts on what its own prefix caches hold: the fixed point of the two.

What caches hold decides how many instances there have to be, and these how much is held. The analytic screen is asked
again with what its first choice would hold, until that is what it counted on; what a simulation decides is checked
once more.
"""

import math
from dataclasses import dataclass, replace

from sizing.planning.caches import caches_of
from sizing.planning.compose import as_planned
from sizing.question.reused import CacheState
from sizing.question.understand import Question, with_caches
from sizing.search.decide import Decided, decide, estimate
from sizing.search.serving import Screened, screened

MOST_SCREENS = 16
"""Screens until what was found so far is taken. Chosen: each halves what is left open, in some hundredths of a
second."""

FEW_TO_MANY = 4.0
"""Times as much that is counted on where nothing serves with less. Chosen: a few steps reach any size."""

PARTS = (0.25, 0.5, 1.0)
"""Parts of the way, in the logarithm, from what was counted on to what a decision by simulation holds, after each of
which it is decided again. Chosen: a little less counted on is often one instance more, which holds enough; the whole
way may be many more."""

CLOSE = 0.02
"""Hit shares that differ by less are the same: what the model of caches is exact to."""

CLOSE_RATE = 1.03
"""Rates of sessions, and tokens in flight, that differ by a smaller factor are the same: the resolution of a
capacity."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What a question can be served by with the caches that its first choice has, and what was decided of it."""

    seen: Screened
    decided: Decided


def settle(question: Question, seed: int, *, by_simulation: bool) -> Settled:
    """The screen and the decision of a question, with sessions at the fixed point."""
    seen = screened_with_caches(question)
    decided = decide(seen, seed) if by_simulation else estimate(seen)
    if question.reused is None:
        return Settled(seen=seen, decided=decided)
    for part in PARTS:
        state, assumed = _state_of_first(decided), _assumed(seen.question)
        if state is None or _enough(seen.question, state):
            break
        seen = screened(with_caches(question, state if assumed is None else _between(assumed, state, part)))
        decided = decide(seen, seed) if by_simulation else estimate(seen)
    return Settled(seen=seen, decided=decided)


def counted_on(question: Question) -> Question:
    """The question with what the caches of its first choice hold of sessions, by the analytic screen."""
    return question if question.reused is None else screened_with_caches(question).question


def screened_with_caches(question: Question) -> Screened:
    """As :func:`sizing.search.serving.screened`, with what the caches of the first choice hold of sessions.

    The more is counted on, the fewer instances are chosen, and the less their caches hold: where both agree lies
    between ``few`` tokens, for which what is chosen holds more, and ``many``, for which it holds less.
    """
    seen = screened(question)
    if question.reused is None:
        return seen
    few: CacheState | None = None
    many: CacheState | None = None
    enough = None
    for _ in range(MOST_SCREENS):
        state, assumed = _state_of_first(estimate(seen)), _assumed(seen.question)
        if (state is None and assumed is None) or (state is not None and _agrees(seen.question, state)):
            break
        if state is None:  # too little is counted on for anything to serve
            few = guess = assumed
        elif assumed is None or not _enough(seen.question, state):
            many, guess = assumed, state
        elif _rate_holds(seen.question, state):
            few, guess, enough = assumed, state, seen
        else:  # the same caches, where answers are as fast and sessions ask as often
            seen = screened(with_caches(question, replace(assumed, service_s=state.service_s)))
            continue
        assert guess is not None
        if few is not None:
            between = few.times(FEW_TO_MANY) if many is None else _between(few, many)
            guess = replace(between, service_s=guess.service_s) if many is not None or state is None else guess
        seen = screened(with_caches(question, guess))
    else:
        return enough or seen
    return seen


def _assumed(question: Question) -> CacheState | None:
    """The caches that were counted on; None before any plan."""
    assert question.reused is not None
    return question.reused.at


def _agrees(assumed: Question, state: CacheState) -> bool:
    """Whether caches in a ``state``, of what was chosen for those that were assumed, are these: in what they hold, in
    how often sessions ask, and in the room that requests in flight take."""
    return (
        _assumed(assumed) is not None
        and abs(_shortfall(assumed, state)) <= CLOSE
        and _rate_holds(assumed, state)
        and 1.0 / CLOSE_RATE <= _in_flight(assumed, state) <= CLOSE_RATE
    )


def _state_of_first(decided: Decided) -> CacheState | None:
    """The caches of what comes first; None where nothing serves."""
    first = decided.shortlist(0)
    return caches_of(as_planned(decided.every[first[0]])) if first else None


def _shortfall(assumed: Question, state: CacheState) -> float:
    """By how much caches in a ``state`` hold less than was counted on, as a share of the prompt tokens."""
    there = with_caches(assumed, state)
    assert assumed.reused is not None
    assert there.reused is not None
    return assumed.reused.rows.hit_share - there.reused.rows.hit_share


def _in_flight(assumed: Question, state: CacheState) -> float:
    """How many times the tokens that were counted on requests in flight take, with what they have in common on so many
    instances."""
    each, one = assumed.traffic.input_tokens, assumed.demand.sustained_rps * state.service_s / state.replicas
    there, before = (
        one * (each - q.traffic.in_common.tokens) + q.traffic.in_common.held_of(one)
        for q in (with_caches(assumed, state), assumed)
    )
    return there / max(before, 1.0)


def _enough(assumed: Question, state: CacheState) -> bool:
    """Whether caches in a ``state`` hold as much as was counted on, and requests in flight leave them the room."""
    return _shortfall(assumed, state) <= CLOSE and _in_flight(assumed, state) <= CLOSE_RATE


def _rate_holds(assumed: Question, state: CacheState) -> bool:
    """Whether sessions ask no more often than was counted on, now that it is known how long an answer takes."""
    there = with_caches(assumed, state)
    return there.demand.sustained_rps <= assumed.demand.sustained_rps * CLOSE_RATE


def _between(one: CacheState, other: CacheState, part: float = 0.5) -> CacheState:
    """Part of the way from one state to another, in the logarithm."""

    def at(here: float, there: float) -> float:
        return math.exp((1.0 - part) * math.log(here) + part * math.log(there))

    return CacheState(
        capacity_tokens=at(one.capacity_tokens, other.capacity_tokens),
        replicas=max(round(at(one.replicas, other.replicas)), 1),
        service_s=at(one.service_s, other.service_s),
        second=one.second,
    )
