"""A source that remembers what it answered, so that a refresh asks only for what is new.

Three kinds of memory, all keyed by the text of the expression:

- what hardly changes is believed for a minute, and a large fleet is read in turns (see collectors.backends.ttl);
- answers about one moment serve everybody who asks about that moment;
- of a line over time only the points after the last known one are asked for; of a fleet's, the newest part first and
  an older one with every further question, so that no question takes long.

Nothing is remembered of an answer with problems or warnings, a partial one among them.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Ranges, Vectors, joined_notes
from collectors.backends.bucket_pruning import NARROWED, BucketPruning
from collectors.backends.ttl import FLEET_REPLICAS, GRID_S, LONGEST_S, Turn, lag_of, turn_of
from collectors.prometheus.answers import Notes, Sample, Series

MOMENTS = 4
LINES = 600
"""Expressions over time that are remembered, the least used leave; a page of one range has about a hundred."""
HABIT_S = 150.0
"""What a fleet's viewers asked within this is asked again when its turn comes, before they do."""
PART_POINTS = 37
"""Points of a fleet's line that one question adds to its older end: 6 of 24 hours; the first, half as many."""


@dataclass(frozen=True, kw_only=True)
class _Cached:
    samples: tuple[Sample, ...]
    told_s: float
    at_s: float | None

    def holds(self, turn: Turn, now_s: float, at_s: float | None) -> bool:
        """Whether its next turn has not come, neither by our clock nor by the moment asked about."""
        slack = 0.0 if turn.phase_s is None else turn.phase_s + GRID_S
        if not 0 <= now_s - self.told_s < turn.period_s + slack:
            return False
        if at_s is None or self.at_s is None:
            return at_s is self.at_s
        return turn.holds(self.at_s, at_s)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The series of one expression at grid points ``first`` to ``last`` (multiples of the step)."""

    first: int
    last: int
    series: Mapping[tuple[tuple[str, str], ...], tuple[tuple[float, float], ...]]


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
        self._habits: dict[str, tuple[str, float]] = {}
        self._foreseen_from_s = -math.inf
        self._lines: OrderedDict[tuple[str, float], _Line] = OrderedDict()

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        """See Backend. One asks at a time: who asks the same a moment later finds it answered."""
        return self._vectors(expressions, at_s, exact=False)

    def _vectors(self, expressions: Mapping[str, str], at_s: float | None, *, exact: bool) -> Vectors:
        """``exact``: about this very moment, whatever is believed."""
        with self._asking:
            if self._fleet and not exact and at_s is not None and at_s not in self._moments:
                self._foresee(expressions, at_s)
            known, unknown = self._known(expressions, at_s, exact=exact)
            answers = [Vectors(samples=known), *self._ask_all(unknown)]
            if self._fleet and not exact and at_s is not None:
                self._habits |= {text: (key, at_s) for key, text in expressions.items()}
        return Vectors(
            samples={key: samples for answer in answers for key, samples in answer.samples.items()},
            problems={key: text for answer in answers for key, text in answer.problems.items()},
            notes=joined_notes([answer.notes for answer in answers]),
        )

    def _foresee(self, expressions: Mapping[str, str], at_s: float) -> None:
        """Of a fleet, everything that is due at a new moment is asked at once: a reading asks in several rounds.

        Not where answers cannot be kept: they would be asked for twice.
        """
        due = {key: text for text, (key, told_s) in self._habits.items() if 0 < at_s - told_s <= HABIT_S}
        if not due or at_s < self._foreseen_from_s:
            return
        newest = max(told_s for _, told_s in self._habits.values())
        self._habits = {text: told for text, told in self._habits.items() if newest - told[1] <= HABIT_S}
        answers = self._ask_all(self._known({**due, **expressions}, at_s, exact=False)[1])
        if any(answer.problems or answer.notes.warnings for answer in answers):
            self._foreseen_from_s = at_s + 2 * HABIT_S

    def _ask_all(self, unknown: Mapping[float | None, Mapping[str, str]]) -> list[Vectors]:
        """The answers about several moments, asked side by side; what is good of them is kept."""
        if not unknown:
            return []
        with ThreadPoolExecutor(max_workers=len(unknown)) as pool:
            answers = list(pool.map(lambda group: self._asked(group[1], group[0]), unknown.items()))
        for (moment, asked), found in zip(unknown.items(), answers, strict=True):
            if not found.problems and not found.notes.warnings:
                self._keep_all(asked, found, moment)
        return answers

    def _asked(self, expressions: Mapping[str, str], at_s: float | None) -> Vectors:
        """The answers of the source: each text is asked once, and of a fleet's histograms the buckets that count."""
        once = {key: text for text, key in {text: key for key, text in expressions.items()}.items()}
        found = (
            self._pruning.vectors(once, at_s=at_s, now_s=self._monotonic())
            if self._fleet and any(key in NARROWED for key in once)
            else self._inner.vectors(once, at_s=at_s)
        )
        name = {text: key for key, text in once.items()}
        samples = {key: found.of(name[text]) for key, text in expressions.items() if name[text] in found.samples}
        return replace(found, samples=samples)

    def _known(
        self, expressions: Mapping[str, str], at_s: float | None, *, exact: bool
    ) -> tuple[dict[str, tuple[Sample, ...]], dict[float | None, dict[str, str]]]:
        """What is known, and what is to be asked by the moment it is to be about."""
        now = self._monotonic()
        known: dict[str, tuple[Sample, ...]] = {}
        unknown: dict[float | None, dict[str, str]] = {}
        with self._lock:
            for key, text in expressions.items():
                moment, held = at_s, None if exact else self._cached.get(text)
                turn = turn_of(key, fleet=self._fleet) if held is not None else None
                if held is not None and turn is not None:
                    if held.holds(turn, now, at_s):
                        known[key] = held.samples
                        continue
                    if at_s is not None and held.at_s is not None and turn.follows(held.at_s, at_s):
                        moment = turn.about(at_s)
                answered = self._moments.get(moment, {}) if moment is not None else {}
                if text in answered:
                    known[key] = answered[text]
                    self._keep(key, text, answered[text], now, moment)
                else:
                    unknown.setdefault(moment, {})[key] = text
        return known, unknown

    def _keep(self, key: str, text: str, samples: tuple[Sample, ...], now_s: float, at_s: float | None) -> None:
        turn, held = turn_of(key, fleet=self._fleet), self._cached.get(text)
        if turn is None or not (samples or turn.absence):
            return
        if held is None or at_s is None or held.at_s is None or held.at_s <= at_s or not held.holds(turn, now_s, at_s):
            self._cached[text] = _Cached(samples=samples, told_s=now_s, at_s=at_s)

    def _keep_all(self, asked: Mapping[str, str], found: Vectors, at_s: float | None) -> None:
        now = self._monotonic()
        with self._lock:
            if "live" in asked:
                self._fleet = len(found.of("live")) > FLEET_REPLICAS
                self._pruning.replicas = tuple(sample.labels for sample in found.of("live"))
            for key, text in asked.items():
                self._keep(key, text, found.of(key), now, at_s)
            for text in [text for text, held in self._cached.items() if now - held.told_s > 2 * LONGEST_S]:
                del self._cached[text]
            if at_s is not None:
                moment = self._moments.setdefault(at_s, {})
                moment |= {text: found.of(key) for key, text in asked.items()}
                self._moments.move_to_end(at_s)
                while len(self._moments) > MOMENTS:
                    self._moments.popitem(last=False)

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """See Backend. The grid is made of multiples of the step, as the client of Prometheus makes it."""
        first, last = math.floor(start_s / step_s), math.floor(end_s / step_s)
        wanted: dict[tuple[int, int], dict[str, str]] = {}
        lines: dict[str, _Line | None] = {}
        with self._lock:
            for key, text in expressions.items():
                line = self._lines.get((text, step_s))
                until = last
                if line is not None and line.last <= last:  # a new point waits for the turn
                    lag = lag_of(key, step_s, fleet=self._fleet)
                    until = max(line.last, math.floor((end_s - lag) / step_s))
                spans = _missing(line, first, until, whole=not self._fleet)
                lines[key] = line if spans.joins else None
                for span in spans.spans:
                    wanted.setdefault(span, {})[key] = text
        answers = [self._answered(asked, span, step_s) for span, asked in sorted(wanted.items(), reverse=True)]
        clean = not any(a.problems or a.notes.warnings or a.step_s != step_s for a in answers)
        series, since = {}, first
        for key, text in expressions.items():
            line = _extended(
                lines[key],
                [span for span, asked in wanted.items() if key in asked],
                [a.series[key] for a in answers if key in a.series],
                first,
                step_s,
            )
            series[key], since = _as_series(line), max(since, line.first)
            if clean:
                self._remember((text, step_s), line)
        return Ranges(
            series={key: found for key, found in series.items() if found},
            start_s=first * step_s,
            end_s=last * step_s,
            step_s=step_s,
            since_s=since * step_s,
            problems={key: text for a in answers for key, text in a.problems.items()},
            notes=joined_notes([a.notes for a in answers]) if answers else Notes(),
        )

    def _answered(self, asked: Mapping[str, str], span: tuple[int, int], step_s: float) -> Ranges:
        """New points of lines that miss the same ones."""
        begin, end = span
        answer = self._one_point(asked, end * step_s, step_s) if begin == end else None
        if answer is not None:
            return answer
        if self._fleet:
            return self._pruning.ranges(
                asked, start_s=begin * step_s, end_s=end * step_s, step_s=step_s, now_s=self._monotonic()
            )
        return self._inner.ranges(asked, start_s=begin * step_s, end_s=end * step_s, step_s=step_s)

    def _one_point(self, asked: Mapping[str, str], at_s: float, step_s: float) -> Ranges | None:
        """One point of every line as answers about one moment, which an observation may have asked for already."""
        found = self._vectors(asked, at_s, exact=True)
        if any(sample.histogram for samples in found.samples.values() for sample in samples):
            return None
        return Ranges(
            series={
                key: tuple(Series(labels=s.labels, times_s=(at_s,), values=(s.value,)) for s in samples)
                for key, samples in found.samples.items()
            },
            start_s=at_s,
            end_s=at_s,
            step_s=step_s,
            problems=found.problems,
            notes=found.notes,
        )

    def _remember(self, key: tuple[str, float], line: _Line) -> None:
        with self._lock:
            self._lines[key] = line
            self._lines.move_to_end(key)
            while len(self._lines) > LINES:
                self._lines.popitem(last=False)


