"""What a model costs by OpenCost where it runs beside the engines: on two bases, which are never mixed.

Allocation is what is provisioned, idle and shared parts included, and adds up to the bill: an API is compared with it.
Usage is what the requests consumed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from collectors.backends.backend import Backend, Vectors
from collectors.prometheus.answers import Sample
from collectors.queries.query import GROUPED, Query, of_source
from collectors.queries.ttl import FOURTH
from collectors.source import Source
from collectors.vocabulary.expressions import MODEL_KEYS
from collectors.vocabulary.opencost import (
    BASIS,
    CACHE_SAVINGS,
    HOURLY,
    MODEL,
    NAMESPACES,
    PER_MILLION_TOKENS,
    PHASE,
    VERSION,
    WORKLOAD,
)

CostBasis = Literal["allocation", "usage"]
Phase = Literal["", "prompt", "generation"]
"""Whose tokens a price counts: all, those of prompts ("prompt") or those of answers ("generation")."""

_BY = ", ".join((MODEL, VERSION, WORKLOAD, BASIS, PHASE, *NAMESPACES))
_QUERIES: tuple[Query, ...] = tuple(
    # max: OpenCost may run more than once and says the same each time; a sum would count it twice
    of_source(name, f"max by ({_BY}) ({name})", unit=unit, weight=GROUPED, ttl=FOURTH)
    for name, unit in ((HOURLY, "USD/h"), (PER_MILLION_TOKENS, "USD"), (CACHE_SAVINGS, "ratio"))
)


@dataclass(frozen=True, kw_only=True)
class CostOn:
    """What a model costs on one basis, in USD; None where OpenCost does not know it.

    ``usd_per_million`` by phase: OpenCost gives each phase its share of the cost by computing time.
    """

    basis: CostBasis
    usd_per_hour: float | None
    usd_per_million: Mapping[Phase, float]


@dataclass(frozen=True, kw_only=True)
class ServingCost:
    """What one model in one namespace costs by OpenCost; ``cache_savings`` is the share of prompt tokens cached."""

    model: str
    namespace: str
    version: str
    workload: str
    on: tuple[CostOn, ...]
    cache_savings: float | None

    def basis(self, basis: CostBasis) -> CostOn | None:
        """The cost on one basis; None where OpenCost does not have it."""
        return next((one for one in self.on if one.basis == basis), None)


_Key = tuple[str, str, str, str]


def serving_costs(backend: Backend, source: Source, *, at_s: float | None = None) -> tuple[ServingCost, ...]:
    """The models within the selector of a source that OpenCost knows; empty without OpenCost. Raises SourceError."""
    answer = backend.vectors(_QUERIES, at_s=at_s)
    samples = [(query.subject.quantity, one) for query in _QUERIES for one in answer.of(query.subject)]
    keys = dict.fromkeys(_key(one) for _, one in samples if _selected(one, source))
    return tuple(_cost(key, answer) for key in sorted(keys))


def _cost(key: _Key, answer: Vectors) -> ServingCost:
    of = {q.subject.quantity: [one for one in answer.of(q.subject) if _key(one) == key] for q in _QUERIES}
    model, namespace, version, workload = key
    bases = (_on(basis, of[HOURLY], of[PER_MILLION_TOKENS]) for basis in get_args(CostBasis))
    return ServingCost(
        model=model,
        namespace=namespace,
        version=version,
        workload=workload,
        on=tuple(one for one in bases if one is not None),
        cache_savings=next((one.value for one in of[CACHE_SAVINGS] if 0.0 <= one.value <= 1.0), None),
    )


def _on(basis: CostBasis, hourly: Iterable[Sample], tokens: Iterable[Sample]) -> CostOn | None:
    hours = [one.value for one in hourly if one.labels.get(BASIS) == basis]
    each = {one.labels.get(PHASE, ""): one.value for one in tokens if one.labels.get(BASIS) == basis}
    if not hours and not each:
        return None
    phases: tuple[Phase, ...] = get_args(Phase)
    return CostOn(
        basis=basis,
        usd_per_hour=next((value for value in hours if _known(value)), None),
        usd_per_million={phase: each[phase] for phase in phases if _known(each.get(phase))},
    )


def _known(usd: float | None) -> bool:
    """Whether an amount is one: OpenCost writes 0 where it could not join costs and tokens, or nothing was served."""
    return usd is not None and 0.0 < usd < float("inf")


def _key(sample: Sample) -> _Key:
    model, version, workload = (sample.labels.get(name, "") for name in (MODEL, VERSION, WORKLOAD))
    return model, _namespace(sample), version, workload


def _namespace(sample: Sample) -> str:
    return next((sample.labels[name] for name in NAMESPACES if sample.labels.get(name)), "")


def _selected(sample: Sample, source: Source) -> bool:
    """Whether a source is about this model: by the names and namespaces of its selector, where it has them.

    OpenCost may know a model without its organisation.
    """
    models = [name for key in MODEL_KEYS for name in _values(source, key)]
    spaces = _values(source, "namespace")
    named = not models or any(_same_model(sample.labels.get(MODEL, ""), name) for name in models)
    return named and (not spaces or _namespace(sample) in spaces)


def _same_model(one: str, other: str) -> bool:
    """Whether two names mean one model; either may leave the organisation out."""
    both = "/" in one and "/" in other
    return one == other or (not both and one.rpartition("/")[2] == other.rpartition("/")[2])


def _values(source: Source, label: str) -> tuple[str, ...]:
    value = source.labels.get(label)
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)
