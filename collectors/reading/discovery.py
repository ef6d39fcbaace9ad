"""First round: the clock of the source, the metric names with data, how many targets answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from collectors.backends.backend import Backend, Vectors
from collectors.backends.bucket_pruning import SAMPLED, evenly
from collectors.prometheus.promql import AnyCase, LabelValue, matcher, matchers, quoted, regex_quoted
from collectors.queries.query import GROUPED, Group, Query, Subject, of_source
from collectors.queries.ttl import FLEET_REPLICAS, slow
from collectors.reading.engine_values import finite_of
from collectors.reading.remarks import ScrapeTargets
from collectors.source import Source
from collectors.vocabulary import engine_vocabularies, gpu_vocabularies
from collectors.vocabulary.detect import (
    DetectedEngine,
    EnginesSeen,
    bare_labels,
    detect_engine,
    engine_names,
    telling_names,
    wanted_names,
    with_variant,
)
from collectors.vocabulary.expressions import MODEL_KEYS
from collectors.vocabulary.spellings import respelled, spellings

CLOCK_SKEW_S = 30.0
"""Two clocks that differ by more are worth a warning. Chosen: two scrapes of the usual 15 s."""
NAMES = Subject("names", group=Group.SOURCE)
GPU_NAMES = Subject("gpu_names", group=Group.SOURCE)
ENGINES = Subject("engines", group=Group.SOURCE)
OF_MODEL = Subject("engines_of_model", group=Group.SOURCE)
FIRST_GPU = 'gpu=~"0|",gpu_id=~"0|"'
"""The number 0 of the exporters that number GPUs, and every GPU of those that do not."""
FLEET_MOMENT_S = 15.0
"""A fleet is read at whole multiples of this: who asks within it asks about the same moment and shares the answers."""


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What the first round found. ``engine`` is the one within the selector, None where there is none."""

    at_s: float
    engine: DetectedEngine | None
    names: Mapping[str, float]
    targets: ScrapeTargets | Literal[""]
    warnings: tuple[str, ...]
    fleet: bool = False


def discover(backend: Backend, source: Source, at_s: float | None, clock: Callable[[], float]) -> Discovery:
    """The clock of the source, the engine and the metric names with data, and how many targets answer."""
    answer = backend.vectors(
        [
            of_source("now", "vector(time())", unit="s"),
            *engine_queries(source),
            of_source("up", "count(up)"),
            of_source("down", "count(up == 0)"),
        ],
        at_s=at_s,
    )
    now, up, down = (finite_of(answer, Subject(key, group=Group.SOURCE)) for key in ("now", "up", "down"))
    here = clock()
    warnings = list(answer.notes.warnings)
    if at_s is None and now is not None and abs(now - here) > CLOCK_SKEW_S:
        warnings.append(f"The clocks of {backend.where} and of this machine differ by {abs(now - here):.0f} s.")
    targets: ScrapeTargets | Literal[""] = "" if up is None else ScrapeTargets(answering=up - (down or 0.0), all=up)
    engine = detect_engine(engines_seen(source, answer), wanted=source.engine)
    fleet = max(_series(answer, engine).values(), default=0.0) > FLEET_REPLICAS
    named = _names(backend, source, engine, at_s, fleet=fleet)
    names = {s.labels.get("__name__", ""): s.value for of in (NAMES, GPU_NAMES) for s in named.of(of)}
    at = at_s if at_s is not None else now if now is not None else here
    at = math.floor(at / FLEET_MOMENT_S) * FLEET_MOMENT_S if fleet else at
    every_warning = tuple(dict.fromkeys((*warnings, *named.notes.warnings)))
    known = names | _series(answer, engine)
    return Discovery(
        at_s=at,
        engine=None if engine is None else with_variant(engine, known),
        names=known,
        targets=targets,
        warnings=every_warning,
        fleet=fleet,
    )


def engine_queries(source: Source, *, around: str = "{}") -> list[Query]:
    """The queries for the names that tell engines, within the selector and, where it has a model, by its every label.

    ``around`` is put around the series: "last_over_time({}[1h])".
    """
    others, models = _others(source), _models(source)

    def count(by: Sequence[str], names: Sequence[str], matching: str) -> str:
        return f"count by ({', '.join(by)}) ({around.format(f'{{{_inside(names, matching)}}}')})"

    every = count(("__name__", *bare_labels()), engine_names(), others)
    queries = [of_source(ENGINES.quantity, every, weight=GROUPED, ttl=slow(2))]
    if models is None:
        return queries
    vocabularies = engine_vocabularies().values()
    several = []
    for label in dict.fromkeys(label for v in vocabularies for label in v.model_labels):
        having = [v for v in vocabularies if label in v.model_labels]
        names = tuple(dict.fromkeys(name for v in having for name in telling_names(v)))
        wanted = AnyCase(_listed(models)) if any(v.any_case for v in having) else models
        matching = ",".join(part for part in (matcher(label, wanted), others) if part)
        several.append(count(("__name__", label), names, matching))
    # Each part has another label: PromQL joins by labels and not by names.
    return [*queries, of_source(OF_MODEL.quantity, " or ".join(several), ttl=slow(17))]


