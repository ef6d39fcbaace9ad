"""Which promise buys the hardware: each limit relaxed in turn, and what that saves."""

from collections.abc import Sequence
from typing import Annotated

from sizing.base.quantity import Result, quantity
from sizing.decision.keys import values_of, with_values
from sizing.decision.outcome import Answers, Outcome
from sizing.scenario.schema import Scenario

PROMISES = ("limits.ttft_ms", "limits.itl_ms", "limits.e2e_ms", "limits.percentile", "deployment.spare_instances")
RELAXED = (1.25, 1.5, 2.0)
"""Times a latency limit is relaxed. Chosen: because more would be another product."""

PERCENTILES = (99.0, 95.0, 90.0, 50.0)
"""Percentiles that contracts name; the next lower one is the relaxed promise."""


class Promise(Result):
    """One promise relaxed, everything else as it is."""

    key: Annotated[str, quantity("Promise", help="Scenario key.")]
    value: Annotated[float, quantity("Value", "see key", "scenario", help="As the scenario has it.")]
    relaxed: Annotated[
        float | None, quantity("Relaxed to", "see key", "scenario x 1.25, 1.5, 2", help="None: not promised at all.")
    ]
    outcome: Annotated[Outcome, quantity("Answer then", help="What the scenario would lead to.")]
    gpus_saved: Annotated[int | None, quantity("GPUs saved", "GPUs", "now - then", "None where one of both has none.")]
    usd_saved: Annotated[
        float | None, quantity("Saved per month", "USD/month", "now - then", "None where a cost is not known.")
    ]


def promises(scenario: Scenario, answers: Answers) -> tuple[Promise, ...]:
    """Every promise of the scenario relaxed step by step and given up, what saves most first.

    Raises InvalidScenario for unknown names.
    """
    base, known = answers.outcome(scenario), values_of(scenario)
    out = []
    for key in PROMISES:
        value = known.get(key)
        for relaxed in _relaxed(key, value):
            moved = with_values(scenario, {key: relaxed})
            if moved is not None:
                out.append(_promise(key, float(value or 0.0), relaxed, base, answers.outcome(moved)))
    return tuple(sorted(out, key=lambda one: -saved(one)))


def saved(one: Promise, *, in_money: bool = True) -> float:
    """What relaxing saves: USD a month, or GPUs where a cost is not known or not shown; negative where it takes more.

    Money decides: for less of it a scenario may be ordered more GPUs of a cheaper type.
    """
    usd = one.usd_saved if in_money else None
    return float((one.gpus_saved or 0) if usd is None else usd)


def cheaper_with_more_gpus(relaxed: Sequence[Promise]) -> bool:
    """Whether one of them saves money with more GPUs than now."""
    return any((one.usd_saved or 0.0) > 0.0 and (one.gpus_saved or 0) < 0 for one in relaxed)


def _relaxed(key: str, value: float | None) -> tuple[float | None, ...]:
    """Weaker values of a promise; none where nothing is promised."""
    if not value:
        return ()
    if key == "limits.percentile":
        return tuple(lower for lower in PERCENTILES if lower < value)[:1]
    if key == "deployment.spare_instances":
        return (0,)
    return (*(value * factor for factor in RELAXED), None)


def _promise(key: str, value: float, relaxed: float | None, now: Outcome, then: Outcome) -> Promise:
    usd = None if now.usd_per_month is None or then.usd_per_month is None else now.usd_per_month - then.usd_per_month
    gpus = None if now.gpus is None or then.gpus is None else now.gpus - then.gpus
    return Promise(key=key, value=value, relaxed=relaxed, outcome=then, gpus_saved=gpus, usd_saved=usd)
