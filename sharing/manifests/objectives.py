"""The plan's latency limits as objectives: Prometheus rules that alert on the burn rate, and Pyrra's objects."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.vocabulary import MetricCandidate
from collectors.vocabulary.burn_rates import BURNS, LEAST_REQUESTS, WINDOWS
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.metrics import LATENCIES, Metrics, metrics_of
from sharing.manifests.pods import metadata
from sharing.manifests.targets import Document, File, ManifestTarget, TargetReason, Yaml

PYRRA_WINDOW = "4w"


@dataclass(frozen=True, kw_only=True)
class ServiceObjective:
    """A share of ``percentile`` % of requests within ``limit_s``, judged at ``edge_s``, where a bucket ends."""

    latency: str
    measured_as: str
    histogram: MetricCandidate
    limit_s: float
    edge_s: float
    percentile: float

    @property
    def budget(self) -> float:
        """Share of requests that may be slower."""
        return 1.0 - self.percentile / 100.0


def objectives(facts: ManifestFacts, metrics: Metrics) -> tuple[ServiceObjective, ...]:
    """One for each limit that applies and that a histogram with known buckets measures."""
    limits = {"ttft": facts.limits.ttft_s, "itl": facts.limits.itl_s, "e2e": facts.limits.e2e_s}
    given = ((latency, limit) for latency, limit in limits.items() if math.isfinite(limit))
    return tuple(one for latency, limit in given if (one := objective(facts, metrics, latency, limit)))


def objective(facts: ManifestFacts, metrics: Metrics, latency: str, limit_s: float) -> ServiceObjective | None:
    """The objective of one limit; None without a histogram whose buckets are known up to the limit."""
    for concept in LATENCIES[latency]:
        histogram = metrics.histogram(concept)
        edges = [edge for edge in _edges(metrics, concept) if edge >= limit_s]
        if histogram and edges:
            return ServiceObjective(
                latency=latency,
                measured_as=concept,
                histogram=histogram,
                limit_s=limit_s,
                edge_s=min(edges),
                percentile=facts.limits.percentile,
            )
    return None


def _edges(metrics: Metrics, concept: str) -> tuple[float, ...]:
    """Where the buckets of a histogram end: those of vLLM's and SGLang's TPOT are those of their ITL."""
    known = metrics.vocabulary.buckets
    return tuple(known.get(concept) or known.get("itl" if concept == "tpot" else concept, ()))


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Plans with a limit that the engine's histograms can be held against."""
    if not any(map(math.isfinite, (facts.limits.ttft_s, facts.limits.itl_s, facts.limits.e2e_s))):
        return TargetReason.NO_LIMITS
    metrics = metrics_of(facts)
    return None if metrics and objectives(facts, metrics) else TargetReason.NO_HISTOGRAM


def rule_files(facts: ManifestFacts) -> Mapping[str, File]:
    """One PrometheusRule: a group of recordings and alerts for each objective."""
    metrics = metrics_of(facts)
    assert metrics is not None
    groups = [
        {
            "name": f"{facts.name}-{one.latency}",
            "interval": "30s",
            "rules": [*recordings(facts, metrics, one), *burn_alerts(facts, metrics, one)],
        }
        for one in objectives(facts, metrics)
    ]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata(facts),
        "spec": {"groups": groups},
    }
    return {"prometheus-rules.yaml": Yaml((rule,))}


def recorded(one: ServiceObjective, window: str) -> str:
    """Name of the share of requests over the limit."""
    return f"inference:{one.latency}_over_limit:ratio_rate{window}"


def recordings(facts: ManifestFacts, metrics: Metrics, one: ServiceObjective) -> Iterator[Document]:
    """The share of slower requests over every window of an alert."""
    for window in WINDOWS:
        within = f"sum(rate({metrics.buckets(one.histogram, one.edge_s)}[{window}]))"
        everything = f"sum(rate({metrics.count(one.histogram)}[{window}]))"
        yield {"record": recorded(one, window), "expr": f"1 - {within} / {everything}", "labels": {"plan": facts.name}}


def burn_alerts(facts: ManifestFacts, metrics: Metrics, one: ServiceObjective) -> Iterator[Document]:
    """An alert for each burn rate that can be reached: not more than all requests can be slower."""
    for burn in BURNS:
        share = burn.factor * one.budget
        if share >= 1.0:
            continue
        both = " and ".join(
            f'{recorded(one, window)}{{plan="{facts.name}"}} > {share:.6g}' for window in (burn.long, burn.short)
        )
        enough = f"sum(increase({metrics.count(one.histogram)}[{burn.long}])) > {LEAST_REQUESTS}"
        yield {
            "alert": f"Inference{one.latency.capitalize()}BudgetBurns",
            "expr": f"{both} and on () {enough}",
            "labels": {"severity": burn.severity, "plan": facts.name, "long_window": burn.long},
            "annotations": {
                "summary": f"{one.latency.upper()} of {facts.name} burns its budget {burn.factor:g} times too fast",
                "description": description(one),
            },
        }


def description(one: ServiceObjective) -> str:
    """What is promised, and where it is judged."""
    judged = "" if one.edge_s == one.limit_s else f", judged at {one.edge_s:g} s, the next edge of a bucket"
    return (
        f"{one.percentile:g} % of requests have {one.latency.upper()} within {one.limit_s:g} s{judged}; "
        f"measured by the server as {one.measured_as}."
    )


def pyrra_files(facts: ManifestFacts) -> Mapping[str, File]:
    """One ServiceLevelObjective for each objective."""
    metrics = metrics_of(facts)
    assert metrics is not None
    return {"pyrra.yaml": Yaml(tuple(level(facts, metrics, one) for one in objectives(facts, metrics)))}


def level(facts: ManifestFacts, metrics: Metrics, one: ServiceObjective) -> Document:
    """An objective as Pyrra has it."""
    return {
        "apiVersion": "pyrra.dev/v1alpha1",
        "kind": "ServiceLevelObjective",
        "metadata": metadata(facts, f"-{one.latency}"),
        "spec": {
            "target": f"{one.percentile:g}",
            "window": PYRRA_WINDOW,
            "description": description(one),
            "indicator": {
                "latency": {
                    "success": {"metric": metrics.buckets(one.histogram, one.edge_s)},
                    "total": {"metric": metrics.count(one.histogram)},
                }
            },
        },
    }


RULES = ManifestTarget("prometheus", refuses, rule_files)
PYRRA = ManifestTarget("pyrra", refuses, pyrra_files)
