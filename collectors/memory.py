"""A source that remembers what it answered, so that a refresh asks only for what is new.

Three kinds of memory, all keyed by the text of the expression:

- what hardly changes is believed for a minute, and a large fleet is read in turns (see collectors.cadence);
- answers about one moment serve everybody who asks about that moment;
- of a line over time only the points after the last known one are asked for.

Nothing is remembered of an answer with problems or warnings, a partial one among them.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from collectors.backend import Backend, Ranges, Vectors, joined_notes
from collectors.cadence import FLEET_REPLICAS, LONGEST_S, Turn, turn_of
from collectors.narrowing import NARROWED, Edges, edges_of
from collectors.prometheus.answers import Notes, Sample, Series

MOMENTS = 3
LINES = 600
"""Expressions over time that are remembered, the least used leave; a page of one range has about a hundred."""

@dataclass(frozen=True, kw_only=True)
class _Believed:
    samples: tuple[Sample, ...]
    told_s: float
    at_s: float | None

    def holds(self, turn: Turn, now_s: float, at_s: float | None) -> bool:
        """Whether its next turn has not come, neither by our clock nor by the moment asked about."""
        if not self.samples or not 0 <= now_s - self.told_s < turn.period_s:
            return False
        if at_s is None or self.at_s is None:
            return at_s is self.at_s
        return turn.same(self.at_s, at_s)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The series of one expression at grid points ``first`` to ``last`` (multiples of the step)."""

    first: int
    last: int
    series: Mapping[tuple[tuple[str, str], ...], tuple[tuple[float, float], ...]]


