"""Which GPUs belong to a deployment: by an explicit selector, by pod or by host; never a whole cluster by accident."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from collectors.backends.backend import Vectors
from collectors.prometheus.histograms import finite
from collectors.prometheus.promql import LabelValue, matchers
from collectors.queries.query import GROUPED, Group, Query, Subject
from collectors.queries.ttl import GPU_COUNT, GPU_PLACES
from collectors.reading.layout import HOST_LABELS, ReplicaLayout
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.detect import DetectedExporter
from collectors.vocabulary.expressions import Scope
from collectors.vocabulary.schema import GpuVocabulary
from collectors.vocabulary.spellings import Spelling, respelled

MOST_SAMPLES = 100_000
"""Samples of one GPU field that a reading averages; 10,000 GPUs over 15 minutes would be 600,000 a field."""
FLEET_SCRAPES = 4
"""Scrapes of the window of a large fleet. Chosen: the fewest that a rate needs."""
FLEET_GPUS = 2_000
"""From here on gauges are taken as they are now. Chosen: so many GPUs are an average already."""
NAMESPACES = ("exported_namespace", "namespace", "kube_namespace")
"""Where the namespace of what a GPU is allotted to stands."""
MANY_PLACES = 20
"""Hosts or pods that are named one by one, at most, where they are all there are. Chosen: a legible expression."""


@dataclass(frozen=True, kw_only=True)
class GpuJoin:
    """The GPUs of a deployment as matchers, how they were found, or why not.

    ``devices`` is the number of their series; ``single`` whether every GPU is known to have one series of a field: no
    partitions, no second exporter; ``partitioned`` whether any GPU is; ``former`` are matchers of what a replica had
    that reports no more.
    """

    vocabulary: GpuVocabulary | None = None
    spelling: Spelling = None
    labels: Mapping[str, LabelValue] = field(default_factory=dict)
    always: str = ""
    sign: str = ""
    how: str = ""
    devices: float = 0.0
    single: bool = False
    partitioned: bool = False
    former: Mapping[str, LabelValue] | None = None
    reason: str = ""


class _Matchers(TypedDict, total=False):
    """What of a GpuJoin selects the GPUs."""

    labels: Mapping[str, LabelValue]
    always: str


class _Seen(TypedDict):
    """What of a GpuJoin an exporter says."""

    vocabulary: GpuVocabulary
    spelling: Spelling
    single: bool
    partitioned: bool
    sign: str


def place_queries(
    exporters: Sequence[DetectedExporter],
    names: Collection[str],
    *,
    selector: Mapping[str, LabelValue] | None = None,
    fleet: bool = False,
) -> list[Query]:
    """Queries that tell where the GPUs of each exporter are, or how many are selected; of a fleet also their number."""
    queries = []
    for exporter in exporters:
        v, sign = exporter.vocabulary, _sign(exporter, names)
        by = ", ".join(dict.fromkeys((*v.pod_labels, *v.host_labels, *NAMESPACES, *v.partition_labels, "instance")))
        inside = f"{{{matchers(selector)}}}" if selector is not None else ""
        places = f"count by ({by}) ({sign}{inside})"
        queries.append(Query(expression=places, subject=_places(v), unit="GPUs", weight=GROUPED, ttl=GPU_PLACES))
        if fleet:
            count = f"count(count by ({', '.join(v.device_labels)}) ({sign}))"
            queries.append(Query(expression=count, subject=_count(v), unit="GPUs", weight=GROUPED, ttl=GPU_COUNT))
    return queries


def _places(vocabulary: GpuVocabulary) -> Subject:
    return Subject(vocabulary.id, group=Group.GPU_PLACES)


def _count(vocabulary: GpuVocabulary) -> Subject:
    return Subject(vocabulary.id, group=Group.GPU_COUNT)


def _sign(exporter: DetectedExporter, names: Collection[str]) -> str:
    """The metric that stands for a GPU: the first of those an exporter is known by that has data."""
    spelled = [respelled(name, exporter.spelling) for name in exporter.vocabulary.detect]
    return next((name for name in spelled if name in names), spelled[0])


def join_gpus(
    exporters: Sequence[DetectedExporter],
    places: Vectors,
    layout: ReplicaLayout,
    selector: Mapping[str, LabelValue] | None,
    names: Collection[str],
    *,
    dedicated: bool = False,
) -> GpuJoin:
    """The GPUs that belong to a deployment: mapping before pod before host.

    ``dedicated``: all targets are of the deployment, whatever pods its GPUs are allotted to.
    """
    if not exporters:
        return GpuJoin(reason=f"no GPU exporter is seen ({', '.join(v.label for v in gpu_vocabularies().values())})")
    if selector is not None:
        return _selected(exporters, places, selector, names)
    refused = ""
    for exporter in exporters:
        v, seen = exporter.vocabulary, _seen(exporter, places, names)
        rows = [(sample.labels, sample.value) for sample in places.of(_places(v))]
        labels = [label for label, _ in rows]
        by_pod = _common(labels, v.pod_labels, _pods(layout.known))
        if by_pod:
            return GpuJoin(
                how="pod", devices=_number(rows, by_pod), former=_former(v, by_pod, layout), **by_pod, **seen
            )
        hosts = _hosts(layout.known)
        by_host = _common(labels, v.host_labels, hosts) or _by_address(labels, hosts)
        if by_host:
            by_host, foreign = (by_host, "") if dedicated else _without_others(by_host, rows, v, layout)
            if not foreign:
                former = _former(v, by_host, layout)
                return GpuJoin(how="host", devices=_number(rows, by_host), former=former, **by_host, **seen)
            refused = refused or foreign
    if refused:
        return GpuJoin(reason=refused)
    label = exporters[0].vocabulary.label
    return GpuJoin(reason=f"{label} is seen, but no pod or host ties its GPUs to this deployment: give gpu_selector")


def _selected(
    exporters: Sequence[DetectedExporter], places: Vectors, selector: Mapping[str, LabelValue], names: Collection[str]
) -> GpuJoin:
    """The GPUs of the first exporter that has any within the selector."""
    counts = {e.vocabulary.id: sum(s.value for s in places.of(_places(e.vocabulary))) for e in exporters}
    chosen = next((e for e in exporters if counts[e.vocabulary.id]), exporters[0])
    devices = counts[chosen.vocabulary.id]
    return GpuJoin(labels=selector, how="gpu_selector", devices=devices, **_seen(chosen, places, names))


def _seen(exporter: DetectedExporter, places: Vectors, names: Collection[str]) -> _Seen:
    v = exporter.vocabulary
    series = sum(sample.value for sample in places.of(_places(v)))
    count = places.of(_count(v))
    single = bool(count) and finite(count[0].value) == series
    parts = any(sample.labels.get(label) for sample in places.of(_places(v)) for label in v.partition_labels)
    sign = _sign(exporter, names)
    return {"vocabulary": v, "spelling": exporter.spelling, "single": single, "partitioned": parts, "sign": sign}


def _number(rows: Sequence[tuple[Mapping[str, str], float]], chosen: _Matchers) -> float:
    """Series of the GPUs that are selected: those of neighbours in the same Prometheus do not count."""
    labels = chosen.get("labels")
    if not labels:
        return sum(value for _, value in rows)
    return sum(value for place, value in rows if all(_matches(place.get(k, ""), v) for k, v in labels.items()))


def _matches(text: str, value: LabelValue) -> bool:
    return text == value if isinstance(value, str) else text in value


def _without_others(
    by_host: _Matchers,
    rows: Sequence[tuple[Mapping[str, str], float]],
    vocabulary: GpuVocabulary,
    layout: ReplicaLayout,
) -> tuple[_Matchers, str]:
    """GPUs by host without those that are allotted to pods of others; why not, where that cannot be told."""
    labels = dict(by_host.get("labels", {}))
    here = [place for place, _ in rows if all(_matches(place.get(k, ""), v) for k, v in labels.items())]
    spaces = {value for name in NAMESPACES for value in layout.values((name,)).get(name, set())}
    for label in vocabulary.pod_labels:
        pods = {place[label] for place in here if place.get(label)}
        free = any(not place.get(label) for place in here)
        near = {place[label] for place in here if place.get(label) and spaces & {place.get(n, "") for n in NAMESPACES}}
        if not pods:
            continue
        if layout.values(("pod", "exported_pod")):  # the pods of the replicas are known, and none of these
            own = {""} if free else set()
        else:
            own = next((some for some in (near, pods) if 0 < len(some) <= max(1, layout.replicas)), set())
        if own == pods and not free:
            return by_host, ""
        if own:
            return {"labels": {**labels, label: sorted(own)}}, ""
        return by_host, (
            f"the hosts of this deployment also have GPUs of other pods ({', '.join(sorted(pods)[:3])}), and nothing "
            "says which are its own: give gpu_selector"
        )
    return by_host, ""


def _former(vocabulary: GpuVocabulary, chosen: _Matchers, layout: ReplicaLayout) -> Mapping[str, LabelValue] | None:
    """Matchers of the GPUs that replicas had which report no more; None where there are none."""
    return _of_replicas(vocabulary, chosen.get("labels") or {}, chosen.get("always", ""), layout.lost_labels)


def former_of(
    gpus: GpuJoin, vocabulary: GpuVocabulary, replicas: Sequence[Mapping[str, str]]
) -> Mapping[str, LabelValue] | None:
    """Matchers of the GPUs that these replicas had, by the label that joins GPUs to replicas; None where none does."""
    return _of_replicas(vocabulary, gpus.labels, gpus.always, replicas)


def places_of_replica(replica: Mapping[str, str]) -> set[str]:
    """The names under which the GPUs of a replica may be known: those of its pod and of its host."""
    return _pods([replica]) | _hosts([replica])


def _of_replicas(
    vocabulary: GpuVocabulary, labels: Mapping[str, LabelValue], always: str, replicas: Sequence[Mapping[str, str]]
) -> Mapping[str, LabelValue] | None:
    if not replicas:
        return None
    label = next(iter(labels), always.partition("!=")[0])
    if label in vocabulary.pod_labels:
        wanted = _pods(replicas)
    elif label in vocabulary.host_labels:
        wanted = _hosts(replicas)
    else:
        return None
    values = sorted(value for value in wanted if value)
    return {label: values} if values else None


def _pods(replicas: Sequence[Mapping[str, str]]) -> set[str]:
    """The pods of replicas: by label, else by the name that their address begins with (vllm-0.vllm:8000)."""
    pods = {row[name] for row in replicas for name in ("pod", "exported_pod") if row.get(name)}
    if pods:
        return pods
    return {
        host.split(".")[0]
        for row in replicas
        if not (host := _host(row.get("instance", ""))).replace(".", "").isdigit()
    }


def _hosts(replicas: Sequence[Mapping[str, str]]) -> set[str]:
    named = {row[name] for row in replicas for name in HOST_LABELS if row.get(name)}
    return named | {_host(row["instance"]) for row in replicas if row.get("instance")}


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
    return Scope(
        labels=join.labels,
        always=join.always,
        window_s=window,
        step_s=scope.step_s,
        spelling=join.spelling,
        instant=instant,
    )
