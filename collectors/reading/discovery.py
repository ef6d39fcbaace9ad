"""First round: the clock of the source, the metric names with data, how many targets answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Vectors
from collectors.backends.bucket_pruning import SAMPLED, evenly
from collectors.backends.ttl import FLEET_REPLICAS
from collectors.prometheus.promql import matchers, quoted, regex_quoted
from collectors.reading.engine_values import one
from collectors.source import Source
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.detect import all_names, engine_names
from collectors.vocabulary.expressions import MODEL_KEYS

CLOCK_SKEW_S = 30.0
FIRST_GPU = 'gpu=~"0|",gpu_id=~"0|"'
"""The number 0 of the exporters that number GPUs, and every GPU of those that do not."""
FLEET_MOMENT_S = 15.0
"""A fleet is read at whole multiples of this: who asks within it asks about the same moment and shares the answers."""


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What the first round found."""

    at_s: float
    names: Mapping[str, float]
    targets: str
    warnings: tuple[str, ...]
    fleet: bool = False


def look_around(backend: Backend, source: Source, at_s: float | None, clock: Callable[[], float]) -> Discovery:
    """The clock of the source, the metric names with data, and how many targets answer."""
    others = matchers({k: v for k, v in source.labels.items() if k not in MODEL_KEYS})
    found = backend.vectors(
        {
            "now": "vector(time())",
            "engines": f"count by (__name__) ({{{_inside(engine_names(), others)}}})",
            "up": "count(up)",
            "down": "count(up == 0)",
        },
        at_s=at_s,
    )
    now = one(found, "now")
    here = clock()
    warnings = list(found.notes.warnings)
    if at_s is None and now is not None and abs(now - here) > CLOCK_SKEW_S:
        warnings.append(f"The clocks of {backend.where} and of this machine differ by {abs(now - here):.0f} s.")
    up, down = one(found, "up"), one(found, "down") or 0.0
    targets = "" if up is None else f"{up - down:g} of {up:g} scrape targets answer"
    fleet = max((s.value for s in found.of("engines")), default=0.0) > FLEET_REPLICAS
    named = _names(backend, source, others, at_s, fleet=fleet)
    names = {
        s.labels.get("__name__", ""): s.value
        for samples in (named.of("names"), found.of("engines"), named.of("gpu_names"))
        for s in samples
    }
    at = at_s if at_s is not None else now if now is not None else here
    at = math.floor(at / FLEET_MOMENT_S) * FLEET_MOMENT_S if fleet else at
    told = tuple(dict.fromkeys((*warnings, *named.notes.warnings)))
    return Discovery(at_s=at, names=names, targets=targets, warnings=told, fleet=fleet)


def _names(backend: Backend, source: Source, others: str, at_s: float | None, *, fleet: bool) -> Vectors:
    """The names with data; of a fleet, those of some replicas and of each host's first GPU: a name is many series."""
    gpus = _gpu_names()
    wanted = tuple(name for name in all_names(source.metrics.values()) if name not in set(gpus))
    every = f"count by (__name__) ({{{_inside(gpus, '')}}})"
    if not fleet:
        asked = {"names": f"count by (__name__) ({{{_inside(wanted, others)}}})", "gpu_names": every}
        return backend.vectors(asked, at_s=at_s)
    known = backend.vectors({"instances": f"count by (instance) ({{{_inside(engine_names(), others)}}})"}, at_s=at_s)
    chosen = evenly([s.labels for s in known.of("instances")], SAMPLED)
    if chosen:
        others = ",".join(part for part in (matchers({"instance": chosen}), others) if part)
    asked = {
        "names": f"count by (__name__) ({{{_inside(wanted, others)}}})",
        "gpu_names": f"count by (__name__) ({{{_inside(gpus, FIRST_GPU)}}})",
    }
    found = backend.vectors(asked, at_s=at_s)
    if found.of("gpu_names"):
        return found
    again = backend.vectors({"gpu_names": every}, at_s=at_s)  # no host has a GPU of that number
    return replace(found, samples={**found.samples, **again.samples})


def _inside(names: Sequence[str], others: str) -> str:
    return ",".join(part for part in (f"__name__=~{quoted('|'.join(map(regex_quoted, names)))}", others) if part)


def _gpu_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for v in gpu_vocabularies().values() for name in v.detect))
