"""Third round: every number at once."""

from collections.abc import Mapping, Sequence

from collectors.backends.backend import Backend, Vectors
from collectors.queries.query import Group, QuantityPart, Query, Subject, by_subject
from collectors.queries.ttl import FLEET_REPLICAS
from collectors.reading.discovery import Discovery
from collectors.reading.engine_values import (
    QUANTITY,
    engine_distributions,
    engine_numbers,
    engine_queries,
    mapping_of,
    missing_of,
    one,
    saturation_query,
)
from collectors.reading.gpu_join import FLEET_GPUS, gpu_scope
from collectors.reading.gpu_sums import PlainQuery, plain_queries, with_sums
from collectors.reading.gpu_values import gpu_numbers, gpu_queries, missing_fields
from collectors.reading.health import CORE, SATURATED_SHARE, verdict
from collectors.reading.layout import RELAY_LABELS
from collectors.reading.lost_replicas import Lost, former_queries, lost_replicas, target_queries
from collectors.reading.observation import MissingQuantity, Observation, ObservedReplica, unknown_numbers
from collectors.reading.remarks import Ages, Names, Remark, RemarkKind, remark
from collectors.reading.topology import Topology
from collectors.source import Source
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import replica_query

REPLICA_COLUMNS = {
    "running": "running",
    "waiting": "waiting",
    "kv_usage": "kv_usage",
    "generation_tokens": "generation_tokens_per_s",
}
MAX_REPLICAS = 5000
"""Chosen: beyond it a table of replicas is no longer read."""


def observe(backend: Backend, source: Source, discovery: Discovery, topology: Topology) -> Observation:
    """The third round: every number at once."""
    exact: list[Query] = []
    plain: dict[Query, PlainQuery] = {}
    if topology.gpus.vocabulary is not None:
        scope = gpu_scope(topology.gpus, topology.scope)
        gpus = topology.gpus
        exact = gpu_queries(topology.gpus.vocabulary, scope, sign=gpus.sign, partitioned=gpus.partitioned)
        plain = plain_queries(exact, topology.gpus, scope)
    queries = [*_engine_queries(topology), *target_queries(topology.layout), *former_queries(topology)]
    queries += [plain[query].query if query in plain else query for query in exact]
    answer = with_sums(backend, backend.vectors(queries, at_s=discovery.at_s), plain, discovery.at_s)
    lost = lost_replicas(answer, topology.layout, at_s=discovery.at_s, dedicated=backend.dedicated)
    ages = _ages(queries, answer, discovery)
    return _assembled(source, discovery, topology, answer, lost, ages)


def _engine_queries(topology: Topology) -> list[Query]:
    """What is asked of the engine, as a whole and by replica; of a fleet only the buckets that can be pruned."""
    layout, choices = topology.layout, topology.choices
    queries = engine_queries(choices, topology.scope)
    if layout.replicas <= FLEET_REPLICAS and (judged := saturation_query(choices, topology.scope)):
        queries.append(judged)
    if layout.replicas > FLEET_REPLICAS:
        queries = [query for query in queries if query.subject.part is not QuantityPart.BUCKETS or query.prunable]
    by = tuple(label for label in ("instance", "pod", "exported_pod", *RELAY_LABELS) if layout.values((label,)))
    if by and layout.replicas <= MAX_REPLICAS:
        candidates = {key: choice.candidate for key in REPLICA_COLUMNS if (choice := choices.get(key))}
        split = [replica_query(key, one, by, topology.scope) for key, one in candidates.items() if one is not None]
        queries += [query for query in split if query is not None]
    return queries


def _assembled(
    source: Source, discovery: Discovery, topology: Topology, answer: Vectors, lost: Lost, ages: list[Remark]
) -> Observation:
    layout, scope, choices, at_s = topology.layout, topology.scope, topology.choices, discovery.at_s
    numbers = unknown_numbers() | engine_numbers(answer, choices, scope)
    numbers |= _replica_numbers(topology, answer)
    distributions = engine_distributions(answer, choices, scope)
    missing = list(missing_of(choices, answer, numbers, distributions))
    about_gpus = _add_gpus(numbers, missing, topology, answer)
    quantities = _core_quantities(topology.engine)
    core = [quantities[m.quantity] for m in missing if m.quantity in quantities]
    judged = verdict(
        numbers=numbers, distributions=distributions, vectors=answer, layout=layout, core_missing=core, lost=lost
    )
    fewer = [lost.fewer] if lost.fewer is not None else []
    return Observation(
        name=source.name,
        state=judged.state,
        causes=judged.causes,
        remarks=(*topology.remarks, *fewer, *about_gpus, *_remarks_on(topology), *_steps(numbers), *ages),
        warnings=tuple(dict.fromkeys((*discovery.warnings, *answer.notes.warnings))),
        at_s=at_s,
        window_s=scope.window_s,
        covered_s=None if layout.oldest_s is None else max(0.0, min(scope.window_s, at_s - layout.oldest_s)),
        age_s=None if layout.newest_s is None else max(0.0, at_s - layout.newest_s),
        scrape_interval_s=layout.interval_s,
        engine=topology.engine.vocabulary.id,
        engine_variant=topology.engine.variant,
        gpu_exporter=topology.gpus.vocabulary.id if topology.gpus.vocabulary else None,
        numbers=numbers,
        distributions=distributions,
        replicas=_replicas(answer),
        mapping=mapping_of(choices, scope),
        missing=tuple(missing),
    )


