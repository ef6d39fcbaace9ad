"""Where nothing is alive: stale when it was within the last hour, else no data."""

from __future__ import annotations

from collectors.backends.backend import Backend
from collectors.prometheus.promql import duration, matchers, quoted, regex_quoted
from collectors.reading.discovery import Discovery
from collectors.reading.gpus import GpuJoin
from collectors.reading.layout import LOOK_BACK_S, Layout, layout_expressions, read_layout
from collectors.reading.observation import Observation, State, without_data
from collectors.reading.topology import Topology, choices_for, presence
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine, engine_names
from collectors.vocabulary.expressions import MODEL_KEYS, scope_of


def silent(backend: Backend, source: Source, look: Discovery, window_s: float) -> Observation:
    """No engine has data now: it fell silent within the last hour, or was never there."""
    names = "|".join(regex_quoted(name) for name in engine_names())
    others = matchers({k: v for k, v in source.labels.items() if k not in MODEL_KEYS})
    inside = ",".join(part for part in (f"__name__=~{quoted(names)}", others) if part)
    span = duration(LOOK_BACK_S)
    found = backend.vectors({"names": f"count by (__name__) (last_over_time({{{inside}}}[{span}]))"}, at_s=look.at_s)
    engine = detect_engine({s.labels.get("__name__", "") for s in found.of("names")}, wanted=source.engine)
    names_seen = {s.labels.get("__name__", ""): s.value for s in found.of("names")}
    if engine is not None and names_seen:
        scope = scope_of(source.labels, engine.vocabulary, window_s=window_s, step_s=15.0, spelling=engine.spelling)
        topology = Topology(
            engine=engine,
            choices=choices_for(engine, names_seen, source),
            scope=scope,
            layout=Layout(live=(), seen=(), newest_s=None, oldest_s=None, interval_s=None),
            gpus=GpuJoin(),
        )
        return stale_or_empty(backend, source, look, topology)
    told = f" ({look.targets})" if look.targets else ""
    return without_data(
        name=source.name,
        state=State.NO_DATA,
        reasons=(f"{backend.where} answers, but holds no metrics of a known engine{told}.",),
        warnings=look.warnings,
        at_s=look.at_s,
        window_s=window_s,
        engine=source.engine,
    )


def stale_or_empty(backend: Backend, source: Source, look: Discovery, topology: Topology) -> Observation:
    """Nothing alive for the selection: stale when it was within the last hour, else no data."""
    layout = topology.layout
    if layout.newest_s is None:
        series = presence(topology.choices, topology.scope)
        found = (
            backend.vectors(layout_expressions(series, topology.scope, window_s=LOOK_BACK_S, past=True), at_s=look.at_s)
            if series
            else None
        )
        layout = read_layout(found, at_s=look.at_s, window_s=LOOK_BACK_S) if found else layout
    told = f" ({look.targets})" if look.targets else ""
    known = {
        "warnings": look.warnings,
        "engine": topology.engine.vocabulary.id,
        "engine_variant": topology.engine.variant,
    }
    if layout.newest_s is None:
        chosen = matchers(source.labels)
        return without_data(
            name=source.name,
            state=State.NO_DATA,
            reasons=(f"{topology.engine.vocabulary.label} is seen, but no series matches {{{chosen}}}{told}.",),
            at_s=look.at_s,
            window_s=topology.scope.window_s,
            **known,
        )
    age = look.at_s - layout.newest_s
    return without_data(
        name=source.name,
        state=State.STALE,
        reasons=(f"The newest sample is {age:.0f} s old{told}: the engine or its scrape stopped.",),
        at_s=look.at_s,
        window_s=topology.scope.window_s,
        age_s=age,
        scrape_interval_s=layout.interval_s,
        **known,
    )
