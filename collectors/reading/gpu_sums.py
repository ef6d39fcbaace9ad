"""Sums over the GPUs of a fleet that cost a Prometheus little: no filter or grouping where neither changes anything.

``avg(max by (UUID) (x < 101) * 0.01)`` of 10,000 GPUs over a day costs 19 times ``avg(x) * 0.01``: filter, product
and grouping make new labels for every GPU at every step. Grouping changes nothing where every GPU has one series. The
filter drops blank values, and the answer itself proves that there were none: they are so large that it would be, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectors.backends.backend import Backend, Vectors, joined_notes
from collectors.reading.gpus import GpuJoin
from collectors.vocabulary.expressions import Scope, selected
from collectors.vocabulary.schema import Candidate, GpuVocabulary

SUMMED = ("thermal_throttled", "power_throttled", "throttle_reasons", "xid")
"""Concepts that are counted rather than added up: they stay as they are."""


@dataclass(frozen=True, kw_only=True)
class Plain:
    """An expression without filter and grouping; with every value below ``below``, no blank is in it."""

    text: str
    below: float

    def proven(self, values: Iterable[float]) -> bool:
        """Whether the answer is that of the whole expression; no answer is, too."""
        return all(value < self.below for value in values)


def plain_expressions(exact: Mapping[str, str], join: GpuJoin, scope: Scope) -> dict[str, Plain]:
    """The plain forms of ``exact`` (see :func:`collectors.reading.gpus.gpu_expressions`) where there is one."""
    if join.vocabulary is None or not join.single or not scope.instant:
        return {}
    found = {"devices.0": Plain(text=f"count({join.sign}{{{scope.selection()}}})", below=math.inf)}
    for key, concept in join.vocabulary.concepts.items():
        for i, candidate in enumerate(concept.use if key not in SUMMED else ()):
            plain = _plain(candidate, join.vocabulary, join.devices, scope)
            if plain is not None and f"{key}.{i}" in exact:
                found[f"{key}.{i}"] = plain
    return found


def _plain(candidate: Candidate, vocabulary: GpuVocabulary, devices: float, scope: Scope) -> Plain | None:
    """Values are never negative, so a sum below the smallest blank holds none, nor does a maximum below the limit."""
    if not candidate.gauge or candidate.below is None:
        return None
    how = candidate.across
    if how in ("max", "min"):
        limit = candidate.below
    elif vocabulary.blank_from is None:
        return None
    else:
        limit = vocabulary.blank_from / (devices if how == "avg" else 1.0)
    scale = "" if candidate.scale == 1.0 else f" * {candidate.scale!r}"
    return Plain(text=f"{how}({selected(candidate, candidate.gauge, scope)}){scale}", below=limit * candidate.scale)


def with_sums(
    backend: Backend, found: Vectors, exact: Mapping[str, str], plain: Mapping[str, Plain], at_s: float, *, before: str
) -> Vectors:
    """The answers with those asked for exactly that the plain form did not prove; keys begin with ``before``."""
    short = [key for key, form in plain.items() if not form.proven(s.value for s in found.of(f"{before}{key}"))]
    if not short:
        return found
    again = backend.vectors({f"{before}{key}": exact[key] for key in short}, at_s=at_s)
    kept = {key: samples for key, samples in found.samples.items() if key.removeprefix(before) not in short}
    return Vectors(
        samples={**kept, **again.samples},
        problems={**found.problems, **again.problems},
        notes=joined_notes([found.notes, again.notes]),
    )
