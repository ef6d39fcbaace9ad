"""Quantiles of a fleet from the few buckets around them: 46,000 series of 2,000 replicas, these are 18,000.

A quantile needs the edges of its bucket, what lies below them and the total. So once the quantiles of a histogram are
known, the next question is for their buckets, the neighbours of those and the last one. Where nothing is known, a few
replicas are asked for all their buckets first. Where a quantile of all lies elsewhere, all buckets are asked for:
a pruned answer that is kept gives the very quantiles that all buckets would give.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Grid, Ranges, Vectors, joined_notes, without
from collectors.prometheus.answers import Sample, TimeSeries
from collectors.prometheus.histograms import QUANTILES, buckets_of, quantile
from collectors.prometheus.promql import matchers, quoted, regex_quoted
from collectors.queries.query import Query

LEARNT_EVERY_S = 300.0
"""All buckets of some replicas are asked for that often: an engine of another version brings other edges."""
NEIGHBOURS = 1
"""Buckets beside a quantile's that are asked for, too. Chosen: a quantile moves by less between two turns."""
MOST_EXPRESSIONS = 100
"""Histograms whose edges are known, the oldest leave. Chosen: three of each of some thirty deployments."""
SAMPLED = 48
"""Replicas that are asked for all their buckets first; an engine whose edges none of them has would not be noticed."""


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Every edge of a histogram as it is written, in order, and those of them that the quantiles need."""

    written: tuple[tuple[float, str], ...]
    needed: frozenset[float]
    learnt_s: float

    def fresh(self, now_s: float) -> bool:
        """Whether the edges are known lately enough."""
        return 0 <= now_s - self.learnt_s < LEARNT_EVERY_S

    def pruned(self, query: Query, now_s: float) -> Query | None:
        """The query for the needed edges only; None where it must be asked for whole."""
        kept = [text for edge, text in self.written if edge in self.needed]
        if not self.fresh(now_s) or not query.prunable or not kept:
            return None
        pattern = "|".join(regex_quoted(text) for text in kept)
        return replace(query, expression=query.with_matchers(f"le=~{quoted(pattern)}"))

    def suffices_over(self, series: Sequence[TimeSeries]) -> bool:
        """Whether the answer gives the quantiles of every moment of a line that has any."""
        moments = at_each_moment(series)
        total = [sum(s.value for s in samples if s.labels.get("le") == "+Inf") for samples in moments]
        return all(n == 0 or self.suffices(samples) for n, samples in zip(total, moments, strict=True))

    def suffices(self, samples: Sequence[Sample]) -> bool:
        """Whether an answer for the needed edges gives the quantiles: each lies between edges with none in between."""
        classic = [s for s in samples if s.histogram is None and not math.isnan(s.value)]
        if {float(s.labels.get("le", "nan")) for s in classic} != self.needed:
            return False
        edges = sorted({edge for edge, _ in self.written})
        pairs = {(low, high) for low, high in zip([min(0.0, edges[0]), *edges], edges, strict=False)}
        pairs.add((edges[-2], math.inf))
        read = [quantile(q, buckets_of(samples)) for q in QUANTILES.values()]
        return all(q is not None and (q[1], q[2]) in pairs for q in read)


def evenly(replicas: Sequence[Mapping[str, str]], count: int) -> list[str]:
    """The instances of ``count`` replicas at most, evenly chosen; none where all would be."""
    instances = sorted({instance for labels in replicas if (instance := labels.get("instance"))})
    return instances[:: -(-len(instances) // count)] if len(instances) > count else []


def sampled(query: Query, replicas: Sequence[Mapping[str, str]]) -> Query | None:
    """The query for some of the replicas; None where they have no instance label, or are few."""
    chosen = evenly(replicas, SAMPLED)
    if not chosen or not query.prunable:
        return None
    return replace(query, expression=query.with_matchers(matchers({"instance": chosen})))


def at_each_moment(series: Sequence[TimeSeries]) -> list[list[Sample]]:
    """The samples of each moment of a line."""
    samples: dict[float, list[Sample]] = {}
    for one in series:
        for time_s, value in zip(one.times_s, one.values, strict=True):
            samples.setdefault(time_s, []).append(Sample(labels=one.labels, time_s=time_s, value=value))
    return list(samples.values())


def edges_over(series: Sequence[TimeSeries], now_s: float) -> Edges | None:
    """The edges that the quantiles of any moment of a line need; moments without quantiles need none."""
    known = [edges for samples in at_each_moment(series) if (edges := edges_of(samples, now_s)) is not None]
    if not known:
        return None
    written = dict(pair for edges in known for pair in edges.written)
    return Edges(
        written=tuple(sorted(written.items())),
        needed=frozenset[float]().union(*(edges.needed for edges in known)),
        learnt_s=now_s,
    )


def edges_of(samples: Sequence[Sample], now_s: float) -> Edges | None:
    """The edges of a whole classic histogram around its quantiles; None without quantiles or a last bucket."""
    if any(s.histogram is not None or math.isnan(s.value) for s in samples):
        return None
    try:
        written = tuple(sorted((float(s.labels["le"]), s.labels["le"]) for s in samples))
    except (KeyError, ValueError):
        return None
    edges = sorted({edge for edge, _ in written})
    read = [quantile(q, buckets_of(samples)) for q in QUANTILES.values()]
    if len(edges) < 3 or edges[-1] != math.inf or any(math.isnan(edge) for edge in edges):
        return None
    needed = {math.inf, edges[-2]} if any(q and math.isinf(q[2]) for q in read) else {math.inf}
    for interval in read:
        if interval is None:
            return None
        at = edges.index(interval[2])
        needed.update(edges[max(0, at - 1 - NEIGHBOURS) : at + 1 + NEIGHBOURS])
    return Edges(written=written, needed=frozenset(needed), learnt_s=now_s)


class BucketPruning:
    """Asks a source for the buckets that count. ``replicas`` are the labels of those there are, to choose some from."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self._edges: OrderedDict[str, Edges] = OrderedDict()
        self.replicas: tuple[Mapping[str, str], ...] = ()

    def vectors(self, queries: Sequence[Query], *, at_s: float | None, now_s: float) -> Vectors:
        """The answers at a moment, asked for the buckets that count alone."""
        sample = self._sampled(queries, now_s)
        if sample:
            some = self._inner.vectors(list(sample.values()), at_s=at_s)
            self._learn({whole: edges_of(some.of(query.subject), now_s) for whole, query in sample.items()})
        pruned, edges = self._pruned(queries, now_s)
        answer = self._inner.vectors(pruned, at_s=at_s)
        short = [query for query, known in edges.items() if not known.suffices(answer.of(query.subject))]
        if not short:
            return answer
        again = self._inner.vectors(short, at_s=at_s)
        self._learn({query.expression: edges_of(again.of(query.subject), now_s) for query in short})
        return without(answer, short).replaced(again)

    def ranges(self, queries: Sequence[Query], *, start_s: float, end_s: float, step_s: float, now_s: float) -> Ranges:
        """See Backend. The edges are those that the quantiles of any moment need."""
        grid = Grid(start_s=start_s, end_s=end_s, step_s=step_s)
        sample = self._sampled(queries, now_s, anew=True)
        if sample:
            some = self._inner.ranges(list(sample.values()), **grid)
            self._learn({whole: edges_over(some.of(query.subject), now_s) for whole, query in sample.items()})
        pruned, edges = self._pruned(queries, now_s)
        answer = self._inner.ranges(pruned, **grid)
        short = [query for query, known in edges.items() if not known.suffices_over(answer.of(query.subject))]
        if not short:
            return answer
        again = self._inner.ranges(short, **grid)
        left_out = {query.subject for query in short}
        return replace(
            answer,
            series={**{s: lines for s, lines in answer.series.items() if s not in left_out}, **again.series},
            problems={**answer.problems, **again.problems},
            notes=joined_notes([answer.notes, again.notes]),
        )

    def _sampled(self, queries: Sequence[Query], now_s: float, *, anew: bool = False) -> dict[str, Query]:
        """By their whole expression, the queries to some replicas: for histograms whose edges are not known now."""
        chosen = {}
        for query in queries:
            known = self._edges.get(query.expression)
            if query.prunable and (anew or known is None or not known.fresh(now_s)):
                some = sampled(query, self.replicas)
                if some is not None:
                    chosen[query.expression] = some
        return chosen

    def _pruned(self, queries: Sequence[Query], now_s: float) -> tuple[list[Query], dict[Query, Edges]]:
        """The queries, pruned where the edges are known; and those that were pruned as they were, with the edges."""
        changed, pruned_by = [], {}
        for query in queries:
            edges = self._edges.get(query.expression) if query.prunable else None
            few = edges.pruned(query, now_s) if edges else None
            if edges is not None and few is not None:
                pruned_by[query] = edges
            changed.append(few or query)
        return changed, pruned_by

    def _learn(self, learnt: Mapping[str, Edges | None]) -> None:
        for text, edges in learnt.items():
            self._edges.pop(text, None)
            if edges is not None:
                self._edges[text] = edges
        while len(self._edges) > MOST_EXPRESSIONS:
            self._edges.popitem(last=False)
