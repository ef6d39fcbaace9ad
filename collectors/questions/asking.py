"""Many questions about one deployment at one moment: series of its concepts, and what was answered."""

import math
from collections.abc import Iterable, Mapping, Sequence

from collectors.backends.backend import Backend, Ranges
from collectors.prometheus.answers import Labels, TimeSeries
from collectors.queries.query import Query
from collectors.reading.topology import Topology
from collectors.vocabulary.expressions import selected
from collectors.vocabulary.schema import MetricCandidate


class Asking:
    """Questions about one deployment at one moment, over the window of its scope."""

    def __init__(self, backend: Backend, topology: Topology, at_s: float) -> None:
        self.backend, self.topology, self.at_s = backend, topology, at_s
        self.scope = topology.scope
        self.interval_s = topology.layout.interval_s or self.scope.step_s
        self.problems: list[str] = []

    def candidate(self, *concepts: str) -> MetricCandidate | None:
        """The candidate in use of the first concept that has one."""
        for concept in concepts:
            choice = self.topology.choices.get(concept)
            if choice is not None and choice.candidate is not None:
                return choice.candidate
        return None

    def counter(self, *concepts: str) -> str | None:
        """The series of a counter: of a histogram, its count."""
        concept = next(filter(self._counter_name, concepts), "")
        candidate = self.candidate(concept)
        return selected(candidate, self._counter_name(concept), self.scope) if candidate is not None else None

    def _counter_name(self, concept: str) -> str:
        candidate = self.candidate(concept)
        if candidate is None:
            return ""
        return candidate.counter or (f"{candidate.histogram}_count" if candidate.histogram else "")

    def growing(self, *concepts: str) -> tuple[str, ...]:
        """The gauges whose growth turns the first of these counters into arrivals: the queue, and where a request is
        counted when it ends what runs."""
        choice = self.topology.choices.get(next(filter(self._counter_name, concepts), ""))
        return ("waiting", "running") if choice is not None and choice.concept.at_finish else ("waiting",)

    def gauge(self, concept: str) -> str | None:
        """The series of a gauge."""
        candidate = self.candidate(concept)
        return selected(candidate, candidate.gauge, self.scope) if candidate and candidate.gauge else None

    def vectors(self, queries: Sequence[Query]) -> Mapping[str, Sequence[tuple[Labels, float]]]:
        """Samples of each query by what it asks about; not a number is none."""
        if not queries:
            return {}
        answer = self.backend.vectors(queries, at_s=self.at_s)
        self.problems += list(answer.problems.values())
        return {
            query.subject.quantity: [
                (sample.labels, sample.value) for sample in answer.of(query.subject) if math.isfinite(sample.value)
            ]
            for query in queries
        }

    def ranges(self, queries: Sequence[Query], start_s: float, step_s: float) -> Ranges:
        """Series of each query from ``start_s`` to now."""
        answer = self.backend.ranges(queries, start_s=start_s, end_s=self.at_s, step_s=step_s)
        self.problems += list(answer.problems.values())
        return answer

    @property
    def by(self) -> tuple[str, ...]:
        """The labels that tell the replicas apart here."""
        layout = self.topology.layout
        return tuple(label for label in ("instance", "pod", "exported_pod") if layout.values((label,)))

    @property
    def by_rank(self) -> tuple[str, ...]:
        """The same, with ranks of data parallelism apart."""
        rank = self.topology.engine.vocabulary.rank_label
        return (*self.by, rank) if rank else self.by

    @property
    def rank_label(self) -> str:
        """The label that numbers ranks of data parallelism; "" where there is none."""
        return self.topology.engine.vocabulary.rank_label


def line_of(answer: Ranges, query: Query) -> list[float]:
    """The one line of a query at every step, NaN where there is no value; empty without data."""
    series = answer.of(query.subject)
    return list(series[0].on_grid(answer.start_s, answer.end_s, answer.step_s)[1]) if series else []


def by_moment(answer: Ranges, query: Query) -> dict[float, float]:
    """Values by moment, where there is one."""
    series: Iterable[TimeSeries] = answer.of(query.subject)[:1]
    return {round(t, 3): v for one in series for t, v in zip(one.times_s, one.values, strict=True) if math.isfinite(v)}
