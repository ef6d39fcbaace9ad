"""Variants of a scenario that people ask about next: other hardware, other formats, more traffic, rented."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sizing.decision.inputs import LOADS
from sizing.decision.keys import values_of, with_values
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario

Kind = Literal["gpu", "precision", "traffic", "location"]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The same with one thing changed: ``of`` is the GPU, format, factor on the traffic or location."""

    kind: Kind
    of: str
    scenario: Scenario


def variants(answer: Answer) -> tuple[Variant, ...]:
    """What can be asked at one click: each other GPU and format among the alternatives, twice the traffic, the other
    location."""
    return tuple(_variants(answer))


def _variants(answer: Answer) -> Iterator[Variant]:
    scenario, plan = answer.scenario, answer.plan
    if plan.deployment is None:
        return
    for gpu in dict.fromkeys(a.deployment.gpu for a in plan.alternatives):
        if gpu != plan.deployment.gpu:
            yield from _one(scenario, "gpu", gpu, {"deployment.gpus": [gpu]})
    for precision in dict.fromkeys(a.deployment.weight_precision for a in plan.alternatives):
        if precision != plan.deployment.weight_precision:
            yield from _one(scenario, "precision", precision, {"deployment.precisions": [precision]})
    known = values_of(scenario)
    for key in LOADS:
        if key in known:
            yield from _one(scenario, "traffic", "2", {key: 2.0 * float(known[key])})
    other = "cloud" if scenario.deployment.location == "on_prem" else "on_prem"
    yield from _one(scenario, "location", other, {"deployment.location": other})


def _one(scenario: Scenario, kind: Kind, of: str, values: dict[str, object]) -> Iterator[Variant]:
    changed = with_values(scenario, values)
    if changed is not None:
        yield Variant(kind=kind, of=of, scenario=changed)
