"""Quantiles of a fleet from the few buckets around them: 46,000 series of 2,000 replicas, these are 18,000.

A quantile needs the edges of its bucket, what lies below them and the total. So once the quantiles of a histogram are
known, the next question is for their buckets, the neighbours of those and the last one. Where a quantile has left them,
all buckets are asked for: a narrowed answer that is kept gives the very quantiles that all buckets would give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from collectors.distribution import QUANTILES, buckets_of, quantile
from collectors.prometheus.answers import Sample
from collectors.prometheus.promql import quoted

NARROWED = ("ttft.buckets", "itl.buckets", "e2e.buckets")
WHOLE_EVERY_S = 300.0
"""All buckets are asked for that often: an engine of another version brings other edges."""
NEIGHBOURS = 1
_BUCKETS = "_bucket{"


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Every edge of a histogram as it is written, in order, and those of them that the quantiles need."""

    written: tuple[tuple[float, str], ...]
    needed: frozenset[float]
    told_s: float

    def narrowed(self, expression: str, now_s: float) -> str | None:
        """The expression for the needed edges only; None where it must be asked for whole."""
        kept = [text for edge, text in self.written if edge in self.needed]
        if not 0 <= now_s - self.told_s < WHOLE_EVERY_S or expression.count(_BUCKETS) != 1 or not kept:
            return None
        pattern = "|".join(re.escape(text) for text in kept)
        return expression.replace(_BUCKETS, f"{_BUCKETS}le=~{quoted(pattern)},")

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