class Remembering:
    """A backend in front of another one; safe to use from several threads. See collectors.backend.Backend."""

    def __init__(self, inner: Backend, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._inner, self._monotonic = inner, monotonic
        self.where, self.dedicated = inner.where, inner.dedicated
        self._fleet = False
        self._asking = threading.Lock()
        self._lock = threading.Lock()
        self._believed: dict[str, _Believed] = {}
        self._moments: OrderedDict[float, dict[str, tuple[Sample, ...]]] = OrderedDict()
        self._edges: OrderedDict[str, Edges] = OrderedDict()
        self._lines: OrderedDict[tuple[str, float], _Line] = OrderedDict()

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        """See Backend. One asks at a time: who asks the same a moment later finds it answered."""
        return self._vectors(expressions, at_s, exact=False)

    def _vectors(self, expressions: Mapping[str, str], at_s: float | None, *, exact: bool) -> Vectors:
        """``exact``: about this very moment, whatever is believed."""
        with self._asking:
            known = self._known(expressions, at_s, exact=exact)
            unknown = {key: text for key, text in expressions.items() if key not in known}
            if not unknown:
                return Vectors(samples=known)
            found = self._asked(unknown, at_s)
            if not found.problems and not found.notes.warnings:
                self._keep(unknown, found, at_s)
        return replace(found, samples={**known, **found.samples})

    def _asked(self, expressions: Mapping[str, str], at_s: float | None) -> Vectors:
        """The answers of the source: each text is asked once, and of a fleet's histograms the buckets that count."""
        once = {text: key for key, text in expressions.items()}
        now = self._monotonic()
        asked = {}
        for text, key in once.items():
            edges = self._edges.get(text) if self._fleet and key in NARROWED else None
            asked[key] = (edges.narrowed(text, now) if edges else None) or text
        found = self._inner.vectors(asked, at_s=at_s)
        short = {k for k, t in asked.items() if t != expressions[k] and not self._suffices(expressions[k], found.of(k))}
        if short:
            again = self._inner.vectors({key: expressions[key] for key in short}, at_s=at_s)
            found = Vectors(
                samples={**{k: v for k, v in found.samples.items() if k not in short}, **again.samples},
                problems={**found.problems, **again.problems},
                notes=joined_notes([found.notes, again.notes]),
            )
        for key in NARROWED:
            if key in asked and (key in short or asked[key] == expressions[key]):
                edges = edges_of(found.of(key), now)
                if edges is not None:
                    self._edges[expressions[key]] = edges
                    self._edges.move_to_end(expressions[key])
        while len(self._edges) > LINES:
            self._edges.popitem(last=False)
        samples = {key: found.of(once[text]) for key, text in expressions.items() if once[text] in found.samples}
        return replace(found, samples=samples)

    def _suffices(self, text: str, samples: tuple[Sample, ...]) -> bool:
        edges = self._edges.get(text)
        return edges is not None and edges.suffices(samples)

    def _known(
        self, expressions: Mapping[str, str], at_s: float | None, *, exact: bool
    ) -> dict[str, tuple[Sample, ...]]:
        now = self._monotonic()
        with self._lock:
            moment = self._moments.get(at_s, {}) if at_s is not None else {}
            known = {key: moment[text] for key, text in expressions.items() if text in moment}
            for key, text in expressions.items():
                held = self._believed.get(text)
                turn = None if exact or held is None or key in known else turn_of(key, fleet=self._fleet)
                if held is not None and turn is not None and held.holds(turn, now, at_s):
                    known[key] = held.samples
        return known

    def _keep(self, asked: Mapping[str, str], found: Vectors, at_s: float | None) -> None:
        now = self._monotonic()
        with self._lock:
            if "live" in asked:
                self._fleet = len(found.of("live")) > FLEET_REPLICAS
            for key, text in asked.items():
                if turn_of(key, fleet=self._fleet):
                    self._believed[text] = _Believed(samples=found.of(key), told_s=now, at_s=at_s)
            for text in [text for text, held in self._believed.items() if now - held.told_s > LONGEST_S]:
                del self._believed[text]
            if at_s is not None:
                moment = self._moments.setdefault(at_s, {})
                moment |= {text: found.of(key) for key, text in asked.items()}
                self._moments.move_to_end(at_s)
                while len(self._moments) > MOMENTS:
                    self._moments.popitem(last=False)

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """See Backend. The grid is made of multiples of the step, as the client of Prometheus makes it."""
        first, last = math.floor(start_s / step_s), math.floor(end_s / step_s)
        with self._lock:
            lines = {key: self._lines.get((text, step_s)) for key, text in expressions.items()}
        from_known = {key: _next(line, first, last) for key, line in lines.items()}
        answers = []
        for begin in sorted(set(from_known.values())):
            if begin > last:
                continue
            asked = {key: text for key, text in expressions.items() if from_known[key] == begin}
            answer = self._one_point(asked, last * step_s, step_s) if begin == last else None
            answers.append(
                answer or self._inner.ranges(asked, start_s=begin * step_s, end_s=last * step_s, step_s=step_s)
            )
        series = {}
        for key, text in expressions.items():
            parts = [a.series[key] for a in answers if key in a.series]
            line = _extended(lines[key] if from_known[key] > first else None, parts, first, last, step_s)
            series[key] = _as_series(line)
            if not any(a.problems or a.notes.warnings or a.step_s != step_s for a in answers):
                self._remember((text, step_s), line)
        return Ranges(
            series={key: found for key, found in series.items() if found},
            start_s=first * step_s,
            end_s=last * step_s,
            step_s=step_s,
            problems={key: text for a in answers for key, text in a.problems.items()},
            notes=joined_notes([a.notes for a in answers]) if answers else Notes(),
        )

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


def _next(line: _Line | None, first: int, last: int) -> int:
    """The first point to ask for: all of them, unless the line reaches back to the start and not beyond the end."""
    if line is None or line.first > first or line.last < first or line.last > last:
        return first
    return line.last + 1


def _extended(line: _Line | None, parts: list[tuple[Series, ...]], first: int, last: int, step_s: float) -> _Line:
    """The line with its new points, without those before ``first``."""
    held: dict[tuple[tuple[str, str], ...], tuple[tuple[float, float], ...]] = {}
    begin = (first - 0.5) * step_s
    if line is not None:
        held = {key: tuple(p for p in points if p[0] > begin) for key, points in line.series.items()}
    for series in (s for part in parts for s in part):
        key = tuple(sorted(series.labels.items()))
        held[key] = held.get(key, ()) + tuple(zip(series.times_s, series.values, strict=True))
    return _Line(first=first, last=last, series={key: points for key, points in held.items() if points})


def _as_series(line: _Line) -> tuple[Series, ...]:
    return tuple(
        Series(labels=dict(key), times_s=tuple(t for t, _ in points), values=tuple(v for _, v in points))
        for key, points in line.series.items()
    )
