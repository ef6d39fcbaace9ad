"""A cache in front of a source, so that a refresh asks only for what is new. All of it is kept by expression:

- answers that serve for longer than a moment (their time to live: collectors.queries.ttl);
- answers about one moment, which serve everybody who asks about that moment;
- lines over time, of which only the points after the last known one are asked for; of a fleet's, the newest part first
  and an older one with every further question, so that no question takes long.

Nothing is kept of an answer with problems or warnings, a partial one among them.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Grid, Ranges, Vectors, joined_notes
from collectors.backends.bucket_pruning import BucketPruning
from collectors.backends.side_by_side import side_by_side
from collectors.prometheus.answers import Notes, Sample, TimeSeries
from collectors.queries.query import LIVE, Query, Subject, by_subject
from collectors.queries.ttl import FLEET_REPLICAS, GRID_S, LONGEST_S, Turn

PART_POINTS = 37
"""Points of a fleet's line that one question adds to its older end: 6 of 24 hours; the first, half as many."""

Labels = tuple[tuple[str, str], ...]
Points = tuple[tuple[float, float], ...]

MOMENTS = 4
"""Moments whose answers are kept. Chosen: the last minute of refreshes."""
LINES = 600
"""Lines that are kept, the least used leave. Chosen: a page of one range has about a hundred."""
HABIT_S = 150.0
"""What a fleet's viewers asked within this is asked again when its turn comes, before they do. Chosen: two minutes and
two refreshes, so that what is asked once a minute is not missed when one refresh is late."""


@dataclass(frozen=True, kw_only=True)
class SampledLine:
    """The series of one expression at grid points ``first`` to ``last`` (multiples of the step)."""

    first: int
    last: int
    series: Mapping[Labels, Points]

    def as_series(self) -> tuple[TimeSeries, ...]:
        """The line as a backend answers it."""
        return tuple(
            TimeSeries(labels=dict(key), times_s=tuple(t for t, _ in points), values=tuple(v for _, v in points))
            for key, points in self.series.items()
        )


@dataclass(frozen=True)
class MissingSpans:
    """The spans of points to ask for, and whether they join what is known."""

    spans: tuple[tuple[int, int], ...]
    joins: bool


