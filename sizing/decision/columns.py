"""Whole scenarios side by side: place x GPU x format x engine x load, everything else as one scenario has it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sizing.base.choices import Location
from sizing.decision.inputs import LOADS
from sizing.decision.keep_hardware import moved, same_hardware, with_asked_gpus
from sizing.decision.keys import values_of, with_values
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario


@dataclass(frozen=True, kw_only=True)
class ComparisonColumn:
    """What a column changes; what is empty stays as it is. ``keep_hardware``: the plan's GPU, engine, formats and
    layout, of which more may be needed. ``load``: times the load of the scenario."""

    location: Location | None = None
    gpu: str = ""
    precision: str = ""
    engine: str = ""
    keep_hardware: bool = False
    load: float = 1.0

    def scenario(self, answer: Answer) -> Scenario | None:
        """The scenario of an answer with these changes: the one that the form asks for with the same choices, so that
        its plan is that of Size. None where they cannot stand beside its other values."""
        loaded = moved(same_hardware(answer) if self.keep_hardware else answer.scenario, {"load": self.load})
        changed = None if loaded is None else with_values(loaded, dict(self._values()))
        return None if changed is None else with_asked_gpus(changed)

    def _values(self) -> Iterator[tuple[str, Any]]:
        if self.location is not None:
            yield "deployment.location", self.location
        for name, chosen in (("gpus", self.gpu), ("precisions", self.precision), ("engines", self.engine)):
            if chosen:
                yield f"deployment.{name}", [chosen]


def columns(answer: Answer) -> tuple[ComparisonColumn, ...]:
    """What can be compared at one click: each other GPU and format among the alternatives, twice the load on the plan's
    hardware and on any, the other place with any hardware and with the plan's."""
    return tuple(_columns(answer))


def _columns(answer: Answer) -> Iterator[ComparisonColumn]:
    scenario, plan = answer.scenario, answer.plan
    if plan.deployment is None:
        return
    others = [one.deployment for one in plan.alternatives]
    for gpu in dict.fromkeys(one.gpu for one in others if one.gpu != plan.deployment.gpu):
        yield ComparisonColumn(gpu=gpu)
    formats = (one.weight_precision for one in others)
    for precision in dict.fromkeys(one for one in formats if one != plan.deployment.weight_precision):
        yield ComparisonColumn(precision=precision)
    kept = (True, False) if scenario.measured is None else (False,)
    if any(key in values_of(scenario) for key in LOADS):
        for keep in kept:
            yield ComparisonColumn(load=2.0, keep_hardware=keep)
    other: Location = "cloud" if scenario.deployment.location == "on_prem" else "on_prem"
    yield ComparisonColumn(location=other)
    if True in kept:
        yield ComparisonColumn(location=other, keep_hardware=True)
