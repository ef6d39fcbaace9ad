"""Levers of an optimisation, each moved alone: what it saves, what it costs in accuracy, and on which assumption."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

from sizing.base.quantity import Result, quantity
from sizing.catalog.derived import DerivedScore, scores_of, sparse_checkpoint
from sizing.decision.formats import difference, refuse_measured
from sizing.decision.keys import with_values
from sizing.decision.lever_changes import LeverName, LeverSettings, Obstacle, ScenarioChange, change, lever_facts
from sizing.decision.other_instances import with_static_batching
from sizing.decision.outcome import NOTHING, Answers, Outcome
from sizing.decision.sparse import with_sparse_weights
from sizing.planning.answered import Answer
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario

LeverStanding = Literal["planned", "undone", "simulated", "not_applicable"]
"""planned: with the lever; undone: without it, because the scenario or its plan uses it; simulated: the plan's
instances run otherwise; not_applicable: see the obstacle."""


class LeverChange(Result):
    """One scenario key that a lever sets."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    value: Annotated[Any, quantity("Value", help="As the lever sets it; None where it takes it away.")]


class KeptScore(Result):
    """One published test of the model that a lever would serve, and of the one that it was made of."""

    model: Annotated[str, quantity("Model", help="The one that was made, by the name of its checkpoint.")]
    made_by: Annotated[str, quantity("Made by", help="pruned, distilled, searched or sparse_2_4.")]
    training: Annotated[str, quantity("Training", help="What its authors trained it on afterwards.")]
    test: Annotated[str, quantity("Test", help="As published.")]
    score: Annotated[float, quantity("Score of the whole model", "points", "published", "Of the model it is made of.")]
    derived_score: Annotated[float, quantity("Score then", "points", "published", "Of the model that was made.")]
    kept: Annotated[
        float, quantity("Kept", "fraction", "score then / score of the whole model", "Above 1: it was trained further.")
    ]
    source: Annotated[str, quantity("Source", help="Where the scores were published.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


class LeverRow(Result):
    """One lever moved alone, everything else as it is."""

    name: Annotated[LeverName, quantity("Lever", help="What is tried.")]
    standing: Annotated[
        LeverStanding,
        quantity("Standing", help="planned, undone (without what is in use), simulated or not_applicable."),
    ]
    obstacle: Annotated[Obstacle | None, quantity("Obstacle", help="Why it cannot be moved; None where it can.")]
    changes: Annotated[tuple[LeverChange, ...], quantity("Changes", help="What it sets in the scenario.")]
    outcome: Annotated[Outcome | None, quantity("Answer then", help="None where the lever does not apply.")]
    gpus_saved: Annotated[int | None, quantity("GPUs saved", "GPUs", "now - then", "None where one of both has none.")]
    usd_saved: Annotated[
        float | None, quantity("Saved per month", "USD/month", "now - then", "None where a cost is not known.")
    ]
    accuracy: Annotated[
        tuple[KeptScore, ...],
        quantity("Published accuracy", help="Of the model that the lever serves; empty where none is published."),
    ]
    basis: Annotated[str, quantity("Assumption", help="What is assumed, and where its number comes from.")]
    published: Annotated[str, quantity("Published", help="What others measured; empty where nothing is quoted.")]
    source: Annotated[str, quantity("Source", help="Where method and figures stand.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


def levers(scenario: Scenario, settings: LeverSettings, answers: Answers) -> tuple[LeverRow, ...]:
    """Every lever moved alone. Raises InvalidScenario for unknown names and for a measured record."""
    refuse_measured(scenario)
    base, answer = answers.outcome(scenario), answers.answer(scenario)
    return tuple(_row(name, answer, base, settings, answers) for name in get_args(LeverName))


def _row(name: LeverName, answer: Answer, base: Outcome, settings: LeverSettings, answers: Answers) -> LeverRow:
    if name == "static_batching":
        outcome = with_static_batching(answer) if base.feasible else None
        if outcome is None:
            return _stated(name, "not_applicable", base, obstacle="not_simulated")
        return _stated(name, "simulated", base, outcome)
    if name == "sparsity_2_4":
        return _sparse(answer, base, answers)
    moved = change(name, answer, settings)
    if not isinstance(moved, ScenarioChange):
        return _stated(name, "not_applicable", base, obstacle=moved)
    changed = with_values(answer.scenario, moved.values)
    outcome = NOTHING if changed is None else answers.outcome(changed)
    made = scores_of(str(moved.values["model"])) if name == "derived" else ()
    return _stated(name, "undone" if moved.undone else "planned", base, outcome, moved, accuracy=made)


def _sparse(answer: Answer, base: Outcome, answers: Answers) -> LeverRow:
    name: LeverName = "sparsity_2_4"
    tried = with_sparse_weights(answer, answers)
    if not isinstance(tried, tuple):
        return _stated(name, "not_applicable", base, obstacle=tried)
    moved, outcome = tried
    made = scores_of(sparse_checkpoint(model_of(answer.scenario).id))
    return _stated(name, "simulated", base, outcome, moved, accuracy=made)


def _stated(
    name: LeverName,
    standing: LeverStanding,
    base: Outcome,
    outcome: Outcome | None = None,
    moved: ScenarioChange | None = None,
    *,
    obstacle: Obstacle | None = None,
    accuracy: Iterable[DerivedScore] = (),
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
        accuracy=tuple(map(_kept, accuracy)),
        basis=facts["basis"],
        published=facts.get("published", ""),
        source=facts["source"],
        date=str(facts["date"]),
    )


def _kept(one: DerivedScore) -> KeptScore:
    return KeptScore(
        model=one.derived,
        made_by=one.method,
        training=one.training,
        test=one.test,
        score=one.score,
        derived_score=one.derived_score,
        kept=one.kept,
        source=one.source,
        date=one.date,
    )
