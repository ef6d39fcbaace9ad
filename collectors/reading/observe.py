"""Third round: every number at once."""

from __future__ import annotations

from collectors.backends.backend import Backend, Vectors
from collectors.backends.ttl import FLEET_REPLICAS, SLOW
from collectors.prometheus.promql import matchers
from collectors.reading.discovery import Discovery
from collectors.reading.engine_values import (
    QUANTITY,
    engine_distributions,
    engine_numbers,
    expressions,
    mapping_of,
    missing_of,
)
from collectors.reading.gpu_sums import plain_expressions, with_sums
from collectors.reading.gpus import FLEET_GPUS, gpu_expressions, gpu_numbers, gpu_scope, missing_fields
from collectors.reading.health import CORE, verdict
from collectors.reading.layout import Layout
from collectors.reading.observation import Missing, Observation, Replica, unknown_numbers
from collectors.reading.topology import Topology
from collectors.source import Source
from collectors.vocabulary.detect import DetectedEngine
from collectors.vocabulary.expressions import per_replica_expression

REPLICA_COLUMNS = {
    "running": "running",
    "waiting": "waiting",
    "kv_usage": "kv_usage",
    "generation_tokens": "generation_tokens_per_s",
}
MAX_REPLICAS = 5000
FLEET_BUCKETS = ("ttft.buckets", "itl.buckets", "e2e.buckets")
"""Buckets are most of the series of an engine: of a fleet, only those of the latencies with limits are added up."""


def observe(backend: Backend, source: Source, look: Discovery, topology: Topology) -> Observation:
    """The third round: every number at once."""
    scope, layout = topology.scope, topology.layout
    asked = expressions(topology.choices, scope)
    if layout.replicas > FLEET_REPLICAS:
        asked = {k: text for k, text in asked.items() if not k.endswith(".buckets") or k in FLEET_BUCKETS}
    by = tuple(label for label in ("instance", "pod", "exported_pod") if layout.values((label,)))
    for key in REPLICA_COLUMNS:
        choice = topology.choices.get(key)
        split = per_replica_expression(choice.candidate, by, scope) if choice and choice.candidate and by else None
        if split and layout.replicas <= MAX_REPLICAS:
            asked[f"replica.{key}"] = split
    jobs = sorted(layout.values(("job",)).get("job", set()))
    if jobs:
        asked["down"] = f"up{{{matchers({'job': jobs})}}} == 0"
        asked["answering"] = f"count by (job) (up{{{matchers({'job': jobs})}}} == 1)"
    of_gpus: dict[str, str] = {}
    if topology.gpus.vocabulary is not None:
        of_gpus = gpu_expressions(topology.gpus.vocabulary, gpu_scope(topology.gpus, scope), sign=topology.gpus.sign)
    plain = plain_expressions(of_gpus, topology.gpus, gpu_scope(topology.gpus, scope))
    texts = of_gpus | {key: form.text for key, form in plain.items()}
    found = backend.vectors({**asked, **{f"gpu/{key}": text for key, text in texts.items()}}, at_s=look.at_s)
    found = with_sums(backend, found, of_gpus, plain, look.at_s, before="gpu/")
    return _assembled(source, look, topology, found, _down(found, layout, dedicated=backend.dedicated))


def _down(found: Vectors, layout: Layout, *, dedicated: bool) -> list[str]:
    """Targets that are down and surely of this deployment: those of jobs in which everything that answers is of it."""
    own: dict[str, set[str]] = {}
    for labels in layout.live:
        own.setdefault(labels.get("job", ""), set()).add(labels.get("instance", ""))
    answering = {s.labels.get("job", ""): s.value for s in found.of("answering")}
    sure = {job for job, instances in own.items() if dedicated or answering.get(job, 0) <= len(instances)}
    return sorted(s.labels.get("instance", "") for s in found.of("down") if s.labels.get("job", "") in sure)


