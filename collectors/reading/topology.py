"""Second round: replicas, timing, duplicates, GPUs; the window that holds enough scrapes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Vectors
from collectors.prometheus.promql import quoted, regex_quoted
from collectors.queries.query import GROUPED, Group, Query, Subject, of_source
from collectors.reading.discovery import Discovery
from collectors.reading.gpu_join import GpuJoin, join_gpus, place_queries
from collectors.reading.layout import LEAST_SPAN_S, ReplicaLayout, counted_once, layout_queries, read_layout
from collectors.reading.remarks import Names, Remark, RemarkKind, remark
from collectors.source import Source
from collectors.vocabulary.detect import Choice, DetectedEngine, choose, detect_gpus
from collectors.vocabulary.expressions import MODEL_KEYS, Scope, scope_of, selected
from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS

MIN_SCRAPES = 4
"""A rate needs several scrapes in its window; over two it is noise, over one it is empty."""

SHORT_COVER = 0.9
"""A rate divides by the whole window; where data covers less than 90 % of it, the window shrinks to the data."""
MIN_SPAN_S = 1.0
"""The shortest window. Chosen: PromQL has no range under a millisecond, and no scrape comes more often than this."""

FRONT = Subject("front", group=Group.SOURCE)
"""The models that an engine counts requests of, where it counts them at every stage."""
FIRST_TOKENS, GAPS = (Subject(name, group=Group.SOURCE) for name in ("first_by_server", "gaps_by_server"))
"""First tokens and gaps between tokens of each server."""
LEAST_FIRST_TOKENS = 20.0
"""First tokens without a gap from which a server hands its requests over. Chosen: chance makes no such answers."""
PRESENCE = (
    "running",
    "waiting",
    "kv_usage",
    "finished",
    "requests",
    "generation_tokens",
    "prompt_tokens",
    "first_tokens",
    "arrivals",
)


@dataclass(frozen=True, kw_only=True)
class Topology:
    """What the second round found, ready to ask for values."""

    engine: DetectedEngine
    choices: Mapping[str, Choice]
    scope: Scope
    layout: ReplicaLayout
    gpus: GpuJoin
    remarks: tuple[Remark, ...] = ()


def choices_for(engine: DetectedEngine, names: Mapping[str, float], source: Source) -> dict[str, Choice]:
    """The candidate in use for every concept of the engine and of the source."""
    known = [*SCALARS, *DISTRIBUTIONS]
    wanted = [key for key in known if key in engine.vocabulary.concepts or key in source.metrics]
    return {key: choose(key, engine, names, source.metrics.get(key)) for key in wanted}


def presence(choices: Mapping[str, Choice], scope: Scope) -> str | None:
    """The series whose presence stands for a replica."""
    for key in PRESENCE:
        choice = choices.get(key)
        if choice and choice.candidate and (choice.candidate.gauge or choice.candidate.counter):
            return selected(choice.candidate, choice.candidate.gauge or choice.candidate.counter or "", scope)
    return None


def refusal(engine: DetectedEngine, source: Source, *, dedicated: bool) -> Remark | None:
    """Why a selector cannot be used with an engine; None when it can. ``dedicated``: all targets are its own."""
    v = engine.vocabulary
    models = [key for key in source.labels if key in MODEL_KEYS]
    if models and not v.model_labels:
        return remark(RemarkKind.NO_MODEL_LABEL, engine=v.label, label=models[0])
    if v.needs_selector and not source.labels and not dedicated:
        return remark(RemarkKind.NO_PREFIX, engine=v.label)
    return None


def find_topology(
    backend: Backend, source: Source, discovery: Discovery, engine: DetectedEngine, window_s: float
) -> Topology:
    """Replicas, timing, duplicates, GPUs; widens a window that holds too few scrapes."""
    choices = choices_for(engine, discovery.names, source)
    scope = scope_of(source.labels, engine, window_s=window_s)
    series = presence(choices, scope)
    span = max(window_s, LEAST_SPAN_S)
    exporters = detect_gpus(discovery.names)
    selector = dict(source.gpu_selector) if source.gpu_selector is not None else None
    queries = place_queries(exporters, discovery.names, selector=selector, fleet=discovery.fleet)
    if series is not None:
        queries += layout_queries(series, scope, window_s=span, fleet=discovery.fleet)
    if engine.vocabulary.again and series is not None:
        labels = ", ".join((*engine.vocabulary.again, "instance"))
        queries.append(of_source(FRONT.quantity, f"count by ({labels}) ({series})", weight=GROUPED))
    queries += _tokens_by_server(engine, discovery, scope)
    if engine.vocabulary.front:
        counting = scope.fill('count by (model) ({__name__=~"nv_inference_request_success",$other})')
        queries.append(of_source(FRONT.quantity, counting, weight=GROUPED))
    answer = backend.vectors(queries, at_s=discovery.at_s)
    layout, scope = counted_once(read_layout(answer, at_s=discovery.at_s, window_s=span), scope)
    scope, remarks = _fitting(scope, layout, discovery.at_s)
    if repeated := _repeated(engine, answer):
        scope = replace(scope, front=repeated)
        remarks.append(remark(RemarkKind.APART))
    if handing := _handing_over(answer):
        names = quoted("|".join(map(regex_quoted, handing)))
        scope = replace(scope, front=f"instance!~{names}", back=f"instance=~{names}")
        remarks.append(remark(RemarkKind.HANDED_OVER, servers=float(len(handing))))
    model, models = _front(engine, source, answer)
    if model is not None:
        scope = replace(scope, front=f"model={quoted(model)}")
        remarks.append(remark(RemarkKind.ONE_STAGE, models=Names(models), model=model))
    gpus = join_gpus(exporters, answer, layout, selector, discovery.names, dedicated=backend.dedicated)
    return Topology(engine=engine, choices=choices, scope=scope, layout=layout, gpus=gpus, remarks=tuple(remarks))


def _fitting(scope: Scope, layout: ReplicaLayout, at_s: float) -> tuple[Scope, list[Remark]]:
    """The window that holds enough scrapes and no time before the data, with what to say about it."""
    remarks, given, interval = [], scope.window_s, layout.interval_s
    if layout.copies:
        label, value = layout.copies
        remarks.append(remark(RemarkKind.COPIES, label=label, value=value))
    if layout.relayed:
        remarks.append(remark(RemarkKind.RELAYED, labels=Names(layout.relayed)))
    if layout.duplicates:
        remarks.append(remark(RemarkKind.DUPLICATE_JOBS, jobs=Names(layout.duplicates), job=layout.job))
    covered = None if layout.oldest_s is None else at_s - layout.oldest_s
    if interval is not None and covered is not None and covered < SHORT_COVER * given:
        held = max(covered + interval / 2, MIN_SPAN_S)
        remarks.append(remark(RemarkKind.SHORT_DATA, covered_s=covered, window_s=held, asked_s=given))
        scope = replace(scope, window_s=held)
    elif interval is not None and given < MIN_SCRAPES * interval:
        wider = MIN_SCRAPES * interval
        wider = wider if covered is None else max(given, min(wider, covered + interval / 2))
        remarks.append(remark(RemarkKind.WINDOW_WIDENED, asked_s=given, interval_s=interval, window_s=wider))
        scope = replace(scope, window_s=wider)
    return replace(scope, step_s=steady(interval) or scope.step_s), remarks


def steady(interval_s: float | None) -> float | None:
    """The interval between scrapes in whole seconds from 2 s on: an estimate that wavers would never be asked twice."""
    return float(round(interval_s)) if interval_s is not None and interval_s >= 2.0 else interval_s


def _repeated(engine: DetectedEngine, vectors: Vectors) -> str:
    """What leaves out the servers whose requests others report, too; "" where there are no others.

    By their instances: counters of requests do not have the label, only gauges of the scheduler do.
    """
    for label, value in engine.vocabulary.again.items():
        servers = [(one.labels.get("instance", ""), one.labels.get(label, "")) for one in vectors.of(FRONT)]
        counted = {instance for instance, stage in servers if stage and stage != value}
        repeating = sorted({instance for instance, stage in servers if stage == value} - counted)
        if counted and repeating:
            return f"instance!~{quoted('|'.join(map(regex_quoted, repeating)))}"
    return ""


def _tokens_by_server(engine: DetectedEngine, discovery: Discovery, scope: Scope) -> list[Query]:
    """First tokens and gaps of each server, where KV caches are moved between servers."""
    known = engine.vocabulary.hands_over
    if known is None or scope.respell(known[0]) not in discovery.names:
        return []
    return [
        of_source(
            subject.quantity,
            f"sum by (instance) (increase({scope.respell(name)}{{{scope.selection()}}}[{scope.window}]))",
            weight=GROUPED,
        )
        for subject, name in zip((FIRST_TOKENS, GAPS), known[1:], strict=True)
    ]


def _handing_over(vectors: Vectors) -> list[str]:
    """The servers that give their requests to others after the first token; none where there are no others."""
    first, gaps = (
        {one.labels.get("instance", ""): one.value for one in vectors.of(subject)} for subject in (FIRST_TOKENS, GAPS)
    )
    decoding = [server for server, number in gaps.items() if number > 0]
    handing = [server for server, number in first.items() if number >= LEAST_FIRST_TOKENS and not gaps.get(server)]
    return sorted(handing) if decoding else []


def _front(engine: DetectedEngine, source: Source, vectors: Vectors) -> tuple[str | None, list[str]]:
    """The one model to count, of all, where an engine counts a request at every stage (Triton ensembles)."""
    if not engine.vocabulary.front or any(key in MODEL_KEYS for key in source.labels):
        return None, []
    models = sorted(s.labels.get("model", "") for s in vectors.of(FRONT))
    if len(models) < 2:
        return None, models
    return next((name for name in engine.vocabulary.front if name in models), models[0]), models
