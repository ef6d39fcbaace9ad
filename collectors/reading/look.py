"""First round: the clock of the source, the metric names with data, how many targets answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collectors.backend import Backend
from collectors.cadence import FLEET_REPLICAS
from collectors.engine_values import one
from collectors.prometheus.promql import matchers, quoted, regex_quoted
from collectors.source import Source
from collectors.vocabulary import gpu_vocabularies
from collectors.vocabulary.detect import all_names, engine_names
from collectors.vocabulary.expressions import MODEL_KEYS

CLOCK_SKEW_S = 30.0
FLEET_MOMENT_S = 15.0
"""A fleet is read at whole multiples of this: who asks within it asks about the same moment and shares the answers."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the first round found."""

    at_s: float
    names: Mapping[str, float]
    targets: str
    warnings: tuple[str, ...]
    fleet: bool = False


def look_around(backend: Backend, source: Source, at_s: float | None, clock: Callable[[], float]) -> Look:
    """The clock of the source, the metric names with data, and how many targets answer."""
    of_gpus = _gpu_names()
    names = "|".join(regex_quoted(name) for name in all_names(source.metrics.values()) if name not in of_gpus)
    others = {k: v for k, v in source.labels.items() if k not in MODEL_KEYS}
    inside = ",".join(part for part in (f"__name__=~{quoted(names)}", matchers(others)) if part)
    own = [f"{{__name__=~{quoted('|'.join(map(regex_quoted, gpu)))}}}" for gpu in [of_gpus] if gpu]
    found = backend.vectors(
        {
            "now": "vector(time())",
            "names": f"count by (__name__) ({{{inside}}})",
            "gpu_names": f"count by (__name__) ({own[0]})",
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
    names_found = {s.labels.get("__name__", ""): s.value for key in ("names", "gpu_names") for s in found.of(key)}
    at = at_s if at_s is not None else now if now is not None else here
    fleet = max((names_found.get(name, 0.0) for name in engine_names()), default=0.0) > FLEET_REPLICAS
    at = math.floor(at / FLEET_MOMENT_S) * FLEET_MOMENT_S if fleet else at
    return Look(at_s=at, names=names_found, targets=targets, warnings=tuple(warnings), fleet=fleet)


def _gpu_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for v in gpu_vocabularies().values() for name in v.detect))
