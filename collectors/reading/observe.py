"""Third round: every number at once."""

from collections.abc import Collection, Mapping, Sequence

from collectors.backends.backend import Backend, Vectors
from collectors.prometheus.promql import duration, matchers
from collectors.queries.query import GROUPED, Group, Part, Query, Subject, by_subject, of_source
from collectors.queries.ttl import FIRST, FLEET_REPLICAS
from collectors.reading.discovery import Discovery
from collectors.reading.engine_values import (
    QUANTITY,
    engine_distributions,
    engine_numbers,
    engine_queries,
    mapping_of,
    missing_of,
    saturation_query,
)
from collectors.reading.gpu_join import FLEET_GPUS, gpu_scope
from collectors.reading.gpu_sums import Plain, plain_queries, with_sums
from collectors.reading.gpu_values import FORMER_XIDS, gpu_numbers, gpu_queries, missing_fields, per_device, places_of
from collectors.reading.health import CORE, SATURATED_SHARE, verdict
from collectors.reading.layout import LOOK_BACK_S, RELAY_LABELS, Layout, replica_name
from collectors.reading.observation import Missing, Observation, Replica, unknown_numbers
from collectors.reading.remarks import Ages, Ago, Kind, Names, Remark, remark
from collectors.reading.topology import Topology
from collectors.source import Source
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import Scope, replica_query

REPLICA_COLUMNS = {
    "running": "running",
    "waiting": "waiting",
    "kv_usage": "kv_usage",
    "generation_tokens": "generation_tokens_per_s",
}
MAX_REPLICAS = 5000
"""Chosen: beyond it a table of replicas is no longer read."""
DOWN = Subject("down", group=Group.SOURCE)
ANSWERING = Subject("answering", group=Group.SOURCE)


def observe(backend: Backend, source: Source, discovery: Discovery, topology: Topology) -> Observation:
    """The third round: every number at once."""
    exact: list[Query] = []
    plain: dict[Query, Plain] = {}
    if topology.gpus.vocabulary is not None:
        scope = gpu_scope(topology.gpus, topology.scope)
        exact = gpu_queries(topology.gpus.vocabulary, scope, sign=topology.gpus.sign)
        plain = plain_queries(exact, topology.gpus, scope)
    queries = [*_engine_queries(topology), *_target_queries(topology.layout), *_former_queries(topology)]
    queries += [plain[query].query if query in plain else query for query in exact]
    answer = with_sums(backend, backend.vectors(queries, at_s=discovery.at_s), plain, discovery.at_s)
    down = _down(answer, topology.layout, dedicated=backend.dedicated)
    ages = _ages(queries, answer, discovery)
    return _assembled(source, discovery, topology, answer, down, ages)


def _engine_queries(topology: Topology) -> list[Query]:
    """What is asked of the engine, as a whole and by replica; of a fleet only the buckets that can be pruned."""
    layout, choices = topology.layout, topology.choices
    queries = engine_queries(choices, topology.scope)
    if layout.replicas <= FLEET_REPLICAS and (judged := saturation_query(choices, topology.scope)):
        queries.append(judged)
    if layout.replicas > FLEET_REPLICAS:
        queries = [query for query in queries if query.subject.part is not Part.BUCKETS or query.prunable]
    by = tuple(label for label in ("instance", "pod", "exported_pod", *RELAY_LABELS) if layout.values((label,)))
    if by and layout.replicas <= MAX_REPLICAS:
        candidates = {key: choice.candidate for key in REPLICA_COLUMNS if (choice := choices.get(key))}
        split = [replica_query(key, one, by, topology.scope) for key, one in candidates.items() if one is not None]
        queries += [query for query in split if query is not None]
    return queries