def missing_points(line: SampledLine | None, first: int, last: int, *, whole: bool) -> MissingSpans:
    """What of ``first`` to ``last`` a line does not have: all of it when it ends elsewhere; ``whole``: all at once."""
    if line is None or not first <= line.last <= last or (whole and line.first > first):
        begin = first if whole else max(first, last - PART_POINTS // 2)
        return MissingSpans(((begin, last),) if last >= first else (), joins=False)
    newer = ((line.last + 1, last),) if line.last < last else ()
    older = ((max(first, line.first - PART_POINTS), line.first - 1),) if line.first > first else ()
    return MissingSpans((*newer, *older), joins=True)


def extended(
    line: SampledLine | None,
    spans: Sequence[tuple[int, int]],
    parts: Sequence[tuple[TimeSeries, ...]],
    first: int,
    step_s: float,
) -> SampledLine:
    """The line with its new points, without those before ``first``."""
    held: dict[Labels, Points] = {}
    begin = (first - 0.5) * step_s
    if line is not None:
        held = {key: tuple(p for p in points if p[0] > begin) for key, points in line.series.items()}
        spans = [*spans, (line.first, line.last)]
    for series in (s for part in parts for s in part):
        key = tuple(sorted(series.labels.items()))
        points = tuple(zip(series.times_s, series.values, strict=True))
        known = held.get(key, ())
        held[key] = points + known if known and points and points[0] < known[0] else known + points
    lowest = max(first, min((low for low, _ in spans), default=first))
    highest = max((high for _, high in spans), default=first)
    return SampledLine(first=lowest, last=highest, series={key: points for key, points in held.items() if points})


@dataclass(frozen=True, kw_only=True)
class _Cached:
    samples: tuple[Sample, ...]
    read_s: float
    at_s: float | None

    def holds(self, turn: Turn, now_s: float, at_s: float | None) -> bool:
        """Whether its next turn has not come, neither by our clock nor by the moment asked about."""
        slack = 0.0 if turn.phase_s is None else turn.phase_s + GRID_S
        if not 0 <= now_s - self.read_s < turn.period_s + slack:
            return False
        if at_s is None or self.at_s is None:
            return at_s is self.at_s
        return turn.holds(self.at_s, at_s)


class CachingBackend:
    """A backend in front of another one; safe to use from several threads. See collectors.backends.backend.Backend."""

    def __init__(self, inner: Backend, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._inner, self._monotonic = inner, monotonic
        self.where, self.dedicated = inner.where, inner.dedicated
        self._fleet = False
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._cached: dict[str, _Cached] = {}
        self._moments: OrderedDict[float, dict[str, tuple[Sample, ...]]] = OrderedDict()
        self._pruning = BucketPruning(inner)
        self._habits: dict[str, tuple[Query, float]] = {}
        self._foreseen_from_s = -math.inf
        self._lines: OrderedDict[tuple[str, float], SampledLine] = OrderedDict()

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """See Backend. One asks at a time: who asks the same a moment later finds it answered."""
        return self._vectors(queries, at_s, exact=False)

    def _vectors(self, queries: Sequence[Query], at_s: float | None, *, exact: bool) -> Vectors:
        """``exact``: about this very moment, whatever would still serve."""
        with self._asking:
            if self._fleet and not exact and at_s is not None and at_s not in self._moments:
                self._foresee(queries, at_s)
            known, unknown = self._known(queries, at_s, exact=exact)
            answers = [Vectors(samples=known), *self._ask_all(unknown)]
            if self._fleet and not exact and at_s is not None:
                self._habits |= {query.expression: (query, at_s) for query in queries}
        return Vectors(
            samples={subject: samples for answer in answers for subject, samples in answer.samples.items()},
            problems={subject: text for answer in answers for subject, text in answer.problems.items()},
            failures=tuple(text for answer in answers for text in answer.failures),
            notes=joined_notes([answer.notes for answer in answers]),
        )

    def _foresee(self, queries: Sequence[Query], at_s: float) -> None:
        """Of a fleet, everything that is due at a new moment is asked at once: a reading asks in several rounds.

        Not where answers cannot be kept: they would be asked for twice.
        """
        due = [query for query, asked_s in self._habits.values() if 0 < at_s - asked_s <= HABIT_S]
        if not due or at_s < self._foreseen_from_s:
            return
        newest = max(asked_s for _, asked_s in self._habits.values())
        self._habits = {text: habit for text, habit in self._habits.items() if newest - habit[1] <= HABIT_S}
        every = list(by_subject([*due, *queries]).values())
        answers = self._ask_all(self._known(every, at_s, exact=False)[1])
        if not all(answer.clean for answer in answers):
            self._foreseen_from_s = at_s + 2 * HABIT_S

    def _ask_all(self, unknown: Mapping[float | None, Sequence[Query]]) -> list[Vectors]:
        """The answers about several moments, asked side by side; what is good of them is kept."""
        if not unknown:
            return []
        moments = list(unknown.items())
        answers = side_by_side(lambda group: self._asked(group[1], group[0]), moments, at_once=len(moments), name="ask")
        for (moment, queries), answer in zip(unknown.items(), answers, strict=True):
            if answer.clean:
                self._keep_all(queries, answer, moment)
        return answers

    def _asked(self, queries: Sequence[Query], at_s: float | None) -> Vectors:
        """The answers of the source: each expression is asked once, of a fleet's histograms the buckets that count."""
        once = {query.expression: query for query in queries}
        each = list(once.values())
        answer = (
            self._pruning.vectors(each, at_s=at_s, now_s=self._monotonic())
            if self._fleet and any(query.prunable for query in each)
            else self._inner.vectors(each, at_s=at_s)
        )
        samples = {
            query.subject: answer.of(same.subject)
            for query in queries
            if (same := once[query.expression]).subject in answer.samples
        }
        return replace(answer, samples=samples)

    def _known(
        self, queries: Sequence[Query], at_s: float | None, *, exact: bool
    ) -> tuple[dict[Subject, tuple[Sample, ...]], dict[float | None, list[Query]]]:
        """What is known, and what is to be asked by the moment it is to be about."""
        now = self._monotonic()
        known: dict[Subject, tuple[Sample, ...]] = {}
        unknown: dict[float | None, list[Query]] = {}
        with self._lock:
            for query in queries:
                moment, held = at_s, None if exact else self._cached.get(query.expression)
                turn = query.ttl.turn(fleet=self._fleet) if held is not None else None
                if held is not None and turn is not None:
                    if held.holds(turn, now, at_s):
                        known[query.subject] = held.samples
                        continue
                    if at_s is not None and held.at_s is not None and turn.follows(held.at_s, at_s):
                        moment = turn.about(at_s)
                answered = self._moments.get(moment, {}) if moment is not None else {}
                if query.expression in answered:
                    known[query.subject] = answered[query.expression]
                    self._keep(query, answered[query.expression], now, moment)
                else:
                    unknown.setdefault(moment, []).append(query)
        return known, unknown

    def _keep(self, query: Query, samples: tuple[Sample, ...], now_s: float, at_s: float | None) -> None:
        turn, held = query.ttl.turn(fleet=self._fleet), self._cached.get(query.expression)
        if turn is None or not (samples or turn.absence):
            return
        if held is None or at_s is None or held.at_s is None or held.at_s <= at_s or not held.holds(turn, now_s, at_s):
            self._cached[query.expression] = _Cached(samples=samples, read_s=now_s, at_s=at_s)

    def _keep_all(self, queries: Sequence[Query], answer: Vectors, at_s: float | None) -> None:
        now = self._monotonic()
        with self._lock:
            if any(query.subject == LIVE for query in queries):
                self._fleet = len(answer.of(LIVE)) > FLEET_REPLICAS
                self._pruning.replicas = tuple(sample.labels for sample in answer.of(LIVE))
            for query in queries:
                self._keep(query, answer.of(query.subject), now, at_s)
            for text in [text for text, held in self._cached.items() if now - held.read_s > 2 * LONGEST_S]:
                del self._cached[text]
            if at_s is not None:
                moment = self._moments.setdefault(at_s, {})
                moment |= {query.expression: answer.of(query.subject) for query in queries}
                self._moments.move_to_end(at_s)
                while len(self._moments) > MOMENTS:
                    self._moments.popitem(last=False)

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """See Backend. The grid is made of multiples of the step, as the client of Prometheus makes it."""
        first, last = math.floor(start_s / step_s), math.floor(end_s / step_s)
        known = self._lines_of(queries, first, last, end_s=end_s, step_s=step_s)
        wanted: dict[tuple[int, int], list[Query]] = {}
        for query, (_, missing) in known.items():
            for span in missing.spans:
                wanted.setdefault(span, []).append(query)
        answers = [self._answered(part, span, step_s) for span, part in sorted(wanted.items(), reverse=True)]
        clean = not any(a.problems or a.notes.warnings or a.step_s != step_s for a in answers)
        series, since = {}, first
        for query, (held, missing) in known.items():
            parts = [a.series[query.subject] for a in answers if query.subject in a.series]
            line = extended(held if missing.joins else None, missing.spans, parts, first, step_s)
            series[query.subject], since = line.as_series(), max(since, line.first)
            if clean:
                self._keep_line((query.expression, step_s), line)
        return Ranges(
            series={subject: several for subject, several in series.items() if several},
            start_s=first * step_s,
            end_s=last * step_s,
            step_s=step_s,
            since_s=since * step_s,
            problems={subject: text for a in answers for subject, text in a.problems.items()},
            notes=joined_notes([a.notes for a in answers]) if answers else Notes(),
        )

    def _lines_of(
        self, queries: Sequence[Query], first: int, last: int, *, end_s: float, step_s: float
    ) -> dict[Query, tuple[SampledLine | None, MissingSpans]]:
        """What is known of the line of every query, and what is missing of it."""
        lines = {}
        with self._lock:
            for query in queries:
                line = self._lines.get((query.expression, step_s))
                until = last
                if line is not None and line.last <= last:  # a new point waits for the turn
                    lag = query.ttl.lag(step_s, fleet=self._fleet)
                    until = max(line.last, math.floor((end_s - lag) / step_s))
                lines[query] = (line, missing_points(line, first, until, whole=not self._fleet))
        return lines

    def _answered(self, queries: Sequence[Query], span: tuple[int, int], step_s: float) -> Ranges:
        """New points of lines that miss the same ones."""
        begin, end = span
        answer = self._one_point(queries, end * step_s, step_s) if begin == end else None
        if answer is not None:
            return answer
        grid = Grid(start_s=begin * step_s, end_s=end * step_s, step_s=step_s)
        if self._fleet:
            return self._pruning.ranges(queries, **grid, now_s=self._monotonic())
        return self._inner.ranges(queries, **grid)

    def _one_point(self, queries: Sequence[Query], at_s: float, step_s: float) -> Ranges | None:
        """One point of every line as answers about one moment, which an observation may have asked for already."""
        answer = self._vectors(queries, at_s, exact=True)
        if any(sample.histogram for samples in answer.samples.values() for sample in samples):
            return None
        return Ranges(
            series={
                subject: tuple(TimeSeries(labels=s.labels, times_s=(at_s,), values=(s.value,)) for s in samples)
                for subject, samples in answer.samples.items()
            },
            start_s=at_s,
            end_s=at_s,
            step_s=step_s,
            problems=answer.problems,
            notes=answer.notes,
        )

    def _keep_line(self, key: tuple[str, float], line: SampledLine) -> None:
        with self._lock:
            self._lines[key] = line
            self._lines.move_to_end(key)
            while len(self._lines) > LINES:
                self._lines.popitem(last=False)
