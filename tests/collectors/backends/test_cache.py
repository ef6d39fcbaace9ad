"""A refresh asks only for what is new, and what is kept equals what a fresh question would answer."""

import math
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from collectors.backends.backend import Ranges, Vectors
from collectors.backends.cache import CachingBackend
from collectors.demo.feed import DemoFeed
from collectors.errors import TimedOut
from collectors.prometheus.answers import Notes, Sample, TimeSeries
from collectors.queries.query import LIVE, Query, Subject, of_source
from collectors.queries.ttl import FIRST, MINUTE_S, slow
from collectors.questions.history import history

NOW = 1_800_000_000.0
STEP_S = 60.0
A, OTHER = of_source("a", "x"), of_source("other", "x")
NAMES = of_source("names", "count by (__name__) (x)", ttl=slow(0))


class Source:
    """Answers every expression with the moment it is asked about, and counts what it is asked."""

    where, dedicated = "source", False

    def __init__(self) -> None:
        self.asked: list[tuple[str, float | None]] = []
        self.ranged: list[tuple[float, float]] = []
        self.notes = Notes()
        self.problems: dict[Subject, str] = {}
        self.broken = False

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        if self.broken:
            raise TimedOut("source did not answer within 3 s.")
        self.asked += [(query.expression, at_s) for query in queries]
        samples = {q.subject: (Sample(labels={}, time_s=at_s or 0.0, value=at_s or 0.0),) for q in queries}
        return Vectors(samples=samples, problems=self.problems, notes=self.notes)

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        self.ranged.append((start_s, end_s))
        times = tuple(start_s + i * step_s for i in range(round((end_s - start_s) / step_s) + 1))
        line = (TimeSeries(labels={"le": "1"}, times_s=times, values=times),)
        series = dict.fromkeys([query.subject for query in queries], line)
        return Ranges(series=series, start_s=start_s, end_s=end_s, step_s=step_s, problems=self.problems)


class Fleet(Source):
    """As many replicas as make a fleet; every other expression has one sample, or none where ``silent``."""

    silent = False

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        answer = super().vectors(queries, at_s=at_s)
        one = Sample(labels={"instance": "a"}, time_s=at_s or 0.0, value=1.0)
        samples = {subject: () if self.silent else several for subject, several in answer.samples.items()}
        return replace(answer, samples=samples | ({LIVE: (one,) * 501} if LIVE in samples else {}))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def source() -> Source:
    return Source()


def test_a_moment_is_asked_about_once(source: Source) -> None:
    cache = CachingBackend(source)
    first = cache.vectors([A, of_source("b", "y")], at_s=NOW)
    again = cache.vectors([OTHER, of_source("c", "z")], at_s=NOW)
    assert source.asked == [("x", NOW), ("y", NOW), ("z", NOW)]
    assert again.of(OTHER.subject) == first.of(A.subject)
    cache.vectors([A], at_s=NOW + 15)
    assert source.asked[-1] == ("x", NOW + 15)


def test_now_is_never_a_moment(source: Source) -> None:
    cache = CachingBackend(source)
    for _ in range(2):
        cache.vectors([A], at_s=None)
    assert len(source.asked) == 2


@pytest.mark.parametrize("at_s", [None, NOW])
def test_names_serve_for_a_minute(source: Source, at_s: float | None) -> None:
    clock = Clock()
    cache = CachingBackend(source, monotonic=clock)
    for passed in (0.0, MINUTE_S - 1, MINUTE_S + 1):
        clock.now = passed
        cache.vectors([NAMES], at_s=at_s and at_s + passed)
    assert len(source.asked) == 2


def test_names_of_another_time_are_asked_for(source: Source) -> None:
    cache = CachingBackend(source)
    for at_s in (NOW, NOW - 86_400, None, NOW + 2 * MINUTE_S):
        cache.vectors([NAMES], at_s=at_s)
    assert len(source.asked) == 4


def test_absence_is_not_kept(source: Source) -> None:
    cache = CachingBackend(source)
    source.vectors = lambda queries, at_s: Vectors(samples={})
    cache.vectors([NAMES], at_s=None)
    del source.vectors
    assert cache.vectors([NAMES], at_s=None).of(NAMES.subject)


@pytest.mark.parametrize("how", ["warning", "problem"])
def test_answers_with_warnings_or_problems_are_not_kept(source: Source, how: str) -> None:
    cache = CachingBackend(source)
    if how == "warning":
        source.notes = Notes(warnings=("a store did not answer",), partial=True)
    else:
        source.problems = {A.subject: "rejected"}
    for _ in range(2):
        found = cache.vectors([A], at_s=NOW)
        assert found.notes.partial == (how == "warning")
    assert len(source.asked) == 2


def test_a_failure_is_raised_and_not_kept(source: Source) -> None:
    cache = CachingBackend(source)
    source.broken = True
    with pytest.raises(TimedOut):
        cache.vectors([A], at_s=NOW)
    source.broken = False
    assert cache.vectors([A], at_s=NOW).of(A.subject)


