"""The metrics that a deployment will expose, as PromQL: names from the vocabularies that Live reads them with."""

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.vocabulary import EngineVocabulary, MetricCandidate, engine_vocabularies
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import Scope, scope_of, selected
from sharing.manifests.facts import ManifestFacts

VOCABULARY = {"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm_serve", "nim": "vllm"}
"""The vocabulary of each engine that exposes latencies as histograms with buckets that are known; NIM exposes those of
the vLLM that it is since its 2.0 (collectors/vocabulary/engines/nim.yaml has the names of 1.x)."""

LATENCIES: Mapping[str, tuple[str, ...]] = {"ttft": ("ttft",), "itl": ("tpot", "itl"), "e2e": ("e2e",)}
"""What measures a limited latency, nearest first: the plan's ITL is the mean gap of a request, an engine's TPOT."""


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Expressions about one deployment, over a window written as PromQL has it."""

    vocabulary: EngineVocabulary
    scope: Scope

    def sum_of(self, concept: str) -> str | None:
        """Its sum over all instances now, of a gauge; None where the engine has none."""
        gauge = next((use for use in self._uses(concept) if use.gauge), None)
        return f"sum({self.scope.once(selected(gauge, gauge.gauge or '', self.scope))})" if gauge else None

    def highest(self, concept: str) -> str | None:
        """The highest over the instances, of a gauge."""
        gauge = next((use for use in self._uses(concept) if use.gauge), None)
        return f"max({selected(gauge, gauge.gauge or '', self.scope)})" if gauge else None

    def rate_of(self, concept: str, window: str) -> str | None:
        """The rate a second of the counter of a concept; None where the engine has none."""
        counter = next((use for use in self._uses(concept) if use.counter), None)
        if counter is None:
            return None
        rate = f"rate({selected(counter, counter.counter or '', self.scope)}[{window}])"
        return f"sum({self.scope.once(rate)})"

    def histogram(self, concept: str) -> MetricCandidate | None:
        """The histogram of a concept."""
        return next((use for use in self._uses(concept) if use.histogram), None)

    def buckets(self, histogram: MetricCandidate, edge: float | None = None) -> str:
        """The buckets of a histogram: all, or the one that ends at ``edge`` as Python's exporters write it."""
        extra = "" if edge is None else f'le="{float(edge)}"'
        where = self.scope.fill(histogram.where)
        inside = self.scope.selection(extra=",".join(part for part in (extra, where) if part))
        return f"{histogram.histogram}_bucket{{{inside}}}"

    def count(self, histogram: MetricCandidate) -> str:
        """How many a histogram counted."""
        return selected(histogram, f"{histogram.histogram}_count", self.scope)

    def _uses(self, concept: str) -> tuple[MetricCandidate, ...]:
        known = self.vocabulary.concepts.get(concept)
        return known.use if known else ()


def metrics_of(facts: ManifestFacts) -> Metrics | None:
    """The metrics of the plan's engine under the name that the model is served as; None where they are not known."""
    name = VOCABULARY.get(facts.engine.id)
    if name is None:
        return None
    vocabulary = engine_vocabularies()[name]
    engine = DetectedEngine(vocabulary=vocabulary, model_label=vocabulary.model_label)
    scope = scope_of({"model": facts.checkpoint.served_as}, engine, window_s=300)
    return Metrics(vocabulary=vocabulary, scope=scope)
