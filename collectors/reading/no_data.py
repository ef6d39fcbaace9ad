"""Where nothing is alive: stale when it was within the last hour, else no data."""

from collectors.backends.backend import Backend
from collectors.prometheus.promql import duration, matchers, quoted, regex_quoted
from collectors.reading.discovery import Discovery, names_query
from collectors.reading.gpu_join import GpuJoin
from collectors.reading.layout import LOOK_BACK_S, Layout, layout_queries, read_layout
from collectors.reading.observation import Observation, State, without_data
from collectors.reading.remarks import Kind, remark
from collectors.reading.topology import Topology, choices_for, presence
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine, engine_names
from collectors.vocabulary.expressions import MODEL_KEYS, scope_of


def silent(backend: Backend, source: Source, discovery: Discovery, window_s: float) -> Observation:
    """No engine has data now: it fell silent within the last hour, or was never there."""
    names = "|".join(regex_quoted(name) for name in engine_names())
    others = matchers({k: v for k, v in source.labels.items() if k not in MODEL_KEYS})
    inside = ",".join(part for part in (f"__name__=~{quoted(names)}", others) if part)
    span = duration(LOOK_BACK_S)
    query = names_query(f"count by (__name__) (last_over_time({{{inside}}}[{span}]))")
    answer = backend.vectors([query], at_s=discovery.at_s)
    names_seen = {s.labels.get("__name__", ""): s.value for s in answer.of(query.subject)}
    engine = detect_engine(names_seen, wanted=source.engine)
    if engine is not None and names_seen:
        scope = scope_of(source.labels, engine.vocabulary, window_s=window_s, step_s=15.0, spelling=engine.spelling)
        topology = Topology(
            engine=engine,
            choices=choices_for(engine, names_seen, source),
            scope=scope,
            layout=Layout(live=(), seen=(), newest_s=None, oldest_s=None, interval_s=None),
            gpus=GpuJoin(),
        )
        return stale_or_empty(backend, source, discovery, topology)
    return without_data(
        name=source.name,
        state=State.NO_DATA,
        cause=remark(Kind.NO_ENGINE, where=backend.where, targets=discovery.targets),
        warnings=discovery.warnings,
        at_s=discovery.at_s,
        window_s=window_s,
        engine=source.engine,
    )


def stale_or_empty(backend: Backend, source: Source, discovery: Discovery, topology: Topology) -> Observation:
    """Nothing alive for the selection: stale when it was within the last hour, else no data."""
    layout = topology.layout
    if layout.newest_s is None:
        series = presence(topology.choices, topology.scope)
        if series:
            queries = layout_queries(series, topology.scope, window_s=LOOK_BACK_S, past=True)
            answer = backend.vectors(queries, at_s=discovery.at_s)
            layout = read_layout(answer, at_s=discovery.at_s, window_s=LOOK_BACK_S)
    known = {
        "warnings": discovery.warnings,
        "engine": topology.engine.vocabulary.id,
        "engine_variant": topology.engine.variant,
    }
    if layout.newest_s is None:
        return without_data(
            name=source.name,
            state=State.NO_DATA,
            cause=remark(
                Kind.NOTHING_SELECTED,
                engine=topology.engine.vocabulary.label,
                selector=matchers(source.labels),
                targets=discovery.targets,
            ),
            at_s=discovery.at_s,
            window_s=topology.scope.window_s,
            **known,
        )
    age = discovery.at_s - layout.newest_s
    return without_data(
        name=source.name,
        state=State.STALE,
        cause=remark(Kind.STALE, age_s=age, targets=discovery.targets),
        at_s=discovery.at_s,
        window_s=topology.scope.window_s,
        age_s=age,
        scrape_interval_s=layout.interval_s,
        **known,
    )
