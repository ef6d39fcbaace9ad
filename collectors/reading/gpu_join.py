"""Which GPUs belong to a deployment: by an explicit selector, by pod or by host; never a whole cluster by accident."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import finite
from collectors.prometheus.promql import LabelValue
from collectors.queries.query import GROUPED, Group, Query, Subject
from collectors.queries.ttl import GPU_COUNT, GPU_PLACES
from collectors.reading.layout import HOST_LABELS, Layout
from collectors.vocabulary.expressions import Scope
from collectors.vocabulary.schema import GpuVocabulary

MOST_SAMPLES = 100_000
"""Samples of one GPU field that a reading averages; 10,000 GPUs over 15 minutes would be 600,000 a field."""
FLEET_SCRAPES = 4
"""Scrapes of the window of a large fleet. Chosen: the fewest that a rate needs."""
FLEET_GPUS = 2_000
"""From here on gauges are taken as they are now. Chosen: so many GPUs are an average already."""
MANY_PLACES = 20
"""Hosts or pods that are named one by one, at most, where they are all there are. Chosen: a legible expression."""


@dataclass(frozen=True, kw_only=True)
class GpuJoin:
    """The GPUs of a deployment as matchers, how they were found, or why not."""

    vocabulary: GpuVocabulary | None = None
    labels: Mapping[str, LabelValue] = field(default_factory=dict)
    always: str = ""
    sign: str = ""
    how: str = ""
    devices: float = 0.0
    single: bool = False
    """Whether every GPU is known to have one series of a field: no partitions, no second exporter."""
    reason: str = ""


class _Matchers(TypedDict, total=False):
    """What of a GpuJoin selects the GPUs."""

    labels: Mapping[str, LabelValue]
    always: str


class _Seen(TypedDict):
    """What of a GpuJoin an exporter says."""

    vocabulary: GpuVocabulary
    devices: float
    single: bool
    sign: str


def place_queries(vocabularies: Sequence[GpuVocabulary], names: Collection[str], *, fleet: bool = False) -> list[Query]:
    """Queries that tell where the GPUs of each exporter are; of a fleet also how many there are."""
    queries = []
    for v in vocabularies:
        by = ", ".join(dict.fromkeys((*v.pod_labels, *v.host_labels, "instance")))
        places = f"count by ({by}) ({_sign(v, names)})"
        queries.append(Query(expression=places, subject=_places(v), unit="GPUs", weight=GROUPED, ttl=GPU_PLACES))
        if fleet:
            count = f"count(count by ({', '.join(v.device_labels)}) ({_sign(v, names)}))"
            queries.append(Query(expression=count, subject=_count(v), unit="GPUs", weight=GROUPED, ttl=GPU_COUNT))
    return queries


def _places(vocabulary: GpuVocabulary) -> Subject:
    return Subject(vocabulary.id, group=Group.GPU_PLACES)


def _count(vocabulary: GpuVocabulary) -> Subject:
    return Subject(vocabulary.id, group=Group.GPU_COUNT)


def _sign(vocabulary: GpuVocabulary, names: Collection[str]) -> str:
    """The metric that stands for a GPU: the first of those an exporter is known by that has data."""
    return next((name for name in vocabulary.detect if name in names), vocabulary.detect[0])


def join_gpus(
    vocabularies: Sequence[GpuVocabulary],
    places: Vectors,
    layout: Layout,
    selector: Mapping[str, LabelValue] | None,
    names: Collection[str],
) -> GpuJoin:
    """The GPUs that belong to a deployment: mapping before pod before host."""
    if not vocabularies:
        return GpuJoin(reason="no GPU exporter is seen (dcgm-exporter or AMD's device-metrics-exporter)")
    if selector is not None:
        return GpuJoin(labels=selector, how="gpu_selector", **_seen(vocabularies[0], places, names))
    for vocabulary in vocabularies:
        labels = [sample.labels for sample in places.of(_places(vocabulary))]
        seen = _seen(vocabulary, places, names)
        by_pod = _common(labels, vocabulary.pod_labels, _pods(layout))
        if by_pod:
            return GpuJoin(how="pod", **by_pod, **seen)
        by_host = _common(labels, vocabulary.host_labels, _hosts(layout)) or _by_address(labels, _hosts(layout))
        if by_host:
            return GpuJoin(how="host", **by_host, **seen)
    label = vocabularies[0].label
    return GpuJoin(reason=f"{label} is seen, but no pod or host ties its GPUs to this deployment: give gpu_selector")


def _seen(vocabulary: GpuVocabulary, places: Vectors, names: Collection[str]) -> _Seen:
    series = sum(sample.value for sample in places.of(_places(vocabulary)))
    count = places.of(_count(vocabulary))
    single = bool(count) and finite(count[0].value) == series
    return {"vocabulary": vocabulary, "devices": series, "single": single, "sign": _sign(vocabulary, names)}


def _pods(layout: Layout) -> set[str]:
    return set().union(*layout.values(("pod", "exported_pod")).values())


def _hosts(layout: Layout) -> set[str]:
    named = layout.values(HOST_LABELS)
    addresses = {_host(address) for address in layout.values(("instance",)).get("instance", set())}
    return set().union(*named.values(), addresses)


def _host(address: str) -> str:
    """The host of an instance label: without port, IPv6 brackets kept apart from it."""
    if address.startswith("["):
        return address[1:].split("]")[0]
    return address.rsplit(":", 1)[0] if address.count(":") == 1 else address


def _common(places: Sequence[Mapping[str, str]], labels: Sequence[str], wanted: set[str]) -> _Matchers | None:
    """Matchers for the places that are wanted; when those are all there are, any value of the label will do."""
    for label in labels:
        values = {place[label] for place in places if place.get(label)}
        shared = sorted(values & wanted)
        if shared and len(shared) == len(values) > MANY_PLACES:
            return {"always": f'{label}!=""'}
        if shared:
            return {"labels": {label: shared}}
    return None


def _by_address(places: Sequence[Mapping[str, str]], hosts: set[str]) -> _Matchers | None:
    shared = sorted({place["instance"] for place in places if _host(place.get("instance", "")) in hosts})
    return {"labels": {"instance": shared}} if shared else None


def gpu_scope(join: GpuJoin, scope: Scope) -> Scope:
    """The scope of the GPUs of a deployment; for a large fleet, only its last scrapes, not the whole window.

    Thousands of GPUs are an average already: their gauges are taken as they are now.
    """
    samples = join.devices * scope.window_s / max(scope.step_s, 0.1)
    window = scope.window_s if samples <= MOST_SAMPLES else min(scope.window_s, FLEET_SCRAPES * scope.step_s)
    instant = join.devices > FLEET_GPUS
    return Scope(labels=join.labels, always=join.always, window_s=window, step_s=scope.step_s, instant=instant)