@dataclass(frozen=True)
class _Missing:
    """The spans of points to ask for, and whether they join what is known."""

    spans: tuple[tuple[int, int], ...]
    joins: bool


def _missing(line: _Line | None, first: int, last: int, *, whole: bool) -> _Missing:
    """What of ``first`` to ``last`` a line does not have: all of it when it ends elsewhere; ``whole``: all at once."""
    if line is None or not first <= line.last <= last or (whole and line.first > first):
        begin = first if whole else max(first, last - PART_POINTS // 2)
        return _Missing(((begin, last),) if last >= first else (), joins=False)
    newer = ((line.last + 1, last),) if line.last < last else ()
    older = ((max(first, line.first - PART_POINTS), line.first - 1),) if line.first > first else ()
    return _Missing((*newer, *older), joins=True)


def _extended(
    line: _Line | None, spans: list[tuple[int, int]], parts: list[tuple[Series, ...]], first: int, step_s: float
) -> _Line:
    """The line with its new points, without those before ``first``."""
    held: dict[tuple[tuple[str, str], ...], tuple[tuple[float, float], ...]] = {}
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
    return _Line(first=lowest, last=highest, series={key: points for key, points in held.items() if points})


def _as_series(line: _Line) -> tuple[Series, ...]:
    return tuple(
        Series(labels=dict(key), times_s=tuple(t for t, _ in points), values=tuple(v for _, v in points))
        for key, points in line.series.items()
    )
