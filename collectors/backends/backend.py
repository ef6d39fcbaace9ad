"""What a reading needs from a source of series: answers to many PromQL expressions at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from collectors.errors import QueryRejected, SourceError
from collectors.prometheus.answers import Notes, Sample, Series, Vector
from collectors.prometheus.client import PrometheusClient
from collectors.prometheus.promql import quoted

CONCEPT_LABEL = "concept_"
BATCH_WEIGHT = 60
SPLIT_FROM = 8
"""From this weight on expressions are at least two queries: a server answers one query on one core."""
WEIGHTS = {"_bucket": 6, "max by (": 6, "by (": 3}
"""What an expression costs a server, by what stands in it: buckets are many series, split answers many samples."""
GPU_WEIGHT = 5
"""Of a sum over GPUs: there are several times as many as replicas."""
BATCH_CHARACTERS = 24_000
CONNECTIONS = 4


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Samples by name of the expression; ``problems`` says which expressions could not be answered, and why."""

    samples: Mapping[str, tuple[Sample, ...]]
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    def of(self, key: str) -> tuple[Sample, ...]:
        """The samples of one expression; none when it has no data."""
        return self.samples.get(key, ())


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Series by name of the expression on one grid; ``since_s``: not asked for yet before (None: all)."""

    series: Mapping[str, tuple[Series, ...]]
    start_s: float
    end_s: float
    step_s: float
    since_s: float | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)


class Backend(Protocol):
    """A source of series. ``where`` names it in sentences; ``dedicated`` when all its targets are of one deployment."""

    where: str
    dedicated: bool

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        """Every expression at one moment (None: now, by the clock of the source). Raises SourceError."""

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """Every expression on a grid. Raises SourceError."""


class PrometheusBackend:
    """Answers through the HTTP API: expressions are joined into few queries, which run at the same time."""

    dedicated = False

    def __init__(self, client: PrometheusClient) -> None:
        self._client = client
        self.where = client.where

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None) -> Vectors:
        """See Backend. An expression the server rejects does not take its neighbours with it."""
        batches = batched(expressions)
        with ThreadPoolExecutor(max_workers=CONNECTIONS) as pool:
            done = list(pool.map(lambda batch: self._batch(batch, at_s), batches))
        return merged(done)

    def _batch(self, batch: Mapping[str, str], at_s: float | None) -> Vectors | SourceError:
        try:
            return split(self._client.query(joined(batch), at_s=at_s))
        except QueryRejected as error:
            if len(batch) == 1:
                return Vectors(samples={}, problems={key: str(error) for key in batch})
        except SourceError as error:
            return error
        return merged([self._batch({key: text}, at_s) for key, text in batch.items()])

    def ranges(self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float) -> Ranges:
        """See Backend."""

        def one(batch: Mapping[str, str]) -> Ranges:
            matrix = self._client.query_range(joined(batch), start_s=start_s, end_s=end_s, step_s=step_s)
            by_key: dict[str, list[Series]] = {}
            for series in matrix.series:
                labels = dict(series.labels)
                key = labels.pop(CONCEPT_LABEL, "")
                by_key.setdefault(key, []).append(Series(labels=labels, times_s=series.times_s, values=series.values))
            return Ranges(
                series={key: tuple(found) for key, found in by_key.items()},
                start_s=matrix.start_s,
                end_s=matrix.end_s,
                step_s=matrix.step_s,
                notes=matrix.notes,
            )

        def safe(batch: Mapping[str, str]) -> list[Ranges]:
            try:
                return [one(batch)]
            except QueryRejected as error:
                if len(batch) == 1:
                    told = {key: str(error) for key in batch}
                    return [Ranges(series={}, start_s=start_s, end_s=end_s, step_s=step_s, problems=told)]
            return [found for key, text in batch.items() for found in safe({key: text})]

        with ThreadPoolExecutor(max_workers=CONNECTIONS) as pool:
            done = [found for part in pool.map(safe, batched(expressions)) for found in part]
        grid = next((d for d in done if d.series), done[0])
        return Ranges(
            series={key: series for d in done for key, series in d.series.items()},
            start_s=grid.start_s,
            end_s=grid.end_s,
            step_s=grid.step_s,
            problems={key: text for d in done for key, text in d.problems.items()},
            notes=joined_notes([d.notes for d in done]),
        )


def batched(expressions: Mapping[str, str]) -> list[dict[str, str]]:
    """Expressions in groups of about the same weight: groups are answered side by side, what is in one in turn."""
    weights = {k: max(weight(text), GPU_WEIGHT if k.startswith("gpu/") else 1) for k, text in expressions.items()}
    longest = sum(len(text) for text in expressions.values())
    whole = sum(weights.values())
    least = 2 if whole >= SPLIT_FROM else 1
    count = max(math.ceil(whole / BATCH_WEIGHT), math.ceil(longest / BATCH_CHARACTERS), least)
    groups: list[dict[str, str]] = [{} for _ in range(count)]
    loads = [0] * count
    for key in sorted(expressions, key=lambda key: -weights[key]):
        lightest = loads.index(min(loads))
        groups[lightest][key] = expressions[key]
        loads[lightest] += weights[key]
    return [group for group in groups if group]


def weight(expression: str) -> int:
    """How much work an expression is, relative to a sum over one counter."""
    return max((w for part, w in WEIGHTS.items() if part in expression), default=1)


def joined(batch: Mapping[str, str]) -> str:
    """One expression whose samples carry the key of the expression they come from in a label."""
    return " or ".join(
        f'label_replace({text}, "{CONCEPT_LABEL}", {quoted(key)}, "", "")' for key, text in batch.items()
    )


def split(vector: Vector) -> Vectors:
    """The samples of a joined expression by key."""
    by_key: dict[str, list[Sample]] = {}
    for sample in vector.samples:
        sample.labels = dict(sample.labels)
        by_key.setdefault(sample.labels.pop(CONCEPT_LABEL, ""), []).append(sample)
    return Vectors(samples={key: tuple(found) for key, found in by_key.items()}, notes=vector.notes)


def merged(parts: list[Vectors | SourceError]) -> Vectors:
    """All parts in one; what failed becomes a problem. Raises the first failure when nothing succeeded."""
    good = [part for part in parts if isinstance(part, Vectors)]
    failed = [part for part in parts if isinstance(part, SourceError)]
    if failed and not good:
        raise failed[0]
    return Vectors(
        samples={key: samples for part in good for key, samples in part.samples.items()},
        problems={
            **{key: text for part in good for key, text in part.problems.items()},
            **{f"query {i + 1}": str(error) for i, error in enumerate(failed)},
        },
        notes=joined_notes([part.notes for part in good]),
    )


def joined_notes(notes: list[Notes]) -> Notes:
    """All notes in one, each text once."""
    return Notes(
        warnings=tuple(dict.fromkeys(text for n in notes for text in n.warnings)),
        infos=tuple(dict.fromkeys(text for n in notes for text in n.infos)),
        partial=any(n.partial for n in notes),
    )