def test_thirty_who_ask_at_once_cause_one_question(source: Source) -> None:
    cache = CachingBackend(source)
    threads = [threading.Thread(target=lambda: cache.vectors([A], at_s=NOW)) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.asked == [("x", NOW)]


def line(cache: CachingBackend, minutes: int, *, span: int = 15, expression: str = "x") -> Ranges:
    end = math.floor(NOW / STEP_S) * STEP_S + minutes * STEP_S
    return cache.ranges([of_source("a", expression)], start_s=end - span * STEP_S, end_s=end, step_s=STEP_S)


def test_of_a_line_only_the_new_points_are_asked_for(source: Source) -> None:
    cache = CachingBackend(source)
    whole = line(cache, 0)
    assert len(whole.series[A.subject][0].values) == 16
    end = whole.end_s
    source.vectors = lambda queries, at_s: Vectors(
        samples={query.subject: (Sample(labels={"le": "1"}, time_s=at_s, value=at_s),) for query in queries}
    )
    line(cache, 0)
    assert len(source.ranged) == 1, "nothing is new"
    line(cache, 1)
    assert len(source.ranged) == 1, "one new point is an answer about a moment"
    later = line(cache, 4)
    assert source.ranged[1:] == [(end + 2 * STEP_S, end + 4 * STEP_S)]
    assert later.series[A.subject][0].times_s == tuple(end + (i - 11) * STEP_S for i in range(16)), "no gap, none twice"
    assert later.series[A.subject][0].values == later.series[A.subject][0].times_s


def test_a_line_that_does_not_reach_back_is_asked_for_as_a_whole(source: Source) -> None:
    cache = CachingBackend(source)
    line(cache, 0)
    line(cache, 0, span=30)
    line(cache, -40)
    line(cache, 0, expression="y")
    assert len(source.ranged) == 4


@pytest.mark.parametrize("hour", [9.4, 13.6])
def test_kept_lines_equal_fresh_ones(hour: float) -> None:
    """Through a drop of the cache and the loss of a replica."""
    feed = DemoFeed(hours=0.4, second_of_day=hour * 3600, clock=lambda: NOW)
    cache = CachingBackend(feed.backend)
    for end_s in (NOW - 120, NOW - 105, NOW - 60, NOW):
        told = history(cache, feed.source(), start_s=end_s - 900, end_s=end_s, clock=lambda: NOW)
    fresh = history(CachingBackend(feed.backend), feed.source(), start_s=NOW - 900, end_s=NOW, clock=lambda: NOW)
    assert replace(told, lines={}) == replace(fresh, lines={})
    assert told.lines.keys() == fresh.lines.keys()
    for name, values in fresh.lines.items():
        assert told.lines[name] == pytest.approx(values, nan_ok=True), name


ROUNDS = (
    [of_source("up", "count(up)")],
    [of_source(LIVE.quantity, "count by (instance) (x)")],
    [of_source("running", "sum(x)", ttl=FIRST)],
)


def asked_at(cache: CachingBackend, source: Source, at_s: float) -> list[tuple[str, float | None]]:
    """What the source is asked when a reading asks in three rounds."""
    source.asked.clear()
    for queries in ROUNDS:
        cache.vectors(queries, at_s=at_s)
    return list(source.asked)


def test_of_a_fleet_all_that_is_due_is_asked_at_the_first_question() -> None:
    source = Fleet()
    cache = CachingBackend(source)
    asked_at(cache, source, NOW)
    source.asked.clear()
    cache.vectors(ROUNDS[0], at_s=NOW + 75)
    assert sorted(source.asked) == [
        ("count by (instance) (x)", NOW + 75),
        ("count(up)", NOW + 75),
        ("sum(x)", NOW + 60),
    ]
    source.asked.clear()
    for queries in ROUNDS:
        cache.vectors(queries, at_s=NOW + 75)
    assert not source.asked


def test_answers_that_cannot_be_kept_are_not_asked_for_ahead() -> None:
    source = Fleet()
    cache = CachingBackend(source)
    asked_at(cache, source, NOW)
    source.notes = Notes(warnings=("a store did not answer",), partial=True)
    asked_at(cache, source, NOW + 75)
    assert len(asked_at(cache, source, NOW + 135)) == len(ROUNDS)


def test_of_a_fleet_absence_is_kept_for_a_minute_but_not_of_names() -> None:
    source = Fleet()
    cache = CachingBackend(source)
    cache.vectors(ROUNDS[1], at_s=NOW)
    source.silent = True
    cache.vectors([of_source("failed", "sum(failed)", ttl=FIRST), NAMES], at_s=NOW)
    source.asked.clear()
    cache.vectors([of_source("failed", "sum(failed)", ttl=FIRST), NAMES], at_s=NOW + 15)
    assert "sum(failed)" not in dict(source.asked)
    assert "count by (__name__) (x)" in dict(source.asked)
