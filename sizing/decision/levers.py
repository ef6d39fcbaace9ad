"""Levers of an optimisation, each moved alone: what it would save, on which assumption, and what is not modelled."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from sizing.base.quantity import Result, quantity
from sizing.decision.formats import difference, refuse_measured
from sizing.decision.keys import with_values
from sizing.decision.lever_changes import Change, LeverName, LeverSettings, Obstacle, change, lever_facts
from sizing.decision.outcome import NOTHING, Answers, Outcome, Progress
from sizing.decision.static_batching import with_static_batching
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario

Standing = Literal["planned", "undone", "simulated", "not_modelled", "not_applicable"]
"""planned: with the lever; undone: without it, because the scenario or its plan uses it; simulated: the plan's
instances run otherwise; not_modelled: the engine cannot say; not_applicable: see the obstacle."""

NOT_PLANNED: tuple[LeverName, ...] = ("sparsity_2_4", "static_batching")
"""Levers that no key of a scenario moves."""


class LeverChange(Result):
    """One scenario key that a lever sets."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    value: Annotated[Any, quantity("Value", help="As the lever sets it; None where it takes it away.")]


class LeverRow(Result):
    """One lever moved alone, everything else as it is."""

    name: Annotated[LeverName, quantity("Lever", help="What is tried.")]
    standing: Annotated[
        Standing,
        quantity(
            "Standing", help="planned, undone (without what is in use), simulated, not_modelled or not_applicable."
        ),
    ]
    obstacle: Annotated[Obstacle | None, quantity("Obstacle", help="Why it cannot be moved; None where it can.")]
    changes: Annotated[tuple[LeverChange, ...], quantity("Changes", help="What it sets in the scenario.")]
    outcome: Annotated[Outcome | None, quantity("Answer then", help="None where the engine computes none.")]
    gpus_saved: Annotated[int | None, quantity("GPUs saved", "GPUs", "now - then", "None where one of both has none.")]
    usd_saved: Annotated[
        float | None, quantity("Saved per month", "USD/month", "now - then", "None where a cost is not known.")
    ]
    basis: Annotated[str, quantity("Assumption", help="What is assumed, and where its number comes from.")]
    published: Annotated[str, quantity("Published", help="What others measured; empty where nothing is quoted.")]
    source: Annotated[str, quantity("Source", help="Where method and figures stand.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


def levers(
    scenario: Scenario, settings: LeverSettings, answers: Answers, progress: Progress | None = None
) -> tuple[LeverRow, ...]:
    """Every lever moved alone. Raises InvalidScenario for unknown names and for a measured record."""
    refuse_measured(scenario)
    names = get_args(LeverName)
    base, answer = answers.outcome(scenario), answers.answer(scenario)
    rows = []
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        rows.append(_row(name, answer, base, settings, answers))
    return tuple(rows)


def _row(name: LeverName, answer: Answer, base: Outcome, settings: LeverSettings, answers: Answers) -> LeverRow:
    moved = None if name in NOT_PLANNED else change(name, answer, settings)
    if isinstance(moved, Change):
        changed = with_values(answer.scenario, moved.values)
        outcome = NOTHING if changed is None else answers.outcome(changed)
        return _stated(name, "undone" if moved.undone else "planned", base, outcome, moved)
    if moved is not None:
        return _stated(name, "not_applicable", base, obstacle=moved)
    if name == "static_batching":
        outcome_then = with_static_batching(answer) if base.feasible else None
        if outcome_then is None:
            return _stated(name, "not_applicable", base, obstacle="not_simulated")
        return _stated(name, "simulated", base, outcome_then)
    return _stated(name, "not_modelled", base)


def _stated(
    name: LeverName,
    standing: Standing,
    base: Outcome,
    outcome: Outcome | None = None,
    moved: Change | None = None,
    *,
    obstacle: Obstacle | None = None,
) -> LeverRow:
    facts = lever_facts()[name]
    gpus = None if outcome is None else outcome.gpus
    return LeverRow(
        name=name,
        standing=standing,
        obstacle=obstacle,
        changes=tuple(LeverChange(key=k, value=v) for k, v in (moved.values if moved else {}).items()),
        outcome=outcome,
        gpus_saved=None if base.gpus is None or gpus is None else base.gpus - gpus,
        usd_saved=None if outcome is None else difference(base.usd_per_month, outcome.usd_per_month),
        basis=facts.get("basis") or facts["not_modelled"],
        published=facts.get("published", ""),
        source=facts["source"],
        date=str(facts["date"]),
    )