def _assembled(source: Source, look: Discovery, topology: Topology, found: Vectors, down: list[str]) -> Observation:
    layout, scope, choices = topology.layout, topology.scope, topology.choices
    numbers = unknown_numbers() | engine_numbers(found, choices)
    numbers |= {"replicas": float(layout.replicas), "replicas_lost": float(len(layout.lost))}
    distributions = engine_distributions(found, choices, scope)
    missing = list(missing_of(choices, found, numbers, distributions))
    about_gpus = _add_gpus(numbers, missing, topology, found)
    core = [m.quantity for m in missing if m.quantity in _core_quantities(topology.engine)]
    said = verdict(
        numbers=numbers, distributions=distributions, vectors=found, layout=layout, core_missing=core, down=down
    )
    return Observation(
        name=source.name,
        state=said.state,
        reasons=said.reasons,
        notes=(*topology.notes, *about_gpus, *_notes_on(topology), *_said_of_ages(found, look)),
        warnings=tuple(dict.fromkeys((*look.warnings, *found.notes.warnings))),
        at_s=look.at_s,
        window_s=scope.window_s,
        covered_s=None if layout.oldest_s is None else max(0.0, min(scope.window_s, look.at_s - layout.oldest_s)),
        age_s=None if layout.newest_s is None else max(0.0, look.at_s - layout.newest_s),
        scrape_interval_s=layout.interval_s,
        engine=topology.engine.vocabulary.id,
        engine_variant=topology.engine.variant,
        gpu_exporter=topology.gpus.vocabulary.id if topology.gpus.vocabulary else None,
        numbers=numbers,
        distributions=distributions,
        replicas=_replicas(found, layout),
        mapping=mapping_of(choices, scope),
        missing=tuple(missing),
    )


def _add_gpus(
    numbers: dict[str, float | None], missing: list[Missing], topology: Topology, found: Vectors
) -> tuple[str, ...]:
    """Put the numbers of the GPUs in, or why there are none; returns what to say about them."""
    if topology.gpus.vocabulary is None:
        missing.append(Missing(quantity="gpus", reason=topology.gpus.reason))
        return ()
    own = Vectors(samples={k.removeprefix("gpu/"): v for k, v in found.samples.items() if k.startswith("gpu/")})
    gpus = gpu_numbers(topology.gpus.vocabulary, own, numbers["generation_tokens_per_s"])
    numbers |= gpus.numbers
    told = missing_fields(topology.gpus.vocabulary, numbers)
    missing += [Missing(quantity=quantity, reason=reason) for quantity, reason in told.items()]
    by_host = ("GPUs are joined by host: all GPUs of these hosts are counted.",) if topology.gpus.how == "host" else ()
    return (*gpus.notes, *by_host)


def _core_quantities(engine: DetectedEngine) -> set[str]:
    return {QUANTITY[key] for key in CORE if key in engine.vocabulary.concepts and engine.vocabulary.concepts[key].use}


def _notes_on(topology: Topology) -> list[str]:
    notes = []
    if topology.layout.replicas > FLEET_REPLICAS:
        notes.append(f"More than {FLEET_REPLICAS} replicas: quantiles of TTFT, ITL and E2E only, means of the rest.")
    if topology.gpus.devices > FLEET_GPUS:
        notes.append(f"More than {FLEET_GPUS:,} GPUs: their values are those of the last scrape, not of the window.")
    if topology.engine.also:
        notes.append(f"Also seen at this source: {', '.join(topology.engine.also)}.")
    mixed = [key for key, choice in topology.choices.items() if choice.newer_and_older]
    if mixed:
        notes.append(f"Old and new metric names are both present ({', '.join(mixed[:4])}): the newer ones are used.")
    return notes


def _said_of_ages(found: Vectors, look: Discovery) -> list[str]:
    """How much older than the moment read the values of a fleet are, which is read in turns."""
    if not look.fleet:
        return []
    ages: dict[str, float] = {}
    for key, samples in found.samples.items():
        group = "quantiles" if key.endswith(".buckets") else "GPUs" if key.startswith("gpu/") else "the rest"
        group = "capacities" if key in SLOW else group
        if samples:
            ages[group] = max(ages.get(group, 0.0), look.at_s - samples[0].time_s)
    told = ", ".join(f"{group} {age:.0f} s" for group, age in ages.items() if age >= 1.0)
    return [f"This fleet is read in turns; values are older than this moment by up to: {told}."] if told else []


def _replicas(found: Vectors, layout: Layout) -> tuple[Replica, ...]:
    """One row per replica with data now."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, float | None]] = {}
    for key, column in REPLICA_COLUMNS.items():
        for sample in found.of(f"replica.{key}"):
            rows.setdefault(tuple(sorted(sample.labels.items())), {})[column] = (
                sample.value if sample.value == sample.value else None
            )
    return tuple(Replica(labels=dict(labels), **values) for labels, values in sorted(rows.items()))