def engines_seen(source: Source, answer: Vectors) -> EnginesSeen:
    """Which engines the answers to :func:`engine_queries` show, by the names of their metrics."""
    plain = answer.of(ENGINES)
    labelled = {
        label: frozenset(s.labels.get("__name__", "") for s in plain if s.labels.get(label)) for label in bare_labels()
    }
    by_model: dict[str, set[str]] = {}
    for sample in answer.of(OF_MODEL):
        for label in sample.labels:
            by_model.setdefault(label, set()).add(sample.labels.get("__name__", ""))
    names = frozenset(s.labels.get("__name__", "") for s in plain)
    return EnginesSeen(names=names, labelled=labelled, by_model=by_model if _models(source) is not None else None)


def _series(answer: Vectors, engine: DetectedEngine | None) -> dict[str, float]:
    """Series by name, of the selected model where there is one, else of all."""
    label = engine.model_label if engine is not None else None
    of_model = [sample for sample in answer.of(OF_MODEL) if label and sample.labels.get(label)]
    series: dict[str, float] = {}
    for sample in of_model or answer.of(ENGINES):
        name = sample.labels.get("__name__", "")
        series[name] = series.get(name, 0.0) + sample.value
    return series


def _others(source: Source) -> str:
    return matchers({k: v for k, v in source.labels.items() if k not in MODEL_KEYS})


def _models(source: Source) -> LabelValue | None:
    return next((value for key, value in source.labels.items() if key in MODEL_KEYS), None)


def _listed(value: LabelValue) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def names_query(expression: str) -> Query:
    """The query for the metric names with data, each with its number of series."""
    return of_source(NAMES.quantity, expression, weight=GROUPED, ttl=slow(0))


def _gpu_names_query(expression: str) -> Query:
    return of_source(GPU_NAMES.quantity, expression, weight=GROUPED, ttl=slow(1))


def _names(
    backend: Backend, source: Source, engine: DetectedEngine | None, at_s: float | None, *, fleet: bool
) -> Vectors:
    """The names with data; of a fleet, those of some replicas and of each host's first GPU: a name is many series."""
    gpus, others = _gpu_metrics(), _others(source)
    wanted = wanted_names([engine] if engine else [], source.metrics.values())
    every_gpu = _gpu_names_query(f"count by (__name__) ({{{_inside(gpus, '')}}})")
    if not fleet:
        engines = [names_query(f"count by (__name__) ({{{_inside(wanted, others)}}})")] if wanted else []
        return backend.vectors([*engines, every_gpu], at_s=at_s)
    expression = f"count by (instance) ({{{_inside(engine_names(), others)}}})"
    instances = of_source("instances", expression, weight=GROUPED, ttl=slow(3))
    known = backend.vectors([instances], at_s=at_s)
    chosen = evenly([s.labels for s in known.of(instances.subject)], SAMPLED)
    if chosen:
        others = ",".join(part for part in (matchers({"instance": chosen}), others) if part)
    answer = backend.vectors(
        [
            names_query(f"count by (__name__) ({{{_inside(wanted, others)}}})"),
            _gpu_names_query(f"count by (__name__) ({{{_inside(gpus, FIRST_GPU)}}})"),
        ],
        at_s=at_s,
    )
    if answer.of(GPU_NAMES):
        return answer
    again = backend.vectors([every_gpu], at_s=at_s)  # no host has a GPU of that number
    return replace(answer, samples={**answer.samples, **again.samples})


def within(names: Sequence[str], source: Source) -> str:
    """The series of some names within the selector of a source but for its model."""
    return f"{{{_inside(names, _others(source))}}}"


def _inside(names: Sequence[str], others: str) -> str:
    return ",".join(part for part in (f"__name__=~{quoted('|'.join(map(regex_quoted, names)))}", others) if part)


def _gpu_metrics() -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            respelled(name, spelling)
            for v in gpu_vocabularies().values()
            for spelling in spellings(v)
            for name in v.detect
        )
    )
