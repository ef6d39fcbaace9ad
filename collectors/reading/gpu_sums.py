"""Sums over the GPUs of a fleet that cost a Prometheus little: no filter or grouping where neither changes anything.

``avg(max by (UUID) (x < 101) * 0.01)`` of 10,000 GPUs over a day costs 19 times ``avg(x) * 0.01``: filter, product
and grouping make new labels for every GPU at every step. Grouping changes nothing where every GPU has one series. The
filter drops blank values, and the answer itself proves that there were none: they are so large that it would be, too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Vectors, without
from collectors.queries.query import OVER_GPUS, Query
from collectors.reading.gpu_join import GpuJoin
from collectors.reading.gpu_values import gpu_subject
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import GpuVocabulary, MetricCandidate

SUMMED = ("thermal_throttled", "power_throttled", "throttle_reasons", "xid")
"""Concepts that are counted rather than added up: they stay as they are."""


@dataclass(frozen=True, kw_only=True)
class PlainQuery:
    """A query without filter and grouping; with every value below ``below``, no blank is in it."""

    query: Query
    below: float

    def proven(self, values: Iterable[float]) -> bool:
        """Whether the answer is that of the exact query; no answer is, too."""
        return all(value < self.below for value in values)


def plain_queries(exact: Sequence[Query], join: GpuJoin, scope: Scope) -> dict[Query, PlainQuery]:
    """The plain forms of ``exact`` (see :func:`collectors.reading.gpu_values.gpu_queries`) where there is one."""
    if join.vocabulary is None or not join.single or not scope.instant:
        return {}
    devices = f"count({join.sign}{{{scope.selection()}}})"
    forms = {}
    for query in exact:
        concept = join.vocabulary.concepts.get(query.subject.quantity)
        if query.subject == gpu_subject("devices"):
            forms[query] = _plain(query, devices, below=math.inf)
        elif concept is not None and query.subject.quantity not in SUMMED:
            candidate = concept.use[query.subject.candidate or 0]
            limit = _limit(candidate, join.vocabulary, join.devices)
            if limit is not None and candidate.gauge:
                scale = "" if candidate.scale == 1.0 else f" * {candidate.scale!r}"
                text = f"{candidate.across}({selected(candidate, candidate.gauge, scope)}){scale}"
                forms[query] = _plain(query, text, below=limit * candidate.scale)
    return forms


def _plain(query: Query, expression: str, *, below: float) -> PlainQuery:
    return PlainQuery(query=replace(query, expression=expression, weight=OVER_GPUS), below=below)


def _limit(candidate: MetricCandidate, vocabulary: GpuVocabulary, devices: float) -> float | None:
    """Below it no blank is in the answer: values are never negative, so that a sum below the smallest blank holds none,
    nor does a maximum below the limit. None where blanks are not known, or not filtered."""
    if not candidate.gauge or candidate.below is None:
        return None
    if candidate.across in ("max", "min"):
        return candidate.below
    if vocabulary.blank_from is None:
        return None
    return vocabulary.blank_from / (devices if candidate.across == "avg" else 1.0)


def with_sums(backend: Backend, answer: Vectors, plain: Mapping[Query, PlainQuery], at_s: float) -> Vectors:
    """The answer, with those queries asked exactly whose plain form did not prove that there was no blank."""
    short = [q for q, form in plain.items() if not form.proven(s.value for s in answer.of(q.subject))]
    return without(answer, short).replaced(backend.vectors(short, at_s=at_s)) if short else answer