def _replica_numbers(topology: Topology, answer: Vectors) -> dict[str, float | None]:
    """Replicas that serve, and those that stopped. What stands before engines is none of them: it says itself how many
    it routes to, or passes on what each of them reports."""
    layout = topology.layout
    passed_on = any(labels.get(label) for labels in layout.live for label in RELAY_LABELS)
    if topology.engine.vocabulary.front_end and not passed_on:
        workers = one(answer, "workers")
        return {"replicas": workers or None, "replicas_lost": None}
    return {"replicas": float(layout.replicas), "replicas_lost": float(len(layout.lost))}


def _add_gpus(
    numbers: dict[str, float | None], missing: list[MissingQuantity], topology: Topology, answer: Vectors
) -> list[Remark]:
    """Put the numbers of the GPUs in, or why there are none; returns what to say about them."""
    vocabulary = topology.gpus.vocabulary
    if vocabulary is None:
        missing.append(MissingQuantity(quantity="gpus", reason=topology.gpus.reason))
        return []
    gpus = gpu_numbers(vocabulary, answer, numbers["generation_tokens_per_s"])
    numbers |= gpus.numbers
    missing += [
        MissingQuantity(quantity=quantity, reason=why) for quantity, why in missing_fields(vocabulary, numbers).items()
    ]
    return [*gpus.remarks, *([remark(RemarkKind.GPUS_OF_HOSTS)] if topology.gpus.how == "host" else [])]


def _steps(numbers: Mapping[str, float | None]) -> list[Remark]:
    """Says at how many steps a window is saturated where the others can be judged."""
    share = numbers["saturated_ratio"]
    if share is None or not 0 < share < SATURATED_SHARE:
        return []
    return [remark(RemarkKind.SATURATED_AT_TIMES, share=share)]


def _core_quantities(engine: DetectedEngine) -> dict[str, str]:
    """What an engine should expose by quantity, with what it is called."""
    concepts = engine.vocabulary.concepts
    return {
        QUANTITY[key]: name
        for key, name in CORE.items()
        if key in concepts and concepts[key].use and not concepts[key].optional
    }


def _remarks_on(topology: Topology) -> list[Remark]:
    remarks = []
    if topology.layout.replaced:
        names = Names(topology.layout.replaced, most=3, counted=True)
        remarks.append(remark(RemarkKind.REPLICAS_REPLACED, replicas=names))
    if topology.layout.replicas > FLEET_REPLICAS:
        remarks.append(remark(RemarkKind.FLEET_OF_REPLICAS, most=FLEET_REPLICAS))
    if topology.gpus.devices > FLEET_GPUS:
        remarks.append(remark(RemarkKind.FLEET_OF_GPUS, most=FLEET_GPUS))
    if topology.engine.also:
        remarks.append(remark(RemarkKind.OTHER_ENGINES, engines=Names(topology.engine.also)))
    mixed = [key for key, choice in topology.choices.items() if choice.newer_and_older]
    if mixed:
        remarks.append(remark(RemarkKind.OLD_AND_NEW_NAMES, quantities=Names(mixed, most=4)))
    return remarks


def _ages(queries: Sequence[Query], answer: Vectors, discovery: Discovery) -> list[Remark]:
    """How much older than the moment read the values of a fleet are, which is read in turns."""
    if not discovery.fleet:
        return []
    query_of = by_subject(queries)
    ages: dict[str, float] = {}
    for subject, samples in answer.samples.items():
        if samples and subject in query_of:
            what = _named_by_age(query_of[subject])
            ages[what] = max(ages.get(what, 0.0), discovery.at_s - samples[0].time_s)
    old = {what: age_s for what, age_s in ages.items() if age_s >= 1.0}
    return [remark(RemarkKind.READ_IN_TURNS, ages=Ages(old))] if old else []


def _named_by_age(query: Query) -> str:
    """What of a fleet is read together."""
    if query.ttl.single is not None:
        return "capacities"
    if query.subject.part is QuantityPart.BUCKETS:
        return "quantiles"
    return "GPUs" if query.subject.group is Group.GPU else "the rest"


def _replicas(answer: Vectors) -> tuple[ObservedReplica, ...]:
    """One row per replica with data now."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, float | None]] = {}
    for key, column in REPLICA_COLUMNS.items():
        for sample in answer.of(Subject(key, group=Group.REPLICA)):
            rows.setdefault(tuple(sorted(sample.labels.items())), {})[column] = (
                sample.value if sample.value == sample.value else None
            )
    return tuple(ObservedReplica(labels=dict(labels), **values) for labels, values in sorted(rows.items()))
