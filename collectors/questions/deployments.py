"""The deployments at a source: which there are, one per model and namespace, and what of one is deployed.

A comparison with a plan needs to know the names of the model served, GPU products, KV-cache settings and the load over
time: numbers of another model, or from other GPUs, say nothing about the plan.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Ranges, Vectors
from collectors.errors import SourceError
from collectors.prometheus.promql import step_for
from collectors.queries.query import GROUPED, Group, Query, Subject, of_source
from collectors.reading.discovery import discover
from collectors.reading.engine_values import arrival_queries
from collectors.reading.gpu_join import gpu_scope
from collectors.reading.topology import MIN_SCRAPES, Topology, choices_for, find_topology, presence
from collectors.source import Source
from collectors.vocabulary.expressions import MODEL_KEYS, scope_of, selected

MOST = 200
"""Deployments listed; a source with more needs a selector. Chosen: what a list still shows."""
LOAD_POINTS = 60
"""Points of the load over the window: a minute each in an hour."""

LEAST_STEP_S = 10.0
"""Between two points of the load. Chosen: two scrapes of 5 s."""
NOT_A_PRODUCT = ("gpu_uuid", "UUID")
"""Labels that stand in for the product where an exporter names none."""
MODELS, PRODUCTS, KV, RANKS = (Subject(key, group=Group.SOURCE) for key in ("models", "products", "kv", "ranks"))
SERVER_LABELS = ("instance", "pod", "exported_pod")


@dataclass(frozen=True, kw_only=True)
class LabelledDeployment:
    """The labels that select a deployment, with the number of series that stand for its replicas."""

    labels: Mapping[str, str]
    series: int

    @property
    def name(self) -> str:
        """Its labels' values: "meta-llama/Llama-3.3-70B, prod"."""
        return ", ".join(self.labels.values())


def find_deployments(
    backend: Backend, source: Source, *, clock: Callable[[], float] = time.time
) -> tuple[LabelledDeployment, ...]:
    """The deployments within the selector of a source, largest first. Raises SourceError; empty without an engine."""
    discovery = discover(backend, source, None, clock)
    engine = discovery.engine
    if engine is None:
        return ()
    scope = scope_of(source.labels, engine, window_s=source.window_s)
    series = presence(choices_for(engine, discovery.names, source), scope)
    if series is None:
        return ()
    models = engine.vocabulary.model_labels
    by = (*(models or ("job",)), "namespace")
    query = of_source("deployments", f"count by ({', '.join(by)}) ({series})", weight=GROUPED)
    deployments = [
        LabelledDeployment(labels=_selecting(s.labels, by, models), series=int(s.value))
        for s in backend.vectors([query], at_s=discovery.at_s).of(query.subject)
    ]
    known = [one for one in deployments if one.labels]
    return tuple(sorted(known, key=lambda one: (-one.series, one.name))[:MOST])


