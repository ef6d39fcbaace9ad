"""What a reading needs from a source of series: answers to many queries at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypedDict

from collectors.backends.side_by_side import side_by_side
from collectors.errors import QueryRejected, SourceError
from collectors.prometheus.answers import Notes, Sample, TimeSeries, Vector
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.promql import quoted
from collectors.queries.query import Query, Subject

CONCEPT_LABEL = "concept_"
"""The label that tells the samples of a joined query apart."""
BATCH_WEIGHT = 60
"""Weight of one joined query, at most about. Chosen: that of the buckets of ten histograms."""
SPLIT_FROM = 8
"""From this weight on queries are joined into at least two: a server answers one query on one core."""
BATCH_CHARACTERS = 24_000
"""The longest text of one joined query. Chosen: far below the 1 MB that a proxy takes by default."""
CONNECTIONS = 4
"""Joined queries that run at the same time. Chosen: a fifth of the 20 that Prometheus runs at once by default."""


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Samples by subject. ``problems`` says which queries were rejected, and why; ``failures`` what else failed."""

    samples: Mapping[Subject, tuple[Sample, ...]]
    problems: Mapping[Subject, str] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    notes: Notes = field(default_factory=Notes)

    def of(self, subject: Subject) -> tuple[Sample, ...]:
        """The samples of one query; none when it has no data."""
        return self.samples.get(subject, ())

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong with any part of the answer."""
        return not (self.problems or self.failures or self.notes.warnings)

    def replaced(self, newer: Vectors) -> Vectors:
        """With the samples of ``newer`` in the place of those about the same, and its problems added."""
        return Vectors(
            samples={**self.samples, **newer.samples},
            problems={**self.problems, **newer.problems},
            failures=(*self.failures, *newer.failures),
            notes=joined_notes([self.notes, newer.notes]),
        )


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Series by subject on one grid; ``since_s``: not asked for yet before (None: all)."""

    series: Mapping[Subject, tuple[TimeSeries, ...]]
    start_s: float
    end_s: float
    step_s: float
    since_s: float | None = None
    problems: Mapping[Subject, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    def of(self, subject: Subject) -> tuple[TimeSeries, ...]:
        """The series of one query; none when it has no data."""
        return self.series.get(subject, ())


class Grid(TypedDict):
    """The moments of a line: from start to end in steps."""

    start_s: float
    end_s: float
    step_s: float


class Backend(Protocol):
    """A source of series. ``where`` names it in sentences; ``dedicated`` when all its targets are of one deployment."""

    where: str
    dedicated: bool

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """Every query at one moment (None: now, by the clock of the source). Raises SourceError."""

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """Every query on a grid. Raises SourceError."""


class PrometheusBackend:
    """Answers through the HTTP API: queries are joined into few, which run at the same time."""

    dedicated = False

    def __init__(self, client: PrometheusClient) -> None:
        self._client = client
        self.where = client.where

    def vectors(self, queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        """See Backend. A query the server rejects does not take its neighbours with it."""
        batches = batched(queries)
        return merged(side_by_side(lambda batch: self._batch(batch, at_s), batches, at_once=CONNECTIONS, name="query"))

    def _batch(self, batch: Sequence[Query], at_s: float | None) -> Vectors | SourceError:
        try:
            return split(self._client.query(joined(batch), at_s=at_s), batch)
        except QueryRejected as error:
            if len(batch) == 1:
                return Vectors(samples={}, problems={batch[0].subject: str(error)})
        except SourceError as error:
            return error
        return merged([self._batch([query], at_s) for query in batch])

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """The answer to each query over a time, as :meth:`Backend.ranges`."""
        grid = Grid(start_s=start_s, end_s=end_s, step_s=step_s)
        batches = batched(queries)
        answers = side_by_side(lambda one: self._range_batch(one, grid), batches, at_once=CONNECTIONS, name="query")
        parts = [part for answer in answers for part in answer]
        answered = next((part for part in parts if part.series), parts[0])
        return Ranges(
            series={subject: series for part in parts for subject, series in part.series.items()},
            start_s=answered.start_s,
            end_s=answered.end_s,
            step_s=answered.step_s,
            problems={subject: text for part in parts for subject, text in part.problems.items()},
            notes=joined_notes([part.notes for part in parts]),
        )

    def _range_batch(self, batch: Sequence[Query], grid: Grid) -> list[Ranges]:
        """The answer to a batch; where the server rejects it, those to each of its queries."""
        try:
            matrix = self._client.query_range(joined(batch), **grid)
        except QueryRejected as error:
            if len(batch) == 1:
                return [Ranges(series={}, **grid, problems={batch[0].subject: str(error)})]
            return [part for query in batch for part in self._range_batch([query], grid)]
        subjects = {query.subject.label: query.subject for query in batch}
        series: dict[Subject, list[TimeSeries]] = {}
        for one in matrix.series:
            labels = dict(one.labels)
            subject = subjects.get(labels.pop(CONCEPT_LABEL, ""))
            if subject is not None:
                series.setdefault(subject, []).append(TimeSeries(labels=labels, times_s=one.times_s, values=one.values))
        return [
            Ranges(
                series={subject: tuple(several) for subject, several in series.items()},
                start_s=matrix.start_s,
                end_s=matrix.end_s,
                step_s=matrix.step_s,
                notes=matrix.notes,
            )
        ]


def batched(queries: Sequence[Query]) -> list[list[Query]]:
    """Queries in groups of about the same weight: groups are answered side by side, what is in one in turn."""
    longest = sum(len(query.expression) for query in queries)
    whole = sum(query.weight for query in queries)
    least = 2 if whole >= SPLIT_FROM else 1
    count = max(math.ceil(whole / BATCH_WEIGHT), math.ceil(longest / BATCH_CHARACTERS), least)
    groups: list[list[Query]] = [[] for _ in range(count)]
    loads = [0] * count
    for query in sorted(queries, key=lambda query: -query.weight):
        lightest = loads.index(min(loads))
        groups[lightest].append(query)
        loads[lightest] += query.weight
    return [group for group in groups if group]


def joined(batch: Sequence[Query]) -> str:
    """One expression whose samples carry in a label which query they answer."""
    return " or ".join(
        f'label_replace({query.expression}, "{CONCEPT_LABEL}", {quoted(query.subject.label)}, "", "")'
        for query in batch
    )


def split(vector: Vector, batch: Sequence[Query]) -> Vectors:
    """The samples of a joined query by subject."""
    subjects = {query.subject.label: query.subject for query in batch}
    samples: dict[Subject, list[Sample]] = {}
    for sample in vector.samples:
        sample.labels = dict(sample.labels)
        subject = subjects.get(sample.labels.pop(CONCEPT_LABEL, ""))
        if subject is not None:
            samples.setdefault(subject, []).append(sample)
    return Vectors(samples={subject: tuple(several) for subject, several in samples.items()}, notes=vector.notes)


def merged(parts: Sequence[Vectors | SourceError]) -> Vectors:
    """All parts in one, with what failed. Raises the first failure when nothing succeeded."""
    good = [part for part in parts if isinstance(part, Vectors)]
    failed = [part for part in parts if isinstance(part, SourceError)]
    if failed and not good:
        raise failed[0]
    return Vectors(
        samples={subject: samples for part in good for subject, samples in part.samples.items()},
        problems={subject: text for part in good for subject, text in part.problems.items()},
        failures=(*(text for part in good for text in part.failures), *(str(error) for error in failed)),
        notes=joined_notes([part.notes for part in good]),
    )


def without(answer: Vectors, queries: Sequence[Query]) -> Vectors:
    """An answer without the samples of some queries."""
    left_out = {query.subject for query in queries}
    return replace(answer, samples={s: samples for s, samples in answer.samples.items() if s not in left_out})


def joined_notes(notes: list[Notes]) -> Notes:
    """All notes in one, each text once."""
    return Notes(
        warnings=tuple(dict.fromkeys(text for n in notes for text in n.warnings)),
        infos=tuple(dict.fromkeys(text for n in notes for text in n.infos)),
        partial=any(n.partial for n in notes),
    )