def _former_queries(topology: Topology) -> list[Query]:
    """The XID errors of GPUs that replicas had which report no more: a pod that is gone no longer labels its GPU."""
    gpus = topology.gpus
    vocabulary = gpus.vocabulary
    concept = vocabulary.concepts.get("xid") if vocabulary else None
    if vocabulary is None or concept is None or not gpus.former or topology.gpus.devices > FLEET_GPUS:
        return []
    own = ", ".join(vocabulary.device_labels)
    had = f"last_over_time({gpus.sign}{{{matchers(gpus.former)}}}[{duration(LOOK_BACK_S)}])"
    everywhere = Scope(window_s=topology.scope.window_s, spelling=gpus.spelling)
    device = f"max by ({', '.join(places_of(vocabulary))}) ({per_device(concept.use[0], everywhere)})"
    expression = f"({device} > 0) and on ({own}) max by ({own}) ({had})"
    return [Query(expression=expression, subject=FORMER_XIDS, unit="code", weight=GROUPED, ttl=FIRST)]


def _target_queries(layout: Layout) -> list[Query]:
    """Which targets of the jobs of the deployment are down, and how many answer."""
    replicas = (*layout.known, *(labels for labels, _ in layout.past))
    jobs = sorted({labels["job"] for labels in replicas if labels.get("job")})
    if not jobs:
        return []
    up = f"up{{{matchers({'job': jobs})}}}"
    answering = f"count by (job) ({up} == 1)"
    return [of_source(DOWN.quantity, f"{up} == 0"), of_source(ANSWERING.quantity, answering, weight=GROUPED, ttl=FIRST)]


def _down(answer: Vectors, layout: Layout, *, dedicated: bool) -> list[str]:
    """Targets that are down and surely of this deployment: those that reported for it within the last hour, and those
    of jobs in which everything that answers is of it."""
    own: dict[str, set[str]] = {}
    for labels in layout.live:
        own.setdefault(labels.get("job", ""), set()).add(labels.get("instance", ""))
    answering = {s.labels.get("job", ""): s.value for s in answer.of(ANSWERING)}
    sure = {job for job, instances in own.items() if dedicated or answering.get(job, 0) <= len(instances)}
    mine = {(labels.get("job", ""), labels.get("instance", "")) for labels in layout.lost_labels}
    down = [(s.labels.get("job", ""), s.labels.get("instance", "")) for s in answer.of(DOWN)]
    return sorted({target for job, target in down if job in sure or (job, target) in mine})


def _gone(answer: Vectors, layout: Layout, down: Sequence[str], at_s: float) -> list[tuple[Remark, bool]]:
    """Replicas that stopped before the window, each remark with whether they are surely lost.

    A target that is down, or an XID error on what was its GPU, says so; without either they may have been scaled down.
    """
    if not layout.gone:
        return []
    targets = {replica_name(labels): labels.get("instance", "") for labels in layout.lost_labels}
    dead = [name for name in layout.gone if targets.get(name) in down or answer.of(FORMER_XIDS)]
    said = []
    if dead:
        ago = Ago(at_s - max(layout.gone[name] for name in dead))
        codes = sorted({f"{one.value:g}" for one in answer.of(FORMER_XIDS)})
        xids = f", and what was its GPU shows XID {', '.join(codes)}" if codes else ""
        said.append((remark(Kind.REPLICAS_DOWN, replicas=Names(dead, most=3, counted=True), ago=ago, xids=xids), True))
    rest = [name for name in layout.gone if name not in dead]
    live = layout.replicas + len(layout.lost)
    if rest and layout.most is not None and live + len(dead) < layout.most:
        facts = {"ago": Ago(at_s - max(layout.gone[name] for name in rest)), "live": live, "most": layout.most}
        said.append((remark(Kind.REPLICAS_FEWER, replicas=Names(rest, most=3, counted=True), **facts), False))
    return said


