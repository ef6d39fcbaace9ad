"""How many instances one deployment needs at other loads: where their number steps up, answered by the engine itself.

What a spreadsheet looks up, because it cannot simulate.
"""

from dataclasses import dataclass
from itertools import pairwise

from sizing.base.deployed import Deployed
from sizing.base.format import rounded
from sizing.base.result import Plan
from sizing.explore.pinned import pinned_to
from sizing.planning.answered import Answer, Planner
from sizing.planning.plan import plan as simulated_plan
from sizing.scenario.bounds import MAX_RPS
from sizing.scenario.schema import RATES, Scenario

SHARES = (0.001, *(tenth / 10 for tenth in range(1, 16)), 1.75, 2.0, 2.5, 3.0)
"""Loads asked first, in times the planned one. Chosen: up to three times it, which is two years of fast growth."""

ANSWERS = 48
"""Loads asked in all: the others lie where the number of instances steps up. Chosen: because that many answers take
about two seconds."""

FEW_SHARES, ANSWERS_OF_POOLS = (0.001, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0), 13
"""The same of pools. Chosen: because each answer takes three times as long, the number of either
kind of instances being searched, and because no two of so many lie farther apart than a quarter of the planned load."""

NARROW = 0.002
"""Relative width of a gap that is not halved again. Chosen: because no load is known as closely."""

DIGITS = 3
"""Digits of the loads asked, as far as they fit between two others: these are read by people."""


@dataclass(frozen=True, kw_only=True)
class AnswerAt:
    """The feasible plan of one deployment at a load: the mean rate of the busiest time."""

    requests_per_s: float
    plan: Plan

    @property
    def working(self) -> tuple[int, ...]:
        """Instances of each kind that carry the load, spares not counted."""
        deployed = self.plan.deployment
        return () if deployed is None else tuple(kind.instances - kind.spare_instances for kind in deployed.kinds)


def answers_over_load(answer: Answer, *, planner: Planner | None = None) -> tuple[AnswerAt, ...]:
    """Plans of the planned deployment over the load, in its order, ``planned`` among them; loads it cannot serve left
    out. Gaps in which the number of instances steps up are halved, the widest first, :data:`ANSWERS` loads in all, or
    :data:`ANSWERS_OF_POOLS`.

    Empty where nothing is planned. Raises InvalidScenario as :func:`sizing.plan`.
    """
    scenario, planned = answer.scenario, answer.plan
    if planned.deployment is None:
        return ()
    ask = planner or _planned
    only = scenario if scenario.measured is not None else pinned_to(planned.deployment, scenario)
    at = planned.sustained_rps
    shares, most = _asked(planned.deployment)
    known: dict[float, Plan] = {at: planned}

    for rps in sorted({rounded(at * share, DIGITS) for share in shares} - {at}):
        if rps <= MAX_RPS:
            known[rps] = ask(at_load(only, rps))
    while len(known) < most and (middle := _next(known)) is not None:
        known[middle] = ask(at_load(only, middle))
    return _in_order(known)


def _asked(deployed: Deployed) -> tuple[tuple[float, ...], int]:
    """The shares of the planned load that are asked first, and how many loads are asked in all."""
    return (FEW_SHARES, ANSWERS_OF_POOLS) if len(deployed.kinds) > 1 else (SHARES, ANSWERS)


def at_load(scenario: Scenario, rps: float) -> Scenario:
    """The scenario with ``rps`` requests/s in its busiest time, however its load was stated."""
    load = dict.fromkeys(RATES) | {"peak_rps": rps, "growth_percent": 0.0}
    return scenario.model_copy(update={"workload": scenario.workload.model_copy(update=load)})


def _planned(scenario: Scenario) -> Plan:
    return simulated_plan(scenario, alternatives=0, brief=True)


def _in_order(known: dict[float, Plan]) -> tuple[AnswerAt, ...]:
    served = (AnswerAt(requests_per_s=rps, plan=known[rps]) for rps in sorted(known) if known[rps].feasible)
    return tuple(one for one in served if one.working)


def _next(known: dict[float, Plan]) -> float | None:
    """The middle of the widest gap in which the number of instances steps up; None where every one is narrow."""
    gaps = (
        (high.requests_per_s - low.requests_per_s, _middle(low.requests_per_s, high.requests_per_s))
        for low, high in pairwise(_in_order(known))
        if low.working != high.working and high.requests_per_s > low.requests_per_s * (1.0 + NARROW)
    )
    return max(((width, middle) for width, middle in gaps if middle not in known), default=(0.0, None))[1]


def _middle(low: float, high: float) -> float:
    """The middle, in few digits where those lie well inside."""
    middle = (low + high) / 2.0
    short = rounded(middle, DIGITS)
    return short if abs(short - middle) < (high - low) / 4.0 else middle
