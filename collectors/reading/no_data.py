"""Where nothing is alive: stale when it was within the last hour, else no data."""

from collections.abc import Sequence

from collectors.backends.backend import Backend, Vectors
from collectors.names import nearest
from collectors.prometheus.promql import LabelValue, duration, matchers, quoted, regex_quoted
from collectors.queries.query import GROUPED, Group, Subject, of_source
from collectors.reading.discovery import Discovery, engine_queries, engines_seen, names_query, within
from collectors.reading.gpu_join import GpuJoin
from collectors.reading.layout import LOOK_BACK_S, ReplicaLayout, layout_queries, read_layout
from collectors.reading.observation import Observation, State, without_data
from collectors.reading.remarks import Names, Remark, RemarkKind, remark
from collectors.reading.topology import Topology, choices_for, presence
from collectors.source import Source
from collectors.vocabulary import engine_vocabularies
from collectors.vocabulary.detect import detect_engine, engine_names, names_of, wanted_names, with_variant
from collectors.vocabulary.expressions import MODEL_KEYS, scope_of


def silent(backend: Backend, source: Source, discovery: Discovery, window_s: float) -> Observation:
    """No engine has data now: it fell silent within the last hour, is selected by wrong labels, or was never there."""
    around = f"last_over_time({{}}[{duration(LOOK_BACK_S)}])"
    answer = backend.vectors(engine_queries(source, around=around), at_s=discovery.at_s)
    seen = engines_seen(source, answer)
    engine = detect_engine(seen, wanted=source.engine)
    if engine is not None and any(name in seen.names for name in names_of(engine.vocabulary, engine.spelling)):
        wanted = wanted_names([engine], source.metrics.values())
        query = names_query(f"count by (__name__) ({around.format(within(wanted, source))})")
        answer = backend.vectors([query], at_s=discovery.at_s)
        names_seen = {s.labels.get("__name__", ""): s.value for s in answer.of(query.subject)}
        engine = with_variant(engine, names_seen)
        topology = Topology(
            engine=engine,
            choices=choices_for(engine, names_seen, source),
            scope=scope_of(source.labels, engine, window_s=window_s),
            layout=ReplicaLayout(live=(), seen=(), newest_s=None, oldest_s=None, interval_s=None),
            gpus=GpuJoin(),
        )
        return stale_or_empty(backend, source, discovery, topology)
    cause = _mistyped(backend, source, discovery) if source.labels else None
    return without_data(
        name=source.name,
        state=State.NO_DATA,
        cause=cause or remark(RemarkKind.NO_ENGINE, where=backend.where, targets=discovery.targets),
        warnings=discovery.warnings,
        at_s=discovery.at_s,
        window_s=window_s,
        engine=source.engine,
    )


def _mistyped(backend: Backend, source: Source, discovery: Discovery) -> Remark | None:
    """Which label of the selector has no such value, where engines are seen without the selector; else None."""
    series = f"{{__name__=~{quoted('|'.join(map(regex_quoted, engine_names())))}}}"
    labels: dict[str, tuple[str, ...]] = {key: (key,) for key in source.labels}
    named = tuple(dict.fromkeys(label for v in engine_vocabularies().values() for label in v.model_labels))
    labels |= {key: named for key in labels if key in MODEL_KEYS}
    queries = [of_source("named", f"count by (__name__) ({series})", weight=GROUPED)]
    queries += [
        of_source(f"values/{label}", f"count by ({label}) ({series})", weight=GROUPED)
        for label in dict.fromkeys(one for several in labels.values() for one in several)
    ]
    answer = backend.vectors(queries, at_s=discovery.at_s)
    seen = {s.labels.get("__name__", "") for s in answer.of(queries[0].subject)}
    engine = detect_engine(seen, wanted=source.engine)
    if engine is None or not seen & set(names_of(engine.vocabulary, engine.spelling)):
        return None
    hints = [_hint(key, source.labels[key], several, answer) for key, several in labels.items()]
    hints = [hint for hint in hints if hint]
    hint = "".join(f" {one}" for one in hints)
    return remark(
        RemarkKind.NOTHING_SELECTED,
        engine=engine.vocabulary.label,
        selector=matchers(source.labels),
        hint=hint,
        targets=discovery.targets,
    )


def _hint(key: str, value: LabelValue, several: Sequence[str], answer: Vectors) -> str:
    """That no engine has a value of the selector, and which there are; "" where one has it."""
    values = [
        sample.labels.get(label, "")
        for label in several
        for sample in answer.of(Subject(f"values/{label}", group=Group.SOURCE))
    ]
    known = sorted({text for text in values if text})
    missing = [text for text in ((value,) if isinstance(value, str) else value) if text not in known]
    if not missing:
        return ""
    if not known:
        return f"No engine has a label {key}."
    near = nearest(missing[0], known)
    there = f"; there are {Names(known, most=3, counted=True)}."
    return f"No engine has {key} {missing[0]}" + (f": did you mean {near}?" if near else there)


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
                RemarkKind.NOTHING_SELECTED,
                engine=topology.engine.vocabulary.label,
                selector=matchers(source.labels),
                hint="",
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
        cause=remark(RemarkKind.STALE, age_s=age, targets=discovery.targets),
        at_s=discovery.at_s,
        window_s=topology.scope.window_s,
        age_s=age,
        scrape_interval_s=layout.interval_s,
        **known,
    )