def _assembled(
    source: Source, discovery: Discovery, topology: Topology, answer: Vectors, down: list[str], ages: list[Remark]
) -> Observation:
    layout, scope, choices, at_s = topology.layout, topology.scope, topology.choices, discovery.at_s
    numbers = unknown_numbers() | engine_numbers(answer, choices, scope)
    numbers |= {"replicas": float(layout.replicas), "replicas_lost": float(len(layout.lost))}
    distributions = engine_distributions(answer, choices, scope)
    missing = list(missing_of(choices, answer, numbers, distributions))
    about_gpus = _add_gpus(numbers, missing, topology, answer)
    gone = _gone(answer, layout, down, at_s)
    told = {*layout.gone} if any(sure for _, sure in gone) else set()
    down = [name for name in down if name not in _targets_of(layout, told)]
    core = [m.quantity for m in missing if m.quantity in _core_quantities(topology.engine)]
    judged = verdict(
        numbers=numbers,
        distributions=distributions,
        vectors=answer,
        layout=layout,
        core_missing=core,
        down=down,
        gone=[said for said, sure in gone if sure],
    )
    return Observation(
        name=source.name,
        state=judged.state,
        causes=judged.causes,
        remarks=(
            *topology.remarks,
            *(said for said, sure in gone if not sure),
            *about_gpus,
            *_remarks_on(topology),
            *_steps(numbers),
            *ages,
        ),
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


def _add_gpus(
    numbers: dict[str, float | None], missing: list[Missing], topology: Topology, answer: Vectors
) -> list[Remark]:
    """Put the numbers of the GPUs in, or why there are none; returns what to say about them."""
    vocabulary = topology.gpus.vocabulary
    if vocabulary is None:
        missing.append(Missing(quantity="gpus", reason=topology.gpus.reason))
        return []
    gpus = gpu_numbers(vocabulary, answer, numbers["generation_tokens_per_s"])
    numbers |= gpus.numbers
    missing += [Missing(quantity=quantity, reason=why) for quantity, why in missing_fields(vocabulary, numbers).items()]
    return [*gpus.remarks, *([remark(Kind.GPUS_OF_HOSTS)] if topology.gpus.how == "host" else [])]


def _targets_of(layout: Layout, names: Collection[str]) -> set[str]:
    """The targets of replicas that report no more, by their names."""
    return {labels.get("instance", "") for labels in layout.lost_labels if replica_name(labels) in names}


def _steps(numbers: Mapping[str, float | None]) -> list[Remark]:
    """Of a window that is saturated at times, at how many: the rest can be judged."""
    share = numbers["saturated_ratio"]
    if share is None or not 0 < share < SATURATED_SHARE:
        return []
    return [remark(Kind.SATURATED_AT_TIMES, share=share)]


def _core_quantities(engine: DetectedEngine) -> set[str]:
    concepts = engine.vocabulary.concepts
    return {QUANTITY[key] for key in CORE if key in concepts and concepts[key].use and not concepts[key].optional}


def _remarks_on(topology: Topology) -> list[Remark]:
    remarks = []
    if topology.layout.replicas > FLEET_REPLICAS:
        remarks.append(remark(Kind.FLEET_OF_REPLICAS, most=FLEET_REPLICAS))
    if topology.gpus.devices > FLEET_GPUS:
        remarks.append(remark(Kind.FLEET_OF_GPUS, most=FLEET_GPUS))
    if topology.engine.also:
        remarks.append(remark(Kind.OTHER_ENGINES, engines=Names(topology.engine.also)))
    mixed = [key for key, choice in topology.choices.items() if choice.newer_and_older]
    if mixed:
        remarks.append(remark(Kind.OLD_AND_NEW_NAMES, quantities=Names(mixed, most=4)))
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
    return [remark(Kind.READ_IN_TURNS, ages=Ages(old))] if old else []


def _named_by_age(query: Query) -> str:
    """What of a fleet is read together."""
    if query.ttl.single is not None:
        return "capacities"
    if query.subject.part is Part.BUCKETS:
        return "quantiles"
    return "GPUs" if query.subject.group is Group.GPU else "the rest"


def _replicas(answer: Vectors) -> tuple[Replica, ...]:
    """One row per replica with data now."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, float | None]] = {}
    for key, column in REPLICA_COLUMNS.items():
        for sample in answer.of(Subject(key, group=Group.REPLICA)):
            rows.setdefault(tuple(sorted(sample.labels.items())), {})[column] = (
                sample.value if sample.value == sample.value else None
            )
    return tuple(Replica(labels=dict(labels), **values) for labels, values in sorted(rows.items()))
