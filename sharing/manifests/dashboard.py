"""A Grafana dashboard of the deployment, each panel with the line of the plan."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sharing.manifests.facts import ManifestFacts
from sharing.manifests.metrics import LATENCIES, Metrics, metrics_of
from sharing.manifests.targets import Document, File, Json, ManifestTarget, TargetReason

SCHEMA_VERSION = 41
WIDTH, HEIGHT, PER_ROW = 12, 8, 2
WINDOW = "$__rate_interval"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SHARE_UNIT, SECONDS_UNIT = "percentunit", "s"

Line = tuple[str, float]
"""A name and a height, drawn dashed across a panel."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Plans of an engine whose metrics are known."""
    return None if metrics_of(facts) else TargetReason.NO_METRICS


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """The dashboard to import; it asks for the Prometheus to read."""
    metrics = metrics_of(facts)
    assert metrics is not None
    placed = [{**panel, "id": i + 1, "gridPos": _place(i)} for i, panel in enumerate(panels(facts, metrics))]
    datasource = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    document = {
        "title": f"{facts.title}: measured beside the plan",
        "uid": facts.name,
        "schemaVersion": SCHEMA_VERSION,
        "tags": ["inference", "plan"],
        "timezone": "browser",
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [datasource]},
        "annotations": {"list": []},
        "panels": placed,
    }
    return {"grafana-dashboard.json": Json(document)}


def _place(index: int) -> dict[str, int]:
    return {"x": index % PER_ROW * WIDTH, "y": index // PER_ROW * HEIGHT, "w": WIDTH, "h": HEIGHT}


def panels(facts: ManifestFacts, metrics: Metrics) -> Iterator[dict[str, Any]]:
    """What the plan has a figure for and the engine a metric."""
    main = facts.groups[-1]
    arriving = metrics.rate_of("first_tokens", WINDOW) or metrics.rate_of("finished", WINDOW)
    tokens = facts.requests_per_s * facts.lengths.output_tokens
    working = main.instances - main.spares
    given = [
        ("Requests", "reqps", arriving, [("Plan: peak", facts.requests_per_s), ("Plan: capacity", _capacity(facts))]),
        ("Output tokens", "short", metrics.rate_of("generation_tokens", WINDOW), [("Plan", tokens)]),
        ("Requests in flight", "short", metrics.sum_of("running"), _known(main.in_flight * working)),
        ("Requests waiting", "short", metrics.sum_of("waiting"), []),
        ("KV cache in use, fullest instance", SHARE_UNIT, metrics.highest("kv_usage"), _kv(facts)),
    ]
    for latency in LATENCIES:
        if (panel := _latency(facts, metrics, latency)) is not None:
            yield panel
    for title, unit, expression, lines in given:
        if expression is not None:
            yield _panel(title, unit, [("Measured", expression)], lines)


def _capacity(facts: ManifestFacts) -> float:
    """Requests/s that the working instances serve within the limits."""
    return min(group.max_rps * (group.instances - group.spares) for group in facts.groups)


def _kv(facts: ManifestFacts) -> list[Line]:
    one = facts.plan.per_instance
    return _known(one.kv_used_gb / one.kv_gb) if one and one.kv_gb > 0 else []


def _known(value: float) -> list[Line]:
    """The line of the plan; none where a measured record leaves it open."""
    return [("Plan", value)] if value > 0 else []


def _latency(facts: ManifestFacts, metrics: Metrics, latency: str) -> dict[str, Any] | None:
    """A latency at the percentile of its limit, and its mean, beside plan and limit."""
    histogram = next((h for concept in LATENCIES[latency] if (h := metrics.histogram(concept))), None)
    if histogram is None or facts.plan.latency is None:
        return None
    share = facts.limits.percentile / 100.0
    quantile = f"histogram_quantile({share:g}, sum by (le) (rate({metrics.buckets(histogram)}[{WINDOW}])))"
    total = metrics.count(histogram).replace("_count{", "_sum{", 1)
    mean = f"sum(rate({total}[{WINDOW}])) / sum(rate({metrics.count(histogram)}[{WINDOW}]))"
    measured = [(f"Measured, p{facts.limits.percentile:g}", quantile), ("Measured, mean", mean)]
    planned = getattr(facts.plan.latency, f"{latency}_ms").at_percentile
    limit = getattr(facts.limits, f"{latency}_s")
    lines = [(f"Plan, p{facts.limits.percentile:g}", planned / 1000.0)] if planned is not None else []
    if math.isfinite(limit):
        lines.append(("Limit", limit))
    return _panel(latency.upper(), SECONDS_UNIT, measured, lines)


def _panel(title: str, unit: str, measured: list[tuple[str, str]], lines: list[Line]) -> dict[str, Any]:
    """A chart over time; the plan is a query of a constant, so that it stands in the legend and in the table."""
    queries = [*measured, *((name, f"vector({value:.6g})") for name, value in lines)]
    targets = [
        {"refId": chr(ord("A") + i), "datasource": DATASOURCE, "expr": expression, "legendFormat": name}
        for i, (name, expression) in enumerate(queries)
    ]
    return {
        "type": "timeseries",
        "title": title,
        "datasource": DATASOURCE,
        "targets": targets,
        "fieldConfig": {
            "defaults": {"unit": unit, "min": 0, "custom": {"lineWidth": 1, "fillOpacity": 5}},
            "overrides": [_dashed(name) for name, _ in lines],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    }


def _dashed(name: str) -> Document:
    style = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}}
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [style, {"id": "custom.fillOpacity", "value": 0}],
    }


TARGET = ManifestTarget("grafana", refuses, files)