def _selecting(labels: Mapping[str, str], by: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """The labels that select a deployment; whatever its engine calls the model, a source calls it so, too."""
    model = next((label for label in models if labels.get(label)), None)
    own = {label: labels[label] for label in by if labels.get(label) and (label not in models or label == model)}
    return {("model_name" if label == model and label not in MODEL_KEYS else label): v for label, v in own.items()}


@dataclass(frozen=True, kw_only=True)
class KvSettings:
    """KV cache of one kind of engine process: tokens per block, blocks, number format; ``engines`` have it."""

    block_tokens: int | None
    blocks: int | None
    cache_type: str
    engines: int


@dataclass(frozen=True, kw_only=True)
class LoadOverTime:
    """Arrivals in requests/s, each the mean of the ``step_s`` before it; NaN where there is no data."""

    step_s: float
    rps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ObservedDeployment:
    """What is deployed; empty where it cannot be told. ``gpus_by``: how GPUs were joined (pod, host, gpu_selector);
    ``ranks``: ranks of data parallelism behind each server, as many at all of them."""

    models: tuple[str, ...] = ()
    gpu_products: tuple[str, ...] = ()
    gpus_by: str = ""
    kv: tuple[KvSettings, ...] = ()
    ranks: int = 1
    load: LoadOverTime | None = None
    problem: str = ""


def read_deployed(
    backend: Backend,
    source: Source,
    *,
    at_s: float,
    window_s: float | None = None,
    clock: Callable[[], float] = time.time,
) -> ObservedDeployment:
    """What is deployed at ``at_s``, and the load over the window before it. A failure is in ``problem``."""
    try:
        return _read(backend, source, at_s, window_s or source.window_s, clock)
    except SourceError as error:
        return ObservedDeployment(problem=str(error))


def _read(
    backend: Backend, source: Source, at_s: float, window_s: float, clock: Callable[[], float]
) -> ObservedDeployment:
    discovery = discover(backend, source, at_s, clock)
    engine = discovery.engine
    if engine is None:
        return ObservedDeployment()
    topology = find_topology(backend, source, discovery, engine, window_s)
    answer = backend.vectors(_queries(topology), at_s=discovery.at_s)
    return ObservedDeployment(
        models=_values(answer, MODELS, *engine.vocabulary.model_labels),
        gpu_products=_first_values(answer, PRODUCTS, _product_labels(topology)),
        gpus_by=topology.gpus.how,
        kv=_kv(answer),
        ranks=_ranks(answer),
        load=_load(backend, topology, discovery.at_s),
    )


def _product_labels(topology: Topology) -> tuple[str, ...]:
    vocabulary = topology.gpus.vocabulary
    return () if vocabulary is None or vocabulary.product_label in NOT_A_PRODUCT else vocabulary.product_labels


def _queries(topology: Topology) -> list[Query]:
    queries = []
    series, models = presence(topology.choices, topology.scope), topology.engine.vocabulary.model_labels
    products = _product_labels(topology)
    if series and models:
        queries.append(of_source(MODELS.quantity, f"count by ({', '.join(models)}) ({series})", weight=GROUPED))
    if series and (rank := topology.engine.vocabulary.rank_label):
        own = f"count by ({', '.join((*SERVER_LABELS, rank))}) ({series})"
        queries.append(of_source(RANKS.quantity, f"count by ({', '.join(SERVER_LABELS)}) ({own})", weight=GROUPED))
    if products:
        inside = gpu_scope(topology.gpus, topology.scope).selection()
        counted = f"count by ({', '.join(products)}) ({topology.gpus.sign}{{{inside}}})"
        queries.append(of_source(PRODUCTS.quantity, counted, weight=GROUPED))
    capacity = topology.choices.get("kv_capacity_tokens")
    if capacity and capacity.candidate and capacity.candidate.info:
        info = selected(capacity.candidate, capacity.candidate.info, topology.scope)
        counted = f"count by (block_size, num_gpu_blocks, cache_dtype) ({info})"
        queries.append(of_source(KV.quantity, counted, weight=GROUPED))
    return queries


def _first_values(answer: Vectors, subject: Subject, labels: tuple[str, ...]) -> tuple[str, ...]:
    """The first of the labels that each series has."""
    values = {next(filter(None, map(sample.labels.get, labels)), "") for sample in answer.of(subject)}
    return tuple(sorted(value for value in values if value))


def _values(answer: Vectors, subject: Subject, *labels: str) -> tuple[str, ...]:
    values = {sample.labels.get(label, "") for sample in answer.of(subject) for label in labels}
    return tuple(sorted(value for value in values if value))


def _kv(answer: Vectors) -> tuple[KvSettings, ...]:
    return tuple(
        KvSettings(
            block_tokens=_whole(sample.labels.get("block_size")),
            blocks=_whole(sample.labels.get("num_gpu_blocks")),
            cache_type=sample.labels.get("cache_dtype", ""),
            engines=round(sample.value),
        )
        for sample in answer.of(KV)
    )


def _ranks(answer: Vectors) -> int:
    """Ranks behind each server; 1 where servers have different numbers of them."""
    numbers = {round(sample.value) for sample in answer.of(RANKS)}
    return max(numbers.pop(), 1) if len(numbers) == 1 else 1


def _whole(text: str | None) -> int | None:
    """vLLM writes None for what it does not know."""
    return int(text) if text and text.isdecimal() else None


def _load(backend: Backend, topology: Topology, at_s: float) -> LoadOverTime | None:
    """Arrivals over the window; None where the window holds no two steps of enough scrapes."""
    window = topology.scope.window_s
    step = step_for(window, interval_s=max(LEAST_STEP_S, MIN_SCRAPES * topology.scope.step_s), points=LOAD_POINTS)
    queries = arrival_queries(topology.choices, replace(topology.scope, window_s=step))
    if not queries or window < 2 * step:
        return None
    answer = backend.ranges(queries, start_s=at_s - window + step, end_s=at_s, step_s=step)
    rps = arrivals_over_time(answer, queries)
    return None if rps is None else LoadOverTime(step_s=answer.step_s, rps=rps)


def arrivals_over_time(answer: Ranges, queries: Sequence[Query]) -> tuple[float, ...] | None:
    """Arrivals at every step, from the answer to :func:`arrival_queries`: what was served, and the queue's growth."""
    lines = []
    for query in queries:
        series = answer.of(query.subject)
        if series:
            lines.append(series[0].on_grid(answer.start_s, answer.end_s, answer.step_s)[1])
    if not answer.of(queries[0].subject):
        return None
    steps = zip(*lines, strict=True)
    sums = (values[0] + sum(v for v in values[1:] if math.isfinite(v)) for values in steps)
    return tuple(max(0.0, v) if math.isfinite(v) else math.nan for v in sums)
