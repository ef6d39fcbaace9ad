"""Warnings about what is not known to run, what only older software runs, and weights that are widened."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.format import percent
from sizing.base.result import PlanWarning
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.support_rows import by_generation
from sizing.deployments.candidates import UNKNOWN_COSTS, support_of
from sizing.planning.support_sentences import because
from sizing.question.configuration import Configuration
from sizing.question.understand import Question


def about_support(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """What no source says to run, what only older versions run, and weights that are widened to be multiplied."""
    stated = support_of(question.model, row, speculates=question.allowed.speculates)
    if "engine" in stated.unless_named:
        yield PlanWarning(
            code="engine_archived",
            severity="warning",
            source=row.engine.status_source,
            message=f"{row.engine.label} is archived: {row.engine.version} was its last version. It is answered "
            "because the scenario names it; new models, GPUs and fixes come to other engines alone.",
        )
    if "gpu" in stated.unless_named:
        fact = by_generation()[row.engine.id, row.gpu.generation]
        yield PlanWarning(
            code="gpu_dropped",
            severity="warning",
            source=f"{fact.source}, {fact.date}",
            message=f"Today's {row.engine.label} no longer runs on {generation_labels()[row.gpu.generation]}: "
            f"{fact.note}. It is answered because the scenario names {row.gpu.name}, as of the last version that did.",
        )
    if stated.status == "unknown" and stated.why.kind != "dropped":
        yield PlanWarning(
            code="support_unknown",
            severity="warning",
            source=stated.source or "catalogue: no source speaks of it",
            message=f"It is not known whether this runs: try it before buying. {because(stated, row.gpu.name)} A "
            f"deployment that is known to run would come first if it cost up to {percent(UNKNOWN_COSTS - 1.0)} more.",
        )
    if stated.mode == "weight_only" and row.precision.compute != "wide":
        yield PlanWarning(
            code="weights_widened",
            severity="info",
            source=stated.source,
            message=f"{row.engine.label} keeps the weights in {row.precision.plain_label} on {row.gpu.name} and "
            "multiplies at 16 bit: that saves memory and bandwidth, no arithmetic.",
        )
