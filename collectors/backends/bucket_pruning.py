"""Quantiles of a fleet from the few buckets around them: 46,000 series of 2,000 replicas, these are 18,000.

A quantile needs the edges of its bucket, what lies below them and the total. So once the quantiles of a histogram are
known, the next question is for their buckets, the neighbours of those and the last one. Where nothing is known, a few
replicas are asked for all their buckets first. Where a quantile of all lies elsewhere, all buckets are asked for:
a narrowed answer that is kept gives the very quantiles that all buckets would give.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Ranges, Vectors, joined_notes
from collectors.prometheus.answers import Sample, Series
from collectors.prometheus.histograms import QUANTILES, buckets_of, quantile
from collectors.prometheus.promql import matchers, quoted, regex_quoted

NARROWED = ("ttft.buckets", "itl.buckets", "e2e.buckets")
LEARNT_EVERY_S = 300.0
"""All buckets of some replicas are asked for that often: an engine of another version brings other edges."""
NEIGHBOURS = 1
MOST_EXPRESSIONS = 100
SAMPLED = 48
"""Replicas that are asked for all their buckets first; an engine whose edges none of them has would not be noticed."""
_BUCKETS = "_bucket{"


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Every edge of a histogram as it is written, in order, and those of them that the quantiles need."""

    written: tuple[tuple[float, str], ...]
    needed: frozenset[float]
    told_s: float

    def fresh(self, now_s: float) -> bool:
        """Whether the edges can be believed."""
        return 0 <= now_s - self.told_s < LEARNT_EVERY_S

    def narrowed(self, expression: str, now_s: float) -> str | None:
        """The expression for the needed edges only; None where it must be asked for whole."""
        kept = [text for edge, text in self.written if edge in self.needed]
        if not self.fresh(now_s) or expression.count(_BUCKETS) != 1 or not kept:
            return None
        pattern = "|".join(regex_quoted(text) for text in kept)
        return expression.replace(_BUCKETS, f"{_BUCKETS}le=~{quoted(pattern)},")

    def suffices_over(self, series: Sequence[Series]) -> bool:
        """Whether the answer gives the quantiles of every moment of a line that has any."""
        moments = at_each_moment(series)
        total = [sum(s.value for s in samples if s.labels.get("le") == "+Inf") for samples in moments]
        return all(n == 0 or self.suffices(samples) for n, samples in zip(total, moments, strict=True))

    def suffices(self, samples: Sequence[Sample]) -> bool:
        """Whether an answer for the needed edges gives the quantiles: each lies between edges with none in between."""
        found = {float(s.labels.get("le", "nan")) for s in samples if s.histogram is None and not math.isnan(s.value)}
        if found != self.needed:
            return False
        edges = sorted({edge for edge, _ in self.written})
        pairs = {(low, high) for low, high in zip([min(0.0, edges[0]), *edges], edges, strict=False)}
        pairs.add((edges[-2], math.inf))
        read = [quantile(q, buckets_of(samples)) for q in QUANTILES.values()]
        return all(q is not None and (q[1], q[2]) in pairs for q in read)


