"""Second round: replicas, timing, duplicates, GPUs; the window that holds enough scrapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Vectors
from collectors.prometheus.promql import quoted
from collectors.reading.discovery import Discovery
from collectors.reading.gpus import GpuJoin, join_gpus, place_expressions
from collectors.reading.layout import LEAST_SPAN_S, Layout, layout_expressions, read_layout, without_duplicates
from collectors.source import Source
from collectors.vocabulary.detect import Choice, DetectedEngine, choose, detect_gpus
from collectors.vocabulary.expressions import MODEL_KEYS, Scope, scope_of, selected
from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS

MIN_SCRAPES = 4
"""A rate needs several scrapes in its window; over two it is noise, over one it is empty."""

SHORT_COVER = 0.9
MIN_SPAN_S = 1.0
"""A rate divides by the whole window; where data covers less than 90 % of it, the window shrinks to the data."""

PRESENCE = ("running", "waiting", "kv_usage", "finished", "requests", "generation_tokens")


@dataclass(frozen=True, kw_only=True)
class Topology:
    """What the second round found, ready to ask for values."""

    engine: DetectedEngine
    choices: Mapping[str, Choice]
    scope: Scope
    layout: Layout
    gpus: GpuJoin
    notes: tuple[str, ...] = ()


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


def refusal(engine: DetectedEngine, source: Source) -> str:
    """Why a selector cannot be used with an engine; empty when it can."""
    v = engine.vocabulary
    models = [key for key in source.labels if key in MODEL_KEYS]
    if models and v.model_label is None:
        return f"{v.label} has no model label: select by job or instance instead of {models[0]}."
    if v.needs_selector and not [key for key in source.labels if key not in MODEL_KEYS]:
        return f"{v.label} names its metrics without a prefix: select by job, namespace or instance."
    return ""


def known_names(engine: DetectedEngine) -> tuple[str, ...]:
    """Every metric name of an engine, as spelled at the source."""
    names = [
        *engine.vocabulary.detect,
        *(m for c in engine.vocabulary.concepts.values() for u in c.use for m in u.metrics),
    ]
    return tuple(name.replace(*engine.spelling) if engine.spelling else name for name in names)


def find_topology(
    backend: Backend, source: Source, look: Discovery, engine: DetectedEngine, window_s: float
) -> Topology:
    """Replicas, timing, duplicates, GPUs; widens a window that holds too few scrapes."""
    choices = choices_for(engine, look.names, source)
    scope = scope_of(source.labels, engine.vocabulary, window_s=window_s, step_s=15.0, spelling=engine.spelling)
    series = presence(choices, scope)
    span = max(window_s, LEAST_SPAN_S)
    exporters = detect_gpus(look.names)
    asked = place_expressions(exporters, look.names, fleet=look.fleet)
    if series is not None:
        asked |= layout_expressions(series, scope, window_s=span, fleet=look.fleet)
    if engine.vocabulary.front:
        asked["front"] = scope.fill('count by (model) ({__name__=~"nv_inference_request_success",$other})')
    found = backend.vectors(asked, at_s=look.at_s)
    layout, scope = without_duplicates(read_layout(found, at_s=look.at_s, window_s=span), scope)
    notes = []
    if layout.duplicates:
        jobs = ", ".join(layout.duplicates)
        notes.append(f"The jobs {jobs} scrape the same servers: only {layout.job} is counted.")
    interval = layout.interval_s
    covered = None if layout.oldest_s is None else look.at_s - layout.oldest_s
    if interval is not None and covered is not None and covered < SHORT_COVER * window_s:
        held = max(covered + interval / 2, MIN_SPAN_S)
        notes.append(f"Data goes back {covered:.0f} s only: the window is {held:.3g} s instead of {window_s:g} s.")
        scope = replace(scope, window_s=held)
    elif interval is not None and window_s < MIN_SCRAPES * interval:
        wider = MIN_SCRAPES * interval
        notes.append(f"A window of {window_s:g} s holds too few scrapes ({interval:g} s apart): {wider:g} s are used.")
        scope = replace(scope, window_s=wider)
    scope = replace(scope, step_s=steady(interval) or scope.step_s)
    front, why = _front(engine, source, found)
    if why:
        notes.append(why)
    mapping = dict(source.gpu_selector) if source.gpu_selector is not None else None
    join = join_gpus(exporters, found, layout, mapping, look.names)
    scope = replace(scope, front=front)
    return Topology(engine=engine, choices=choices, scope=scope, layout=layout, gpus=join, notes=tuple(notes))


def steady(interval_s: float | None) -> float | None:
    """The interval between scrapes in whole seconds from 2 s on: an estimate that wavers would never be asked twice."""
    return float(round(interval_s)) if interval_s is not None and interval_s >= 2.0 else interval_s


def _front(engine: DetectedEngine, source: Source, found: Vectors) -> tuple[str, str]:
    """The one model label to count where an engine counts a request at every stage (Triton ensembles)."""
    if not engine.vocabulary.front or any(key in MODEL_KEYS for key in source.labels):
        return "", ""
    models = sorted(s.labels.get("model", "") for s in found.of("front"))
    if len(models) < 2:
        return "", ""
    chosen = next((name for name in engine.vocabulary.front if name in models), models[0])
    return (
        f"model={quoted(chosen)}",
        f"Of the models {', '.join(models)} only {chosen} is counted: give model in selector.",
    )
