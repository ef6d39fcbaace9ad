"""First round: the clock of the source, the metric names with data, how many targets answer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from collectors.backends.backend import Backend, Vectors
from collectors.backends.bucket_pruning import SAMPLED, evenly
from collectors.prometheus.promql import matchers, quoted, regex_quoted
from collectors.queries.query import GROUPED, Group, Query, Subject, of_source
from collectors.queries.ttl import FLEET_REPLICAS, slow
from collectors.reading.engine_values import finite_of
from collectors.reading.remarks import Targets
from collectors.source import Source
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.detect import all_names, engine_names
from collectors.vocabulary.expressions import MODEL_KEYS

CLOCK_SKEW_S = 30.0
"""Two clocks that differ by more are worth a warning. Chosen: two scrapes of the usual 15 s."""
NAMES = Subject("names", group=Group.SOURCE)
GPU_NAMES = Subject("gpu_names", group=Group.SOURCE)
ENGINES = Subject("engines", group=Group.SOURCE)
FIRST_GPU = 'gpu=~"0|",gpu_id=~"0|"'
"""The number 0 of the exporters that number GPUs, and every GPU of those that do not."""
FLEET_MOMENT_S = 15.0
"""A fleet is read at whole multiples of this: who asks within it asks about the same moment and shares the answers."""


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What the first round found."""

    at_s: float
    names: Mapping[str, float]
    targets: Targets | Literal[""]
    warnings: tuple[str, ...]
    fleet: bool = False


def discover(backend: Backend, source: Source, at_s: float | None, clock: Callable[[], float]) -> Discovery:
    """The clock of the source, the metric names with data, and how many targets answer."""
    others = matchers({k: v for k, v in source.labels.items() if k not in MODEL_KEYS})
    answer = backend.vectors(
        [
            of_source("now", "vector(time())", unit="s"),
            _engines(f"count by (__name__) ({{{_inside(engine_names(), others)}}})"),
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
    targets: Targets | Literal[""] = "" if up is None else Targets(answering=up - (down or 0.0), all=up)
    fleet = max((s.value for s in answer.of(ENGINES)), default=0.0) > FLEET_REPLICAS
    named = _names(backend, source, others, at_s, fleet=fleet)
    names = {
        s.labels.get("__name__", ""): s.value
        for samples in (named.of(NAMES), answer.of(ENGINES), named.of(GPU_NAMES))
        for s in samples
    }
    at = at_s if at_s is not None else now if now is not None else here
    at = math.floor(at / FLEET_MOMENT_S) * FLEET_MOMENT_S if fleet else at
    every_warning = tuple(dict.fromkeys((*warnings, *named.notes.warnings)))
    return Discovery(at_s=at, names=names, targets=targets, warnings=every_warning, fleet=fleet)


def names_query(expression: str) -> Query:
    """The query for the metric names with data, each with its number of series."""
    return of_source(NAMES.quantity, expression, weight=GROUPED, ttl=slow(0))


def _gpu_names_query(expression: str) -> Query:
    return of_source(GPU_NAMES.quantity, expression, weight=GROUPED, ttl=slow(1))


def _engines(expression: str) -> Query:
    return of_source(ENGINES.quantity, expression, weight=GROUPED, ttl=slow(2))


def _names(backend: Backend, source: Source, others: str, at_s: float | None, *, fleet: bool) -> Vectors:
    """The names with data; of a fleet, those of some replicas and of each host's first GPU: a name is many series."""
    gpus = _gpu_metrics()
    wanted = tuple(name for name in all_names(source.metrics.values()) if name not in set(gpus))
    every_gpu = _gpu_names_query(f"count by (__name__) ({{{_inside(gpus, '')}}})")
    if not fleet:
        return backend.vectors(
            [names_query(f"count by (__name__) ({{{_inside(wanted, others)}}})"), every_gpu], at_s=at_s
        )
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


def _inside(names: Sequence[str], others: str) -> str:
    return ",".join(part for part in (f"__name__=~{quoted('|'.join(map(regex_quoted, names)))}", others) if part)


def _gpu_metrics() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for v in gpu_vocabularies().values() for name in v.detect))