def evenly(replicas: Sequence[Mapping[str, str]], count: int) -> list[str]:
    """The instances of ``count`` replicas at most, evenly chosen; none where all would be."""
    instances = sorted({found for labels in replicas if (found := labels.get("instance"))})
    return instances[:: -(-len(instances) // count)] if len(instances) > count else []


def sampled(expression: str, replicas: Sequence[Mapping[str, str]]) -> str | None:
    """The expression for some of the replicas; None where they cannot be told."""
    chosen = evenly(replicas, SAMPLED)
    if not chosen or expression.count(_BUCKETS) != 1:
        return None
    return expression.replace(_BUCKETS, f"{_BUCKETS}{matchers({'instance': chosen})},")


def at_each_moment(series: Sequence[Series]) -> list[list[Sample]]:
    """The samples of each moment of a line."""
    found: dict[float, list[Sample]] = {}
    for one in series:
        for time_s, value in zip(one.times_s, one.values, strict=True):
            found.setdefault(time_s, []).append(Sample(labels=one.labels, time_s=time_s, value=value))
    return list(found.values())


def edges_over(series: Sequence[Series], now_s: float) -> Edges | None:
    """The edges that the quantiles of any moment of a line need; moments without quantiles need none."""
    known = [edges for samples in at_each_moment(series) if (edges := edges_of(samples, now_s)) is not None]
    if not known:
        return None
    written = dict(pair for edges in known for pair in edges.written)
    return Edges(
        written=tuple(sorted(written.items())),
        needed=frozenset[float]().union(*(edges.needed for edges in known)),
        told_s=now_s,
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
    for found in read:
        if found is None:
            return None
        at = edges.index(found[2])
        needed.update(edges[max(0, at - 1 - NEIGHBOURS) : at + 1 + NEIGHBOURS])
    return Edges(written=written, needed=frozenset(needed), told_s=now_s)


class BucketPruning:
    """Asks a source for the buckets that count. ``replicas`` are the labels of those there are, to choose some from."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self._edges: OrderedDict[str, Edges] = OrderedDict()
        self.replicas: tuple[Mapping[str, str], ...] = ()

    def vectors(self, expressions: Mapping[str, str], *, at_s: float | None, now_s: float) -> Vectors:
        """See Backend."""
        asked = self._sampled(expressions, now_s)
        if asked:
            some = self._inner.vectors(asked, at_s=at_s)
            self._learn({expressions[key]: edges_of(some.of(key), now_s) for key in asked})
        narrow, edges = self._narrowed(expressions, now_s)
        found = self._inner.vectors({**expressions, **narrow}, at_s=at_s)
        short = [key for key in narrow if not edges[key].suffices(found.of(key))]
        if short:
            again = self._inner.vectors({key: expressions[key] for key in short}, at_s=at_s)
            self._learn({expressions[key]: edges_of(again.of(key), now_s) for key in short})
            found = Vectors(
                samples={**{k: v for k, v in found.samples.items() if k not in short}, **again.samples},
                problems={**found.problems, **again.problems},
                notes=joined_notes([found.notes, again.notes]),
            )
        return found

    def ranges(
        self, expressions: Mapping[str, str], *, start_s: float, end_s: float, step_s: float, now_s: float
    ) -> Ranges:
        """See Backend. The edges are those that the quantiles of any moment need."""
        grid = {"start_s": start_s, "end_s": end_s, "step_s": step_s}
        asked = self._sampled({k: text for k, text in expressions.items() if k in NARROWED}, now_s, anew=True)
        if asked:
            some = self._inner.ranges(asked, **grid)
            self._learn({expressions[key]: edges_over(some.series.get(key, ()), now_s) for key in asked})
        narrow, edges = self._narrowed(expressions, now_s)
        found = self._inner.ranges({**expressions, **narrow}, **grid)
        short = [key for key in narrow if not edges[key].suffices_over(found.series.get(key, ()))]
        if not short:
            return found
        again = self._inner.ranges({key: expressions[key] for key in short}, **grid)
        return replace(
            found,
            series={**{k: v for k, v in found.series.items() if k not in short}, **again.series},
            problems={**found.problems, **again.problems},
            notes=joined_notes([found.notes, again.notes]),
        )

    def _sampled(self, expressions: Mapping[str, str], now_s: float, *, anew: bool = False) -> dict[str, str]:
        """The questions to some replicas: for histograms of which the edges are not known, or of another time."""
        found = {}
        for key in NARROWED:
            text = expressions.get(key, "")
            known = self._edges.get(text)
            if text and (anew or known is None or not known.fresh(now_s)):
                some = sampled(text, self.replicas)
                if some is not None:
                    found[key] = some
        return found

    def _narrowed(self, expressions: Mapping[str, str], now_s: float) -> tuple[dict[str, str], dict[str, Edges]]:
        """The questions for the edges that are needed, and those edges."""
        found, told = {}, {}
        for key in NARROWED:
            edges = self._edges.get(expressions.get(key, ""))
            text = edges.narrowed(expressions[key], now_s) if edges else None
            if edges is not None and text is not None:
                found[key], told[key] = text, edges
        return found, told

    def _learn(self, told: Mapping[str, Edges | None]) -> None:
        for text, edges in told.items():
            self._edges.pop(text, None)
            if edges is not None:
                self._edges[text] = edges
        while len(self._edges) > MOST_EXPRESSIONS:
            self._edges.popitem(last=False)
